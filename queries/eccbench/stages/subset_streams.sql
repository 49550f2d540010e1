-- Streams under arm none by subset, for accuracy and compression: one row a label, subset, length, band and stream. The
-- two variants of synthetic video are subsets by themselves, and `synthetic video` is both of them, weighted equally: there
-- a stream, which is shown under both, is one row, and is redrawn with the questions of both.
--
-- n_1, correct_1, n_2, correct_2    the counts of either variant; of a subset without variants, both are the whole
-- sequential, spatial               whether the row has questions of the variant; true of a subset without variants
-- other counts                      as in stream_counts
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
)
SELECT
  * EXCLUDE (variant),
  true AS sequential, true AS spatial,
  n AS n_1, correct AS correct_1, n AS n_2, correct AS correct_2
FROM counted
UNION ALL BY NAME
SELECT
  label, length, band, stream, 'synthetic video' AS subset,
  bool_or(variant = 'sequential') AS sequential,
  bool_or(variant = 'spatial') AS spatial,
  sum(COLUMNS(['n', 'failed', 'answered', 'correct', 'n_yes', 'correct_yes']))::BIGINT,
  coalesce(sum(n) FILTER (variant = 'sequential'), 0)::BIGINT AS n_1,
  coalesce(sum(correct) FILTER (variant = 'sequential'), 0)::BIGINT AS correct_1,
  coalesce(sum(n) FILTER (variant = 'spatial'), 0)::BIGINT AS n_2,
  coalesce(sum(correct) FILTER (variant = 'spatial'), 0)::BIGINT AS correct_2
FROM counted
WHERE variant IS NOT NULL
GROUP BY label, length, band, stream
