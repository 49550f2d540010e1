-- Accuracy against FLOPs per response (Figures 3, 4 and 5): one row a label, subset, length, band and kept cost, in which
-- `accuracy` is the share of the cell's questions that are answered correctly by responses of at most `flops`. At most
-- 200 rows a curve, both ends among them, each of them exact; what is between two is no more than what the first says.
-- Both variants of synthetic video are weighted equally, and a cell that lacks one has no curve.
--
-- spent      the share of the cell's responses that cost at most `flops`
-- is_end     whether it is the curve's end, where `accuracy` is the cell's
-- n          questions of the cell that have a price; unpriced those that have none, and are left out
WITH
cells AS (
  SELECT
    label, subset, length, band,
    coalesce(sum(n) FILTER (point IS NOT NULL), 0)::BIGINT AS n,
    coalesce(sum(n) FILTER (point IS NULL), 0)::BIGINT AS unpriced,
    sum(n) FILTER (point IS NOT NULL AND variant IS DISTINCT FROM 'spatial') AS n_1,
    sum(n) FILTER (point IS NOT NULL AND variant IS DISTINCT FROM 'sequential') AS n_2
  FROM flops_counts
  GROUP BY ALL
),
points AS (
  SELECT
    label, subset, length, band, point, cheapest,
    any_value(flops) AS flops,
    sum(n) AS n,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'spatial'), 0) AS correct_1,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'sequential'), 0) AS correct_2
  FROM flops_counts
  WHERE point IS NOT NULL
  GROUP BY ALL
)
SELECT
  label, subset, length, band, flops,
  (sum(correct_1) OVER curve / n_1 + sum(correct_2) OVER curve / n_2) / 2 AS accuracy,
  sum(points.n) OVER curve / cells.n AS spent,
  lead(flops) OVER curve IS NULL AS is_end,
  cells.n, unpriced
FROM points JOIN cells USING (label, subset, length, band)
WHERE n_1 > 0 AND n_2 > 0
WINDOW curve AS (PARTITION BY label, subset, length, band ORDER BY point, NOT cheapest)
