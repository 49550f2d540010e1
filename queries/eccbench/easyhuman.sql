-- title: Accuracy on EasyHuman text
-- paper: Table 1, the columns of text
-- needs: a run on easyhuman-text under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'easyhuman-text' AND arm = 'none'
--   AND length IN (256, 1024)
-- expects: length = 256, 1024
-- rows: label
-- column: label | text | Model
-- column: accuracy_256 | percent | Text, L = 256 / accuracy
-- column: accuracy_256_wilson | percent | Text, L = 256 / 95 % Wilson
-- column: accuracy_1024 | percent | Text, L = 1024 / accuracy
-- column: accuracy_1024_wilson | percent | Text, L = 1024 / 95 % Wilson
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy in percent. An abstention counts as wrong; a failure is left out.
WITH
models AS (
  SELECT
    label,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (length = 256 AND NOT failed) AS n_256,
    count(*) FILTER (length = 256 AND correct) AS correct_256,
    count(*) FILTER (length = 1024 AND NOT failed) AS n_1024,
    count(*) FILTER (length = 1024 AND correct) AS correct_1024
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'easyhuman-text' AND arm = 'none'
    AND length IN (256, 1024)
  GROUP BY label
)
SELECT
  label, n_256, n_1024, failed,
  correct_256 / nullif(n_256, 0) AS accuracy_256,
  wilson(correct_256, n_256) AS accuracy_256_wilson,
  correct_1024 / nullif(n_1024, 0) AS accuracy_1024,
  wilson(correct_1024, n_1024) AS accuracy_1024_wilson
FROM models
ORDER BY label
