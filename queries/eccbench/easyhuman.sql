-- title: Accuracy on EasyHuman
-- paper: Table 1
-- needs: a run on easyhuman-text or easyhuman-video under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none'
--   AND ((config = 'easyhuman-text' AND length IN (256, 1024)) OR (config = 'easyhuman-video' AND length = 256))
-- expects: config = easyhuman-text; length = 256, 1024
-- expects: config = easyhuman-video; variant = sequential, spatial
-- reference: table1.csv
-- rows: label
-- column: label | text | Model
-- column: text_256 | percent | Text, L = 256 / accuracy
-- column: text_256_bootstrap | percent | Text, L = 256 / 95 % interval
-- column: text_1024 | percent | Text, L = 1024 / accuracy
-- column: text_1024_bootstrap | percent | Text, L = 1024 / 95 % interval
-- column: video_256 | percent | Video, L = 256 / accuracy
-- column: video_256_bootstrap | percent | Video, L = 256 / 95 % interval
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy in percent. An abstention counts as wrong; a failure is left out.
-- note: The two variants of video are weighted equally; with one alone the cell stays empty.
-- note: Intervals redraw whole streams, 4,000 times.
WITH
streams AS (
  SELECT
    label,
    CASE config WHEN 'easyhuman-text' THEN 'text' ELSE 'video' END || '_' || length AS cell,
    stream_id,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    -- of text, both are the whole
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'spatial'), 0)::BIGINT AS n_1,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'spatial'), 0)::BIGINT AS correct_1,
    coalesce(sum(n) FILTER (variant IS DISTINCT FROM 'sequential'), 0)::BIGINT AS n_2,
    coalesce(sum(correct) FILTER (variant IS DISTINCT FROM 'sequential'), 0)::BIGINT AS correct_2
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none'
    AND ((config = 'easyhuman-text' AND length IN (256, 1024)) OR (config = 'easyhuman-video' AND length = 256))
  GROUP BY ALL
),
cells AS (
  SELECT
    label, cell,
    sum(n)::BIGINT AS n,
    (sum(correct_1) / nullif(sum(n_1), 0) + sum(correct_2) / nullif(sum(n_2), 0)) / 2 AS accuracy,
    CASE WHEN accuracy IS NOT NULL THEN wilson(accuracy * sum(n), sum(n)) END AS wilson,
    CASE WHEN accuracy IS NOT NULL THEN bootstrap_mean(correct_1, n_1, correct_2, n_2) END AS bootstrap
  FROM streams
  WHERE n > 0
  GROUP BY label, cell
),
failures AS (SELECT label, sum(failed)::BIGINT AS failed FROM streams GROUP BY label)
SELECT
  label,
  coalesce(any_value(n) FILTER (cell = 'text_256'), 0) AS n_text_256,
  coalesce(any_value(n) FILTER (cell = 'text_1024'), 0) AS n_text_1024,
  coalesce(any_value(n) FILTER (cell = 'video_256'), 0) AS n_video_256,
  any_value(failed) AS failed,
  any_value(accuracy) FILTER (cell = 'text_256') AS text_256,
  any_value(wilson) FILTER (cell = 'text_256') AS text_256_wilson,
  any_value(bootstrap) FILTER (cell = 'text_256') AS text_256_bootstrap,
  any_value(accuracy) FILTER (cell = 'text_1024') AS text_1024,
  any_value(wilson) FILTER (cell = 'text_1024') AS text_1024_wilson,
  any_value(bootstrap) FILTER (cell = 'text_1024') AS text_1024_bootstrap,
  any_value(accuracy) FILTER (cell = 'video_256') AS video_256,
  any_value(wilson) FILTER (cell = 'video_256') AS video_256_wilson,
  any_value(bootstrap) FILTER (cell = 'video_256') AS video_256_bootstrap
FROM failures LEFT JOIN cells USING (label)
GROUP BY label
ORDER BY label
