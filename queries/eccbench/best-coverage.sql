-- title: The coverage that would have earned most
-- needs: runs under arm a or b whose responses state P(yes): reference memories do, served models with
--   --option top_logprobs=20
-- counts: benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL AND arm IN ('a', 'b')
-- rows: subset, label, lengths, arm
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: arm | text | Arm
-- column: coverage | fraction | Coverage / own
-- column: coverage_best | fraction | Coverage / best
-- column: payoff | signed | Payoff / own
-- column: payoff_best | signed | Payoff / best
-- column: payoff_bootstrap | signed | Payoff / own, 95 %
-- column: threshold | fraction | Threshold / arm's
-- column: threshold_best | fraction | Threshold / best
-- column: n | integer | n
-- note: Best is where answering the most confident questions alone would have earned most by the arm's payoff, in points
--   a question, and the threshold the least confidence among them. It is found on these very questions: what a perfect
--   choice of the threshold would be worth, and not what one set beforehand is. Declining every question earns 0.
-- note: The arm's own threshold is λ / (1 + λ), the confidence above which an answer is worth its risk.
-- note: What counts as a confidence, and of which questions, is as in the table of confidence.
-- note: Intervals redraw as many streams (or clips) as the cell has, with all their questions, 4,000 times.
-- note: Rows are every length by itself, and the lengths that the paper pools where all of them are there.
WITH
-- of several coverages that earn the same, the least
curves AS (
  SELECT
    cell,
    max({
      points: reward * covered_right - cost * (covered - covered_right), uncovered: -covered, threshold: lowest
    }) AS best
  FROM ranked_confidences JOIN confidence_cells USING (cell)
  WHERE arm IN ('a', 'b')
  GROUP BY cell
),
streams AS (
  SELECT
    cell,
    count(*) AS streams,
    sum(n)::BIGINT AS n,
    sum(answered)::BIGINT AS answered,
    sum(points) AS points,
    bootstrap_share(points, n) AS payoff_bootstrap
  FROM confidence_streams
  WHERE n > 0
  GROUP BY cell
)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm, streams, n,
  answered / n AS coverage,
  CASE WHEN best.points > 0 THEN -best.uncovered / n ELSE 0 END AS coverage_best,
  points / n AS payoff,
  payoff_bootstrap,
  greatest(best.points, 0) / n AS payoff_best,
  cost / (reward + cost) AS threshold,
  CASE WHEN best.points > 0 THEN best.threshold END AS threshold_best
FROM confidence_cells
JOIN curves USING (cell)
JOIN streams USING (cell)
ORDER BY cell
