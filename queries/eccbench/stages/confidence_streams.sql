-- What confidences come to in a stream, the unit that a stream-cluster bootstrap redraws: one row a cell (see
-- confidence_cells) and stream. The two variants of rendered video show the same streams and ask the same questions, so
-- what both came to is one row.
--
-- n              answers with a confidence; answered of them were given, the others are of questions that were declined
-- n_right        of n; points are what the arm's payoff gave for the answers that were given, NULL under arm none
-- confidence     sum of the confidences
-- squared_error  sum of (P(yes) - [the true answer is yes])²
-- unstated       questions, failures left out, whose response states no P(yes)
WITH
answers AS (
  SELECT
    label, arm, length, probability, prediction, answer, payoff,
    coalesce(subset, config) AS subset,
    coalesce(band, density_band) AS band,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id, clip_id) AS stream
  FROM responses LEFT JOIN paper_subsets USING (config, protocol)
  WHERE benchmark = 'eccbench' AND NOT failed
),
-- summed as whole numbers: sums of fractions depend on their order, which many threads do not keep
streams AS (
  SELECT
    label, arm, length, subset, band, stream,
    count(probability)::INTEGER AS n,
    (count(*) - count(probability))::INTEGER AS unstated,
    (count(*) FILTER (probability IS NOT NULL AND prediction <> 'abstain'))::INTEGER AS answered,
    (count(*) FILTER (
      probability IS NOT NULL AND favours_yes(prediction, probability) = (answer = 'yes')
    ))::INTEGER AS n_right,
    sum(payoff) FILTER (probability IS NOT NULL) AS points,
    coalesce(sum(round(1e12 * confidence_of(prediction, probability))::BIGINT), 0)::DOUBLE / 1e12 AS confidence,
    coalesce(sum(round(1e12 * (probability - (answer = 'yes')::INTEGER) ** 2)::BIGINT), 0)::DOUBLE / 1e12
      AS squared_error
  FROM answers
  GROUP BY ALL
),
cells AS (SELECT label, arm, subset, unnest(pool) AS length, cell FROM confidence_cells)
SELECT cell, streams.* EXCLUDE (label, arm, subset)
FROM streams JOIN cells USING (label, arm, subset, length)
