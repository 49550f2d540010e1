-- title: Contrast of the bands of natural video
-- paper: Table 8
-- needs: a run on natural built with its densities measured (density=true), both bands, under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config = 'natural' AND length IN (64, 128, 512, 1024)
-- expects: length = 64, 128, 512, 1024; density_band = low, high
-- reference: table8.csv
-- rows: label
-- column: label | text | Model
-- column: contrast_64 | points | Contrast / L = 64
-- column: contrast_64_bootstrap | points | Contrast / 95 % interval
-- column: contrast_128 | points | Contrast / L = 128
-- column: contrast_128_bootstrap | points | Contrast / 95 % interval
-- column: contrast_512 | points | Contrast / L = 512
-- column: contrast_512_bootstrap | points | Contrast / 95 % interval
-- column: contrast_1024 | points | Contrast / L = 1024
-- column: contrast_1024_bootstrap | points | Contrast / 95 % interval
-- column: contrast_mean | points | Contrast / mean
-- column: contrast_mean_bootstrap | points | Contrast / 95 % interval
-- column: under_5_percent | text | † at L
-- column: balanced_64 | points | Balanced / L = 64
-- column: balanced_128 | points | Balanced / L = 128
-- column: balanced_512 | points | Balanced / L = 512
-- column: balanced_1024 | points | Balanced / L = 1024
-- column: balanced_mean | points | Balanced / mean
-- column: cells | integer | Cells
-- column: positive | integer | Cells / positive
-- column: balanced_positive | integer | Cells / positive, balanced
-- column: n | integer | Questions
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy on clips of low density minus that on clips of high density, in points of a percent. An abstention
--   counts as wrong; a failure is left out. Balanced weighs questions whose answer is yes as much as those whose answer
--   is no.
-- note: † names the lengths at which both accuracies are under 5 %: a model's mean leaves them out, as the paper's do.
--   The mean over all cells is over every length of every model, these too.
-- note: Intervals redraw the clips of each band and length, independently, 4,000 times; those of the balanced contrasts
--   are in the CSV.
WITH
clips AS (
  SELECT label, length, band = 'low' AS low, n, failed, correct, n_yes, correct_yes
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none' AND config = 'natural' AND length IN (64, 128, 512, 1024)
    AND band IN ('low', 'high')
),
bands AS (
  SELECT
    label, length, low,
    sum(n)::BIGINT AS n,
    sum(correct) / sum(n) AS accuracy,
    (sum(correct_yes) / nullif(sum(n_yes), 0) + sum(correct - correct_yes) / nullif(sum(n - n_yes), 0)) / 2 AS balanced,
    -- lengths and bands are redrawn independently: each has a key of its own
    bootstrap_totals(
      list([correct, n, correct_yes, n_yes, correct - correct_yes, n - n_yes]::DOUBLE[]),
      (2 * length + low::INTEGER)::INTEGER
    ) AS totals
  FROM clips
  WHERE n > 0
  GROUP BY label, length, low
),
contrasts AS (
  SELECT
    label, length,
    low_band.n + high_band.n AS n,
    low_band.accuracy - high_band.accuracy AS contrast,
    low_band.balanced - high_band.balanced AS balanced,
    low_band.accuracy < 0.05 AND high_band.accuracy < 0.05 AS floor,
    low_band.totals AS low_totals,
    high_band.totals AS high_totals
  FROM (FROM bands WHERE low) AS low_band JOIN (FROM bands WHERE NOT low) AS high_band USING (label, length)
),
replicates AS (
  SELECT
    label, length, floor,
    unnest(range(1, len(low_totals[1]) + 1)) AS i,
    low_totals[1][i] / low_totals[2][i] - high_totals[1][i] / high_totals[2][i] AS contrast,
    (low_totals[3][i] / nullif(low_totals[4][i], 0) + low_totals[5][i] / nullif(low_totals[6][i], 0)) / 2
    - (high_totals[3][i] / nullif(high_totals[4][i], 0) + high_totals[5][i] / nullif(high_totals[6][i], 0)) / 2 AS balanced
  FROM contrasts
),
bootstrap_lengths AS (
  SELECT label, length, interval_95(contrast) AS contrast_bootstrap, interval_95(balanced) AS balanced_bootstrap
  FROM replicates
  GROUP BY label, length
),
-- a mean is of the lengths that it is printed of: a redraw that lacks one of them, whose band has a single clip, has none
mean_replicates AS (
  SELECT
    label,
    CASE WHEN count(contrast) = any_value(averaged) THEN exact_avg(contrast) END AS contrast,
    CASE WHEN count(balanced) = any_value(balanced_averaged) THEN exact_avg(balanced) END AS balanced
  FROM replicates
  JOIN (
    SELECT label, count(*) AS averaged, count(balanced) AS balanced_averaged FROM contrasts WHERE NOT floor GROUP BY label
  ) USING (label)
  WHERE NOT floor
  GROUP BY label, i
),
bootstrap_means AS (
  SELECT label, interval_95(contrast) AS contrast_mean_bootstrap, interval_95(balanced) AS balanced_mean_bootstrap
  FROM mean_replicates
  GROUP BY label
),
models AS (
  SELECT
    label,
    any_value(contrast) FILTER (length = 64) AS contrast_64,
    any_value(contrast_bootstrap) FILTER (length = 64) AS contrast_64_bootstrap,
    any_value(contrast) FILTER (length = 128) AS contrast_128,
    any_value(contrast_bootstrap) FILTER (length = 128) AS contrast_128_bootstrap,
    any_value(contrast) FILTER (length = 512) AS contrast_512,
    any_value(contrast_bootstrap) FILTER (length = 512) AS contrast_512_bootstrap,
    any_value(contrast) FILTER (length = 1024) AS contrast_1024,
    any_value(contrast_bootstrap) FILTER (length = 1024) AS contrast_1024_bootstrap,
    exact_avg(CASE WHEN NOT floor THEN contrast END) AS contrast_mean,
    string_agg(length::VARCHAR, ', ' ORDER BY length) FILTER (floor) AS under_5_percent,
    any_value(balanced) FILTER (length = 64) AS balanced_64,
    any_value(balanced_bootstrap) FILTER (length = 64) AS balanced_64_bootstrap,
    any_value(balanced) FILTER (length = 128) AS balanced_128,
    any_value(balanced_bootstrap) FILTER (length = 128) AS balanced_128_bootstrap,
    any_value(balanced) FILTER (length = 512) AS balanced_512,
    any_value(balanced_bootstrap) FILTER (length = 512) AS balanced_512_bootstrap,
    any_value(balanced) FILTER (length = 1024) AS balanced_1024,
    any_value(balanced_bootstrap) FILTER (length = 1024) AS balanced_1024_bootstrap,
    exact_avg(CASE WHEN NOT floor THEN balanced END) AS balanced_mean,
    count(*) AS cells,
    count_if(contrast > 0) AS positive,
    count_if(balanced > 0) AS balanced_positive,
    sum(n)::BIGINT AS n,
    false AS is_mean
  FROM contrasts LEFT JOIN bootstrap_lengths USING (label, length)
  GROUP BY label
),
all_cells AS (
  SELECT
    'Mean over all cells' AS label,
    exact_avg(contrast) AS contrast_mean,
    exact_avg(balanced) AS balanced_mean,
    count(*) AS cells,
    count_if(contrast > 0) AS positive,
    count_if(balanced > 0) AS balanced_positive,
    sum(n)::BIGINT AS n,
    true AS is_mean
  FROM contrasts
  HAVING count(DISTINCT label) > 1
),
failures AS (SELECT label, sum(failed)::BIGINT AS failed FROM clips GROUP BY label)
SELECT * EXCLUDE (is_mean)
FROM (FROM models UNION ALL BY NAME FROM all_cells)
LEFT JOIN failures USING (label)
LEFT JOIN bootstrap_means USING (label)
ORDER BY is_mean, label
