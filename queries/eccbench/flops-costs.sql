-- title: What reading and writing 64 frames costs
-- paper: Table 3
-- needs: no run at all
-- counts: nothing
-- reference: table3.csv
-- rows: label
-- column: label | text | Model
-- column: n_text | integer | Synthetic text / N
-- column: prefill_text | teraflops | Synthetic text / F_pre (TF)
-- column: decode_text | gigaflops | Synthetic text / F_dec (GF)
-- column: n_synthetic | integer | Synthetic video, 448² / N
-- column: prefill_synthetic | teraflops | Synthetic video, 448² / F_pre (TF)
-- column: decode_synthetic | gigaflops | Synthetic video, 448² / F_dec (GF)
-- column: vision_synthetic | teraflops | Synthetic video, 448² / F_vis + F_conn (TF)
-- column: n_natural | integer | Natural video, 640×360 / N
-- column: prefill_natural | teraflops | Natural video, 640×360 / F_pre (TF)
-- column: decode_natural | gigaflops | Natural video, 640×360 / F_dec (GF)
-- column: vision_natural | teraflops | Natural video, 640×360 / F_vis + F_conn (TF)
-- note: For 64 symbols or frames and an answer of three tokens, with 128 tokens of text beside video and none beside
--   symbols. F_pre is the language model's reading alone; the tower and the connector, which write too, stand apart.
-- note: A model of text alone has no columns of video.
WITH
asked AS (
  SELECT
    model, place, declared, b, b_text, a, f_voc,
    64e0 AS n_text,
    128e0 + vision_tokens(model, 64, 448, 448) AS n_synthetic,
    128e0 + vision_tokens(model, 64, 640, 360) AS n_natural
  FROM architectures
)
SELECT
  model AS label,
  n_text,
  prefill(b_text, a, n_text) AS prefill_text,
  decode(b_text, a, f_voc, n_text, 3e0) AS decode_text,
  n_synthetic,
  prefill(b, a, n_synthetic) AS prefill_synthetic,
  decode(b, a, f_voc, n_synthetic, 3e0) AS decode_synthetic,
  vision_flops(model, 64, 448, 448) AS vision_synthetic,
  n_natural,
  prefill(b, a, n_natural) AS prefill_natural,
  decode(b, a, f_voc, n_natural, 3e0) AS decode_natural,
  vision_flops(model, 64, 640, 360) AS vision_natural
FROM asked
ORDER BY declared, place
