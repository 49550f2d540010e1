-- title: Abstentions by kind
-- paper: the three ways to abstain of B.8
-- needs: a run on text, rendered video or natural video
-- counts: benchmark = 'eccbench' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- expects: arm = none, a, b
-- rows: subset, label, length, arm
-- column: subset | text | Subset
-- column: label | text | Model
-- column: length | integer | L
-- column: arm | text | Arm
-- column: n | integer | Questions
-- column: abstained | integer | Abstained / all
-- column: explicit | integer | Abstained / explicit
-- column: format | integer | Abstained / format
-- column: overflow | integer | Abstained / overflow
-- column: abstained_share | fraction | Abstained / share
-- column: explicit_share | fraction | Of the abstained / explicit
-- column: format_share | fraction | Of the abstained / format
-- column: overflow_share | fraction | Of the abstained / overflow
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Explicit: the marker for it. Format: no marker. Overflow: the token limit came before a marker. A failure is
--   left out. The two variants of rendered video count together.
SELECT
  subset, label, length, arm,
  sum(n)::BIGINT AS n,
  sum(stream_counts.failed)::BIGINT AS failed,
  sum(explicit + format + overflow)::BIGINT AS abstained,
  sum(explicit)::BIGINT AS explicit,
  sum(format)::BIGINT AS format,
  sum(overflow)::BIGINT AS overflow,
  abstained / nullif(sum(n), 0) AS abstained_share,
  sum(explicit) / nullif(abstained, 0) AS explicit_share,
  sum(format) / nullif(abstained, 0) AS format_share,
  sum(overflow) / nullif(abstained, 0) AS overflow_share
FROM stream_counts JOIN paper_subsets USING (config, protocol)
WHERE benchmark = 'eccbench' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
GROUP BY subset_rank, subset, label, length, arm
ORDER BY subset_rank, label, length, arm = 'b', arm = 'a'
