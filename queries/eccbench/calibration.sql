-- title: Calibration under two payoffs
-- paper: Table 10
-- reference: table10.csv
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
-- column: coverage_a | fraction | Coverage / arm A
-- column: coverage_b | fraction | Coverage / arm B
-- column: accuracy_a | percent | Acc. % / arm A
-- column: accuracy_b | percent | Acc. % / arm B
-- column: gap | signed | Gap / size
-- column: gap_p | p | Gap / p
-- column: gap_bootstrap | signed | Gap / 95 % interval
-- column: gap_not_positive | p | Gap / redrawn ≤ 0
-- column: responsiveness | signed | Responsiveness / A − B
-- column: responsiveness_bootstrap | signed | Responsiveness / 95 % interval
-- column: n | integer | n
-- column: declined | integer | Declined by B
-- column: failed | integer | Failed
-- column: unmatched | integer | In one arm only
-- bookkeeping: failed, unmatched
-- note: Arms are matched question by question. n counts questions answered or declined under both; one that failed
--   under either, or was asked under one alone, is left out. Accuracy is on the questions that were answered.
-- note: The gap is arm A's accuracy on the questions that arm B answered minus that on those arm B declined, among
--   the questions that arm A answered; shown where arm B declined at least five of them and kept one. p is
--   Fisher's exact test, one-sided: how likely a split at least this lopsided is if arm B declined without regard
--   to difficulty.
-- note: Intervals redraw as many streams (or clips) as the cell has, with all their questions, 4,000 times; so does the
--   share of the redraws in which the gap is at most 0.
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
    sum(kept) > 0 AND sum(declined) >= 5 AS gap_shown,
    bootstrap_share(answered_a, n) AS coverage_a_bootstrap,
    bootstrap_share(answered_b, n) AS coverage_b_bootstrap,
    bootstrap_share(right_a, answered_a) AS accuracy_a_bootstrap,
    bootstrap_share(right_b, answered_b) AS accuracy_b_bootstrap,
    bootstrap_share(answered_a - answered_b, n) AS responsiveness_bootstrap,
    bootstrap_difference(kept_right, kept, declined_right, declined) AS gap_bootstrap,
    bootstrap_chance(kept_right, kept, declined_right, declined) AS gap_chance
  FROM pooled_pairs
  WHERE n > 0
  GROUP BY subset_rank, subset, label, pool
)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  streams, n, failed, unmatched,
  answered_a / n AS coverage_a,
  coverage_a_bootstrap,
  answered_b / n AS coverage_b,
  coverage_b_bootstrap,
  right_a / nullif(answered_a, 0) AS accuracy_a,
  accuracy_a_bootstrap,
  wilson(right_a, answered_a) AS accuracy_a_wilson,
  right_b / nullif(answered_b, 0) AS accuracy_b,
  accuracy_b_bootstrap,
  wilson(right_b, answered_b) AS accuracy_b_wilson,
  coverage_a - coverage_b AS responsiveness,
  responsiveness_bootstrap,
  kept, kept_right, declined, declined_right,
  CASE WHEN gap_shown THEN kept_right / kept - declined_right / declined END AS gap,
  CASE WHEN gap_shown THEN
    fisher_one_sided(kept_right, kept - kept_right, declined_right, declined - declined_right)
  END AS gap_p,
  -- a p-value has no interval, and without one is not held against the printed one
  NULL::STRUCT(low DOUBLE, high DOUBLE) AS gap_p_bootstrap,
  CASE WHEN gap_shown THEN gap_bootstrap END AS gap_bootstrap,
  -- the share of the redraws in which the gap vanishes, and how many had nothing kept or nothing declined
  CASE WHEN gap_shown THEN gap_chance.not_positive END AS gap_not_positive,
  CASE WHEN gap_shown THEN gap_chance.undefined END AS gap_undefined
FROM cells JOIN left_out USING (subset, label, pool)
ORDER BY subset_rank, label, len(pool), pool
