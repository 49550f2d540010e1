-- title: Retrieval before answering, against the same model on the full video
-- paper: Table 9
-- needs: a run of the system retrieval under arm none, and one of its answerer on the same questions
-- counts: benchmark = 'eccbench' AND system = 'retrieval' AND arm = 'none'
-- reference: table9.csv
-- rows: label, baseline, answerer, corpus, length
-- column: label | text | Retrieval
-- column: answerer | text | Answerer
-- column: baseline | text | Full video
-- column: corpus | text | Corpus
-- column: length | integer | L
-- column: accuracy | percent | Accuracy (%) / RAG
-- column: accuracy_full | percent | Accuracy (%) / full video
-- column: answer_flops | teraflops | Per answer (TF) / RAG
-- column: answer_flops_full | teraflops | Per answer (TF) / full video
-- column: saving | times | Saving
-- column: index_flops | petaflops | Index (PF/video)
-- column: break_even | decimal | Break-even
-- column: one_query_flops | teraflops | One query (TF)
-- column: hit_rate | percent | Retriever hit rate (%)
-- column: accuracy_yes | percent | RAG accuracy (%) / yes
-- column: accuracy_no | percent | RAG accuracy (%) / no
-- column: n | integer | Questions / RAG
-- column: n_full | integer | Questions / full video
-- column: failed | integer | Failed
-- bookkeeping: failed
-- note: An answer by retrieval costs embedding what is looked for and the answerer's reading of the parts found; the
--   index, each window embedded once, is apart. One query bears the whole index. Break-even is how many questions a
--   video must serve until retrieval is cheaper than reading the video for each; nothing where it never is.
-- note: The hit rate is over questions whose answer is yes: whether one of the parts shown holds the candidate whole.
--   Of natural video nobody knows where an event is, and there is none.
-- note: Of the full video's runs those count that the same model answered under the same name, of the questions that
--   retrieval was asked. Synthetic is sequential and spatial together. An abstention counts as wrong; failures are out.
WITH
names AS (
  SELECT name, arg_min(model, place) AS model
  FROM (SELECT model, place, unnest(list_prepend(model, names)) AS name FROM architectures)
  GROUP BY name
),
asked AS (
  SELECT
    responses.*,
    runs.dataset,
    CASE
      WHEN responses.config IN ('video-sequential', 'video-spatial') THEN 'synthetic'
      ELSE responses.config
    END AS corpus,
    -- a stream is shown under both variants and is redrawn with the questions of both
    coalesce(replace(responses.stream_id, '-' || responses.variant, ''), responses.stream_id, responses.clip_id) AS stream
  FROM responses JOIN runs USING (run_id)
  WHERE responses.benchmark = 'eccbench' AND responses.arm = 'none'
),
retrieval AS (
  SELECT asked.* REPLACE (coalesce(names.model, asked.answerer) AS answerer)
  FROM asked LEFT JOIN names ON names.name = asked.answerer
  WHERE asked.system = 'retrieval'
),
full_video AS (
  SELECT asked.* REPLACE (coalesce(names.model, asked.model) AS model)
  FROM asked LEFT JOIN names ON names.name = asked.model
  WHERE asked.system <> 'retrieval' AND NOT asked.failed
),
-- a failure does not say who was to answer
answerers AS (SELECT label, any_value(answerer) AS answerer FROM retrieval GROUP BY label),
streams AS (
  SELECT
    label, corpus, length, stream,
    count(*) FILTER (NOT failed) AS n,
    count(*) FILTER (failed) AS failed,
    count(*) FILTER (correct) AS correct,
    count(*) FILTER (NOT failed AND answer = 'yes') AS yes,
    count(*) FILTER (correct AND answer = 'yes') AS correct_yes,
    count(hit) AS hittable,
    count(*) FILTER (hit) AS hits,
    sum(flops_read) AS read,
    count(flops_read) AS priced,
    sum(flops_index) AS indexing,
    count(flops_index) AS index_priced
  FROM retrieval
  GROUP BY ALL
),
cells AS (
  SELECT
    label, corpus, length,
    sum(n)::BIGINT AS n,
    sum(failed)::BIGINT AS failed,
    sum(correct) / nullif(sum(n), 0) AS accuracy,
    bootstrap_share(correct, n) AS accuracy_bootstrap,
    sum(correct_yes) / nullif(sum(yes), 0) AS accuracy_yes,
    (sum(correct) - sum(correct_yes)) / nullif(sum(n) - sum(yes), 0) AS accuracy_no,
    sum(hits) / nullif(sum(hittable), 0) AS hit_rate,
    sum(hittable)::BIGINT AS hittable,
    sum(read) / nullif(sum(priced), 0) AS answer_flops,
    sum(indexing) / nullif(sum(index_priced), 0) AS index_flops
  FROM streams
  GROUP BY ALL
),
full_streams AS (
  SELECT
    retrieval.label, retrieval.corpus, retrieval.length, retrieval.stream,
    full_video.label AS baseline,
    count(*) AS n,
    count(*) FILTER (full_video.correct) AS correct,
    sum(full_video.flops) AS flops,
    count(full_video.flops) AS priced
  FROM retrieval
  JOIN answerers USING (label)
  JOIN full_video
    ON full_video.model = answerers.answerer
    AND full_video.config = retrieval.config
    AND full_video.dataset IS NOT DISTINCT FROM retrieval.dataset
    AND full_video.question_id = retrieval.question_id
  GROUP BY ALL
),
full_cells AS (
  SELECT
    label, corpus, length, baseline,
    sum(n)::BIGINT AS n_full,
    sum(correct) / sum(n) AS accuracy_full,
    bootstrap_share(correct, n) AS accuracy_full_bootstrap,
    sum(flops) / nullif(sum(priced), 0) AS answer_flops_full
  FROM full_streams
  GROUP BY ALL
)
SELECT
  label, baseline, answerer, corpus, length,
  n, coalesce(n_full, 0) AS n_full, failed,
  accuracy, accuracy_bootstrap, accuracy_full, accuracy_full_bootstrap,
  answer_flops, answer_flops_full,
  answer_flops_full / answer_flops AS saving,
  index_flops,
  CASE WHEN answer_flops_full > answer_flops THEN index_flops / (answer_flops_full - answer_flops) END AS break_even,
  index_flops + answer_flops AS one_query_flops,
  hit_rate, hittable, accuracy_yes, accuracy_no
FROM cells
JOIN answerers USING (label)
LEFT JOIN full_cells USING (label, corpus, length)
ORDER BY label, corpus, length, baseline
