-- title: Accuracy on EasyHuman text by structure
-- paper: Table 1, taken apart by the structures of A.2, every length
-- needs: a run on easyhuman-text under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'easyhuman-text' AND arm = 'none'
-- expects: length = 256, 1024; structure = repeating-pattern, counting-disruption
-- rows: label, length, structure
-- column: label | text | Model
-- column: length | integer | L
-- column: structure | text | Structure
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: accuracy_bootstrap | percent | 95 % interval / streams redrawn
-- column: n | integer | Questions
-- column: abstained | integer | Abstained
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: An abstention counts as wrong; a failure is left out.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams, 4,000 times.
WITH
streams AS (
  SELECT
    label, length, structure, stream_id,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (prediction = 'abstain') AS abstained,
    count(*) FILTER (correct) AS correct
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'easyhuman-text' AND arm = 'none'
  GROUP BY ALL
),
cells AS (
  SELECT
    label, length, structure,
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
  SELECT label, length, structure, redrawn(weights, stream_correct) / redrawn(weights, stream_n) AS accuracy
  FROM cells JOIN bootstrap_weights((SELECT list(streams) FROM cells)) USING (streams)
),
bootstrap AS (
  SELECT label, length, structure, interval_95(accuracy) AS accuracy_bootstrap FROM replicates GROUP BY ALL
)
SELECT
  label, length, structure, streams, n, failed, abstained, correct,
  correct / nullif(n, 0) AS accuracy,
  wilson(correct, n) AS accuracy_wilson,
  accuracy_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, length, structure)
ORDER BY label, length, structure
