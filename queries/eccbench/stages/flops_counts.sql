-- What responses under arm none cost and what they came to, cheapest first, of each subset and length: one row a label,
-- subset, variant, length, band, stream and `point`. When this is made: see stream_counts.
--
-- Responses are put in the order of their FLOPs (B.3), those of all bands and variants of one label, subset and length
-- together, and cut into at most 199 groups of like numbers of different costs: `point` 0, 1, ….  With them a budget
-- that all bands have spent alike is known exactly at the end of each group. The cheapest responses of each band stand
-- by themselves (`cheapest`), so that a curve of at most 200 points loses neither end. Where there are no more than 199
-- different costs, each is a point.
--
-- stream     a number that stands for its name: the same of a stream under both variants of synthetic video; that of a clip
--            of natural video. That two of one label get the same one of 2^64 happens once in ten thousand million tables
--            of ten million responses.
-- flops      the highest of the group's, over all of its band
-- n, correct, n_yes, correct_yes    as in stream_counts, where failures are counted: here they are left out
--
-- Responses without a price have a row of their own without `point` and `flops`.
WITH
-- what is the same in all responses of a run goes by a number, and so do streams: names take twice as long to count by
parts AS (
  SELECT
    run_id, label,
    CASE config WHEN 'text' THEN 'synthetic text' WHEN 'natural' THEN 'natural video' ELSE 'synthetic video' END AS subset,
    dense_rank() OVER (ORDER BY label, subset) AS part
  FROM runs
  WHERE benchmark = 'eccbench' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
),
spent AS (
  SELECT
    part, variant, length,
    coalesce(band, density_band, 'unmeasured') AS band,
    hash(coalesce(replace(stream_id, '-' || variant, ''), stream_id, clip_id)) AS stream,
    flops,
    count(*)::INTEGER AS n,
    count_if(correct)::INTEGER AS correct,
    count_if(answer = 'yes')::INTEGER AS n_yes,
    count_if(answer = 'yes' AND correct)::INTEGER AS correct_yes
  FROM responses JOIN (FROM parts SELECT run_id, part) USING (run_id)
  WHERE benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
    AND NOT failed
  GROUP BY ALL
),
costs AS (
  SELECT
    part, length, flops,
    (row_number() OVER (PARTITION BY part, length ORDER BY flops) - 1)::INTEGER AS place
  FROM (SELECT DISTINCT part, length, flops FROM spent WHERE flops IS NOT NULL)
),
most AS (SELECT part, length, max(place) AS last FROM costs GROUP BY ALL),
points AS (
  SELECT
    part, length, flops,
    CASE WHEN last <= 198 THEN place ELSE (place * 198::BIGINT + last - 1) // last END::INTEGER AS point
  FROM costs JOIN most USING (part, length)
),
starts AS (SELECT part, length, band, min(flops) AS start FROM spent GROUP BY ALL),
placed AS (
  SELECT spent.*, point, spent.flops = start AS cheapest
  FROM spent
  LEFT JOIN points USING (part, length, flops)
  LEFT JOIN starts USING (part, length, band)
),
ends AS (
  SELECT part, length, band, point, cheapest, max(flops) AS flops
  FROM placed
  WHERE point IS NOT NULL
  GROUP BY ALL
),
counted AS (
  SELECT
    part, variant, length, band, stream, point, cheapest,
    sum(n)::INTEGER AS n,
    sum(correct)::INTEGER AS correct,
    sum(n_yes)::INTEGER AS n_yes,
    sum(correct_yes)::INTEGER AS correct_yes
  FROM placed
  GROUP BY ALL
)
SELECT
  label, subset, variant, length, band, stream, point, cheapest, ends.flops AS flops,
  n, correct, n_yes, correct_yes
FROM counted
LEFT JOIN ends USING (part, length, band, point, cheapest)
JOIN (SELECT DISTINCT label, subset, part FROM parts) USING (part)
