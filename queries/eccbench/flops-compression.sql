-- title: Compression at equal FLOPs
-- paper: Equation 2, Figures 3, 4 and 5, every length
-- needs: a run on text, synthetic video or natural video, both bands, under arm none, of a model that has a price in FLOPs
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
--   AND priced
-- shown: no
-- rows: label, subset, length, budget
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: budget | flops | FLOPs of a response, at most
-- column: spent | percent | Responses spent (%)
-- column: accuracy_low | percent | Accuracy (%) / low
-- column: accuracy_max | percent | Accuracy (%) / max
-- column: compression | points | Compression / points
-- column: compression_bootstrap | points | Compression / 95 % interval
-- column: balanced | points | Compression, balanced / points
-- column: balanced_bootstrap | points | Compression, balanced / 95 % interval
-- column: reached_by | text | Reached by
-- column: unpriced | integer | Without a price
-- bookkeeping: unpriced
-- note: Accuracy within a budget is the share of all questions that are answered correctly by responses of at most so
--   many FLOPs. Compression is that on the low band minus that on the max band (on natural video, that of high density).
-- note: The budgets are those that a tenth, two tenths and so on of both bands' responses keep to, fewer where many cost
--   the same, and the largest that both bands reach: one of them has nothing dearer, the other goes on alone. At the last
--   one accuracy is what it is with nothing spared.
-- note: Balanced weighs questions whose answer is yes as much as those whose answer is no.
-- note: Both variants of synthetic video are weighted equally; a cell that lacks one is left out. Failures and responses
--   without a price are left out.
-- note: Intervals redraw the streams (or clips) of each band, independently, 4,000 times.
WITH
counts AS (
  SELECT *, band = 'low' AS low
  FROM flops_counts
  WHERE point IS NOT NULL AND band IN ('low', 'max', 'high')
),
-- both bands, and both variants where there are any
whole AS (
  SELECT label, subset, length
  FROM (
    SELECT
      label, subset, length, low,
      bool_or(variant IS DISTINCT FROM 'spatial') AND bool_or(variant IS DISTINCT FROM 'sequential') AS complete
    FROM counts
    GROUP BY ALL
  )
  GROUP BY ALL
  HAVING count_if(complete) = 2
),
costs AS (
  SELECT
    label, subset, length, point,
    max(flops) AS flops,
    sum(sum(n)) OVER (PARTITION BY label, subset, length ORDER BY point)
    / sum(sum(n)) OVER (PARTITION BY label, subset, length) AS spent
  FROM counts JOIN whole USING (label, subset, length)
  GROUP BY label, subset, length, point
),
-- where the band that ends first ends
reached AS (
  SELECT
    label, subset, length,
    least(max(point) FILTER (low), max(point) FILTER (NOT low)) AS point,
    max(point) FILTER (low) > max(point) FILTER (NOT low) AS low_is_longer
  FROM counts
  GROUP BY label, subset, length
),
budgets AS (
  SELECT
    label, subset, length, costs.point, flops AS budget, spent,
    CASE WHEN costs.point <= reached.point THEN 'both' WHEN low_is_longer THEN 'low' ELSE 'max' END AS reached_by,
    row_number() OVER cheapest_first AS number
  FROM costs JOIN reached USING (label, subset, length)
  WINDOW cheapest_first AS (PARTITION BY label, subset, length ORDER BY costs.point)
  QUALIFY
    costs.point = reached.point
    OR floor(10 * spent + 1e-9) > floor(10 * coalesce(lag(spent) OVER cheapest_first, 0) + 1e-9)
),
-- which budget is the first that covers each point
covering AS (
  SELECT label, subset, length, costs.point, min(number) AS number
  FROM costs JOIN budgets USING (label, subset, length)
  WHERE costs.point <= budgets.point
  GROUP BY ALL
),
-- a stream is shown under both variants and is redrawn with the questions of both
gained AS (
  SELECT
    label, subset, length, low, stream, number,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'spatial'), 0) AS correct_1,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'sequential'), 0) AS correct_2,
    sum(correct_yes) AS correct_yes,
    sum(correct - correct_yes) AS correct_no
  FROM counts JOIN covering USING (label, subset, length, point)
  GROUP BY ALL
),
streams AS (
  SELECT
    label, subset, length, low, stream,
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'spatial'), 0) AS n_1,
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'sequential'), 0) AS n_2,
    sum(n_yes) AS n_yes,
    sum(n - n_yes) AS n_no
  FROM counts JOIN whole USING (label, subset, length)
  GROUP BY ALL
),
within AS (
  SELECT
    label, subset, length, low, stream, number, n_1, n_2, n_yes, n_no,
    sum(coalesce(correct_1, 0)) OVER cheapest_first AS correct_1,
    sum(coalesce(correct_2, 0)) OVER cheapest_first AS correct_2,
    sum(coalesce(correct_yes, 0)) OVER cheapest_first AS correct_yes,
    sum(coalesce(correct_no, 0)) OVER cheapest_first AS correct_no
  FROM streams
  JOIN budgets USING (label, subset, length)
  LEFT JOIN gained USING (label, subset, length, low, stream, number)
  WINDOW cheapest_first AS (PARTITION BY label, subset, length, low, stream ORDER BY number)
),
bands AS (
  SELECT
    label, subset, length, number, low,
    sum(n_1) + CASE WHEN subset = 'synthetic video' THEN sum(n_2) ELSE 0 END AS n,
    (sum(correct_1) / sum(n_1) + sum(correct_2) / sum(n_2)) / 2 AS accuracy,
    (sum(correct_yes) / nullif(sum(n_yes), 0) + sum(correct_no) / nullif(sum(n_no), 0)) / 2 AS balanced
  FROM within
  GROUP BY label, subset, length, number, low
),
bootstrap AS (
  SELECT
    label, subset, length, number,
    bootstrap_mean_contrast(correct_1, n_1, correct_2, n_2, low, NOT low) AS compression_bootstrap,
    bootstrap_mean_contrast(correct_yes, n_yes, correct_no, n_no, low, NOT low) AS balanced_bootstrap
  FROM within
  GROUP BY label, subset, length, number
),
unpriced AS (
  SELECT label, subset, length, sum(n)::BIGINT AS unpriced FROM flops_counts WHERE point IS NULL GROUP BY ALL
)
SELECT
  label, subset, length, budget, spent, reached_by,
  low_band.n AS n_low,
  max_band.n AS n_max,
  coalesce(unpriced, 0) AS unpriced,
  low_band.accuracy AS accuracy_low,
  max_band.accuracy AS accuracy_max,
  low_band.accuracy - max_band.accuracy AS compression,
  compression_bootstrap,
  low_band.balanced - max_band.balanced AS balanced,
  balanced_bootstrap
FROM budgets
JOIN (FROM bands WHERE low) AS low_band USING (label, subset, length, number)
JOIN (FROM bands WHERE NOT low) AS max_band USING (label, subset, length, number)
JOIN bootstrap USING (label, subset, length, number)
LEFT JOIN unpriced USING (label, subset, length)
ORDER BY label, subset, length, budget
