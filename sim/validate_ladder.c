/*
 * validate_ladder.c: `omnibus validate --backend`: the same requests run by real layers and
 * forecast, in rounds: measured, calibrated, measured again, and in real time.
 *
 * Machines drift. The kernels are timed between the two runs, so that what these differ by has the
 * drift in it that stands between a calibration and a run.
 */
#include "sim/calibrate_options.h"
#include "sim/resources.h"
#include "sim/scratch.h"
#include "sim/validate_ladder_run.h"
#include "traces/trace.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { POOL_TOK = 65536 };

struct ladder {
	const struct ladder_want *w;
	const char *profile; /* the round's own */
	const char *device;  /* what predicts: that, or the user's profile */
	double rate;	     /* NaN: as the trace has it */
	struct climb *climb; /* each policy's */
};

/* What the rounds of one policy came to. */
struct climb {
	struct ladder_round *rounds;
	const char *recording[2]; /* of a round's steps: of the run before, and of that after */
	struct error_pairs steps[N_LADDER_STEPS];
};

/* The options as they were given but for the one policy and for where times come from; released in
 * every case. */
static int settle(const struct ladder *l, size_t policy, struct validate_options *o,
		  const char *executor, const char *clock, const char *recording, struct err *e)
{
	bool measures = strcmp(executor, "predict") != 0;
	struct run_options *r = &o->run;

	if (validate_parse(o, l->w->argc, l->w->argv, e) <= 0)
		return -1;
	CHECK(policy < r->policies.n, "policy %zu of %zu", policy, r->policies.n);
	r->policies.items[0] = r->policies.items[policy];
	r->policies.n = 1;
	r->executor_text = executor;
	r->clock_text = clock;
	r->hardware.device_name = measures ? NULL : l->device;
	r->recording = recording;
	if (r->memory.kv_tokens == 0 && r->memory.kv_blocks == 0)
		r->memory.kv_tokens = POOL_TOK;
	return run_options_understand(r, o->argument, e);
}

static int run(const struct ladder *l, size_t policy, const char *executor, const char *clock,
	       const char *recording, double rate, struct summary *s, struct err *e)
{
	struct validate_options o;
	struct validate_run v = {0};
	int result = settle(l, policy, &o, executor, clock, recording, e);

	if (result == 0)
		result = validate_replay(&v, &o.run, 0, isnan(rate) ? o.run.rates[0] : rate, e);
	*s = v.summary;
	validate_run_release(&v);
	run_options_release(&o.run);
	return result;
}

/* Nothing is timed for minutes to be refused then. */
static int check_one(const struct ladder *l, size_t policy, const char *executor, const char *clock,
		     struct err *e)
{
	struct validate_options o;
	int code = settle(l, policy, &o, executor, clock, NULL, e) == 0 ? 0
		   : o.run.input_failed					? EXIT_FAILED
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

/* A share of what the machine does under the first policy with all requests there at once. */
static int find_rate(struct ladder *l, struct err *e)
{
	struct summary s;

	if (!isnan(l->rate) || l->w->load <= 0)
		return 0;
	if (run(l, 0, l->w->backend, "sim", NULL, INFINITY, &s, e) < 0)
		return -1;
	if (!(s.throughput_rps > 0))
		return err_set(e, "%s completes no request: no rate is a share of that", s.policy);
	l->rate = l->w->load * s.throughput_rps;
	fprintf(stderr,
		"omnibus validate: %.4g requests a second, %.3g of the %.4g that %s completed "
		"(measured) where all were there at once\n",
		l->rate, l->w->load, s.throughput_rps, s.policy);
	return 0;
}

/* The steps of a recording, each against its forecast. */
static int compare_steps(struct ladder *l, size_t policy, const char *recording, struct err *e)
{
	struct validate_options o;
	struct executor *x = NULL;
	int result = settle(l, policy, &o, "predict", "sim", NULL, e);

	if (result == 0) {
		const struct cost_want cost = resources_cost(&o.run.choices[0], &o.run.memory);

		x = cost_predict_new(&o.run.model, &o.run.device, &cost, e);
	}
	result = x ? ladder_compare_steps(l->climb[policy].steps, recording, x,
					  o.run.model.window_tok, e)
		   : -1;
	if (x)
		executor_free(x);
	run_options_release(&o.run);
	return result;
}

static void say_where(const struct ladder *l, size_t round, size_t policy, const char *which)
{
	fprintf(stderr, "omnibus validate: round %zu of %lld, policy %zu of %zu%s\n", round + 1,
		(long long)l->w->rounds, policy + 1, l->w->n_policies, which);
}

static int run_before(struct ladder *l, size_t round, size_t policy, struct err *e)
{
	struct climb *c = &l->climb[policy];

	say_where(l, round, policy, "");
	return run(l, policy, l->w->backend, "sim", c->recording[0], l->rate,
		   &c->rounds[round].measured, e);
}

static int run_after(struct ladder *l, size_t round, size_t policy, struct err *e)
{
	struct climb *c = &l->climb[policy];
	struct ladder_round *r = &c->rounds[round];
	const char *backend = l->w->backend;

	say_where(l, round, policy, ", again");
	if (run(l, policy, backend, "sim", c->recording[1], l->rate, &r->again, e) < 0 ||
	    run(l, policy, backend, "wall", NULL, l->rate, &r->wall, e) < 0 ||
	    run(l, policy, "predict", "sim", NULL, l->rate, &r->predicted, e) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (compare_steps(l, policy, c->recording[i], e) < 0)
			return -1;
	return 0;
}

/* The policy that was run last before the calibration is the first after it. */
static int one_round(struct ladder *l, size_t round, struct err *e)
{
	size_t n = l->w->n_policies;

	for (size_t i = 0; i < n; i++)
		if (run_before(l, round, i, e) < 0)
			return -1;
	if (calibrate(l, e) < 0)
		return -1;
	for (size_t i = n; i-- > 0;)
		if (run_after(l, round, i, e) < 0)
			return -1;
	return 0;
}

static struct climb *climbs_new(const struct ladder *l)
{
	struct climb *c = xcalloc(l->w->n_policies, sizeof(*c));

	for (size_t i = 0; i < l->w->n_policies; i++) {
		c[i].rounds = xcalloc((size_t)l->w->rounds, sizeof(*c[i].rounds));
		for (int k = 0; k < 2; k++) {
			char name[64];

			snprintf(name, sizeof(name), "steps-%zu-%d", i, k);
			c[i].recording[k] = scratch_file(name);
		}
	}
	return c;
}

static void climb_release(struct climb *c)
{
	for (int k = 0; k < N_LADDER_STEPS; k++)
		error_release(&c->steps[k]);
	free(c->rounds);
}

static int all_rounds(struct ladder *l, struct ladder_result *to, struct err *e)
{
	const struct ladder_want *w = l->w;
	size_t n_rounds = (size_t)w->rounds;
	int result;

	l->climb = climbs_new(l);
	result = find_rate(l, e);
	for (size_t i = 0; i < n_rounds && result == 0; i++)
		result = one_round(l, i, e);
	for (size_t i = 0; i < w->n_policies; i++) {
		struct climb *c = &l->climb[i];

		if (result == 0)
			ladder_result_add(to, c->rounds, n_rounds, c->steps);
		climb_release(c);
	}
	free(l->climb);
	return result;
}

static int run_all(struct ladder *l, struct ladder_result *to, struct err *e)
{
	const struct ladder_want *w = l->w;
	int code = 0;

	for (size_t i = 0; i < w->n_policies && code == 0; i++) {
		code = check_one(l, i, w->backend, "wall", e);
		if (code == 0 && w->profile)
			code = check_one(l, i, "predict", "sim", e);
	}
	if (code == 0 && all_rounds(l, to, e) < 0)
		code = EXIT_FAILED;
	return code;
}

int ladder_run(const struct ladder_want *w, struct ladder_result *to, struct err *e)
{
	struct ladder l = {.w = w, .rate = NAN};

	if (scratch_open(e) < 0)
		return EXIT_FAILED;
	l.profile = scratch_file("profile.json");
	l.device = w->profile ? w->profile : l.profile;
	int code = run_all(&l, to, e);

	scratch_close();
	return code;
}
