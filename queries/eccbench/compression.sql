-- title: Compression of text
-- paper: Equation 2, Figure 3 and Table 5, every length
-- needs: a run on text, both bands, under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
-- expects: band = low, max; length = 512, 1024
-- rows: label, length
-- column: label | text | Model
-- column: length | integer | L
-- column: accuracy_low | percent | Accuracy (%) / low
-- column: accuracy_max | percent | Accuracy (%) / max
-- column: compression | points | Compression / points
-- column: compression_bootstrap | points | Compression / 95 % interval
-- column: n_low | integer | Questions / low
-- column: n_max | integer | Questions / max
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Compression is the accuracy on the low band minus that on the max band, in points of a percent.
-- note: An abstention counts as wrong; a failure is left out.
-- note: The interval redraws the streams of each band, independently, 4,000 times.
WITH
streams AS (
  SELECT
    label, length, band, stream_id,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (correct) AS correct
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
  GROUP BY ALL
),
cells AS (
  SELECT
    label, length, band,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(correct)::BIGINT AS correct,
    count(*) FILTER (n > 0) AS streams,
    list(n::DOUBLE ORDER BY stream_id) FILTER (n > 0) AS stream_n,
    list(correct::DOUBLE ORDER BY stream_id) FILTER (n > 0) AS stream_correct
  FROM streams
  GROUP BY ALL
),
low_cells AS (FROM cells WHERE band = 'low'),
max_cells AS (FROM cells WHERE band = 'max'),
-- two keys: which streams of one band are drawn says nothing of which streams of the other are
low_weights AS (FROM bootstrap_weights((SELECT list(streams) FROM low_cells), key := 1)),
max_weights AS (FROM bootstrap_weights((SELECT list(streams) FROM max_cells), key := 2)),
replicates AS (
  SELECT
    low.label, low.length,
    redrawn(low_weights.weights, low.stream_correct) / redrawn(low_weights.weights, low.stream_n)
    - redrawn(max_weights.weights, max.stream_correct) / redrawn(max_weights.weights, max.stream_n) AS compression
  FROM low_cells AS low
  JOIN max_cells AS max ON max.label = low.label AND max.length = low.length
  JOIN low_weights ON low_weights.streams = low.streams
  JOIN max_weights ON max_weights.streams = max.streams AND max_weights.replicate = low_weights.replicate
),
bootstrap AS (
  SELECT label, length, interval_95(compression) AS compression_bootstrap FROM replicates GROUP BY ALL
)
SELECT
  label, length,
  low.streams AS streams_low,
  max.streams AS streams_max,
  low.n AS n_low,
  max.n AS n_max,
  low.failed + max.failed AS failed,
  low.correct / nullif(low.n, 0) AS accuracy_low,
  wilson(low.correct, low.n) AS accuracy_low_wilson,
  max.correct / nullif(max.n, 0) AS accuracy_max,
  wilson(max.correct, max.n) AS accuracy_max_wilson,
  accuracy_low - accuracy_max AS compression,
  compression_bootstrap
FROM low_cells AS low
JOIN max_cells AS max USING (label, length)
LEFT JOIN bootstrap USING (label, length)
ORDER BY label, length
