-- title: Both arms' responses under one payoff, and whether what was dropped was harder
-- paper: Figure 7
-- needs: runs on text, rendered video or natural video under arm a and under arm b
-- counts: benchmark = 'eccbench' AND arm IN ('a', 'b')
--   AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- expects: config = text; arm = a, b; length = 512, 1024
-- expects: config = video-sequential, video-spatial; arm = a, b; length = 8, 16
-- expects: config = natural; arm = a, b; length = 64, 128, 512
-- rows: subset, label, lengths
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: payoff_a | signed | B's payoff / of A
-- column: payoff_b | signed | B's payoff / of B
-- column: gain | signed | B's payoff / B − A
-- column: gain_bootstrap | signed | B's payoff / 95 % interval
-- column: abstained_a | fraction | Abstained / arm A
-- column: abstained_b | fraction | Abstained / arm B
-- column: kept_accuracy | percent | A's acc. % / kept by B
-- column: declined_accuracy | percent | A's acc. % / declined
-- column: in_figure | text | In figure
-- column: payoff_a_under_a | signed | A's payoff / of A
-- column: payoff_b_under_a | signed | A's payoff / of B
-- column: gain_under_a | signed | A's payoff / A − B
-- column: gain_under_a_bootstrap | signed | A's payoff / 95 % interval
-- column: n | integer | n
-- column: failed | integer | Failed
-- column: unmatched | integer | In one arm only
-- bookkeeping: failed, unmatched
-- bold: payoff_a, payoff_b
-- note: Points a question. Under B's payoff: +1 for a right answer, −4 for a wrong one, 0 for declining; under A's: +3,
--   −1 and 0. Declining every question earns 0 under both. Of each payoff the difference is what responses of its own arm
--   earn above those of the other.
-- note: n counts questions answered or declined under both arms; one that failed under either, or was asked under one
--   alone, is left out. Arm A's accuracies are over the questions it answered: a model is selective where those that
--   arm B kept are the ones it got right.
-- note: The paper's figure has the models with at least 60 % on the questions they answered: here, under both arms.
-- note: Intervals redraw as many streams (or clips) as the cell has, with all their questions, 4,000 times.
-- note: Rows are every length by itself, the lengths that the paper pools where all of them are there (512 and 1024 of
--   text, 8 and 16 of rendered video, whose two variants count together), and all lengths together.
WITH
left_out AS (
  SELECT subset, label, pool, sum(failed)::BIGINT AS failed, sum(unmatched)::BIGINT AS unmatched
  FROM pooled_pairs
  GROUP BY ALL
),
cells AS (
  SELECT
    subset_rank, subset, label, pool,
    count(*) AS streams,
    sum(n)::BIGINT AS n,
    sum(answered_a)::BIGINT AS answered_a,
    sum(answered_b)::BIGINT AS answered_b,
    sum(right_a)::BIGINT AS right_a,
    sum(right_b)::BIGINT AS right_b,
    sum(kept)::BIGINT AS kept,
    sum(kept_right)::BIGINT AS kept_right,
    sum(declined)::BIGINT AS declined,
    sum(declined_right)::BIGINT AS declined_right,
    sum(a_paid_a)::BIGINT AS points_a_paid_a,
    sum(b_paid_a)::BIGINT AS points_b_paid_a,
    sum(a_paid_b)::BIGINT AS points_a_paid_b,
    sum(b_paid_b)::BIGINT AS points_b_paid_b,
    bootstrap_share(a_paid_a - b_paid_a, n) AS gain_under_a_bootstrap,
    bootstrap_share(b_paid_b - a_paid_b, n) AS gain_bootstrap
  FROM pooled_pairs
  WHERE n > 0
  GROUP BY subset_rank, subset, label, pool
)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  streams, n, failed, unmatched,
  1 - answered_a / n AS abstained_a,
  1 - answered_b / n AS abstained_b,
  right_a / nullif(answered_a, 0) AS accuracy_a,
  right_b / nullif(answered_b, 0) AS accuracy_b,
  kept, declined,
  kept_right / nullif(kept, 0) AS kept_accuracy,
  wilson(kept_right, kept) AS kept_accuracy_wilson,
  declined_right / nullif(declined, 0) AS declined_accuracy,
  wilson(declined_right, declined) AS declined_accuracy_wilson,
  points_a_paid_b / n AS payoff_a,
  points_b_paid_b / n AS payoff_b,
  (points_b_paid_b - points_a_paid_b) / n AS gain,
  gain_bootstrap,
  points_a_paid_a / n AS payoff_a_under_a,
  points_b_paid_a / n AS payoff_b_under_a,
  (points_a_paid_a - points_b_paid_a) / n AS gain_under_a,
  gain_under_a_bootstrap,
  CASE WHEN accuracy_a >= 0.6 AND accuracy_b >= 0.6 THEN 'yes' ELSE 'no' END AS in_figure
FROM cells JOIN left_out USING (subset, label, pool)
ORDER BY subset_rank, label, len(pool), pool
