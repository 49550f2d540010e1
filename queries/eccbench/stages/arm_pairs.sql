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
questions AS (
  SELECT
    label, benchmark, config, protocol, variant, structure, length,
    coalesce(band, density_band) AS band,
    coalesce(stream_id, clip_id) AS stream_id,
    question_id,
    count(*) = 2 AS matched,
    bool_or(failed) AS failed,
    bool_or(prediction <> 'abstain') FILTER (arm = 'a') AS answered_a,
    bool_or(prediction <> 'abstain') FILTER (arm = 'b') AS answered_b,
    bool_or(correct) FILTER (arm = 'a') AS right_a,
    bool_or(correct) FILTER (arm = 'b') AS right_b,
    any_value(abstention) FILTER (arm = 'a') AS abstention_a,
    any_value(abstention) FILTER (arm = 'b') AS abstention_b
  FROM responses
  WHERE benchmark = 'eccbench' AND arm IN ('a', 'b')
  GROUP BY ALL
),
counted AS (
  SELECT
    label, benchmark, config, protocol, variant, structure, length, band, stream_id,
    (count(*) FILTER (NOT matched))::INTEGER AS unmatched,
    (count(*) FILTER (matched AND failed))::INTEGER AS failed,
    (count(*) FILTER (matched AND NOT failed))::INTEGER AS n,
    (count(*) FILTER (matched AND NOT failed AND answered_a))::INTEGER AS answered_a,
    (count(*) FILTER (matched AND NOT failed AND answered_b))::INTEGER AS answered_b,
    (count(*) FILTER (matched AND NOT failed AND right_a))::INTEGER AS right_a,
    (count(*) FILTER (matched AND NOT failed AND right_b))::INTEGER AS right_b,
    (count(*) FILTER (matched AND NOT failed AND abstention_a = 'explicit'))::INTEGER AS explicit_a,
    (count(*) FILTER (matched AND NOT failed AND abstention_a = 'format'))::INTEGER AS format_a,
    (count(*) FILTER (matched AND NOT failed AND abstention_a = 'overflow'))::INTEGER AS overflow_a,
    (count(*) FILTER (matched AND NOT failed AND abstention_b = 'explicit'))::INTEGER AS explicit_b,
    (count(*) FILTER (matched AND NOT failed AND abstention_b = 'format'))::INTEGER AS format_b,
    (count(*) FILTER (matched AND NOT failed AND abstention_b = 'overflow'))::INTEGER AS overflow_b,
    (count(*) FILTER (matched AND NOT failed AND answered_a AND answered_b))::INTEGER AS kept,
    (count(*) FILTER (matched AND NOT failed AND right_a AND answered_b))::INTEGER AS kept_right,
    (count(*) FILTER (matched AND NOT failed AND answered_a AND NOT answered_b))::INTEGER AS declined,
    (count(*) FILTER (matched AND NOT failed AND right_a AND NOT answered_b))::INTEGER AS declined_right,
    (count(*) FILTER (matched AND NOT failed AND answered_a AND abstention_b = 'explicit'))::INTEGER AS declined_explicit,
    (count(*) FILTER (matched AND NOT failed AND answered_a AND abstention_b = 'format'))::INTEGER AS declined_format,
    (count(*) FILTER (matched AND NOT failed AND answered_a AND abstention_b = 'overflow'))::INTEGER AS declined_overflow
  FROM questions
  GROUP BY ALL
)
SELECT
  *,
  3 * right_a - (answered_a - right_a) AS a_paid_a,
  3 * right_b - (answered_b - right_b) AS b_paid_a,
  right_a - 4 * (answered_a - right_a) AS a_paid_b,
  right_b - 4 * (answered_b - right_b) AS b_paid_b
FROM counted
