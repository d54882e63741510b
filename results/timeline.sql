-- Every event of a run by time, as timeline.c writes them: its time, what it is, instance and batch,
-- and then what there is to say of it. ?1 is the run, ?2 the number of its prefill instances (the
-- first ones), 0 where it is not disaggregated.
WITH
-- A request row names one instance, the last. The first token may come from a prefill instance.
ran AS MATERIALIZED (
	SELECT idx, arrive_ns, schedule_ns, first_token_ns, finish_ns, instance,
		CASE WHEN instance >= ?2 THEN ?2 ELSE 0 END AS prefill_instances
	FROM request WHERE run_id = ?1 AND schedule_ns IS NOT NULL
),
-- Steps that may be the first of a request; `whole`: it also delivers the first token.
starts AS MATERIALIZED (
	SELECT idx, count(*) AS n, max(step.rowid) AS any,
		sum(end_ns = first_token_ns) AS n_whole,
		max(iif(end_ns = first_token_ns, step.rowid, NULL)) AS whole
	FROM ran CROSS JOIN step
	WHERE run_id = ?1 AND start_ns = schedule_ns AND prefill_tok > 0
		AND (step.instance = ran.instance OR step.instance < prefill_instances)
	GROUP BY idx
),
tokens AS MATERIALIZED (
	SELECT idx, count(*) AS n, max(step.rowid) AS any
	FROM ran CROSS JOIN step
	WHERE run_id = ?1 AND end_ns = first_token_ns
		AND (step.instance = ran.instance OR step.instance < prefill_instances)
	GROUP BY idx
),
ends AS MATERIALIZED (
	SELECT idx, count(*) AS n, max(step.rowid) AS any
	FROM ran CROSS JOIN step
	WHERE run_id = ?1 AND end_ns = finish_ns AND step.instance = ran.instance
	GROUP BY idx
),
-- The row of each, where only one can be meant. A time within a run of decode steps is no row's end:
-- it belongs to the last row that started before it.
flow AS MATERIALIZED (
	SELECT ran.idx, arrive_ns, schedule_ns, first_token_ns, finish_ns,
		CASE 1 WHEN n_whole THEN whole WHEN starts.n THEN starts.any END AS first_step,
		coalesce(
			CASE 1 WHEN n_whole THEN whole WHEN tokens.n THEN tokens.any END,
			(SELECT at FROM (
				SELECT rowid AS at, end_ns FROM step
				WHERE run_id = ?1 AND start_ns < first_token_ns
					AND step.instance = ran.instance
				ORDER BY start_ns DESC LIMIT 1
			) WHERE end_ns > first_token_ns)) AS token_step,
		coalesce(
			CASE 1 WHEN ends.n THEN ends.any END,
			(SELECT at FROM (
				SELECT rowid AS at, end_ns FROM step
				WHERE run_id = ?1 AND start_ns < finish_ns
					AND step.instance = ran.instance
				ORDER BY start_ns DESC LIMIT 1
			) WHERE end_ns > finish_ns)) AS last_step
	FROM ran LEFT JOIN starts USING (idx) LEFT JOIN tokens USING (idx) LEFT JOIN ends USING (idx)
)
SELECT start_ns AS t_ns, 0 AS event, instance, batch, end_ns - start_ns, kind,
	steps, prefill_tok, decode_seq, decode_ctx, kv_blocks, moved_bytes, rowid AS place
FROM step WHERE run_id = ?1
UNION ALL
SELECT arrive_ns, 1, 0, 0,
	min(1000, coalesce(lead(arrive_ns) OVER (ORDER BY arrive_ns) - arrive_ns, 1000)), NULL,
	count(*), min(idx), sum(prompt_tok), sum(output_tok), NULL, NULL, min(idx)
FROM request WHERE run_id = ?1 GROUP BY arrive_ns
UNION ALL
SELECT t_ns, 2, instance, 0, NULL, NULL, running, waiting, kv_blocks, NULL, NULL, NULL, rowid
FROM sample WHERE run_id = ?1
UNION ALL
SELECT arrive_ns, 3, NULL, 0, NULL, NULL, idx, NULL, NULL, NULL, NULL, NULL, idx
FROM flow
UNION ALL
SELECT schedule_ns, 4, instance, batch, NULL, NULL, idx, NULL, NULL, NULL, NULL, NULL, idx
FROM flow LEFT JOIN step ON step.rowid = first_step
UNION ALL
SELECT max(first_token_ns - 1, coalesce(start_ns, 0)), 4, instance, batch, NULL, NULL,
	idx, NULL, NULL, NULL, NULL, NULL, idx
FROM flow LEFT JOIN step ON step.rowid = token_step WHERE first_token_ns IS NOT NULL
UNION ALL
SELECT max(finish_ns - 1, coalesce(start_ns, 0)), 5, instance, batch, NULL, NULL,
	idx, NULL, NULL, NULL, NULL, NULL, idx
FROM flow LEFT JOIN step ON step.rowid = last_step WHERE finish_ns IS NOT NULL
ORDER BY t_ns, event, place
