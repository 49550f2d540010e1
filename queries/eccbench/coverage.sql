-- title: Coverage under each arm, on text
-- paper: Figure 6, text
-- needs: runs on text under arm a and under arm b
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text'
-- expects: arm = a, b; length = 512, 1024
-- rows: label, lengths, arm
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
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams, 4,000 times.
-- note: Rows are every length by itself, 512 and 1024 together as in the paper, and all lengths together.
WITH
streams AS (
  SELECT
    label, arm, length, stream_id,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (prediction <> 'abstain') AS answered
  FROM responses
  WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text'
  GROUP BY ALL
),
lengths_there AS (
  SELECT label, arm, list(DISTINCT length ORDER BY length) AS lengths FROM streams WHERE n > 0 GROUP BY ALL
),
pooled_lengths AS (
  SELECT label, arm, pool, unnest(pool) AS length
  FROM (SELECT label, arm, unnest(pools(lengths, [512, 1024])) AS pool FROM lengths_there)
),
cells AS (
  SELECT
    label, arm, pool,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(answered)::BIGINT AS answered,
    count(*) FILTER (n > 0) AS streams,
    list(n::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_n,
    list(answered::DOUBLE ORDER BY length, stream_id) FILTER (n > 0) AS stream_answered
  FROM pooled_lengths JOIN streams USING (label, arm, length)
  GROUP BY label, arm, pool
),
replicates AS (
  SELECT label, arm, pool, redrawn(weights, stream_answered) / redrawn(weights, stream_n) AS coverage
  FROM cells JOIN bootstrap_weights((SELECT list(streams) FROM cells)) USING (streams)
),
bootstrap AS (SELECT label, arm, pool, interval_95(coverage) AS coverage_bootstrap FROM replicates GROUP BY ALL)
SELECT
  label,
  array_to_string(pool, ', ') AS lengths,
  arm, streams, n, failed, answered,
  answered / n AS coverage,
  wilson(answered, n) AS coverage_wilson,
  coverage_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, arm, pool)
ORDER BY label, len(pool), pool, arm = 'b', arm = 'a'
