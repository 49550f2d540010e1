-- title: Calibration under two payoffs, on text
-- paper: Table 10, synthetic text
-- needs: runs on text under arm a and under arm b
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text' AND arm IN ('a', 'b')
-- expects: arm = a, b; length = 512, 1024
-- rows: label, lengths
-- column: label | text | Model
-- column: lengths | text | L
-- column: coverage_a | fraction | Coverage / arm A
-- column: coverage_b | fraction | Coverage / arm B
-- column: accuracy_a | percent | Acc. % / arm A
-- column: accuracy_b | percent | Acc. % / arm B
-- column: gap | signed | Gap / size
-- column: gap_bootstrap | signed | Gap / 95 % interval
-- column: gap_p | p | Gap / p
-- column: responsiveness | signed | Responsiveness / A − B
-- column: responsiveness_bootstrap | signed | Responsiveness / 95 % interval
-- column: n | integer | n
-- column: declined | integer | Declined by B
-- column: failed | integer | Failed
-- column: unmatched | integer | In one arm only
-- bookkeeping: failed, unmatched
-- note: Accuracy is on the questions that were answered. n counts questions answered or declined under both arms;
--   one that failed under either, or was asked under one alone, is left out.
-- note: The gap is arm A's accuracy on the questions that arm B answered minus that on those arm B declined, among
--   the questions that arm A answered; shown where arm B declined at least five of them and kept one. p is
--   Fisher's exact test, one-sided: how likely a split at least this lopsided is if arm B declined without regard
--   to difficulty.
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
    count(*) FILTER (matched AND NOT failed AND right_a AND answered_b) AS kept_right,
    count(*) FILTER (matched AND NOT failed AND answered_a AND NOT answered_b) AS declined,
    count(*) FILTER (matched AND NOT failed AND right_a AND NOT answered_b) AS declined_right
  FROM questions
  GROUP BY ALL
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
    sum(declined)::BIGINT AS declined,
    sum(declined_right)::BIGINT AS declined_right,
    count(*) FILTER (n > 0) AS streams,
    list(n::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_n,
    list((answered_a - answered_b)::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_dropped,
    list(kept::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_kept,
    list(kept_right::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_kept_right,
    list(declined::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_declined,
    list(declined_right::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_declined_right
  FROM pooled_lengths JOIN streams USING (label, length)
  GROUP BY label, pool
),
replicates AS (
  SELECT
    label, pool,
    redrawn(weights, stream_dropped) / redrawn(weights, stream_n) AS responsiveness,
    redrawn(weights, stream_kept_right) / nullif(redrawn(weights, stream_kept), 0)
    - redrawn(weights, stream_declined_right) / nullif(redrawn(weights, stream_declined), 0) AS gap
  FROM cells JOIN bootstrap_weights((SELECT list(streams) FROM cells)) USING (streams)
),
bootstrap AS (
  SELECT
    label, pool,
    interval_95(responsiveness) AS responsiveness_bootstrap,
    interval_95(gap) AS gap_bootstrap,
    avg((gap <= 0)::INTEGER) AS gap_not_positive,
    count(*) - count(gap) AS gap_undefined
  FROM replicates
  GROUP BY ALL
),
measured AS (SELECT *, declined >= 5 AND kept > 0 AS gap_shown FROM cells LEFT JOIN bootstrap USING (label, pool))
SELECT
  label,
  array_to_string(pool, ', ') AS lengths,
  streams, n, failed, unmatched,
  answered_a / n AS coverage_a,
  answered_b / n AS coverage_b,
  right_a / nullif(answered_a, 0) AS accuracy_a,
  wilson(right_a, answered_a) AS accuracy_a_wilson,
  right_b / nullif(answered_b, 0) AS accuracy_b,
  wilson(right_b, answered_b) AS accuracy_b_wilson,
  coverage_a - coverage_b AS responsiveness,
  responsiveness_bootstrap,
  kept, kept_right, declined, declined_right,
  CASE WHEN gap_shown THEN kept_right / kept - declined_right / declined END AS gap,
  CASE WHEN gap_shown THEN
    fisher_one_sided(kept_right, kept - kept_right, declined_right, declined - declined_right)
  END AS gap_p,
  CASE WHEN gap_shown THEN gap_bootstrap END AS gap_bootstrap,
  -- the share of the redraws in which the gap vanishes, and how many had nothing kept or nothing declined
  CASE WHEN gap_shown THEN gap_not_positive END AS gap_not_positive,
  CASE WHEN gap_shown THEN gap_undefined END AS gap_undefined
FROM measured
ORDER BY label, len(pool), pool
