-- title: FLOPs of the backbones, a stream and one question
-- paper: Table 12
-- needs: nothing: it is worked out from formulas
-- counts: nothing
-- reference: table12.csv
-- rows: architecture
-- column: architecture | text | Model
-- column: d64_2048 | megaflops2 | D = 64, MFLOPs / L = 2048
-- column: d64_4096 | megaflops2 | D = 64, MFLOPs / L = 4096
-- column: d128_2048 | megaflops2 | D = 128, MFLOPs / L = 2048
-- column: d128_4096 | megaflops2 | D = 128, MFLOPs / L = 4096
-- note: Multiply-adds count two FLOPs; what is elementwise is free. A question is one token after the stream.
SELECT
  architecture,
  any_value(flops) FILTER (width = 64 AND length = 2048) AS d64_2048,
  any_value(flops) FILTER (width = 64 AND length = 4096) AS d64_4096,
  any_value(flops) FILTER (width = 128 AND length = 2048) AS d128_2048,
  any_value(flops) FILTER (width = 128 AND length = 4096) AS d128_4096
FROM backbone_prices
GROUP BY architecture
ORDER BY any_value(place)
