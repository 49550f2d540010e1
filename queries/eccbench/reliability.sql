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
WITH sizes AS (SELECT cell, sum(n)::DOUBLE AS size FROM ranked_confidences GROUP BY cell)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm, bin.bins, bin.bin,
  min(lowest) AS lowest,
  max(highest) AS highest,
  exact_sum(n * ranked.confidence) / sum(n) AS confidence,
  sum(n_right) / sum(n) AS accuracy,
  wilson(sum(n_right)::BIGINT, sum(n)::BIGINT) AS accuracy_wilson,
  sum(n)::BIGINT AS n
FROM ranked_confidences AS ranked
JOIN sizes USING (cell)
JOIN confidence_cells USING (cell)
CROSS JOIN LATERAL (
  SELECT
    unnest(['equal width', 'equal mass']) AS bins,
    unnest([greatest(1, ceil(15 * ranked.confidence)), ceil(15 * covered / size)])::INTEGER AS bin
) AS bin
GROUP BY cell, subset, label, pool, arm, bin.bins, bin.bin
ORDER BY cell, bin.bins DESC, bin.bin
