-- title: Accuracy on text by length and band
-- paper: Figure 3 and Table 5, every length
-- needs: a run on text under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
-- expects: band = low, max; length = 512, 1024
-- rows: label, length, band
-- column: label | text | Model
-- column: length | integer | L
-- column: band | text | Band
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: accuracy_bootstrap | percent | 95 % interval / streams redrawn
-- column: n | integer | Questions
-- column: abstained | integer | Abstained
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy on the max band is the capacity. An abstention counts as wrong; a failure is left out.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams, 4,000 times.
WITH
streams AS (
  SELECT
    label, length, band, stream_id,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (prediction = 'abstain') AS abstained,
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
    sum(abstained)::BIGINT AS abstained,
    sum(correct)::BIGINT AS correct,
    count(*) FILTER (n > 0) AS streams,
    list(n::DOUBLE ORDER BY stream_id) FILTER (n > 0) AS stream_n,
    list(correct::DOUBLE ORDER BY stream_id) FILTER (n > 0) AS stream_correct
  FROM streams
  GROUP BY ALL
),
replicates AS (
  SELECT label, length, band, redrawn(weights, stream_correct) / redrawn(weights, stream_n) AS accuracy
  FROM cells JOIN bootstrap_weights((SELECT list(streams) FROM cells)) USING (streams)
),
bootstrap AS (
  SELECT label, length, band, interval_95(accuracy) AS accuracy_bootstrap FROM replicates GROUP BY ALL
)
SELECT
  label, length, band, streams, n, failed, abstained, correct,
  correct / nullif(n, 0) AS accuracy,
  wilson(correct, n) AS accuracy_wilson,
  accuracy_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, length, band)
ORDER BY label, length, band
