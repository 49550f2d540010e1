-- title: Short-length check
-- paper: Table 6
-- needs: a run on text or synthetic video at L = 8, low band, under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial')
--   AND length = 8 AND band = 'low'
-- expects: config = text, video-sequential, video-spatial
-- reference: table6.csv
-- rows: label
-- column: label | text | Model
-- column: text | percent | Text (%) / accuracy
-- column: text_bootstrap | percent | Text (%) / 95 % interval
-- column: text_swapped | percent | Text (%) / swapped
-- column: video_sequential | percent | Video, sequential (%) / accuracy
-- column: video_sequential_bootstrap | percent | Video, sequential (%) / 95 % interval
-- column: video_sequential_swapped | percent | Video, sequential (%) / swapped
-- column: video_spatial | percent | Video, spatial (%) / accuracy
-- column: video_spatial_bootstrap | percent | Video, spatial (%) / 95 % interval
-- column: video_spatial_swapped | percent | Video, spatial (%) / swapped
-- column: n | integer | Questions
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: L = 8, low band. An abstention counts as wrong; a failure is left out. The cohort mean weighs models equally.
-- note: Swapped is the accuracy with yes and no swapped: a model that scores high there reads the stream and writes the
--   wrong marker.
-- note: Intervals redraw whole streams, 4,000 times.
WITH
streams AS (
  SELECT label, replace(config, '-', '_') AS cell, n, failed, answered, correct
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial')
    AND length = 8 AND band = 'low'
),
cells AS (
  SELECT
    label, cell,
    sum(n)::BIGINT AS n,
    sum(correct) / sum(n) AS accuracy,
    wilson(sum(correct), sum(n)) AS wilson,
    bootstrap_share(correct, n) AS bootstrap,
    sum(answered - correct) / sum(n) AS swapped
  FROM streams
  WHERE n > 0
  GROUP BY label, cell
),
failures AS (SELECT label, sum(failed)::BIGINT AS failed FROM streams GROUP BY label),
models AS (
  SELECT
    label,
    coalesce(sum(n), 0)::BIGINT AS n,
    any_value(failed) AS failed,
    any_value(accuracy) FILTER (cell = 'text') AS text,
    any_value(wilson) FILTER (cell = 'text') AS text_wilson,
    any_value(bootstrap) FILTER (cell = 'text') AS text_bootstrap,
    any_value(swapped) FILTER (cell = 'text') AS text_swapped,
    any_value(accuracy) FILTER (cell = 'video_sequential') AS video_sequential,
    any_value(wilson) FILTER (cell = 'video_sequential') AS video_sequential_wilson,
    any_value(bootstrap) FILTER (cell = 'video_sequential') AS video_sequential_bootstrap,
    any_value(swapped) FILTER (cell = 'video_sequential') AS video_sequential_swapped,
    any_value(accuracy) FILTER (cell = 'video_spatial') AS video_spatial,
    any_value(wilson) FILTER (cell = 'video_spatial') AS video_spatial_wilson,
    any_value(bootstrap) FILTER (cell = 'video_spatial') AS video_spatial_bootstrap,
    any_value(swapped) FILTER (cell = 'video_spatial') AS video_spatial_swapped,
    false AS is_mean
  FROM failures LEFT JOIN cells USING (label)
  GROUP BY label
),
cohort AS (
  SELECT
    'Cohort mean' AS label,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    exact_avg(text) AS text,
    exact_avg(text_swapped) AS text_swapped,
    exact_avg(video_sequential) AS video_sequential,
    exact_avg(video_sequential_swapped) AS video_sequential_swapped,
    exact_avg(video_spatial) AS video_spatial,
    exact_avg(video_spatial_swapped) AS video_spatial_swapped,
    true AS is_mean
  FROM models
  HAVING count(*) > 1
)
SELECT * EXCLUDE (is_mean)
FROM (FROM models UNION ALL BY NAME FROM cohort)
ORDER BY is_mean, label
