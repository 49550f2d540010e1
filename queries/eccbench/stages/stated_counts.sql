-- What the responses that state P(yes) (`probability`) came to in a stream: one row a label, subset, arm, length, band and
-- stream that has any. What the paper has no name for is called by its configuration. The two variants of rendered video
-- show the same streams and ask the same questions, so what both came to is one row.
--
-- n, n_right, answered, points    as in confidence_streams
-- confidence, squared_error       the same in units of 1e-12: whole numbers, for sums of fractions depend on their order,
--                                 which many threads do not keep
WITH
counted AS (
  SELECT
    run_id, arm, length, variant,
    coalesce(band, density_band) AS band,
    coalesce(stream_id, clip_id) AS stream_id,
    count(*)::INTEGER AS n,
    (count(*) FILTER (prediction <> 'abstain'))::INTEGER AS answered,
    (count(*) FILTER (favours_yes(prediction, probability) = (answer = 'yes')))::INTEGER AS n_right,
    sum(payoff) AS points,
    sum(round(1e12 * confidence_of(prediction, probability))::BIGINT) AS confidence,
    sum(round(1e12 * (probability - (answer = 'yes')::INTEGER) ** 2)::BIGINT) AS squared_error
  FROM responses
  WHERE benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL
  GROUP BY ALL
)
SELECT
  label, subset_rank,
  coalesce(subset, config) AS subset,
  any_value(pooled_lengths) AS pooled_lengths,
  arm, length, band,
  coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream,
  sum(n)::INTEGER AS n,
  sum(answered)::INTEGER AS answered,
  sum(n_right)::INTEGER AS n_right,
  sum(points) AS points,
  sum(confidence) AS confidence,
  sum(squared_error) AS squared_error
FROM counted
JOIN (FROM runs SELECT run_id, label, config, protocol) USING (run_id)
LEFT JOIN paper_subsets USING (config, protocol)
GROUP BY ALL
