/*
 * profile_check.c: what no device can be.
 *
 * Floors are those of the data sheet. Weights that stay in a cache are read faster than from
 * memory, and a table of kernels may be of such reads: a single operation is held against the
 * memory's bandwidth only where it moves four times what the largest cache of a device holds. A
 * decode step of a model is held against it in full: its weights fit in no cache.
 */
#include "calibrate/config.h"
#include "calibrate/cost.h"
#include "calibrate/form.h"
#include "calibrate/profile.h"
#include "calibrate/profile_fit.h"
#include "sim/run.h"
#include <math.h>
#include <string.h>

static const double cache_bytes = 128 << 20; /* of Blackwell; Hopper has 50, Ampere 40 MiB */
static const double cache_share = 4;
static const double may_fall = 0.9; /* of the time at half the size */
/* of a data sheet's rate: clocks under load, and what a table rounds */
static const double floor_share = 0.99;

static void describe(char text[256], const struct point *p)
{
	size_t at = (size_t)snprintf(text, 256, "%s of %d bits", op_names[p->op], p->bits);
	const struct {
		const char *name;
		int64_t value;
	} sizes[] = {{"m", p->m},
		     {"n", p->n},
		     {"k", p->k},
		     {"heads", p->heads},
		     {"kv_heads", p->kv_heads},
		     {"prefill_seq", p->prefill_seq},
		     {"new_tok", p->new_tok},
		     {"prior_tok", p->prior_tok},
		     {"decode_seq", p->decode_seq},
		     {"decode_ctx", p->decode_ctx},
		     {"devices", p->devices},
		     {"bytes", p->bytes}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && at < 200; i++)
		if (sizes[i].value)
			at += (size_t)snprintf(text + at, 256 - at, ", %s %lld", sizes[i].name,
					       (long long)sizes[i].value);
}

/* What a device takes at least for the operation, by its data sheet; 0: nothing is known of it. */
static double floor_ns(const struct device *d, const struct point *p)
{
	double flops = 0, bytes = 0, rate = p->bits == 8 ? 2 * d->peak_flops : d->peak_flops;

	if (p->op == OP_GEMM) {
		flops = work_gemm_flops(p);
		bytes = (double)p->n * (double)p->k * p->bits / 8;
	} else if (p->op == OP_PREFILL) {
		flops = work_prefill_flops(p);
		rate = d->peak_flops;
	} else if (p->op == OP_DECODE) {
		bytes = work_decode_bytes(p);
	} else if (p->op == OP_COPY_DEVICE) {
		bytes = work_copy_bytes(p);
	} else if (p->op == OP_ALLREDUCE) {
		/* where the switch adds, all of it passes a link once */
		double link = device_node_bytes_s(d);

		return link > 0 ? 1e9 * (double)p->bytes / link : 0;
	}
	if (bytes < cache_share * cache_bytes)
		bytes = 0;
	return 1e9 * fmax(flops / rate, bytes / d->peak_bytes_s);
}

static int check_floor(const struct profile *p, const struct point *at, double ns, struct err *e)
{
	double least = floor_ns(&p->device, at);
	char text[256];

	if (ns >= floor_share * least)
		return 0;
	describe(text, at);
	return err_set(e,
		       "%s: forecast in %.6g us, where %s takes %.6g us at its peak: these times "
		       "cannot be of this device",
		       text, ns / 1e3, p->device.name, least / 1e3);
}

/* The least or the most of each size that was measured, in the shape that the fit is for. */
static struct point corner(const struct fit *f, bool most)
{
	struct point at = f->shape;

	for (int i = 0; i < f->n_ranges; i++)
		form_place(f->range[i].name, most ? f->range[i].max : f->range[i].min, &at);
	return at;
}

/* A clock of a device is about a ns. */
static int check_corners(const struct fit *f, struct err *e)
{
	const double least_ns = 1;
	char text[256];

	for (int most = 0; most < 2; most++) {
		const struct point at = corner(f, most);
		double ns = fit_ns(f, &at);

		if (ns >= least_ns && ns < (double)TIME_MAX_NS)
			continue;
		describe(text, &at);
		return err_set(
			e,
			"%s: forecast in %.6g ns: no operation takes less than %g ns or more "
			"than 126 years",
			text, ns, least_ns);
	}
	return 0;
}

static int check_rise(const struct point *at, double ns, const struct point *half, double half_ns,
		      struct err *e)
{
	char text[256], before[256];

	if (ns >= may_fall * half_ns)
		return 0;
	describe(text, at);
	describe(before, half);
	return err_set(e,
		       "times fall with size: %.6g us for %s, %.6g us for %s: at most a tenth "
		       "less is valid",
		       ns / 1e3, text, half_ns / 1e3, before);
}

/* Sizes that are doubled, of one operation. */
struct doubled {
	enum op op;
	struct point from; /* where the lattice starts */
	size_t offset[3];  /* of an int64_t in struct point; 0: none */
	int times[3];
};

#define SIZE(n) offsetof(struct point, n)
static const struct doubled lattices[] = {
	{OP_GEMM, {.m = 1, .n = 256, .k = 256}, {SIZE(m), SIZE(n), SIZE(k)}, {15, 11, 9}},
	{OP_PREFILL,
	 {.prefill_seq = 1, .new_tok = 16, .heads = 32, .kv_heads = 8, .head_dim = 128},
	 {SIZE(new_tok), SIZE(prefill_seq)},
	 {13, 8}},
	{OP_DECODE,
	 {.decode_seq = 1, .decode_ctx = 512, .heads = 32, .kv_heads = 8, .head_dim = 128},
	 {SIZE(decode_ctx)},
	 {14}},
	{OP_NORM, {.m = 1, .n = 4096}, {SIZE(m)}, {15}},
	{OP_ROPE, {.m = 1, .n = 5120}, {SIZE(m)}, {15}},
	{OP_ACT, {.m = 1, .n = 14336}, {SIZE(m)}, {15}},
	{OP_EMBED, {.m = 1, .n = 4096}, {SIZE(m)}, {15}},
	{OP_SAMPLE, {.m = 1, .n = 128256}, {SIZE(m)}, {12}},
	{OP_ALLREDUCE, {.devices = 2, .bytes = 256}, {SIZE(bytes), SIZE(devices)}, {22, 3}},
	{OP_COPY_TO_HOST, {.bytes = 4096}, {SIZE(bytes)}, {20}},
	{OP_COPY_FROM_HOST, {.bytes = 4096}, {SIZE(bytes)}, {20}},
	{OP_COPY_DEVICE, {.bytes = 4096}, {SIZE(bytes)}, {20}},
};
#undef SIZE

static int64_t *size_at(struct point *p, size_t offset)
{
	return (int64_t *)(void *)((char *)p + offset);
}

/* One place of the lattice: above the floor, and no less than at half of each size. */
static int check_place(const struct profile *p, const struct doubled *d, struct point at,
		       struct err *e)
{
	enum profile_where where, before;
	double ns = profile_ns(p, &at, &where);

	if (where != PROFILE_INSIDE)
		return 0;
	if (check_floor(p, &at, ns, e) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		struct point half = at;
		double half_ns;

		if (!d->times[i])
			continue;
		*size_at(&half, d->offset[i]) /= 2;
		half_ns = profile_ns(p, &half, &before);
		/* two fits have each their own noise: a curve of a shape, and all others */
		if (before == PROFILE_INSIDE && profile_find(p, &half) == profile_find(p, &at) &&
		    check_rise(&at, ns, &half, half_ns, e) < 0)
			return -1;
	}
	return 0;
}

static int check_lattice(const struct profile *p, const struct doubled *d, int bits, struct err *e)
{
	struct point at = d->from;

	at.op = d->op;
	at.bits = bits;
	for (int i = 0; i <= d->times[0]; i++) {
		for (int j = 0; j <= d->times[1]; j++) {
			for (int k = 0; k <= d->times[2]; k++) {
				struct point place = at;

				*size_at(&place, d->offset[0]) <<= i;
				if (d->times[1])
					*size_at(&place, d->offset[1]) <<= j;
				if (d->times[2])
					*size_at(&place, d->offset[2]) <<= k;
				if (check_place(p, d, place, e) < 0)
					return -1;
			}
		}
	}
	return 0;
}

/* The GEMMs of a decode step of one sequence: their weights come from memory. */
static int check_model(const struct profile *p, const char *name, struct err *e)
{
	struct model m;
	double ns = 0;

	if (!profile_has(p, OP_GEMM, 16))
		return 0;
	if (model_load(&m, name, e) < 0)
		return -1;
	const int64_t qkv = (m.heads + 2 * m.kv_heads) * m.head_dim;
	const int64_t shapes[][2] = {{qkv, m.hidden},
				     {m.hidden, m.heads * m.head_dim},
				     {2 * m.inter, m.hidden},
				     {m.hidden, m.inter}};
	struct point at = {.op = OP_GEMM, .bits = 16, .m = 1};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		at.n = shapes[i][0];
		at.k = shapes[i][1];
		ns += (double)m.layers * profile_ns(p, &at, NULL);
	}
	at.n = m.vocab;
	at.k = m.hidden;
	ns += profile_ns(p, &at, NULL);
	double least = cost_decode_floor_ns(&m, &p->device, 1);
	if (ns >= floor_share * least)
		return 0;
	return err_set(e,
		       "a decode step of %s: its GEMMs are forecast in %.4g ms, where reading its "
		       "weights takes %.4g ms at the %.4g TB/s of %s",
		       name, ns / 1e6, least / 1e6, p->device.peak_bytes_s / 1e12, p->device.name);
}

static int check_prompts(const struct profile *p, const struct whole_steps *s,
			 const struct model *m, struct err *e)
{
	const int64_t up_to =
		s->prompt_tok.max >= 1 ? (int64_t)fmin(s->prompt_tok.max, 1 << 30) : 2048;

	for (int64_t tok = 1; tok <= up_to; tok *= 2) {
		const struct point at = {.op = OP_STEP, .prefill_seq = 1, .new_tok = tok};
		double ns = whole_steps_ns(s, &at);
		double least = cost_prefill_floor_ns(m, &p->device, s->tp, tok);

		if (!(ns >= floor_share * least))
			return err_set(e,
				       "a prompt of %lld tokens of %s, tp %lld, is forecast in "
				       "%.4g ms, where its arithmetic takes %.4g ms at the %.4g "
				       "TF/s of %s",
				       (long long)tok, s->model, (long long)s->tp, ns / 1e6,
				       least / 1e6, p->device.peak_flops / 1e12, p->device.name);
	}
	return 0;
}

/* Published or fitted steps of a model that is known: no less than to read its weights. */
static int check_steps(const struct profile *p, const struct whole_steps *s, struct err *e)
{
	const struct point one = {.op = OP_STEP, .decode_seq = 1, .decode_ctx = 1};
	size_t n;
	const struct model *m = model_list(&n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(m[i].name, s->model) != 0)
			continue;
		double ns = whole_steps_ns(s, &one);
		double least = cost_decode_floor_ns(&m[i], &p->device, s->tp);
		if (!(ns >= floor_share * least))
			return err_set(
				e,
				"a decode step of %s, tp %lld, is forecast in %.4g ms, where "
				"reading its weights takes %.4g ms at the %.4g TB/s of %s",
				s->model, (long long)s->tp, ns / 1e6, least / 1e6,
				p->device.peak_bytes_s / 1e12, p->device.name);
		if (check_prompts(p, s, &m[i], e) < 0)
			return -1;
	}
	return 0;
}

/* Coefficients are none below 0: times can fall where the second set of them begins. */
static int check_step_rise(const struct whole_steps *s, struct err *e)
{
	enum { CONTEXT = 512, SEQS_MAX = 4096 };
	double half_ns = 0;

	for (int64_t seqs = 1; seqs <= SEQS_MAX; seqs *= 2) {
		const struct point at = {
			.op = OP_STEP, .decode_seq = seqs, .decode_ctx = seqs * CONTEXT};
		double ns = whole_steps_ns(s, &at);

		if (ns < may_fall * half_ns)
			return err_set(e,
				       "times fall with size: %.4g ms for a decode step of %s, tp "
				       "%lld, of %lld sequences, %.4g ms for half of them",
				       ns / 1e6, s->model, (long long)s->tp, (long long)seqs,
				       half_ns / 1e6);
		half_ns = ns;
	}
	return 0;
}

static int check_points(const struct fit *f, struct err *e)
{
	size_t least = fit_points_least((size_t)f->n_coefs);

	if (f->points >= least)
		return 0;
	return err_set(e, "%s of %d bits has %zu points: %zu are the least for its %d coefficients",
		       op_names[f->op], f->bits, f->points, least, f->n_coefs);
}

int profile_check(const struct profile *p, struct err *e)
{
	static const int bits[] = {16, 8, 4, 2};

	for (size_t i = 0; i < p->n_fits; i++)
		if (check_points(&p->fit[i], e) < 0 || check_corners(&p->fit[i], e) < 0)
			return -1;
	for (size_t i = 0; i < sizeof(lattices) / sizeof(lattices[0]); i++)
		for (size_t b = 0; b < sizeof(bits) / sizeof(bits[0]); b++)
			if (profile_has(p, lattices[i].op, bits[b]) &&
			    check_lattice(p, &lattices[i], bits[b], e) < 0)
				return -1;
	if (check_model(p, "llama-3-8b", e) < 0)
		return -1;
	for (size_t i = 0; i < p->n_steps; i++)
		if (check_steps(p, &p->steps[i], e) < 0 || check_step_rise(&p->steps[i], e) < 0)
			return -1;
	return 0;
}
