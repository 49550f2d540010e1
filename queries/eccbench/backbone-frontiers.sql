-- title: Pareto frontiers of coverage and accuracy within budgets of FLOPs
-- paper: Figures 8 and 10
-- needs: a run of the system backbone on tokens under arm none
-- counts: benchmark = 'eccbench' AND config = 'tokens' AND arm = 'none' AND system = 'backbone' AND probability IS NOT NULL
-- expects: band = low, max
-- shown: no
-- rows: length, band, budget, coverage
-- column: length | integer | L
-- column: band | text | Band
-- column: budget | integer | Budget, MFLOPs
-- column: coverage | percent | Coverage
-- column: accuracy | percent | Accuracy of what is answered
-- column: label | text | Backbone
-- column: flops | megaflops2 | MFLOPs
-- note: A point is on the frontier of its length, band and budget where no backbone within the budget is as accurate at
--   more coverage, or more accurate at as much. Budgets are those that Figure 10 names; a stream and one question count.
-- note: Points are those of the curves: at most 64 a backbone, none below a coverage of a twentieth.
WITH
budgets AS (SELECT unnest([1750, 10000, 30000]) AS budget),
affordable AS (
  SELECT budgets.budget, token_curves.*
  FROM token_curves JOIN budgets ON flops <= budget * 1e6
  WHERE architecture IS NOT NULL
),
-- from the widest coverage down: on the frontier is what is more accurate than all that covers more
ranked AS (
  SELECT
    *,
    max(accuracy) OVER (
      PARTITION BY length, band, budget ORDER BY coverage DESC, accuracy DESC, place, width, label
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS best_wider
  FROM affordable
)
SELECT
  length, band, budget, coverage, accuracy, label, architecture, width, legend,
  CASE WHEN width IN (64, 128) THEN 'D = ' || width ELSE 'other D' END AS shape,
  place,
  flops,
  confidence
FROM ranked
WHERE accuracy > coalesce(best_wider, -1)
ORDER BY length, band, budget, coverage
