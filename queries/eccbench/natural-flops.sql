-- title: Accuracy on natural video against FLOPs
-- paper: Figure 5
-- needs: a run on natural built with its densities measured (density=true) under arm none, of a model that has a price in FLOPs
-- counts: benchmark = 'eccbench' AND arm = 'none' AND config = 'natural'
--   AND length IN (64, 128, 512, 1024) AND priced
-- expects: length = 64, 128, 512, 1024; density_band = low, high
-- shown: no
-- rows: label, length, band
-- column: label | text | Model
-- column: length | integer | L
-- column: band | text | Band
-- column: flops | flops | FLOPs of a response, at most
-- column: accuracy | percent | Accuracy (%)
-- column: spent | percent | Responses spent (%)
-- column: is_end | text | End of the curve
-- column: n | integer | Questions
-- column: unpriced | integer | Without a price
-- note: A curve is the share of the cell's questions that are answered correctly as its responses are spent, the
--   cheapest first: of the responses that cost at most so many FLOPs, those that are right, over all questions. A wrong
--   answer or an abstention costs and gains nothing. FLOPs are those of one question a stream (B.3).
-- note: At most 200 points a curve, each exact, both ends among them; at the end stands the cell's accuracy.
-- note: Failures and responses without a price are left out.
SELECT label, length, band, flops, accuracy, spent, is_end, n, unpriced
FROM flops_curves
WHERE subset IN (SELECT subset FROM paper_subsets WHERE config = 'natural')
  AND length IN (64, 128, 512, 1024)
ORDER BY label, length, band, flops
