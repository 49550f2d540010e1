-- title: How far stated confidence can be trusted
-- needs: responses that state P(yes): reference memories do, served models with --option top_logprobs=20
-- counts: benchmark = 'eccbench' AND NOT failed AND probability IS NOT NULL
-- rows: subset, label, lengths, arm
-- column: subset | text | Subset
-- column: label | text | Model
-- column: lengths | text | L
-- column: arm | text | Arm
-- column: ece | fraction | ECE / width
-- column: ece_mass | fraction | ECE / mass
-- column: aurc | fraction | AURC / area
-- column: aurc_excess | fraction | AURC / excess
-- column: brier | fraction | Brier / score
-- column: brier_bootstrap | fraction | Brier / 95 % interval
-- column: accuracy | percent | Acc. / %
-- column: confidence | percent | Conf. / %
-- column: overconfidence | points | Conf. − acc. / points
-- column: overconfidence_bootstrap | points | Conf. − acc. / 95 % interval
-- column: n | integer | n
-- column: unstated | integer | Without P(yes)
-- bookkeeping: unstated
-- note: All of it is of questions whose response states P(yes), declined ones among them: the answer is the one given or,
--   where the question was declined, the one that P(yes) favours, and its confidence P(yes) or P(no). Of a served model
--   P(yes) is what the marker of yes got beside that of no, at the token where the reply commits itself.
-- note: ECE is the expected calibration error: the mean distance of confidence and accuracy over 15 bins of confidences,
--   of equal width from 0 to 1, or of equal numbers of answers, where equal confidences stay together. Few answers make
--   it large by chance. The Brier score is the mean of (P(yes) − 1)² where yes is right and P(yes)² where it is not.
-- note: AURC is the area under the risk-coverage curve: the share of errors among the most confident k answers, averaged
--   over k = 1 … n, and over all orders of answers of equal confidence. The excess is what it has above that of an oracle,
--   which has all its errors at the end. Confidences count as equal where their log-odds agree to 1/1024.
-- note: Intervals redraw as many streams (or clips) as the cell has, with all their questions, 4,000 times.
-- note: Rows are every length by itself, and the lengths that the paper pools where all of them are there.
WITH
sizes AS (
  SELECT cell, sum(n)::DOUBLE AS n, sum(n_right)::DOUBLE AS n_right FROM ranked_confidences GROUP BY cell
),
errors AS (
  SELECT
    cell,
    exact_sum(CASE WHEN bins = 'equal width' THEN abs(confidence - n_right) / size END) AS ece,
    exact_sum(CASE WHEN bins = 'equal mass' THEN abs(confidence - n_right) / size END) AS ece_mass
  FROM confidence_bins
  GROUP BY cell
),
-- of an answer of m equally confident ones, after k others with e errors, the expected risk at k + 1 … k + m adds up to
-- q m + (e - q k) (H(k + m) - H(k)), with q the share of errors among the m and H the harmonic numbers
curves AS (
  SELECT
    cell,
    exact_sum((
      (ranked.n - ranked.n_right)
      + (covered - ranked.n - (covered_right - ranked.n_right) - (1 - ranked.n_right / ranked.n) * (covered - ranked.n))
      * CASE
        WHEN ranked.n = 1 THEN 1 / covered::DOUBLE ELSE harmonic(covered) - harmonic(covered - ranked.n)
      END
    ) / sizes.n) AS aurc
  FROM ranked_confidences AS ranked JOIN sizes USING (cell)
  GROUP BY cell
),
streams AS (
  SELECT
    cell,
    count(*) AS streams,
    exact_sum(confidence) AS confidence,
    exact_sum(squared_error) AS squared_error,
    bootstrap_share(confidence - n_right, n) AS overconfidence_bootstrap,
    bootstrap_share(squared_error, n) AS brier_bootstrap
  FROM confidence_streams
  WHERE n > 0
  GROUP BY cell
),
left_out AS (SELECT cell, sum(unstated)::BIGINT AS unstated FROM confidence_streams GROUP BY cell)
SELECT
  subset, label,
  array_to_string(pool, ', ') AS lengths,
  arm, streams,
  n::BIGINT AS n,
  unstated,
  n_right / n AS accuracy,
  streams.confidence / n AS confidence,
  ece, ece_mass,
  (streams.confidence - n_right) / n AS overconfidence,
  overconfidence_bootstrap,
  squared_error / n AS brier,
  brier_bootstrap,
  aurc,
  -- all n - n_right errors at the end of the order
  aurc - (n - n_right - n_right * (harmonic(n::BIGINT) - harmonic(n_right::BIGINT))) / n AS aurc_excess
FROM confidence_cells
JOIN sizes USING (cell)
JOIN errors USING (cell)
JOIN curves USING (cell)
JOIN streams USING (cell)
JOIN left_out USING (cell)
ORDER BY cell
