-- title: Abstentions by kind, on text
-- paper: the three ways to abstain of B.8
-- needs: a run on text
-- counts: benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text'
-- expects: arm = none, a, b
-- rows: label, length, arm
-- column: label | text | Model
-- column: length | integer | L
-- column: arm | text | Arm
-- column: n | integer | Questions
-- column: abstained | integer | Abstained / all
-- column: explicit | integer | Abstained / explicit
-- column: format | integer | Abstained / format
-- column: overflow | integer | Abstained / overflow
-- column: abstained_share | fraction | Abstained / share
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Explicit: the marker for it. Format: no marker. Overflow: the token limit came before a marker. A failure is
--   left out.
SELECT
  label, length, arm,
  count(*) FILTER (NOT failed) AS n,
  count(*) FILTER (failed) AS failed,
  count(*) FILTER (prediction = 'abstain') AS abstained,
  count(*) FILTER (abstention = 'explicit') AS explicit,
  count(*) FILTER (abstention = 'format') AS format,
  count(*) FILTER (abstention = 'overflow') AS overflow,
  abstained / nullif(n, 0) AS abstained_share
FROM responses
WHERE benchmark = 'eccbench' AND protocol = 'membership' AND config = 'text'
GROUP BY label, length, arm
ORDER BY label, length, arm = 'b', arm = 'a'
