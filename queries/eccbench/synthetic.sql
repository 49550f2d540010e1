-- title: Accuracy on synthetic text and video at the paper's lengths
-- paper: Table 5
-- needs: a run on text at L = 512 or 1024, or on both variants of video at L = 16 or 64, under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND ((config = 'text' AND length IN (512, 1024))
--   OR (config IN ('video-sequential', 'video-spatial') AND length IN (16, 64)))
-- expects: config = text; length = 512, 1024; band = low, max
-- expects: config = video-sequential, video-spatial; length = 16, 64; band = low, max
-- reference: table5.csv
-- rows: label
-- column: label | text | Model
-- column: text_512_low | percent | text, L = 512 / low
-- column: text_512_max | percent | text, L = 512 / max
-- column: text_1024_low | percent | text, L = 1024 / low
-- column: text_1024_max | percent | text, L = 1024 / max
-- column: video_16_low | percent | video, L = 16 / low
-- column: video_16_max | percent | video, L = 16 / max
-- column: video_64_low | percent | video, L = 64 / low
-- column: video_64_max | percent | video, L = 64 / max
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy in percent. An abstention counts as wrong; a failure is left out. Above chance is, in the paper's
--   words, at least 60 %.
-- note: The two variants of video are weighted equally; with one alone the cell stays empty. Each by itself is in the
--   table of accuracy by length and band, where every accuracy's intervals are too.
WITH
streams AS (
  SELECT
    label,
    CASE config WHEN 'text' THEN 'text' ELSE 'video' END || '_' || length || '_' || band AS cell,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    -- of text, both are the whole
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'spatial'), 0)::BIGINT AS n_1,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'spatial'), 0)::BIGINT AS correct_1,
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'sequential'), 0)::BIGINT AS n_2,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'sequential'), 0)::BIGINT AS correct_2
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none' AND ((config = 'text' AND length IN (512, 1024))
    OR (config IN ('video-sequential', 'video-spatial') AND length IN (16, 64)))
  GROUP BY ALL
),
cells AS (
  SELECT
    label, cell,
    sum(n)::BIGINT AS n,
    (sum(correct_1) / nullif(sum(n_1), 0) + sum(correct_2) / nullif(sum(n_2), 0)) / 2 AS accuracy,
    CASE WHEN accuracy IS NOT NULL THEN bootstrap_mean(correct_1, n_1, correct_2, n_2) END AS bootstrap
  FROM streams
  WHERE n > 0
  GROUP BY label, cell
),
failures AS (SELECT label, sum(failed)::BIGINT AS failed FROM streams GROUP BY label)
SELECT
  label,
  coalesce(sum(n), 0)::BIGINT AS n,
  any_value(failed) AS failed,
  any_value(accuracy) FILTER (cell = 'text_512_low') AS text_512_low,
  any_value(bootstrap) FILTER (cell = 'text_512_low') AS text_512_low_bootstrap,
  any_value(accuracy) FILTER (cell = 'text_512_max') AS text_512_max,
  any_value(bootstrap) FILTER (cell = 'text_512_max') AS text_512_max_bootstrap,
  any_value(accuracy) FILTER (cell = 'text_1024_low') AS text_1024_low,
  any_value(bootstrap) FILTER (cell = 'text_1024_low') AS text_1024_low_bootstrap,
  any_value(accuracy) FILTER (cell = 'text_1024_max') AS text_1024_max,
  any_value(bootstrap) FILTER (cell = 'text_1024_max') AS text_1024_max_bootstrap,
  any_value(accuracy) FILTER (cell = 'video_16_low') AS video_16_low,
  any_value(bootstrap) FILTER (cell = 'video_16_low') AS video_16_low_bootstrap,
  any_value(accuracy) FILTER (cell = 'video_16_max') AS video_16_max,
  any_value(bootstrap) FILTER (cell = 'video_16_max') AS video_16_max_bootstrap,
  any_value(accuracy) FILTER (cell = 'video_64_low') AS video_64_low,
  any_value(bootstrap) FILTER (cell = 'video_64_low') AS video_64_low_bootstrap,
  any_value(accuracy) FILTER (cell = 'video_64_max') AS video_64_max,
  any_value(bootstrap) FILTER (cell = 'video_64_max') AS video_64_max_bootstrap
FROM failures LEFT JOIN cells USING (label)
GROUP BY label
ORDER BY label
