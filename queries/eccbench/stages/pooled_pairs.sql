-- arm_pairs by what the paper calls a subset and by the lengths that are counted together: one row a label, subset, pool
-- of lengths and stream that has anything matched or left out. Pools are every length by itself, the lengths that the
-- paper pools where all of them are there, and all lengths. The two variants of rendered video show the same streams and
-- ask the same questions, so what both came to is one row: they are redrawn together.
WITH
streams AS (
  SELECT
    label, subset_rank, subset, any_value(pooled_lengths) AS pooled_lengths, length, band,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream,
    sum(unmatched)::INTEGER AS unmatched,
    sum(failed)::INTEGER AS failed,
    sum(n)::INTEGER AS n,
    sum(answered_a)::INTEGER AS answered_a,
    sum(answered_b)::INTEGER AS answered_b,
    sum(right_a)::INTEGER AS right_a,
    sum(right_b)::INTEGER AS right_b,
    sum(kept)::INTEGER AS kept,
    sum(kept_right)::INTEGER AS kept_right,
    sum(declined)::INTEGER AS declined,
    sum(declined_right)::INTEGER AS declined_right,
    sum(declined_explicit)::INTEGER AS declined_explicit,
    sum(declined_format)::INTEGER AS declined_format,
    sum(declined_overflow)::INTEGER AS declined_overflow,
    sum(a_paid_a)::INTEGER AS a_paid_a,
    sum(b_paid_a)::INTEGER AS b_paid_a,
    sum(a_paid_b)::INTEGER AS a_paid_b,
    sum(b_paid_b)::INTEGER AS b_paid_b
  FROM arm_pairs JOIN paper_subsets USING (config, protocol)
  WHERE config IN ('text', 'video-sequential', 'video-spatial', 'natural')
  GROUP BY label, subset_rank, subset, length, band, stream
),
pools AS (
  SELECT
    label, subset,
    unnest(pools(list(DISTINCT length ORDER BY length), any_value(pooled_lengths))) AS pool
  FROM streams
  WHERE n > 0
  GROUP BY label, subset
)
SELECT streams.* EXCLUDE (pooled_lengths), pool
FROM streams JOIN pools ON pools.label = streams.label AND pools.subset = streams.subset
WHERE list_contains(pool, length)
