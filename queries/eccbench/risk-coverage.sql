-- title: Risk and payoff against coverage, most confident answers first
-- needs: responses that state P(yes): reference memories do, served models with --option top_logprobs=20
-- counts: benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL
-- shown: no
-- rows: subset, label, lengths, arm, coverage
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: arm | text | Arm
-- column: coverage | fraction | Coverage
-- column: threshold | fraction | Confidence
-- column: risk | fraction | Risk
-- column: risk_oracle | fraction | Risk / oracle
-- column: payoff | signed | Payoff
-- column: n | integer | Answered
-- note: At each coverage the share of errors among the answers of at least that confidence, what they would earn by the
--   arm's payoff for each question asked, and the risk if all errors came last. What counts as an answer and its
--   confidence is as in the table of confidence.
-- note: At most a hundred points a curve, each a real one: of every hundredth of coverage the last, where confidences
--   change. Between two of them the risk runs straight only if all between are equally confident.
WITH
sizes AS (SELECT cell, sum(n)::DOUBLE AS size, sum(n_right) AS size_right FROM ranked_confidences GROUP BY cell),
points AS (
  SELECT cell, size, size_right, max({covered: covered, covered_right: covered_right, lowest: lowest}) AS last
  FROM ranked_confidences JOIN sizes USING (cell)
  GROUP BY cell, size, size_right, ceil(100 * covered / size)
)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm,
  last.covered / size AS coverage,
  last.lowest AS threshold,
  1 - last.covered_right / last.covered AS risk,
  greatest(0, last.covered - size_right) / last.covered AS risk_oracle,
  (reward * last.covered_right - cost * (last.covered - last.covered_right)) / size AS payoff,
  last.covered AS n
FROM points JOIN confidence_cells USING (cell)
ORDER BY cell, coverage
