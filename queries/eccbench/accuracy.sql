-- title: Accuracy by length and band
-- paper: Capacity (Section 3), Figures 3, 4 and 5 and Tables 5 and 8, every length
-- needs: a run on text, synthetic video or natural video under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- rows: label, subset, length, band
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: band | text | Band
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: accuracy_bootstrap | percent | 95 % interval / streams redrawn
-- column: balanced | percent | Balanced accuracy / %
-- column: balanced_bootstrap | percent | Balanced accuracy / 95 % interval
-- column: n | integer | Questions
-- column: abstained | integer | Abstained
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy on the max band is the capacity. An abstention counts as wrong; a failure is left out.
-- note: Balanced accuracy weighs questions whose answer is yes as much as those whose answer is no.
-- note: Synthetic video without a variant is both of them, weighted equally; it takes a run on each.
-- note: Natural video has the bands of its density, and no band where that was not measured.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams (or clips), 4,000 times.
WITH
counted AS (
  SELECT
    label, length, coalesce(band, 'unmeasured') AS band, n, failed, answered, correct, n_yes, correct_yes, variant,
    CASE config
      WHEN 'text' THEN 'synthetic text'
      WHEN 'natural' THEN 'natural video'
      ELSE 'synthetic video, ' || variant
    END AS subset,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
),
-- a stream is shown under both variants and is redrawn with the questions of both
streams AS (
  SELECT *, true AS sequential, true AS spatial, n AS n_1, correct AS correct_1, n AS n_2, correct AS correct_2 FROM counted
  UNION ALL BY NAME
  SELECT
    label, length, band, stream, 'synthetic video' AS subset,
    bool_or(variant = 'sequential') AS sequential,
    bool_or(variant = 'spatial') AS spatial,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(answered)::BIGINT AS answered,
    sum(correct)::BIGINT AS correct,
    sum(n_yes)::BIGINT AS n_yes,
    sum(correct_yes)::BIGINT AS correct_yes,
    coalesce(sum(n) FILTER (variant = 'sequential'), 0)::BIGINT AS n_1,
    coalesce(sum(correct) FILTER (variant = 'sequential'), 0)::BIGINT AS correct_1,
    coalesce(sum(n) FILTER (variant = 'spatial'), 0)::BIGINT AS n_2,
    coalesce(sum(correct) FILTER (variant = 'spatial'), 0)::BIGINT AS correct_2
  FROM counted
  WHERE variant IS NOT NULL
  GROUP BY ALL
),
cells AS (
  SELECT
    label, subset, length, band,
    count_if(n > 0) AS streams,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(n - answered)::BIGINT AS abstained,
    sum(correct)::BIGINT AS correct,
    (sum(correct_1) / nullif(sum(n_1), 0) + sum(correct_2) / nullif(sum(n_2), 0)) / 2 AS accuracy,
    (sum(correct_yes) / nullif(sum(n_yes), 0) + sum(correct - correct_yes) / nullif(sum(n - n_yes), 0)) / 2 AS balanced
  FROM streams
  GROUP BY label, subset, length, band
  HAVING bool_or(sequential) AND bool_or(spatial)
),
bootstrap AS (
  SELECT
    label, subset, length, band,
    bootstrap_mean(correct_1, n_1, correct_2, n_2) AS accuracy_bootstrap,
    bootstrap_mean(correct_yes, n_yes, correct - correct_yes, n - n_yes) AS balanced_bootstrap
  FROM streams
  WHERE n > 0
  GROUP BY ALL
)
SELECT
  label, subset, length, band, streams, n, failed, abstained, correct, accuracy,
  wilson(accuracy * n, n) AS accuracy_wilson,
  accuracy_bootstrap, balanced, balanced_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, subset, length, band)
ORDER BY label, subset, length, band
