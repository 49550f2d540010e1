-- Answers to the streams of `tokens` by confidence, for coverage against accuracy: one row a label, length, band and
-- confidence, from the most confident on. Only responses that state P(yes) under arm none: there nothing is declined, so a
-- threshold on the confidence decides what is answered.
--
-- confidence  P(yes) or P(no), whichever is higher, to twelve decimals; a tie of the two is a yes
-- answered    questions whose confidence is at least that high
-- correct     those of them that are right
-- n           all questions
-- architecture, width, legend, place  of a backbone; NULL of any other memory
-- flops       of a stream and one question
WITH
stated AS (
  SELECT
    label, length, band, flops,
    CASE WHEN system = 'backbone' THEN regexp_extract(model, '^(.*), D=([0-9]+)', 1) END AS architecture,
    CASE WHEN system = 'backbone' THEN regexp_extract(model, '^(.*), D=([0-9]+)', 2)::INTEGER END AS width,
    round(greatest(probability, 1 - probability), 12) AS confidence,
    (probability >= 0.5) = (answer = 'yes') AS is_right
  FROM responses
  WHERE benchmark = 'eccbench' AND config = 'tokens' AND arm = 'none' AND NOT failed AND probability IS NOT NULL
),
tied AS (
  SELECT
    label, length, band, any_value(architecture) AS architecture, any_value(width) AS width, any_value(flops) AS flops,
    confidence, count(*) AS questions, count(*) FILTER (is_right) AS right_ones
  FROM stated
  GROUP BY label, length, band, confidence
)
SELECT
  label, length, band, tied.architecture, width, legend, place, flops, confidence,
  (sum(questions) OVER down)::BIGINT AS answered,
  (sum(right_ones) OVER down)::BIGINT AS correct,
  (sum(questions) OVER (PARTITION BY label, length, band))::BIGINT AS n,
  answered / n AS coverage,
  correct / answered AS accuracy
FROM tied LEFT JOIN backbone_names USING (architecture)
WINDOW down AS (PARTITION BY label, length, band ORDER BY confidence DESC)
