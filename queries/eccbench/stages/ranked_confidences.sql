-- Answers in the order of their confidence: one row a cell (see confidence_cells) and level of confidence that occurs in
-- it. Confidences are of one level where their log-odds agree to 1/1024: finer than what a served model's 16-bit logits
-- tell apart, and a bounded number of levels for any number of answers.
--
-- n, n_right              answers of this level, and how many of them are right
-- confidence, lowest, highest    the mean of their confidences, the least and the greatest of them
-- covered, covered_right  answers of this level or a higher one
WITH
-- what is the same in all responses of a run goes by a number, which is counted by in half the time
parts AS (
  SELECT run_id, label, coalesce(subset, config) AS subset, dense_rank() OVER (ORDER BY label, coalesce(subset, config)) AS part
  FROM runs LEFT JOIN paper_subsets USING (config, protocol)
),
answers AS (
  SELECT
    part, arm, length,
    confidence_of(prediction, probability) AS confidence,
    greatest(1e-12, least(1 - 1e-12, confidence)) AS inside,
    favours_yes(prediction, probability) = (answer = 'yes') AS is_right
  FROM responses JOIN (FROM parts SELECT run_id, part) USING (run_id)
  WHERE benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL
),
-- summed as whole numbers: sums of fractions depend on their order, which many threads do not keep
levels AS (
  SELECT
    part, arm, length,
    round(1024 * ln(inside / (1 - inside)))::INTEGER AS level,
    count(*) AS n,
    count(*) FILTER (is_right) AS n_right,
    sum(round(1e12 * confidence)::BIGINT) AS sum_confidence,
    min(confidence) AS lowest,
    max(confidence) AS highest
  FROM answers
  GROUP BY ALL
),
cells AS (
  SELECT part, arm, unnest(pool) AS length, cell
  FROM confidence_cells JOIN (SELECT DISTINCT label, subset, part FROM parts) USING (label, subset)
),
pooled AS (
  SELECT
    cell, level,
    sum(n)::BIGINT AS n,
    sum(n_right)::BIGINT AS n_right,
    sum(sum_confidence)::DOUBLE / 1e12 / sum(n)::DOUBLE AS confidence,
    min(lowest) AS lowest,
    max(highest) AS highest
  FROM levels JOIN cells USING (part, arm, length)
  GROUP BY cell, level
)
SELECT
  * EXCLUDE (level),
  (sum(n) OVER falling)::BIGINT AS covered,
  (sum(n_right) OVER falling)::BIGINT AS covered_right
FROM pooled
WINDOW falling AS (PARTITION BY cell ORDER BY level DESC ROWS UNBOUNDED PRECEDING)
