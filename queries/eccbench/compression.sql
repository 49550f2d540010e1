-- title: Compression
-- paper: Equation 2 with nothing spared, Figures 3, 4 and 5 and Tables 5 and 8, every length
-- needs: a run on text, synthetic video or natural video, both bands, under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- rows: label, subset, length
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: accuracy_low | percent | Accuracy (%) / low
-- column: accuracy_max | percent | Accuracy (%) / max
-- column: compression | points | Compression / points
-- column: compression_bootstrap | points | Compression / 95 % interval
-- column: balanced | points | Compression, balanced / points
-- column: balanced_bootstrap | points | Compression, balanced / 95 % interval
-- column: n_low | integer | Questions / low
-- column: n_max | integer | Questions / max
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Compression is the accuracy on the low band minus that on the max band (on natural video, that of high
--   density), in points of a percent. An abstention counts as wrong; a failure is left out.
-- note: Balanced weighs questions whose answer is yes as much as those whose answer is no.
-- note: Synthetic video without a variant is both of them, weighted equally; it takes a run on each.
-- note: The intervals redraw the streams (or clips) of each band, independently, 4,000 times.
WITH
streams AS (SELECT *, band = 'low' AS low FROM subset_streams WHERE band IN ('low', 'max', 'high')),
cells AS (
  SELECT
    label, subset, length, low,
    count_if(n > 0) AS streams,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    (sum(correct_1) / nullif(sum(n_1), 0) + sum(correct_2) / nullif(sum(n_2), 0)) / 2 AS accuracy,
    (sum(correct_yes) / nullif(sum(n_yes), 0) + sum(correct - correct_yes) / nullif(sum(n - n_yes), 0)) / 2 AS balanced
  FROM streams
  GROUP BY label, subset, length, low
  HAVING bool_or(sequential) AND bool_or(spatial)
),
bootstrap AS (
  SELECT
    label, subset, length,
    bootstrap_mean_contrast(correct_1, n_1, correct_2, n_2, low, NOT low) AS compression_bootstrap,
    bootstrap_mean_contrast(correct_yes, n_yes, correct - correct_yes, n - n_yes, low, NOT low) AS balanced_bootstrap
  FROM streams
  WHERE n > 0
  GROUP BY label, subset, length
)
SELECT
  label, subset, length,
  low_cell.streams AS streams_low,
  max_cell.streams AS streams_max,
  low_cell.n AS n_low,
  max_cell.n AS n_max,
  low_cell.failed + max_cell.failed AS failed,
  low_cell.accuracy AS accuracy_low,
  wilson(low_cell.accuracy * low_cell.n, low_cell.n) AS accuracy_low_wilson,
  max_cell.accuracy AS accuracy_max,
  wilson(max_cell.accuracy * max_cell.n, max_cell.n) AS accuracy_max_wilson,
  low_cell.accuracy - max_cell.accuracy AS compression,
  compression_bootstrap,
  low_cell.balanced - max_cell.balanced AS balanced,
  balanced_bootstrap
FROM (FROM cells WHERE low) AS low_cell
JOIN (FROM cells WHERE NOT low) AS max_cell USING (label, subset, length)
LEFT JOIN bootstrap USING (label, subset, length)
ORDER BY label, subset, length
