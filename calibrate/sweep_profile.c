#include "calibrate/sweep_profile.h"
#include "calibrate/form.h"
#include "calibrate/profile_fit.h"
#include "calibrate/sweep.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What a link and a network of a device that has none are taken for: as in files of devices. */
static const double LINK_LATENCY_NS = 10e3, NETWORK_BYTES_S = 12.5e9, NETWORK_LATENCY_NS = 20e3;

/*
 * Where there is no data sheet the peaks are so much above the best that was seen: fits have
 * errors, and between what was timed a forecast may be a little above it.
 */
static const double ABOVE_SEEN = 1.25;

struct build {
	struct profile *p;
	const struct points *points;
	const struct sweep_profile_want *w;
};

/* --- the device ---------------------------------------------------------------------------------
 */

/* The best rate among all repeats of the points of an operation; 0: none. */
static double best_rate(const struct build *b, enum op op,
			double (*amount)(const struct build *, const struct point *))
{
	double best = 0;

	for (size_t i = 0; i < b->points->n; i++) {
		const struct point *p = &b->points->at[i];

		if (p->op == op)
			best = fmax(best, amount(b, p) / p->min_ns * 1e9);
	}
	return best;
}

static double flops(const struct build *b, const struct point *p)
{
	(void)b;
	return 2 * (double)p->m * (double)p->n * (double)p->k;
}

static double copied(const struct build *b, const struct point *p)
{
	(void)b;
	return (double)p->bytes;
}

static double copied_within(const struct build *b, const struct point *p)
{
	(void)b;
	return 2 * (double)p->bytes;
}

static double weight_bytes(const struct build *b, const struct point *p)
{
	return (double)p->n * (double)p->k * (double)b->w->model->dtype_bytes;
}

static double cached_bytes(const struct build *b, const struct point *p)
{
	return 2 * (double)(p->kv_heads * p->head_dim) * (double)p->decode_ctx *
	       (double)b->w->model->dtype_bytes * p->bits / 16;
}

/* What a pure decode step has to read: weights of one token at least, and its KV. 0 for others. */
static double decode_bytes(const struct build *b, const struct point *p)
{
	const struct model *m = b->w->model;
	struct model_kv kv;

	if (p->prefill_seq > 0 || p->decode_seq == 0)
		return 0;
	model_kv(m, b->w->tp, 1, 16, &kv);
	return (double)model_streamed_token_bytes(m, b->w->tp) +
	       (double)(kv.full_bytes * p->decode_ctx);
}

static double least_ns(const struct points *points, enum op op)
{
	double least = INFINITY;

	for (size_t i = 0; i < points->n; i++)
		if (points->at[i].op == op)
			least = fmin(least, points->at[i].ns);
	return isfinite(least) ? least : 0;
}

/*
 * Where the data sheet is not known, the best that was seen is the peak: of copies, and of whatever
 * reads weights or KV, as caches are faster.
 */
static double seen_bytes_s(const struct build *b)
{
	return fmax(
		fmax(best_rate(b, OP_COPY_DEVICE, copied_within),
		     best_rate(b, OP_GEMM, weight_bytes)),
		fmax(best_rate(b, OP_DECODE, cached_bytes), best_rate(b, OP_STEP, decode_bytes)));
}

static void set_rates(struct device *d, const struct build *b)
{
	const struct backend_facts *f = b->w->facts;
	double gemm_flops = best_rate(b, OP_GEMM, flops);
	double within = best_rate(b, OP_COPY_DEVICE, copied_within);
	double to_host = best_rate(b, OP_COPY_TO_HOST, copied);
	double from_host = best_rate(b, OP_COPY_FROM_HOST, copied);

	d->peak_bytes_s = f->peak_bytes_s;
	d->peak_flops = f->peak_flops;
	if (f->seen || f->peak_bytes_s <= 0)
		d->peak_bytes_s = ABOVE_SEEN * fmax(d->peak_bytes_s, seen_bytes_s(b));
	if (f->seen || f->peak_flops <= 0)
		d->peak_flops = ABOVE_SEEN * fmax(d->peak_flops, gemm_flops);
	d->gemm_t0_ns = least_ns(b->points, OP_GEMM);
	d->gemm_bytes_s = within > 0 ? fmin(within, d->peak_bytes_s) : 0.85 * d->peak_bytes_s;
	d->gemm_flops = fmin(gemm_flops, d->peak_flops);
	d->pcie_bytes_s =
		to_host > 0 && from_host > 0 ? fmin(to_host, from_host) : to_host + from_host;
	if (d->pcie_bytes_s <= 0)
		d->pcie_bytes_s = d->gemm_bytes_s;
}

static int set_device(struct build *b, struct err *e)
{
	const struct backend_facts *f = b->w->facts;
	struct device *d = &b->p->device;

	if (b->w->base) {
		*d = *b->w->base;
		d->profile = NULL;
		return 0;
	}
	*d = (struct device){.memory_bytes = f->memory_bytes,
			     .link_latency_ns = LINK_LATENCY_NS,
			     .network_bytes_s = NETWORK_BYTES_S,
			     .network_latency_ns = NETWORK_LATENCY_NS};
	snprintf(d->name, sizeof(d->name), "%.*s", (int)sizeof(d->name) - 1,
		 b->w->name ? b->w->name : f->device);
	snprintf(d->summary, sizeof(d->summary), "%s", f->device);
	b->p->peaks_seen = f->seen || f->peak_bytes_s <= 0 || f->peak_flops <= 0;
	set_rates(d, b);
	if (d->memory_bytes <= 0 || d->peak_bytes_s <= 0 || d->peak_flops <= 0)
		return err_set(e,
			       "%s: memory %" PRId64
			       " bytes, %g bytes a second, %g flops a second: "
			       "not all of them are known or were timed; a longer --budget may do",
			       d->name, d->memory_bytes, d->peak_bytes_s, d->peak_flops);
	return 0;
}

/* A step that reads more than the memory can give was not run, or was not timed. */
static int check_floor(const struct build *b, struct err *e)
{
	double peak = b->p->device.peak_bytes_s;
	char name[200];

	for (size_t i = 0; i < b->points->n; i++) {
		const struct point *p = &b->points->at[i];
		double floor_ns = p->op == OP_STEP ? decode_bytes(b, p) / peak * 1e9 : 0;

		if (p->ns >= floor_ns)
			continue;
		sweep_name(p, name, sizeof(name));
		return err_set(e,
			       "%s of %s: %.0f ns, but what it reads takes %.0f ns at %g bytes a "
			       "second, the peak of %s: no profile comes of such times",
			       name, b->w->model->name, p->ns, floor_ns, peak, b->p->device.name);
	}
	return 0;
}

/* --- fits ---------------------------------------------------------------------------------------
 */

static size_t count(const struct points *points, enum op op, int bits)
{
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++)
		n += points->at[i].op == op && points->at[i].bits == bits;
	return n;
}

/* Without these there is no step. */
static const enum op needed[] = {OP_GEMM, OP_PREFILL, OP_DECODE};
enum { N_NEEDED = sizeof(needed) / sizeof(needed[0]) };

static int check_needed(const struct points *points, struct err *e)
{
	for (size_t i = 0; i < N_NEEDED; i++) {
		size_t n = count(points, needed[i], 16), least = form_points_least(needed[i]);

		if (n < least)
			return err_set(e,
				       "%s, 16 bits: %zu points were timed, too few for a profile, "
				       "which takes %zu or more; a longer --budget times more",
				       op_names[needed[i]], n, least);
	}
	return 0;
}

static void leave_out(const struct build *b, const char *why)
{
	if (b->w->left_out)
		b->w->left_out(why);
}

static bool spare(void *arg, enum op op, int bits, const char *why)
{
	for (size_t i = 0; i < N_NEEDED; i++)
		if (op == needed[i] && bits == 16)
			return false;
	leave_out(arg, why);
	return true;
}

static void say_few(const struct build *b, const struct point *p, size_t n)
{
	char why[128];

	snprintf(why, sizeof(why),
		 "%s, %d bits: %zu points are too few; a longer --budget times more",
		 op_names[p->op], p->bits, n);
	leave_out(b, why);
}

/* The points of what has enough of them. */
static struct points enough(const struct build *b)
{
	struct points some = {.at = NULL};

	for (size_t i = 0; i < b->points->n; i++) {
		const struct point *p = &b->points->at[i];
		size_t n = count(b->points, p->op, p->bits);

		if (n >= form_points_least(p->op))
			points_add(&some, p);
		else if (count(&(struct points){.at = b->points->at, .n = i}, p->op, p->bits) == 0)
			say_few(b, p, n);
	}
	return some;
}

static int set_fits(struct build *b, struct err *e)
{
	const struct fit_want want = {.folds = 5, .seed = b->w->seed};
	struct points some;
	int rc;

	if (check_needed(b->points, e))
		return -1;
	some = enough(b);
	rc = profile_fit_sparing(b->p, &some, &want, spare, b, e) ||
	     sweep_rest(b->p, &some, b->w->model, b->w->tp, e);
	points_release(&some);
	return rc ? -1 : 0;
}

static void set_facts(struct build *b)
{
	const struct backend_facts *f = b->w->facts;
	struct profile *p = b->p;

	snprintf(p->source, sizeof(p->source), "%s", b->w->source);
	snprintf(p->date, sizeof(p->date), "%s", b->w->date);
	snprintf(p->program, sizeof(p->program), "%s", OMNIBUS_VERSION);
	snprintf(p->server, sizeof(p->server), "%s", b->w->server ? b->w->server : "");
	snprintf(p->driver, sizeof(p->driver), "%s", f->driver);
	snprintf(p->clocks, sizeof(p->clocks), "%s", f->clocks);
	p->repeat_spread = sweep_spread(b->points);
}

struct profile *sweep_profile(const struct points *points, const struct sweep_profile_want *w,
			      struct err *e)
{
	struct build b = {.p = xcalloc(1, sizeof(*b.p)), .points = points, .w = w};

	set_facts(&b);
	if (!set_device(&b, e) && !check_floor(&b, e) && !set_fits(&b, e) && !profile_check(b.p, e))
		return b.p;
	profile_free(b.p);
	return NULL;
}
