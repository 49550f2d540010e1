-- title: Prices of the models that have one
-- paper: Table 2
-- needs: no run at all
-- counts: nothing
-- reference: table2.csv
-- rows: label
-- column: label | text | Model
-- column: b | megaflops | B (MF/token)
-- column: a | kiloflops | A (kF/pair)
-- column: f_voc | megaflops | F_voc (MF)
-- column: b_text | megaflops | B without an image (MF/token)
-- column: context | integer | Context (tokens)
-- column: declared_in | text | Declared in
-- note: B is what one token costs to push through the layers without attention, A what one pair of query and key does,
--   F_voc the projection to the vocabulary. Phi-4-MM's adapters run only where an image is.
SELECT
  model AS label, b, a, f_voc, b_text, context,
  if(declared, 'your own file', 'Table 2') AS declared_in,
  config_sha256
FROM architectures
ORDER BY declared, place
