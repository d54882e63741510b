/* cmd_calibrate_backend.c: `omnibus calibrate --backend`, with --check or without. */
#include "calibrate/sweep_profile.h"
#include "results/store_points.h"
#include "sim/calibrate_backend.h"
#include "traces/outfile.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* What is timed where nothing else is said. The pool is made smaller where memory is short. */
static const struct defaults {
	const char *backend, *model;
	double budget_s;
	int64_t max_tok, max_seqs, kv_tok;
} all_defaults[] = {
	{"cpu", "tiny", 60, 2048, 256, 65536},
	{"cuda", "llama-3-8b", 120, 8192, 512, 262144},
};

static const struct defaults *find_defaults(const char *backend)
{
	for (size_t i = 0; i < sizeof(all_defaults) / sizeof(all_defaults[0]); i++)
		if (!strcmp(all_defaults[i].backend, backend))
			return &all_defaults[i];
	return NULL;
}

enum { LEAST_KV_TOK = 4096, BLOCK_TOK = 16 };
/* KV of fewer bits than 8 is timed unasked where the budget is at least so long. */
static const double LONG_S = 60;

struct calibration {
	const struct calibrate_options *o;
	const struct backend_ops *ops;
	const struct defaults *defaults;
	struct model model;
	struct sweep_want want;
	struct backend *b[SWEEP_KV_BITS]; /* a pool of each of want.kv_bits */
	struct backend_facts facts;
	struct store_points *store; /* NULL: no --db */
	struct sweep_result sweep;
	char started[32], date[16], source[256];
	struct device base;
	bool has_base; /* --device names a device that is known */
	double start_s;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- before -------------------------------------------------------------------------------------
 */

static void set_texts(struct calibration *c)
{
	time_t t = time(NULL);
	struct tm utc;

	gmtime_r(&t, &utc);
	strftime(c->started, sizeof(c->started), "%Y-%m-%dT%H:%M:%SZ", &utc);
	strftime(c->date, sizeof(c->date), "%Y-%m-%d", &utc);
	if (c->o->date)
		snprintf(c->date, sizeof(c->date), "%s", c->o->date);
	if (c->o->source)
		snprintf(c->source, sizeof(c->source), "%s", c->o->source);
	else
		snprintf(c->source, sizeof(c->source),
			 "timed by omnibus calibrate --backend %s: %s, tp %" PRId64 ", %g s",
			 c->ops->name, c->o->model ? c->model.name : "shapes of any model",
			 c->o->tp, c->want.budget_s);
}

static void set_want(struct calibration *c)
{
	const struct calibrate_options *o = c->o;
	struct sweep_want *w = &c->want;
	int n = 0;

	*w = (struct sweep_want){.model = &c->model,
				 .tp = o->tp,
				 .any_model = !o->model,
				 .max_tok = c->defaults->max_tok,
				 .max_seqs = c->defaults->max_seqs,
				 .kv_tok = c->defaults->kv_tok,
				 .block_tok = BLOCK_TOK,
				 .budget_s = o->budget_s > 0 ? o->budget_s : c->defaults->budget_s};
	w->kv_bits[n++] = 16;
	w->kv_bits[n++] = 8;
	for (int bits = 4; bits >= 2; bits /= 2)
		if (o->kv_bits == bits || (o->kv_bits == 0 && w->budget_s >= LONG_S))
			w->kv_bits[n++] = bits;
}

/* Of a device that is known, data sheet and links are taken; any other name is just one. */
static int find_base(struct calibration *c, struct err *e)
{
	const char *name = c->o->device;

	c->has_base = name && (device_is_path(name) || device_listed(name));
	return c->has_base ? device_load(&c->base, name, e) : 0;
}

/* Exit code; 0: fine. Nothing is timed for minutes to be refused then. */
static int check_options(struct calibration *c, struct err *e)
{
	const char *model = c->o->model ? c->o->model : c->defaults->model;
	struct outfile probe;

	if (model_load(&c->model, model, e))
		return model_is_path(model) ? EXIT_FAILED : EXIT_USAGE;
	if (model_check_tp(&c->model, c->o->tp, e))
		return EXIT_USAGE;
	if (find_base(c, e))
		return EXIT_FAILED;
	if (c->o->db && store_points_check(c->o->db, e))
		return EXIT_FAILED;
	if (c->o->output) {
		if (outfile_open(&probe, c->o->output, e))
			return EXIT_FAILED;
		outfile_abandon(&probe);
	}
	return 0;
}

static int open_pool(struct calibration *c, int i, struct err *e)
{
	const struct backend_want want = {.model = &c->model,
					  .tp = c->o->tp,
					  .max_tok = c->want.max_tok,
					  .max_seqs = c->want.max_seqs,
					  .kv_tok = c->want.kv_tok,
					  .block_tok = BLOCK_TOK,
					  .kv_bits = c->want.kv_bits[i],
					  .threads = c->o->threads,
					  .seed = c->o->seed};

	return c->ops->open(&c->b[i], &want, e);
}

/* The first pool as large as there is room for; bits that the backend has not are left out. */
static int open_backend(struct calibration *c, struct err *e)
{
	int *bits = c->want.kv_bits, n = 1;
	struct err why;

	for (; open_pool(c, 0, e); c->want.kv_tok /= 2)
		if (c->want.kv_tok / 2 < LEAST_KV_TOK)
			return -1;
	c->ops->facts(c->b[0], &c->facts);
	for (int i = 1; i < SWEEP_KV_BITS && bits[i]; i++) {
		int is = bits[i];

		bits[i] = 0;
		bits[n] = is;
		if (open_pool(c, n, &why)) {
			fprintf(stderr, "omnibus calibrate: KV of %d bits is not timed: %s\n", is,
				why.text);
			bits[n] = 0;
		} else {
			n++;
		}
	}
	return 0;
}

static void close_backend(struct calibration *c)
{
	for (int i = 0; i < SWEEP_KV_BITS; i++)
		if (c->b[i])
			c->ops->close(c->b[i]);
}

static int open_store(struct calibration *c, struct err *e)
{
	const struct calibration_info info = {.backend = c->ops->name,
					      .device = c->facts.device,
					      .driver = c->facts.driver,
					      .clocks = c->facts.clocks,
					      .model = c->o->model ? c->model.name : NULL,
					      .tp = c->o->tp,
					      .threads = c->o->threads,
					      .budget_s = c->want.budget_s,
					      .seed = (int64_t)c->o->seed,
					      .started = c->started};

	c->store = c->o->db ? store_points_open(c->o->db, &info, e) : NULL;
	return c->o->db && !c->store ? -1 : 0;
}

/* --- the sweep and what comes of it -------------------------------------------------------------
 */

static int say_interrupted(const struct calibration *c, struct err *e)
{
	size_t n = c->sweep.points.n;

	if (!c->store)
		return err_set(e,
			       "interrupted: no profile is written, and the points are lost; with "
			       "--db FILE they are kept as they are timed");
	return err_set(e,
		       "interrupted: no profile is written; calibration %" PRId64 " in %s has the "
		       "points timed so far, %zu of %zu with %d repeats or more",
		       store_points_id(c->store), c->o->db, n, c->sweep.listed,
		       SWEEP_REPEATS_LEAST);
}

static int store_fits(struct calibration *c, const struct profile *p, struct err *e)
{
	for (size_t i = 0; c->store && i < p->n_fits; i++)
		if (store_points_fit(c->store, (int64_t)i, &p->fit[i], e))
			return -1;
	return 0;
}

static void say_left_out(const char *why)
{
	fprintf(stderr, "omnibus calibrate: left out: %s\n", why);
}

static int make_profile(struct calibration *c, struct err *e)
{
	const struct sweep_profile_want want = {.model = &c->model,
						.tp = c->o->tp,
						.facts = &c->facts,
						.base = c->has_base ? &c->base : NULL,
						.name = c->o->device,
						.source = c->source,
						.server = c->o->server,
						.date = c->date,
						.seed = c->o->seed,
						.left_out = say_left_out};
	struct profile *p;
	int rc;

	p = sweep_profile(&c->sweep.points, &want, e);
	if (!p)
		return -1;
	rc = store_fits(c, p, e) || (c->o->output && profile_save(p, c->o->output, e));
	if (!rc && !(c->o->output && strcmp(c->o->output, "-") == 0))
		calibrate_print_measured(stdout, p);
	profile_free(p);
	return rc ? -1 : 0;
}

/* Timed, fitted, saved; how it ended is in the database whatever it was. */
static int sweep_and_fit(struct calibration *c, struct err *e)
{
	const char *status = "failed";
	struct err other;
	int rc = calibrate_sweep(&c->want, c->ops, c->b, c->store, &c->sweep, e);

	if (!rc && c->sweep.stopped) {
		status = "interrupted";
		rc = say_interrupted(c, e);
	} else if (!rc) {
		calibrate_print_left_out(stderr, &c->sweep);
		calibrate_print_noise(stderr, &c->sweep);
		rc = c->store ? store_points_flush(c->store, e) : 0;
		rc = rc ? rc : make_profile(c, e);
		status = rc ? "failed" : "complete";
	}
	if (c->store && store_points_end(c->store, status, rc ? NULL : c->o->output,
					 now_s() - c->start_s, rc ? &other : e))
		return -1;
	return rc;
}

int calibrate_on(const struct backend_ops *ops, const struct calibrate_options *o, struct err *e)
{
	struct calibration c = {
		.o = o, .ops = ops, .defaults = find_defaults(ops->name), .start_s = now_s()};
	int code;

	if (!c.defaults)
		c.defaults = &all_defaults[0];
	code = check_options(&c, e);
	if (!code) {
		set_want(&c);
		set_texts(&c);
		if (open_backend(&c, e) || open_store(&c, e) || sweep_and_fit(&c, e))
			code = EXIT_FAILED;
	}
	sweep_release(&c.sweep);
	store_points_close(c.store);
	close_backend(&c);
	device_release(&c.base);
	return code;
}

static void say(void *arg, const char *line)
{
	fprintf(arg, "%s\n", line);
}

int calibrate_backend(const struct calibrate_options *o, struct err *e)
{
	const struct backend_ops *ops = backend_find(o->backend, e);

	if (!ops)
		return find_defaults(o->backend) ? EXIT_FAILED : EXIT_USAGE;
	if (!o->check)
		return calibrate_on(ops, o, e);
	return ops->check(o->seed, say, stdout, e) ? EXIT_FAILED : 0;
}
