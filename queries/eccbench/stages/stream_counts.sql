-- What a stream's questions came to: one row a label, config, arm and stream, the unit that a stream-cluster bootstrap
-- redraws. Every stage is a view of its name beside `responses`; `eccdata tables` makes it once, when the first table
-- reads it, and all tables read what was made.
--
-- A stream is what questions share: a text or rendered stream (`stream_id`), or a natural clip (`clip_id`). `band` is a
-- natural clip's density band. What a protocol does not have (variant, structure, band, length) is NULL, so name
-- config or protocol in WHERE, and count over no column that is NULL there.
--
-- n counts the questions that were not failures; the other counts are of these, but for `failed`:
--   n = answered + explicit + format + overflow (the three ways to abstain, B.8); correct is of answered;
--   …_yes are the same counts of the questions whose true answer is yes, so n - n_yes are those of no;
--   payoff is what the arm's own scheme paid, NULL under arm none.
WITH
-- what is the same in all responses of a run is put to them at the end
counted AS (
  SELECT
    run_id, arm, variant, structure, length,
    coalesce(band, density_band) AS band,
    coalesce(stream_id, clip_id) AS stream_id,
    (count(*) FILTER (NOT failed))::INTEGER AS n,
    (count(*) FILTER (failed))::INTEGER AS failed,
    (count(*) FILTER (prediction <> 'abstain'))::INTEGER AS answered,
    (count(*) FILTER (correct))::INTEGER AS correct,
    (count(*) FILTER (abstention = 'explicit'))::INTEGER AS explicit,
    (count(*) FILTER (abstention = 'format'))::INTEGER AS format,
    (count(*) FILTER (abstention = 'overflow'))::INTEGER AS overflow,
    (count(*) FILTER (answer = 'yes' AND NOT failed))::INTEGER AS n_yes,
    (count(*) FILTER (answer = 'yes' AND prediction <> 'abstain'))::INTEGER AS answered_yes,
    (count(*) FILTER (answer = 'yes' AND correct))::INTEGER AS correct_yes,
    sum(payoff) AS payoff
  FROM responses
  WHERE benchmark = 'eccbench'
  GROUP BY ALL
),
of_run AS (FROM runs SELECT run_id, label, benchmark, config, protocol)
SELECT label, benchmark, config, protocol, counted.* EXCLUDE (run_id)
FROM counted JOIN of_run USING (run_id)
