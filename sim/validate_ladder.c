/*
 * validate_ladder.c: `omnibus validate --backend`: the same requests run by real layers and
 * forecast, in rounds: calibrated, measured, predicted, measured again, measured in real time.
 */
#include "calibrate/cost.h"
#include "sim/calibrate_options.h"
#include "sim/validate_ladder_run.h"
#include "traces/trace.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { POOL_TOK = 65536 };

struct ladder {
	const struct ladder_want *w;
	char folder[64], profile[96], recording[96];
	const char *device; /* what predicts: the user's profile, or the round's own */
	double rate;	    /* NaN: as the trace has it */
	struct error_pairs steps[N_LADDER_STEPS]; /* of one policy */
};

/* The options as they were given but for where times come from; released in every case. */
static int settle(const struct ladder *l, struct validate_options *o, const char *executor,
		  const char *clock, struct err *e)
{
	bool measures = strcmp(executor, "predict") != 0;
	struct run_options *r = &o->run;

	if (validate_parse(o, l->w->argc, l->w->argv, e) <= 0)
		return -1;
	r->executor_text = executor;
	r->clock_text = clock;
	r->hardware.device_name = measures ? NULL : l->device;
	r->recording = measures && !strcmp(clock, "sim") ? l->recording : NULL;
	if (r->memory.kv_tokens == 0 && r->memory.kv_blocks == 0)
		r->memory.kv_tokens = POOL_TOK;
	return run_options_understand(r, o->argument, e);
}

static int run(const struct ladder *l, size_t policy, const char *executor, const char *clock,
	       double rate, struct summary *s, struct err *e)
{
	struct validate_options o;
	struct validate_run v = {0};
	int result = settle(l, &o, executor, clock, e);

	if (result == 0)
		result =
			validate_replay(&v, &o.run, policy, isnan(rate) ? o.run.rates[0] : rate, e);
	*s = v.summary;
	validate_run_release(&v);
	run_options_release(&o.run);
	return result;
}

/* Nothing is timed for minutes to be refused then. */
static int check_one(const struct ladder *l, const char *executor, const char *clock, struct err *e)
{
	struct validate_options o;
	int code = settle(l, &o, executor, clock, e) == 0 ? 0
		   : o.run.input_failed			  ? EXIT_FAILED
							  : EXIT_USAGE;
	struct trace *t = code == 0 ? trace_open(&o.run.spec, e) : NULL;

	if (code == 0 && !t)
		code = EXIT_FAILED;
	if (code == 0 && o.run.n_rates > 1) {
		err_set(e, "--backend takes one --rate");
		code = EXIT_USAGE;
	}
	trace_close(t);
	run_options_release(&o.run);
	return code;
}

/* A profile of this machine as it is now; what calibrate prints is for people here. */
static int calibrate(struct ladder *l, struct err *e)
{
	const struct ladder_want *w = l->w;
	const struct calibrate_options c = {.backend = w->backend,
					    .model = w->model,
					    .tp = w->tp,
					    .kv_bits = 16,
					    .budget_s = w->budget_s,
					    .seed = 1,
					    .output = l->profile};
	int out;

	if (w->profile)
		return 0;
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_set(e, "cannot set the standard output aside");
	int code = calibrate_backend(&c, e);

	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return code == 0 ? 0 : -1;
}

/* A share of what the machine is forecast to do with all requests there at once. */
static int find_rate(struct ladder *l, size_t policy, struct err *e)
{
	struct summary s;

	if (!isnan(l->rate) || l->w->load <= 0)
		return 0;
	if (run(l, policy, "predict", "sim", INFINITY, &s, e) < 0)
		return -1;
	if (!(s.throughput_rps > 0))
		return err_set(e, "%s completes no request: no rate is a share of that", s.policy);
	l->rate = l->w->load * s.throughput_rps;
	fprintf(stderr,
		"omnibus validate: %.4g requests a second, %.3g of the %.4g that %s is predicted "
		"to complete where all are there at once\n",
		l->rate, l->w->load, s.throughput_rps, s.policy);
	return 0;
}

/* The steps of the run just measured, each against its forecast. */
static int compare_steps(struct ladder *l, struct err *e)
{
	struct validate_options o;
	int result = settle(l, &o, "predict", "sim", e);

	struct executor *x =
		result < 0 ? NULL
			   : cost_predict_new(&o.run.model, &o.run.device,
					      &(struct cost_want){.tp = o.run.memory.tp,
								  .pp = o.run.memory.pp,
								  .kv_bits = o.run.memory.kv_bits},
					      e);

	result =
		x ? ladder_compare_steps(l->steps, l->recording, x, o.run.model.window_tok, e) : -1;
	if (x)
		executor_free(x);
	run_options_release(&o.run);
	return result;
}

static int one_round(struct ladder *l, size_t policy, struct ladder_round *r, struct err *e)
{
	const char *backend = l->w->backend;

	if (calibrate(l, e) < 0 || find_rate(l, policy, e) < 0 ||
	    run(l, policy, backend, "sim", l->rate, &r->measured, e) < 0 ||
	    compare_steps(l, e) < 0 ||
	    run(l, policy, "predict", "sim", l->rate, &r->predicted, e) < 0 ||
	    run(l, policy, backend, "sim", l->rate, &r->again, e) < 0 ||
	    run(l, policy, backend, "wall", l->rate, &r->wall, e) < 0)
		return -1;
	return 0;
}

static int one_policy(struct ladder *l, size_t policy, struct ladder_result *to, struct err *e)
{
	struct ladder_round *rounds = xcalloc((size_t)l->w->rounds, sizeof(*rounds));
	int result = 0;

	for (int64_t i = 0; i < l->w->rounds && result == 0; i++) {
		fprintf(stderr, "omnibus validate: policy %zu of %zu, round %lld of %lld\n",
			policy + 1, l->w->n_policies, (long long)i + 1, (long long)l->w->rounds);
		result = one_round(l, policy, &rounds[i], e);
	}
	if (result == 0)
		ladder_result_add(to, rounds, (size_t)l->w->rounds, l->steps);
	for (int k = 0; k < N_LADDER_STEPS; k++)
		error_release(&l->steps[k]);
	free(rounds);
	return result;
}

static int run_all(struct ladder *l, struct ladder_result *to, struct err *e)
{
	const struct ladder_want *w = l->w;
	int code = check_one(l, w->backend, "wall", e);

	if (code == 0 && w->profile)
		code = check_one(l, "predict", "sim", e);
	for (size_t i = 0; i < w->n_policies && code == 0; i++)
		code = one_policy(l, i, to, e) == 0 ? 0 : EXIT_FAILED;
	return code;
}

int ladder_run(const struct ladder_want *w, struct ladder_result *to, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	struct ladder l = {.w = w, .rate = NAN};

	snprintf(l.folder, sizeof(l.folder), "%.40s/omnibus-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(l.folder)) {
		err_set(e, "%s: cannot make a folder for what is measured", l.folder);
		return EXIT_FAILED;
	}
	snprintf(l.profile, sizeof(l.profile), "%s/profile.json", l.folder);
	snprintf(l.recording, sizeof(l.recording), "%s/steps", l.folder);
	l.device = w->profile ? w->profile : l.profile;
	int code = run_all(&l, to, e);

	unlink(l.profile);
	unlink(l.recording);
	rmdir(l.folder);
	return code;
}
