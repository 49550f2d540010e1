-- title: Both arms' responses under arm B's payoff, on text
-- paper: Figure 7
-- needs: runs on text under arm a and under arm b
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm IN ('a', 'b')
-- expects: arm = a, b; length = 512, 1024
-- rows: label, lengths
-- column: label | text | Model
-- column: lengths | text | L
-- column: payoff_a | signed | Payoff of B / arm A's responses
-- column: payoff_b | signed | Payoff of B / arm B's responses
-- column: gain | signed | Gain / B − A
-- column: gain_bootstrap | signed | Gain / 95 % interval
-- column: in_figure | text | In the figure
-- column: kept_accuracy | percent | Arm A's accuracy (%) / kept by B
-- column: declined_accuracy | percent | Arm A's accuracy (%) / declined by B
-- column: abstained_a | fraction | Abstained / arm A
-- column: abstained_b | fraction | Abstained / arm B
-- column: n | integer | n
-- column: failed | integer | Failed
-- column: unmatched | integer | In one arm only
-- bookkeeping: failed, unmatched
-- bold: payoff_a, payoff_b
-- note: Points a question: +1 for a right answer, −4 for a wrong one, 0 for declining; 0 is what declining every
--   question earns. n counts questions answered or declined under both arms; one that failed under either, or was
--   asked under one alone, is left out. Arm A's accuracies are over the questions it answered.
-- note: The paper's figure has the models with at least 60 % on the questions they answered: here, under both arms.
-- note: Intervals redraw as many streams as the cell has, with all their questions, 4,000 times.
-- note: Rows are every length by itself, 512 and 1024 together as in the paper, and all lengths together.
WITH
questions AS (
  SELECT
    label, length, stream_id, question_id,
    count(*) = 2 AS matched,
    bool_or(failed) AS failed,
    bool_or(prediction <> 'abstain') FILTER (arm = 'a') AS answered_a,
    bool_or(prediction <> 'abstain') FILTER (arm = 'b') AS answered_b,
    bool_or(correct) FILTER (arm = 'a') AS right_a,
    bool_or(correct) FILTER (arm = 'b') AS right_b
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm IN ('a', 'b')
  GROUP BY ALL
),
streams AS (
  SELECT
    label, length, stream_id,
    count(*) FILTER (matched AND NOT failed) AS n,
    count(*) FILTER (matched AND failed) AS failed,
    count(*) FILTER (NOT matched) AS unmatched,
    count(*) FILTER (matched AND NOT failed AND answered_a) AS answered_a,
    count(*) FILTER (matched AND NOT failed AND answered_b) AS answered_b,
    count(*) FILTER (matched AND NOT failed AND right_a) AS right_a,
    count(*) FILTER (matched AND NOT failed AND right_b) AS right_b,
    count(*) FILTER (matched AND NOT failed AND answered_a AND answered_b) AS kept,
    count(*) FILTER (matched AND NOT failed AND right_a AND answered_b) AS kept_right
  FROM questions
  GROUP BY ALL
),
paid AS (
  SELECT
    *,
    right_a - 4 * (answered_a - right_a) AS points_a,
    right_b - 4 * (answered_b - right_b) AS points_b
  FROM streams
),
lengths_there AS (
  SELECT label, list(DISTINCT length ORDER BY length) AS lengths FROM streams WHERE n > 0 GROUP BY label
),
pooled_lengths AS (
  SELECT label, pool, unnest(pool) AS length
  FROM (SELECT label, unnest(pools(lengths, [512, 1024])) AS pool FROM lengths_there)
),
cells AS (
  SELECT
    label, pool,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(unmatched)::BIGINT AS unmatched,
    sum(answered_a)::BIGINT AS answered_a,
    sum(answered_b)::BIGINT AS answered_b,
    sum(right_a)::BIGINT AS right_a,
    sum(right_b)::BIGINT AS right_b,
    sum(kept)::BIGINT AS kept,
    sum(kept_right)::BIGINT AS kept_right,
    sum(points_a)::BIGINT AS points_a,
    sum(points_b)::BIGINT AS points_b,
    count(*) FILTER (n > 0) AS streams,
    list(n::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_n,
    list((points_b - points_a)::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_gain
  FROM pooled_lengths JOIN paid USING (label, length)
  GROUP BY label, pool
),
replicates AS (
  SELECT label, pool, redrawn(weights, stream_gain) / redrawn(weights, stream_n) AS gain
  FROM cells JOIN bootstrap_weights((SELECT list(streams) FROM cells)) USING (streams)
),
bootstrap AS (SELECT label, pool, interval_95(gain) AS gain_bootstrap FROM replicates GROUP BY ALL)
SELECT
  label,
  array_to_string(pool, ', ') AS lengths,
  streams, n, failed, unmatched,
  1 - answered_a / n AS abstained_a,
  1 - answered_b / n AS abstained_b,
  right_a / nullif(answered_a, 0) AS accuracy_a,
  right_b / nullif(answered_b, 0) AS accuracy_b,
  kept_right / nullif(kept, 0) AS kept_accuracy,
  (right_a - kept_right) / nullif(answered_a - kept, 0) AS declined_accuracy,
  points_a / n AS payoff_a,
  points_b / n AS payoff_b,
  (points_b - points_a) / n AS gain,
  gain_bootstrap,
  CASE WHEN accuracy_a >= 0.6 AND accuracy_b >= 0.6 THEN 'yes' ELSE 'no' END AS in_figure
FROM cells LEFT JOIN bootstrap USING (label, pool)
ORDER BY label, len(pool), pool
