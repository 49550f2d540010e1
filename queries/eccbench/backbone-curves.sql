-- title: Coverage and accuracy of backbones and other memories
-- paper: Figures 8 and 10, each model's curve
-- needs: a run of the system backbone on tokens under arm none
-- counts: benchmark = 'eccbench' AND config = 'tokens' AND arm = 'none' AND probability IS NOT NULL
-- expects: band = low, max
-- shown: no
-- rows: label, length, band, coverage
-- column: label | text | Memory
-- column: length | integer | L
-- column: band | text | Band
-- column: coverage | percent | Coverage
-- column: accuracy | percent | Accuracy of what is answered
-- column: confidence | fraction4 | Threshold
-- column: flops | megaflops2 | MFLOPs
-- note: A question is answered where the confidence is at least the threshold. A curve has at most 64 points, and none
--   below a coverage of a twentieth.
SELECT
  label, length, band, coverage, accuracy, confidence, answered, correct, n,
  flops,
  architecture, width,
  coalesce(legend, label) AS legend,
  CASE WHEN architecture IS NULL THEN 'no backbone' WHEN width IN (64, 128) THEN 'D = ' || width ELSE 'other D' END AS shape,
  coalesce(place, 99) AS place
FROM token_curves
ORDER BY place, width, label, length, band, coverage
