-- title: Composition of the bands of natural video
-- paper: Table 7
-- needs: a run on natural built with its densities measured (density=true)
-- counts: benchmark = 'eccbench' AND protocol = 'natural' AND density_band IS NOT NULL
-- expects: length = 64, 128, 512, 1024; density_band = low, high
-- reference: table7.csv
-- rows: dataset, length
-- column: dataset | text | Dataset
-- column: length | text | L
-- column: videos_low | integer | Videos / low
-- column: videos_high | integer | Videos / high
-- column: questions_low | integer | Questions / low
-- column: questions_high | integer | Questions / high
-- column: distortion_low | fraction4 | Mean distortion / low
-- column: distortion_high | fraction4 | Mean distortion / high
-- column: yes_rate_low | percent | Yes rate (%) / low
-- column: yes_rate_high | percent | Yes rate (%) / high
-- column: missed_target | integer | Encoder missed its rate
-- bookkeeping: missed_target
-- note: Of the questions that any run asked, each once, whatever became of it. A dataset goes by the end of its digest.
-- note: Distortion is a video's score of density (B.6.2), averaged over videos; the yes rate is over questions.
-- note: Videos of which the encoder missed its bit rate are in it; their scores are not quite those of the paper.
WITH
questions AS (
  SELECT DISTINCT
    right(coalesce(runs.dataset, 'unknown'), 8) AS dataset,
    clip_id, question_id, length, answer, density_band, density_score, encoder_missed_target
  FROM
    (FROM responses WHERE benchmark = 'eccbench' AND protocol = 'natural' AND density_band IS NOT NULL) AS asked
    JOIN runs ON runs.run_id = asked.run_id
),
videos AS (
  SELECT
    dataset, length, clip_id, density_band,
    any_value(density_score) AS density_score,
    coalesce(bool_or(encoder_missed_target), false) AS missed_target,
    count(*) AS questions,
    count_if(answer = 'yes') AS yes
  FROM questions
  GROUP BY ALL
),
lengths AS (
  SELECT
    dataset, length,
    count_if(density_band = 'low') AS videos_low,
    count_if(density_band = 'high') AS videos_high,
    coalesce(sum(questions) FILTER (density_band = 'low'), 0)::BIGINT AS questions_low,
    coalesce(sum(questions) FILTER (density_band = 'high'), 0)::BIGINT AS questions_high,
    exact_avg(CASE WHEN density_band = 'low' THEN density_score END) AS distortion_low,
    exact_avg(CASE WHEN density_band = 'high' THEN density_score END) AS distortion_high,
    sum(yes) FILTER (density_band = 'low') / nullif(questions_low, 0) AS yes_rate_low,
    sum(yes) FILTER (density_band = 'high') / nullif(questions_high, 0) AS yes_rate_high,
    count_if(missed_target) AS missed_target
  FROM videos
  GROUP BY dataset, length
),
totals AS (
  SELECT
    dataset,
    NULL::INTEGER AS length,
    sum(videos_low)::BIGINT AS videos_low,
    sum(videos_high)::BIGINT AS videos_high,
    sum(questions_low)::BIGINT AS questions_low,
    sum(questions_high)::BIGINT AS questions_high,
    sum(missed_target)::BIGINT AS missed_target
  FROM lengths
  GROUP BY dataset
)
SELECT * REPLACE (coalesce(length::VARCHAR, 'Total') AS length)
FROM (FROM lengths UNION ALL BY NAME FROM totals) AS every_length
ORDER BY dataset, every_length.length NULLS LAST
