-- title: Accuracy on text at the paper's lengths
-- paper: Table 5, the columns of text
-- needs: a run on text at L = 512 or 1024 under arm none
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
--   AND length IN (512, 1024)
-- expects: length = 512, 1024; band = low, max
-- rows: label
-- column: label | text | Model
-- column: low_512 | percent | text, L = 512 / low
-- column: max_512 | percent | text, L = 512 / max
-- column: low_1024 | percent | text, L = 1024 / low
-- column: max_1024 | percent | text, L = 1024 / max
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy in percent. An abstention counts as wrong; a failure is left out.
SELECT
  label,
  count(*) FILTER (NOT failed) AS n,
  count(*) FILTER (failed) AS failed,
  avg(correct::INTEGER) FILTER (length = 512 AND band = 'low') AS low_512,
  avg(correct::INTEGER) FILTER (length = 512 AND band = 'max') AS max_512,
  avg(correct::INTEGER) FILTER (length = 1024 AND band = 'low') AS low_1024,
  avg(correct::INTEGER) FILTER (length = 1024 AND band = 'max') AS max_1024
FROM responses
WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm = 'none'
  AND length IN (512, 1024)
GROUP BY label
ORDER BY label
