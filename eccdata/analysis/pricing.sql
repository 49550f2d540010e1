-- What responses cost in FLOPs (eccbench.txt, B.3): the formulas of eccdata.flops as macros, equal to them to a rounding.
-- b, a and f_voc are a model's prices as in the table `architectures`.

-- F_pre(N): what reading N tokens costs.
CREATE MACRO prefill(b, a, n) AS b * n + a * (n * (n + 1.0e0) / 2.0e0);

-- F_dec(N, T): what generating T tokens behind N costs.
CREATE MACRO decode(b, a, f_voc, n, t) AS
  t * f_voc + (t - 1.0e0) * b + a * ((t - 1.0e0) * n + t * (t - 1.0e0) / 2.0e0);

-- T_ans: the tokens until a reply commits itself at character i of l; half of them where it has no marker (i is null).
-- The characters of a reasoning that the server gave apart stand before the reply. Where neither has any, it is one token:
-- a reply without a character commits itself as soon as it begins.
CREATE MACRO answer_tokens_until(t_out, i, l, reasoning) AS
  CASE
    WHEN t_out IS NULL OR l IS NULL THEN NULL
    WHEN i IS NULL THEN greatest(1.0e0, t_out / 2.0e0)
    WHEN reasoning + l = 0 THEN 1.0e0
    ELSE greatest(1.0e0, t_out::DOUBLE * (reasoning + i) / (reasoning + l))
  END;

-- V_LLM and F_vis + F_conn of one clip, sent as a video, by the paper's rules; null where they do not say.
CREATE MACRO vision_tokens(model, frames, width, height) AS
  clip_price(concat(model, '|', frames, ':', width, ':', height, ':video')).tokens;
CREATE MACRO vision_flops(model, frames, width, height) AS
  clip_price(concat(model, '|', frames, ':', width, ':', height, ':video')).flops;
