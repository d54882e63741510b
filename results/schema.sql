-- The results database of omnibus: one SQLite file, any number of runs, written by any number of
-- processes at once. README.md has queries to start from. `sqlite3 FILE .schema` prints the statements
-- below with the comments that stand within them.
--
-- A run appears in one transaction when it is complete; nothing is ever changed afterwards. To drop
-- one with all its rows: PRAGMA foreign_keys = ON; DELETE FROM run WHERE id = 3;
-- A calibration appears when it starts, and its points as they are timed: `status` says whether it
-- came to its end.

PRAGMA application_id = 1869442665; -- "omni"
PRAGMA user_version = 5;            -- of this schema

CREATE TABLE run (
	-- One row a run: every setting, so that it can be repeated.
	-- In all tables: times in _ns are integer nanoseconds of simulated time from the first arrival,
	-- times in _s are seconds, rates in _rps are a second. NULL: not known, not asked for, or it did
	-- not come to that.
	id INTEGER PRIMARY KEY,
	policy TEXT,                 -- policy, shape or preset, as the user named it
	given TEXT,                  -- parameters that were written, as written
	params TEXT,                 -- all its parameters, k=v, canonical
	executor TEXT,               -- where step times come from: fixed, predict, ...
	executor_params TEXT,        -- all its parameters, k=v, canonical
	notes TEXT,                  -- what must be said beside the numbers: oracle, roofline,
	                             -- closed-sessions, ...
	model TEXT,
	model_source TEXT,           -- built-in name or path of its config.json, as given
	device TEXT,
	tp INTEGER,                  -- devices that share each layer
	pp INTEGER,                  -- stages of a pipeline, tp devices each
	instances INTEGER,           -- copies of the model
	router TEXT,                 -- how requests are spread over instances
	trace TEXT,                  -- file or generator, as the user named it
	trace_format TEXT,           -- format it was read as
	trace_hash TEXT,             -- of the rows taken, before --rate and --speed, 16 hex digits
	columns TEXT,                -- --columns, as given
	trace_rows INTEGER,          -- rows of the trace that were read
	zero TEXT,                   -- --zero, rows without output tokens: skip, clamp or error
	skipped_zero INTEGER,        -- rows skipped because they have no output token
	clamped_zero INTEGER,        -- rows without output token that were given one
	skipped_zero_prompt INTEGER, -- rows skipped because they have no prompt token
	left_out INTEGER,            -- rows outside --skip, --limit and --window
	hash_block INTEGER,          -- tokens a prefix hash stands for; NULL without hashes
	hash_rule TEXT,              -- hashes stand for every block: ceil, or for full ones: floor
	sessions TEXT,               -- --sessions: closed, turns wait for the one before, or open
	session_count INTEGER,       -- sessions of the rows read
	overlapping_turns INTEGER,   -- rows recorded to arrive before their session's last one ended
	unknown_parents INTEGER,     -- rows whose parent is not in the trace before them
	arrivals TEXT,               -- --arrivals, how they are drawn; NULL: as recorded
	cv REAL,                     -- --cv, spread of the gaps drawn over their mean
	rate_rps REAL,               -- --rate; NULL: as recorded; Inf: all at once
	speed REAL,                  -- --speed, factor on the trace's clock; NULL: as recorded
	closed_loop INTEGER,         -- --closed-loop, requests in flight; NULL: open loop
	skip INTEGER,                -- --skip, rows left out at the start
	"limit" INTEGER,             -- --limit, rows taken at most; NULL: all
	window_from_s REAL,          -- --window, start, s of the trace; NULL: its start
	window_to_s REAL,            -- --window, end, s of the trace; NULL: its end
	seed INTEGER,                -- of every random stream
	horizon_s REAL,              -- --horizon, simulated s; NULL: until all is done
	max_model_len INTEGER,       -- --max-model-len, prompt and output tokens; NULL: no limit
	too_long TEXT,               -- what becomes of longer requests: reject or truncate
	too_long_rejected INTEGER,   -- requests rejected for it
	too_long_truncated INTEGER,  -- requests whose output was cut for it
	queue_limit INTEGER,         -- --queue-limit, requests in a queue at most; NULL: no limit
	queue_full INTEGER,          -- requests rejected for it
	timeout_s REAL,              -- --timeout, from the arrival; NULL: none
	max_tokens TEXT,             -- --max-tokens: a number, model or output
	kv_blocks INTEGER,           -- KV blocks of an instance
	block_tok INTEGER,           -- slots of a block, tokens
	weight_bits INTEGER,         -- --weight-bits, of the linear layers; 16: the model's own type
	kv_bits INTEGER,             -- --kv-bits, of a cached number; 16: the model's own type
	kv_token_bytes INTEGER,      -- KV bytes a token, on one device, in layers without a window
	kv_window_bytes INTEGER,     -- and in those with one, a token within it
	window_tok INTEGER,          -- tokens of that window; NULL: no layer has one
	memory_bytes INTEGER,        -- memory of one device
	weights_bytes INTEGER,       -- of the model, on one device
	usable_bytes INTEGER,        -- memory of one device that weights, reserve and KV may take
	decode_instances INTEGER,    -- disaggregated: of the instances, the last so many decode
	decode_kv_blocks INTEGER,    -- and this is their pool; kv_blocks is that of the others
	utilization REAL,            -- --utilization, share of the device memory used
	reserve_bytes INTEGER,       -- --reserve, kept for activations
	slo_ttft_s REAL,             -- --slo targets; NULL: none
	slo_tpot_s REAL,
	slo_e2e_s REAL,
	slo_maxgap_s REAL,           -- longest gap between two deliveries of a request
	host_us REAL,                -- the scheduler's own time a step, us
	host_seq_us REAL,            -- and for each sequence of it, us
	clock TEXT,                  -- --clock: simulated time, sim, or real time, wall
	program_version TEXT,
	-- Facts about the computation itself. They differ from run to run: leave them out of comparisons.
	started TEXT,                -- ISO 8601, UTC
	wall_s REAL                  -- time it took
);

CREATE TABLE metric (
	-- One row a run: what came out. a arrival, s first scheduled, f first token, c last token
	-- delivered, n output tokens. Means and percentiles are over completed requests (TPOT:
	-- those with n > 1).
	run_id INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,
	times TEXT,                  -- what the step times are: predicted, measured or fixed
	requests INTEGER,            -- that arrived: completed + rejected + aborted + unfinished
	completed INTEGER,           -- last token delivered
	rejected INTEGER,            -- could never be served, longer than max_model_len, or the queue was full
	unfinished INTEGER,          -- waiting or running when it ended
	offered_rps REAL,            -- (requests - 1) / (last arrival - first); Inf: all at once
	throughput_rps REAL,         -- completed / (last completion - first arrival)
	output_tps REAL,             -- output tokens over the same time
	goodput_rps REAL,            -- requests that met every target over the same time; NULL: no target
	attainment REAL,             -- requests that met every target / requests; NULL: no target
	ttft_mean_s REAL,            -- f - a
	ttft_p50_s REAL,
	ttft_p90_s REAL,
	ttft_p99_s REAL,
	tpot_mean_s REAL,            -- (c - f) / (n - 1)
	tpot_p50_s REAL,
	tpot_p90_s REAL,
	tpot_p99_s REAL,
	itl_mean_s REAL,             -- every gap between consecutive tokens, pooled
	itl_p50_s REAL,
	itl_p99_s REAL,
	e2e_mean_s REAL,             -- c - a
	e2e_p50_s REAL,
	e2e_p99_s REAL,
	norm_latency_mean_s REAL,    -- (c - a) / n
	queue_mean_s REAL,           -- s - a
	queue_p99_s REAL,
	preemptions INTEGER,         -- of all kinds
	steps INTEGER,               -- of all instances
	makespan_s REAL,             -- last completion - first arrival
	kv_util_mean REAL,           -- share of the KV blocks in use, mean over steps
	batch_mean REAL,             -- requests in a step, mean over steps
	bound TEXT,                  -- what refused the head of the queue for most of the time: seats, kv,
	                             -- tokens, link; arrivals: nothing waited
	saturated INTEGER,           -- 1: over the second half of the arrival window, the slope of the
	                             -- number of waiting requests (a straight line through its values
	                             -- at arrivals) is above 5% of the offered rate; or more than 5% of
	                             -- all requests still wait when the last one arrives; else 0. NULL
	                             -- with fewer than 10 points, and where arrivals follow completions:
	                             -- in a closed loop, and with closed-sessions in notes
	throughput_steady_rps REAL,  -- completed requests a second from about the first tenth of the
	                             -- arrival window to its end: no ramp, no drain
	aborted INTEGER,             -- not done within --timeout of their arrival
	recomputed_tok INTEGER,      -- tokens prefilled again after preemptions
	devices INTEGER,             -- that all instances need together
	percentiles TEXT,            -- exact or histogram (ITL always is one), within 0.1%
	cached_tok INTEGER,          -- prompt tokens found in a prefix cache at first admissions; NULL:
	                             -- there was none
	prefix_hit_rate REAL         -- cached_tok / prompt tokens of requests admitted
);

CREATE TABLE request (
	-- One row a request, unless the run was made with --requests none.
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,        -- row of the trace after selection, from 0
	arrive_ns INTEGER NOT NULL,  -- a
	schedule_ns INTEGER,         -- s, start of the first step that computes some of it
	first_token_ns INTEGER,      -- f
	finish_ns INTEGER,           -- c
	prompt_tok INTEGER NOT NULL,
	output_tok INTEGER NOT NULL, -- n
	cached_tok INTEGER,          -- prompt tokens found in a prefix cache
	preemptions INTEGER,
	instance INTEGER,            -- that served it; of several, the last
	max_gap_ns REAL,             -- longest gap between two deliveries
	client INTEGER,              -- of the trace: its name is in the table client
	session INTEGER,             -- of the trace, from 1: turns of one conversation
	priority INTEGER,            -- of the trace, lower goes first
	status TEXT NOT NULL,        -- completed, rejected, aborted or unfinished
	PRIMARY KEY (run_id, idx)
) WITHOUT ROWID;

CREATE TABLE client (
	-- Who sent the requests of a run, where its trace says so.
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	id INTEGER NOT NULL,         -- as in request.client
	name TEXT NOT NULL,
	PRIMARY KEY (run_id, id)
) WITHOUT ROWID;

CREATE TABLE sample (
	-- The state of an instance, looked at now and then: a bounded number of rows a run.
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	t_ns INTEGER NOT NULL,
	instance INTEGER NOT NULL,
	running INTEGER,             -- requests admitted and not done
	waiting INTEGER,             -- requests in its queue
	kv_blocks INTEGER            -- KV blocks in use
);
CREATE INDEX sample_time ON sample(run_id, instance, t_ns);

CREATE TABLE step (
	-- The steps of a run made with --steps, those of each batch in order. A run of decode steps
	-- of the same requests is one row.
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	instance INTEGER NOT NULL,
	batch INTEGER NOT NULL,      -- of a pipeline, from 0; 0 without one
	start_ns INTEGER NOT NULL,   -- of the first of them
	end_ns INTEGER NOT NULL,     -- of the last of them
	steps INTEGER NOT NULL,      -- equal decode steps; 1 for any other
	kind TEXT NOT NULL,          -- prefill, decode or mixed
	prefill_tok INTEGER NOT NULL,-- prompt tokens computed, padding included
	decode_seq INTEGER NOT NULL, -- sequences that decode a token in each step
	decode_ctx INTEGER NOT NULL, -- their contexts in the first step, tokens
	kv_blocks INTEGER NOT NULL,  -- KV blocks in use in the first step
	moved_bytes INTEGER NOT NULL -- KV swapped out and in, on one device
);
CREATE INDEX step_start ON step(run_id, start_ns);
CREATE INDEX step_end ON step(run_id, end_ns);

CREATE TABLE histogram (
	-- Log-linear histograms, the bins that are not empty. itl is always there.
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	metric TEXT NOT NULL,        -- itl, ttft, ...
	low_ns REAL NOT NULL,        -- values from here
	high_ns REAL NOT NULL,       -- to below here
	count INTEGER NOT NULL,
	PRIMARY KEY (run_id, metric, low_ns)
) WITHOUT ROWID;

CREATE TABLE calibration (
	-- One row a calibration of `omnibus calibrate --db`: on what its points were timed, and how.
	id INTEGER PRIMARY KEY,
	backend TEXT,                -- cpu or cuda
	device TEXT,                 -- as it names itself
	driver TEXT,
	clocks TEXT,                 -- as found when it started
	model TEXT,                  -- whose shapes were timed; NULL: shapes for any model
	tp INTEGER,                  -- devices that share each layer
	threads INTEGER,             -- --threads; 0: all
	budget_s REAL,               -- --budget
	seed INTEGER,                -- of what was multiplied
	program_version TEXT,
	status TEXT,                 -- running, interrupted, failed or complete; what was killed stays
	                             -- running
	profile TEXT,                -- the file that came of it
	started TEXT,                -- ISO 8601, UTC
	wall_s REAL                  -- time it took; NULL while it is running
);

CREATE TABLE point (
	-- One row a point of a calibration: the sizes of an operation, of one layer on one device, and
	-- its time. Sizes that an operation does not have are 0.
	calibration_id INTEGER NOT NULL REFERENCES calibration(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,        -- from 0, in the order of the first timing
	op TEXT NOT NULL,            -- gemm, prefill, decode, mixed, norm, ..., step: a whole step
	bits INTEGER NOT NULL,       -- of a weight, or of a cached number; 16: the model's own type
	m INTEGER NOT NULL,          -- tokens; sequences that are sampled
	n INTEGER NOT NULL,
	k INTEGER NOT NULL,
	heads INTEGER NOT NULL,
	kv_heads INTEGER NOT NULL,
	head_dim INTEGER NOT NULL,
	prefill_seq INTEGER NOT NULL,-- prompts, of new_tok tokens each after prior_tok cached ones
	new_tok INTEGER NOT NULL,
	prior_tok INTEGER NOT NULL,
	decode_seq INTEGER NOT NULL, -- sequences that decode, of decode_ctx tokens together
	decode_ctx INTEGER NOT NULL,
	longest INTEGER NOT NULL,    -- of the contexts; 0: all are equal
	devices INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	ns REAL NOT NULL,            -- median of the repeats
	min_ns REAL NOT NULL,
	mean_ns REAL NOT NULL,       -- of them: a run of steps takes a sum
	max_ns REAL NOT NULL,
	repeats INTEGER NOT NULL,
	PRIMARY KEY (calibration_id, idx)
) WITHOUT ROWID;

CREATE TABLE fit (
	-- One row a fit that was made of the points of a calibration: a formula for an operation.
	calibration_id INTEGER NOT NULL REFERENCES calibration(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,        -- from 0
	op TEXT NOT NULL,
	bits INTEGER NOT NULL,
	form TEXT NOT NULL,          -- which of the formulas
	n INTEGER NOT NULL,          -- the shape that it holds for; 0: for any
	k INTEGER NOT NULL,
	heads INTEGER NOT NULL,
	kv_heads INTEGER NOT NULL,
	head_dim INTEGER NOT NULL,
	points INTEGER NOT NULL,     -- that it was made of
	points_hash TEXT NOT NULL,   -- of their sizes and times, 16 hex digits
	folds INTEGER NOT NULL,      -- each forecast from the others: the errors below
	error_median REAL NOT NULL,  -- of |forecast / measured - 1|
	error_p90 REAL NOT NULL,
	error_max REAL NOT NULL,
	PRIMARY KEY (calibration_id, idx)
) WITHOUT ROWID;

CREATE TABLE coefficient (
	-- The coefficients of a fit.
	calibration_id INTEGER NOT NULL REFERENCES calibration(id) ON DELETE CASCADE,
	fit_idx INTEGER NOT NULL,    -- as in fit.idx
	name TEXT NOT NULL,          -- with its unit: t0_ns
	value REAL NOT NULL,
	error REAL NOT NULL,         -- its standard error
	PRIMARY KEY (calibration_id, fit_idx, name)
) WITHOUT ROWID;

CREATE VIEW summary AS
	-- The columns of `omnibus run -o csv` and `omnibus compare`, then some of run.
SELECT
	run_id, policy, params, times, model, device, requests, completed, rejected, unfinished,
	offered_rps, throughput_rps, output_tps, goodput_rps, attainment,
	ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p99_s,
	tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p99_s,
	itl_mean_s, itl_p50_s, itl_p99_s,
	e2e_mean_s, e2e_p50_s, e2e_p99_s,
	norm_latency_mean_s, queue_mean_s, queue_p99_s,
	preemptions, steps, makespan_s, kv_util_mean, batch_mean, bound, saturated,
	throughput_steady_rps, aborted, recomputed_tok, devices, given, percentiles, notes,
	cached_tok, prefix_hit_rate, rate_rps, tp, pp, instances, block_tok, kv_blocks
FROM run JOIN metric ON metric.run_id = run.id;

CREATE VIEW request_latency AS
	-- One row a stored request with its latencies, and whether it met each target of its run: 1
	-- or 0, NULL where the run has no such target. A value equal to its target meets it; one
	-- output token has no TPOT and meets any; what was not completed meets none. `good`: it met
	-- all of them.
SELECT
	*,
	CASE WHEN coalesce(ttft_met, tpot_met, e2e_met, maxgap_met) IS NOT NULL THEN
		coalesce(ttft_met, 1) AND coalesce(tpot_met, 1) AND coalesce(e2e_met, 1)
		AND coalesce(maxgap_met, 1)
	END AS good
FROM (
	SELECT
		run_id, idx, status, prompt_tok, output_tok, cached_tok, preemptions, instance,
		arrive_ns / 1e9 AS arrive_s,
		(schedule_ns - arrive_ns) / 1e9 AS queue_s,
		(first_token_ns - arrive_ns) / 1e9 AS ttft_s,
		(finish_ns - first_token_ns) / 1e9 / nullif(output_tok - 1, 0) AS tpot_s,
		(finish_ns - arrive_ns) / 1e9 AS e2e_s,
		max_gap_ns / 1e9 AS max_gap_s,
		CASE WHEN slo_ttft_s IS NOT NULL THEN status = 'completed'
			AND first_token_ns - arrive_ns <= round(slo_ttft_s * 1e9) END AS ttft_met,
		CASE WHEN slo_tpot_s IS NOT NULL THEN status = 'completed'
			AND finish_ns - first_token_ns <= round(slo_tpot_s * 1e9) * (output_tok - 1)
			END AS tpot_met,
		CASE WHEN slo_e2e_s IS NOT NULL THEN status = 'completed'
			AND finish_ns - arrive_ns <= round(slo_e2e_s * 1e9) END AS e2e_met,
		CASE WHEN slo_maxgap_s IS NOT NULL THEN status = 'completed'
			AND coalesce(max_gap_ns, 0) <= round(slo_maxgap_s * 1e9) END AS maxgap_met
	FROM request JOIN run ON run.id = request.run_id
);

CREATE VIEW slo AS
	-- One row a run: the share of its requests that met each target, and all of them together,
	-- counted from the request rows. NULL: no such target, or no request rows.
SELECT
	run_id, policy, params,
	slo_ttft_s, avg(ttft_met) AS ttft_attainment,
	slo_tpot_s, avg(tpot_met) AS tpot_attainment,
	slo_e2e_s, avg(e2e_met) AS e2e_attainment,
	slo_maxgap_s, avg(maxgap_met) AS maxgap_attainment,
	avg(good) AS attainment, sum(good) AS good, count(*) AS requests
FROM request_latency JOIN run ON run.id = run_id
GROUP BY run_id
UNION ALL
SELECT
	id, policy, params, slo_ttft_s, NULL, slo_tpot_s, NULL, slo_e2e_s, NULL, slo_maxgap_s, NULL,
	NULL, NULL, 0
FROM run
WHERE NOT EXISTS (SELECT 1 FROM request WHERE request.run_id = run.id);

CREATE VIEW latency_curve AS
	-- Latency against offered rate: one curve for each policy and its parameters, model,
	-- device, trace.
SELECT
	policy, params, model, device, trace, rate_rps, offered_rps, run_id,
	norm_latency_mean_s, ttft_p50_s, ttft_p99_s, tpot_p50_s, tpot_p99_s, e2e_p50_s, e2e_p99_s,
	throughput_rps, goodput_rps, attainment, saturated
FROM run JOIN metric ON metric.run_id = run.id
ORDER BY policy, params, model, device, trace, offered_rps, run_id;
