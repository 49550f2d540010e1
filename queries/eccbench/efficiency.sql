-- title: FLOPs to reach an accuracy, and FLOPs saved by regularity
-- paper: Efficiency (Section 3), 4.2.1 and Figures 3, 4 and 5, every length
-- needs: a run on text, synthetic video or natural video under arm none, of a model that has a price in FLOPs
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
--   AND priced
-- rows: label, subset, length, target
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: target | percent | Accuracy to reach (%)
-- column: flops_low | flops | FLOPs of a response, at least / low
-- column: flops_low_bootstrap | flops | FLOPs of a response, at least / 95 % interval
-- column: flops_max | flops | FLOPs of a response, at least / max
-- column: flops_max_bootstrap | flops | FLOPs of a response, at least / 95 % interval
-- column: saved | percent | Saved on the low band (%) / of max
-- column: saved_bootstrap | percent | Saved on the low band (%) / 95 % interval
-- column: both_reached | percent | Redraws in which both do (%)
-- column: unpriced | integer | Without a price
-- bookkeeping: unpriced
-- note: The smallest budget within which so many of all questions are answered correctly, by responses that cost no
--   more; nothing where that accuracy is not reached. Above chance is, in the paper's words, at least 60 %. Saved is what
--   the low band takes less than the max band (on natural video, than that of high density) to reach the same.
-- note: A budget is one of at most 200 that a model's curves on a length are known at exactly.
-- note: Both variants of synthetic video are weighted equally; a cell that lacks one is left out. Failures and responses
--   without a price are left out.
-- note: Intervals redraw the streams (or clips) of each band, independently, 4,000 times, and make the curves anew. An end
--   that is missing is not reached; what is saved is of the redraws in which both bands get there.
WITH
targets AS (SELECT unnest([0.5, 0.6, 0.7, 0.8, 0.9])::DOUBLE AS target),
reached AS (
  SELECT
    label, subset, length, target,
    min(flops) FILTER (band = 'low') AS flops_low,
    min(flops) FILTER (band <> 'low') AS flops_max
  FROM flops_curves CROSS JOIN targets
  WHERE band IN ('low', 'max', 'high') AND accuracy >= target - 1e-9
  GROUP BY ALL
),
entries AS (
  SELECT
    label, subset, length, band = 'low' AS low,
    {
      stream: stream,
      part: CASE variant WHEN 'spatial' THEN 2 ELSE 1 END,
      flops: flops, correct: sum(correct)::DOUBLE, n: sum(n)::DOUBLE
    } AS entry
  FROM flops_counts SEMI JOIN flops_curves USING (label, subset, length, band)
  WHERE point IS NOT NULL AND band IN ('low', 'max', 'high')
  GROUP BY label, subset, length, band, stream, variant, flops
),
redrawn AS (
  SELECT
    label, subset, length,
    unnest((SELECT list(target ORDER BY target) FROM targets)) AS target,
    unnest(bootstrap_reach(
      list(entry) FILTER (low), list(entry) FILTER (NOT low), (SELECT list(target ORDER BY target) FROM targets)
    )) AS bootstrap
  FROM entries
  GROUP BY label, subset, length
),
unpriced AS (
  SELECT label, subset, length, sum(n)::BIGINT AS unpriced FROM flops_counts WHERE point IS NULL GROUP BY ALL
)
SELECT
  label, subset, length, target, flops_low,
  CASE WHEN flops_low IS NOT NULL THEN bootstrap.low_flops END AS flops_low_bootstrap,
  bootstrap.low_reached AS low_reached,
  flops_max,
  CASE WHEN flops_max IS NOT NULL THEN bootstrap.max_flops END AS flops_max_bootstrap,
  bootstrap.max_reached AS max_reached,
  1 - flops_low / flops_max AS saved,
  CASE WHEN saved IS NOT NULL THEN bootstrap.saved END AS saved_bootstrap,
  bootstrap.both_reached AS both_reached,
  coalesce(unpriced, 0) AS unpriced
FROM reached
LEFT JOIN redrawn USING (label, subset, length, target)
LEFT JOIN unpriced USING (label, subset, length)
ORDER BY label, subset, length, target
