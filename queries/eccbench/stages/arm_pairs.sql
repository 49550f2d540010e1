-- Arm A and arm B of one model on the same questions, matched question by question and counted a stream (B.8): one row
-- a label, config and stream, for all that compares the two arms. What a stream is, what is NULL and when this is made:
-- see stream_counts.
--
-- unmatched  questions asked under one of the two arms alone
-- failed     questions asked under both, of which a response is a failure
-- n          the others: answered or declined under both. All further counts are of these.
-- answered_a, answered_b, right_a, right_b        under each arm
-- explicit_…, format_…, overflow_…                abstained under each arm, by kind
-- kept, kept_right          answered under A, and under B too; right under A
-- declined, declined_right  answered under A, and declined under B; right under A
-- declined_explicit, declined_format, declined_overflow    declined, by the kind of B's abstention
-- a_paid_a, b_paid_a        points of arm A's and arm B's responses under payoff A (+3, -1, 0)
-- a_paid_b, b_paid_b        the same under payoff B (+1, -4, 0)
WITH
pairs AS (
  SELECT run_id, label, benchmark, config, protocol, dense_rank() OVER (ORDER BY label, benchmark, config, protocol) AS pair
  FROM runs
),
-- Millions of questions are matched by short keys: numbers instead of names. That two of one label and stream get the
-- same one of 2^64 happens once in a hundred thousand million such tables.
outcomes AS (
  SELECT
    pair,
    hash(coalesce(stream_id, clip_id)) AS stream,
    hash(question_id) AS question,
    arm = 'a' AS is_a,
    -- right, wrong, abstained explicitly, by format, by overflow, failed
    CASE
      WHEN failed THEN 6
      WHEN correct THEN 1
      WHEN abstention IS NULL THEN 2
      WHEN abstention = 'explicit' THEN 3
      WHEN abstention = 'format' THEN 4
      ELSE 5
    END::UTINYINT AS outcome
  FROM responses JOIN (FROM pairs SELECT run_id, pair) USING (run_id)
  WHERE benchmark = 'eccbench' AND arm IN ('a', 'b')
),
questions AS (
  SELECT
    pair, stream, question,
    max(outcome) FILTER (is_a) AS a,
    max(outcome) FILTER (NOT is_a) AS b,
    a IS NOT NULL AND b IS NOT NULL AS matched,
    matched AND a < 6 AND b < 6 AS counts,
    counts AND a <= 2 AS answers_a,
    counts AND b <= 2 AS answers_b
  FROM outcomes
  GROUP BY pair, stream, question
),
counted AS (
  SELECT
    pair, stream,
    (count(*) FILTER (NOT matched))::INTEGER AS unmatched,
    (count(*) FILTER (matched AND NOT counts))::INTEGER AS failed,
    (count(*) FILTER (counts))::INTEGER AS n,
    (count(*) FILTER (answers_a))::INTEGER AS answered_a,
    (count(*) FILTER (answers_b))::INTEGER AS answered_b,
    (count(*) FILTER (counts AND a = 1))::INTEGER AS right_a,
    (count(*) FILTER (counts AND b = 1))::INTEGER AS right_b,
    (count(*) FILTER (counts AND a = 3))::INTEGER AS explicit_a,
    (count(*) FILTER (counts AND a = 4))::INTEGER AS format_a,
    (count(*) FILTER (counts AND a = 5))::INTEGER AS overflow_a,
    (count(*) FILTER (counts AND b = 3))::INTEGER AS explicit_b,
    (count(*) FILTER (counts AND b = 4))::INTEGER AS format_b,
    (count(*) FILTER (counts AND b = 5))::INTEGER AS overflow_b,
    (count(*) FILTER (answers_a AND answers_b))::INTEGER AS kept,
    (count(*) FILTER (answers_b AND a = 1))::INTEGER AS kept_right,
    (count(*) FILTER (answers_a AND NOT answers_b))::INTEGER AS declined,
    (count(*) FILTER (answers_a AND NOT answers_b AND a = 1))::INTEGER AS declined_right,
    (count(*) FILTER (answers_a AND b = 3))::INTEGER AS declined_explicit,
    (count(*) FILTER (answers_a AND b = 4))::INTEGER AS declined_format,
    (count(*) FILTER (answers_a AND b = 5))::INTEGER AS declined_overflow
  FROM questions
  GROUP BY pair, stream
),
streams AS (
  SELECT
    pair, variant, structure, length, band, stream_id, label, benchmark, config, protocol,
    hash(stream_id) AS stream
  FROM stream_counts
  JOIN (FROM pairs SELECT DISTINCT pair, label, benchmark, config, protocol) USING (label, benchmark, config, protocol)
  WHERE arm IN ('a', 'b')
  GROUP BY ALL
)
SELECT
  label, benchmark, config, protocol, variant, structure, length, band, stream_id, counted.* EXCLUDE (pair, stream),
  3 * right_a - (answered_a - right_a) AS a_paid_a,
  3 * right_b - (answered_b - right_b) AS b_paid_a,
  right_a - 4 * (answered_a - right_a) AS a_paid_b,
  right_b - 4 * (answered_b - right_b) AS b_paid_b
FROM counted JOIN streams USING (pair, stream)
