-- Coverage against accuracy on `tokens`, thinned: of token_confidences one row for each sixty-fourth of the coverage that
-- has any, the last in it, so that a curve has at most 64 points however many questions it is of. Thresholds that answer
-- less than a twentieth are left out, for the accuracy of a few questions is no more than luck.
SELECT *
FROM token_confidences
WHERE coverage >= 0.05
QUALIFY row_number() OVER (PARTITION BY label, length, band, ceil(coverage * 64) ORDER BY coverage DESC) = 1
