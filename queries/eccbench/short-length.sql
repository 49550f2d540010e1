-- title: Short-length check on text
-- paper: Table 6, the column of text
-- needs: a run on text at L = 8, low band, under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
--   AND length = 8 AND band = 'low'
-- rows: label
-- column: label | text | Model
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval, Wilson
-- column: accuracy_swapped | percent | Accuracy with yes and no swapped (%)
-- column: n | integer | Questions
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: L = 8, low band. An abstention counts as wrong; a failure is left out. The cohort mean weighs models equally.
-- note: A model that scores high with the markers swapped reads the stream and writes the wrong marker.
WITH
models AS (
  SELECT
    label,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (correct) AS correct,
    count(*) FILTER (prediction IN ('yes', 'no') AND NOT correct) AS swapped
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
    AND length = 8 AND band = 'low'
  GROUP BY label
),
shares AS (
  SELECT
    label, n, failed, correct,
    correct / nullif(n, 0) AS accuracy,
    wilson(correct, n) AS accuracy_wilson,
    swapped / nullif(n, 0) AS accuracy_swapped,
    false AS is_mean
  FROM models
),
cohort AS (
  SELECT
    'Cohort mean' AS label,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(correct)::BIGINT AS correct,
    avg(accuracy) AS accuracy,
    NULL AS accuracy_wilson,
    avg(accuracy_swapped) AS accuracy_swapped,
    true AS is_mean
  FROM shares
  HAVING count(*) > 1
)
SELECT * EXCLUDE (is_mean)
FROM (FROM shares UNION ALL BY NAME FROM cohort)
ORDER BY is_mean, label
