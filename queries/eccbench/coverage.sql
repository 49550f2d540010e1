-- title: Coverage under each arm
-- paper: Figure 6
-- needs: runs on text, rendered video or natural video, best under arms none, a and b
-- counts: benchmark = 'eccbench' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- expects: config = text; arm = a, b; length = 512, 1024
-- expects: config = video-sequential, video-spatial; arm = a, b; length = 8, 16
-- expects: config = natural; arm = a, b; length = 64, 128, 512
-- rows: subset, label, lengths, arm
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: arm | text | Arm
-- column: coverage | fraction | Coverage
-- column: coverage_wilson | fraction | 95 % interval / Wilson
-- column: coverage_bootstrap | fraction | 95 % interval / streams redrawn
-- column: n | integer | Questions
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Coverage is the share of questions that are answered and not declined; a failure is left out. Arm none is
--   the prompt without a payoff. Arms are not matched question by question here; in the table of calibration they are.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams (or clips), 4,000 times.
-- note: Rows are every length by itself, the lengths that the paper pools where all of them are there (512 and 1024 of
--   text, 8 and 16 of rendered video, whose two variants count together), and all lengths together.
WITH
-- a stream is shown under both variants of rendered video and is redrawn with the questions of both
streams AS (
  SELECT
    label, subset_rank, subset, any_value(pooled_lengths) AS pooled_lengths, arm, length, band,
    coalesce(replace(stream_id, '-' || variant, ''), stream_id) AS stream,
    sum(n) AS n,
    sum(failed) AS failed,
    sum(answered) AS answered
  FROM stream_counts JOIN paper_subsets USING (config, protocol)
  WHERE benchmark = 'eccbench' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
  GROUP BY label, subset_rank, subset, arm, length, band, stream
),
pools AS (
  SELECT
    label, subset, arm,
    unnest(pools(list(DISTINCT length ORDER BY length), any_value(pooled_lengths))) AS pool
  FROM streams
  WHERE n > 0
  GROUP BY label, subset, arm
),
pooled AS (SELECT * FROM streams JOIN pools USING (label, subset, arm) WHERE list_contains(pool, length)),
left_out AS (SELECT subset, label, pool, arm, sum(failed)::BIGINT AS failed FROM pooled GROUP BY ALL),
cells AS (
  SELECT
    subset_rank, subset, label, pool, arm,
    count(*) AS streams,
    sum(n)::BIGINT AS n,
    sum(answered)::BIGINT AS answered,
    bootstrap_share(answered, n) AS coverage_bootstrap
  FROM pooled
  WHERE n > 0
  GROUP BY subset_rank, subset, label, pool, arm
)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm, streams, n, failed, answered,
  answered / n AS coverage,
  wilson(answered, n) AS coverage_wilson,
  coverage_bootstrap
FROM cells JOIN left_out USING (subset, label, pool, arm)
ORDER BY subset_rank, label, len(pool), pool, arm = 'b', arm = 'a'
