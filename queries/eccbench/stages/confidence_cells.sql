-- What confidences are counted by: one row a label, subset, arm and pool of lengths of which any response states P(yes)
-- (`probability`), with the number that stands for it in ranked_confidences and confidence_streams. Pools are every
-- length by itself, and the lengths that the paper pools where all of them are there. What the paper has no name for is
-- called by its configuration.
WITH
there AS (
  SELECT
    label, arm, subset,
    coalesce(any_value(subset_rank), 9) AS subset_rank,
    list(DISTINCT length ORDER BY length) AS lengths,
    any_value(pooled_lengths) AS pooled_lengths
  FROM stated_counts
  GROUP BY label, arm, subset
),
pooled AS (
  SELECT * EXCLUDE (lengths, pooled_lengths), unnest(list_distinct(list_concat(
    list_transform(lengths, lambda length: [length]),
    CASE WHEN list_has_all(lengths, pooled_lengths) THEN [pooled_lengths] ELSE [] END
  ))) AS pool
  FROM there
)
SELECT
  row_number() OVER (
    ORDER BY subset_rank, subset, label, len(pool), pool, arm = 'b', arm = 'a'
  )::INTEGER AS cell,
  subset, label, pool, arm,
  -- what an answer earns under the arm (B.8)
  CASE arm WHEN 'a' THEN 3 WHEN 'b' THEN 1 END AS reward,
  CASE arm WHEN 'a' THEN 1 WHEN 'b' THEN 4 END AS cost
FROM pooled
