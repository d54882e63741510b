/* validate_ladder_print.c: `omnibus validate --backend`: its options, and what is printed of it. */
#include "sim/options.h"
#include "sim/validate_ladder_run.h"
#include <math.h>
#include <string.h>

static const double TOLERANCE = 0.05; /* where none is given */
static const char *const step_kinds[N_LADDER_STEPS] = {"prefill", "decode", "do both"};

void ladder_result_add(struct ladder_result *to, const struct ladder_round *rounds, size_t n,
		       const struct error_pairs steps[N_LADDER_STEPS])
{
	to->row = xrealloc(to->row, (to->n_rows + N_LADDER) * sizeof(*to->row));
	ladder_rows(to->row + to->n_rows, rounds, n, &to->tolerance, to->outside,
		    sizeof(to->outside));
	to->n_rows += N_LADDER;
	to->steps = xrealloc(to->steps, (to->n_steps + N_LADDER_STEPS) * sizeof(*to->steps));
	for (int k = 0; k < N_LADDER_STEPS; k++)
		if (steps[k].n > 0)
			ladder_steps_make(&to->steps[to->n_steps++], &rounds[0].measured,
					  step_kinds[k], &steps[k]);
}

void ladder_result_release(struct ladder_result *r)
{
	free(r->row);
	free(r->steps);
}

static int print(const struct validate_options *o, const struct ladder_result *r, struct err *e)
{
	size_t n = r->n_rows > r->n_steps ? r->n_rows : r->n_steps;
	const void **rows = xcalloc(n + 1, sizeof(*rows));
	int result;

	for (size_t i = 0; i < r->n_rows; i++)
		rows[i] = &r->row[i];
	result = validate_print(o, ladder_fields, rows, r->n_rows, e);
	for (size_t i = 0; i < r->n_steps; i++)
		rows[i] = &r->steps[i];
	if (result == 0)
		result = validate_print_next(o, ladder_step_fields, rows, r->n_steps, e);
	free(rows);
	return result;
}

static int check(struct validate_options *o, struct err *e)
{
	const struct run_options *r = &o->run;

	if (!o->argument)
		return err_set(e, "--backend runs the requests of a trace: it is missing");
	if (!r->hardware.model_name)
		return err_set(e, "--backend runs the layers of a model: -m MODEL is missing");
	if (r->policies.n == 0)
		return err_set(e,
			       "no policy is given; -p POLICY names one (omnibus list policies)");
	if (r->hardware.device_name)
		return err_set(e, "--backend forecasts by what it times itself: leave out -d (or "
				  "give --profile FILE)");
	if (strcmp(r->executor_text, "predict") != 0)
		return err_set(e, "--backend says itself where times come from: leave out -x");
	if (r->db || r->steps || r->recording)
		return err_set(e, "--backend stores nothing: leave out --db, --steps and --record");
	if (strcmp(r->clock_text, "sim") != 0)
		return err_set(e, "--backend runs under both clocks: leave out --clock");
	return 0;
}

static bool arrivals_given(const struct run_options *r)
{
	return r->rate_texts.n > 0 || r->closed_loop > 0 || r->select.speed > 0;
}

int validate_ladder(struct validate_options *o, int argc, char **argv, struct err *e)
{
	int format = format_parse(o->run.format_text);
	const struct ladder_want want = {.backend = o->backend,
					 .model = o->run.hardware.model_name,
					 .profile = o->profile,
					 .budget_s = o->budget_s,
					 .tp = o->run.memory.tp,
					 .rounds = o->rounds,
					 .n_policies = o->run.policies.n,
					 .load = arrivals_given(&o->run) ? 0 : o->load,
					 .argc = argc,
					 .argv = argv};
	struct ladder_result r = {.n_rows = 0, .tolerance = o->tolerance};
	int code;

	if (check(o, e) < 0)
		return EXIT_USAGE;
	if (format < 0) {
		err_set(e, "-o '%s' is not md, csv or jsonl", o->run.format_text);
		return EXIT_USAGE;
	}
	o->run.format = (enum format)format;
	if (!o->tolerance.any)
		for (int m = 0; m < N_METRICS; m++)
			r.tolerance.mean[m] = r.tolerance.p50[m] = TOLERANCE;
	code = ladder_run(&want, &r, e);
	if (code == 0)
		code = print(o, &r, e) < 0 ? EXIT_FAILED : r.outside[0] ? EXIT_OUTSIDE : 0;
	if (code == EXIT_OUTSIDE)
		fprintf(stderr, "omnibus validate: outside the tolerance: %s\n", r.outside);
	ladder_result_release(&r);
	return code;
}
