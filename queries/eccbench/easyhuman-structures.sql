-- title: Accuracy on EasyHuman by structure
-- paper: Table 1, taken apart by the structures of A.2, every length
-- needs: a run on easyhuman-text or easyhuman-video under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('easyhuman-text', 'easyhuman-video')
-- expects: structure = repeating-pattern, counting-disruption
-- rows: label, subset, length, structure
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: structure | text | Structure
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: accuracy_bootstrap | percent | 95 % interval / streams redrawn
-- column: n | integer | Questions
-- column: abstained | integer | Abstained
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: An abstention counts as wrong; a failure is left out. Of video, each variant stands by itself.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams, 4,000 times.
WITH
streams AS (
  SELECT
    label, length, structure, n, failed, answered, correct,
    CASE config WHEN 'easyhuman-text' THEN 'text' ELSE 'video, ' || variant END AS subset
  FROM stream_counts
  WHERE benchmark = 'eccbench' AND arm = 'none' AND config IN ('easyhuman-text', 'easyhuman-video')
),
cells AS (
  SELECT
    label, subset, length, structure,
    count_if(n > 0) AS streams,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(n - answered)::BIGINT AS abstained,
    sum(correct)::BIGINT AS correct
  FROM streams
  GROUP BY label, subset, length, structure
),
bootstrap AS (
  SELECT label, subset, length, structure, bootstrap_share(correct, n) AS accuracy_bootstrap
  FROM streams
  WHERE n > 0
  GROUP BY label, subset, length, structure
)
SELECT
  label, subset, length, structure, streams, n, failed, abstained, correct,
  correct / nullif(n, 0) AS accuracy,
  wilson(correct, n) AS accuracy_wilson,
  accuracy_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, subset, length, structure)
ORDER BY label, subset, length, structure
