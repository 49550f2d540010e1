-- title: Backbones and other memories on streams of tokens
-- paper: Section 4.4, Figures 8 and 10 as numbers
-- needs: a run of the system backbone on tokens under arm none, and one of each bag memory to set beside it
-- counts: benchmark = 'eccbench' AND config = 'tokens' AND arm = 'none' AND probability IS NOT NULL
-- expects: band = low, max
-- rows: label, length
-- column: label | text | Memory
-- column: length | integer | L
-- column: accuracy_low | percent | Accuracy / low
-- column: accuracy_max | percent | Accuracy / max
-- column: compression | points | Compression / all
-- column: compression_bootstrap | points | Compression / 95 %
-- column: peak_low | percent | Peak / low
-- column: peak_max | percent | Peak / max
-- column: compression_peak | points | Compression / peak
-- column: area_low | fraction | Area / low
-- column: area_max | fraction | Area / max
-- column: flops | megaflops2 | MFLOPs
-- column: n | integer | Questions
-- note: Accuracy is of all questions, each answered with the likelier of yes and no. Compression is the accuracy on the
--   low band minus that on the max band, with its interval when whole streams are redrawn.
-- note: Peak is the highest accuracy that a threshold on the confidence reaches while at least a twentieth is answered;
--   area is what lies under accuracy against coverage, 1 where everything is right at any coverage.
-- note: Bags of k-grams have no order: what they answer of these very questions needs no memory for it. A backbone shows
--   one where it is above them.
WITH
-- one row a label, length and band
accuracies AS (
  SELECT
    label, length, band,
    max(n) AS n,
    any_value(flops) AS flops,
    any_value(place) AS place,
    any_value(width) AS width,
    arg_max(accuracy, coverage) AS accuracy,
    max(accuracy) FILTER (coverage >= 0.05) AS peak
  FROM token_confidences
  GROUP BY label, length, band
),
-- trapezes between neighbouring thresholds; below the first one the accuracy is taken to be the first one's
slices AS (
  SELECT
    label, length, band,
    (coverage - lag(coverage, 1, 0) OVER down) * (accuracy + lag(accuracy, 1, accuracy) OVER down) / 2 AS slice
  FROM token_confidences
  WINDOW down AS (PARTITION BY label, length, band ORDER BY confidence DESC)
),
areas AS (SELECT label, length, band, sum(slice) AS area FROM slices GROUP BY label, length, band),
cells AS (FROM accuracies JOIN areas USING (label, length, band)),
redrawn AS (
  SELECT label, length, bootstrap_contrast(correct, n, band = 'low', band = 'max') AS compression_bootstrap
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND config = 'tokens' AND arm = 'none' AND n > 0
  GROUP BY label, length
  HAVING bool_or(band = 'low') AND bool_or(band = 'max')
)
SELECT
  label, length,
  any_value(accuracy) FILTER (band = 'low') AS accuracy_low,
  any_value(accuracy) FILTER (band = 'max') AS accuracy_max,
  accuracy_low - accuracy_max AS compression,
  any_value(compression_bootstrap) AS compression_bootstrap,
  any_value(peak) FILTER (band = 'low') AS peak_low,
  any_value(peak) FILTER (band = 'max') AS peak_max,
  peak_low - peak_max AS compression_peak,
  any_value(area) FILTER (band = 'low') AS area_low,
  any_value(area) FILTER (band = 'max') AS area_max,
  any_value(flops) AS flops,
  sum(n)::BIGINT AS n
FROM cells LEFT JOIN redrawn USING (label, length)
GROUP BY label, length
ORDER BY any_value(place) NULLS LAST, any_value(width), label, length
