-- title: Accuracy against stated confidence, bin by bin
-- needs: responses that state P(yes): reference memories do, served models with --option top_logprobs=20
-- counts: benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL
-- shown: no
-- rows: subset, label, lengths, arm, bins, bin
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: arm | text | Arm
-- column: bins | text | Bins
-- column: bin | integer | Bin
-- column: lowest | fraction | Confidence / lowest
-- column: highest | fraction | Confidence / highest
-- column: confidence | fraction | Confidence / mean
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: n | integer | n
-- note: A reliability diagram: on its diagonal confidence is what it says. Bins of equal width are (0, 1/15], …,
--   (14/15, 1], those of equal mass the most confident fifteenth of the answers and so on, equal confidences together.
--   What counts as an answer and its confidence is as in the table of confidence, whose ECE is made of these bins.
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm, bins, bin, lowest, highest,
  confidence / n AS confidence,
  n_right / n AS accuracy,
  wilson(n_right, n) AS accuracy_wilson,
  n
FROM confidence_bins JOIN confidence_cells USING (cell)
ORDER BY cell, bins DESC, bin
