-- Answers in fifteen bins by their confidence, as diagrams of reliability and expected calibration errors have them: one
-- row a cell (see confidence_cells), kind of bins and bin that has any. Bins are of equal width from 0 to 1, or of equal
-- numbers of answers, where equal confidences stay together.
--
-- size              answers of the cell
-- n, n_right        answers in the bin, and how many of them are right
-- confidence        the sum of their confidences; lowest and highest the least and the greatest of them
WITH
sizes AS (SELECT cell, sum(n)::DOUBLE AS size FROM ranked_confidences GROUP BY cell),
placed AS (
  SELECT
    ranked_confidences.*, size,
    greatest(1, ceil(15 * confidence))::INTEGER AS by_width,
    ceil(15 * covered / size)::INTEGER AS by_mass
  FROM ranked_confidences JOIN sizes USING (cell)
)
SELECT
  cell, any_value(size) AS size,
  'equal width' AS bins,
  by_width AS bin,
  sum(n)::BIGINT AS n,
  sum(n_right)::BIGINT AS n_right,
  exact_sum(n * confidence) AS confidence,
  min(lowest) AS lowest,
  max(highest) AS highest
FROM placed
GROUP BY cell, by_width
UNION ALL
SELECT
  cell, any_value(size) AS size,
  'equal mass' AS bins,
  by_mass AS bin,
  sum(n)::BIGINT AS n,
  sum(n_right)::BIGINT AS n_right,
  exact_sum(n * confidence) AS confidence,
  min(lowest) AS lowest,
  max(highest) AS highest
FROM placed
GROUP BY cell, by_mass
