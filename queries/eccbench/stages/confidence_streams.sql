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
cells AS (SELECT label, arm, subset, unnest(pool) AS length, cell FROM confidence_cells),
-- a stream has questions that state P(yes), others, or both
counts AS (
  SELECT label, arm, subset, length, band, stream, 0 AS asked, * EXCLUDE (
    label, arm, subset, length, band, stream, subset_rank, pooled_lengths
  )
  FROM stated_counts
  UNION ALL BY NAME
  SELECT
    label, arm, coalesce(subset, config) AS subset, length, band,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream,
    n AS asked
  FROM stream_counts LEFT JOIN paper_subsets USING (config, protocol)
  WHERE benchmark = 'eccbench' AND n > 0
),
streams AS (
  SELECT
    label, arm, length, subset, band, stream,
    coalesce(sum(n), 0)::INTEGER AS n,
    (sum(asked) - coalesce(sum(n), 0))::INTEGER AS unstated,
    coalesce(sum(answered), 0)::INTEGER AS answered,
    coalesce(sum(n_right), 0)::INTEGER AS n_right,
    sum(points) AS points,
    coalesce(sum(confidence), 0)::DOUBLE / 1e12 AS confidence,
    coalesce(sum(squared_error), 0)::DOUBLE / 1e12 AS squared_error
  FROM counts SEMI JOIN cells USING (label, arm, subset, length)
  GROUP BY ALL
)
SELECT cell, streams.* EXCLUDE (label, arm, subset)
FROM streams JOIN cells USING (label, arm, subset, length)
