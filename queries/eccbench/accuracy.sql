-- title: Accuracy by length and band
-- paper: Capacity (Section 3), Figures 3, 4 and 5 and Tables 5 and 8, every length
-- needs: a run on text, synthetic video or natural video under arm none
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config IN ('text', 'video-sequential', 'video-spatial', 'natural')
-- rows: label, subset, length, band
-- column: label | text | Model
-- column: subset | text | Subset
-- column: length | integer | L
-- column: band | text | Band
-- column: accuracy | percent | Accuracy (%)
-- column: accuracy_wilson | percent | 95 % interval / Wilson
-- column: accuracy_bootstrap | percent | 95 % interval / streams redrawn
-- column: balanced | percent | Balanced accuracy / %
-- column: balanced_bootstrap | percent | Balanced accuracy / 95 % interval
-- column: n | integer | Questions
-- column: abstained | integer | Abstained
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: Accuracy on the max band is the capacity. An abstention counts as wrong; a failure is left out.
-- note: Balanced accuracy weighs questions whose answer is yes as much as those whose answer is no.
-- note: Synthetic video without a variant is both of them, weighted equally; it takes a run on each.
-- note: Natural video has the bands of its density, and no band where that was not measured.
-- note: Wilson's interval takes questions as independent; the other one redraws whole streams (or clips), 4,000 times.
WITH
cells AS (
  SELECT
    label, subset, length, band,
    count_if(n > 0) AS streams,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(n - answered)::BIGINT AS abstained,
    sum(correct)::BIGINT AS correct,
    (sum(correct_1) / nullif(sum(n_1), 0) + sum(correct_2) / nullif(sum(n_2), 0)) / 2 AS accuracy,
    (sum(correct_yes) / nullif(sum(n_yes), 0) + sum(correct - correct_yes) / nullif(sum(n - n_yes), 0)) / 2 AS balanced
  FROM subset_streams
  GROUP BY label, subset, length, band
  HAVING bool_or(sequential) AND bool_or(spatial)
),
bootstrap AS (
  SELECT
    label, subset, length, band,
    bootstrap_mean(correct_1, n_1, correct_2, n_2) AS accuracy_bootstrap,
    bootstrap_mean(correct_yes, n_yes, correct - correct_yes, n - n_yes) AS balanced_bootstrap
  FROM subset_streams
  WHERE n > 0
  GROUP BY ALL
)
SELECT
  label, subset, length, band, streams, n, failed, abstained, correct, accuracy,
  wilson(accuracy * n, n) AS accuracy_wilson,
  accuracy_bootstrap, balanced, balanced_bootstrap
FROM cells LEFT JOIN bootstrap USING (label, subset, length, band)
ORDER BY label, subset, length, band
