#include "calibrate/memory.h"

static const int64_t gib = (int64_t)1 << 30;

int64_t memory_default_reserve(const struct model *m, int64_t tp)
{
	enum { STEP_TOK = 8192 };
	int64_t width = m->inter;
	if (m->experts)
		width = (m->experts_active + m->experts_shared) * m->expert_inter;
	if (m->experts && m->dense_layers && m->inter > width)
		width = m->inter;
	return gib + STEP_TOK * (4 * m->hidden + 2 * width / tp) * m->dtype_bytes;
}

void memory_want_default(struct memory_want *w)
{
	*w = (struct memory_want){
		.tp = 1,
		.pp = 1,
		.utilization = 0.9,
		.reserve_bytes = -1,
		.block_tok = 16,
		.kv_bits = 16,
	};
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a < 0 ? 0 : a / b;
}

void memory_budget(const struct model *m, const struct device *d, const struct memory_want *w,
		   struct memory_budget *b)
{
	*b = (struct memory_budget){
		.memory_bytes = w->memory_bytes ? w->memory_bytes : d->memory_bytes,
		.weights_bytes = model_stage_weights_bytes(m, w->tp, w->pp),
		.reserve_bytes =
			w->reserve_bytes < 0 ? memory_default_reserve(m, w->tp) : w->reserve_bytes,
	};
	model_kv(m, w->tp, w->pp, w->kv_bits, &b->kv);
	b->kv_token_bytes = b->kv.slot_bytes;
	int64_t block_bytes = b->kv_token_bytes * w->block_tok;
	b->usable_bytes = (int64_t)((double)b->memory_bytes * w->utilization);
	b->left_bytes = b->usable_bytes - b->weights_bytes - b->reserve_bytes;
	b->kv_bytes = b->left_bytes;
	b->blocks = floor_div(b->kv_bytes, block_bytes);
	if (w->kv_blocks > 0 || w->kv_tokens > 0) {
		b->overridden = true;
		b->blocks = w->kv_blocks > 0 ? w->kv_blocks : w->kv_tokens / w->block_tok;
		b->kv_bytes =
			b->blocks > INT64_MAX / block_bytes ? INT64_MAX : b->blocks * block_bytes;
	}
	b->tokens = b->blocks * w->block_tok;
}

static bool fits(const struct model *m, const struct device *d, const struct memory_want *w)
{
	struct memory_budget b;
	memory_budget(m, d, w, &b);
	return b.blocks > 0;
}

/* The smallest larger tp that does; 0: none up to 64. */
static int64_t tp_that_does(const struct model *m, const struct device *d, struct memory_want w)
{
	struct err ignored;
	for (int64_t tp = w.tp + 1; tp <= 64; tp++) {
		w.tp = tp;
		if (model_check_tp(m, tp, &ignored) == 0 && fits(m, d, &w))
			return tp;
	}
	return 0;
}

/* The smallest larger pp that does; 0: none up to 64. */
static int64_t pp_that_does(const struct model *m, const struct device *d, struct memory_want w)
{
	for (w.pp++; w.pp <= 64 && w.pp <= m->layers; w.pp++)
		if (fits(m, d, &w))
			return w.pp;
	return 0;
}

/* In whole percent; 0: none below 100 % does. */
static double utilization_that_does(const struct model *m, const struct device *d,
				    struct memory_want w)
{
	for (int percent = 1; percent < 100; percent++) {
		if (percent / 100.0 <= w.utilization)
			continue;
		w.utilization = percent / 100.0;
		if (fits(m, d, &w))
			return w.utilization;
	}
	return 0;
}

static const struct device *device_that_does(const struct model *m, struct memory_want w)
{
	size_t n;
	const struct device *list = device_list(&n);
	w.memory_bytes = 0;
	for (size_t i = 0; i < n; i++)
		if (fits(m, &list[i], &w))
			return &list[i];
	return NULL;
}

static size_t append(char *text, size_t size, size_t used, const char *what)
{
	int n = snprintf(text + used, size - used, "%s%s", used ? ", or " : "", what);
	return n < 0 || used + (size_t)n >= size ? used : used + (size_t)n;
}

static void advise(const struct model *m, const struct device *d, const struct memory_want *w,
		   char *text, size_t size)
{
	char part[96];
	size_t used = 0;
	int64_t tp = tp_that_does(m, d, *w);
	double utilization = utilization_that_does(m, d, *w);
	const struct device *other = device_that_does(m, *w);
	struct memory_want own = *w;
	own.memory_bytes = 0;
	if (w->memory_bytes > 0 && fits(m, d, &own)) { /* it is not the device that is short */
		snprintf(part, sizeof(part), "no --memory (%s has %.2f GiB)", d->name,
			 (double)d->memory_bytes / (double)gib);
		used = append(text, size, used, part);
		other = NULL;
	}
	if (tp) {
		snprintf(part, sizeof(part), "--tp %lld", (long long)tp);
		used = append(text, size, used, part);
	}
	if (!tp && pp_that_does(m, d, *w)) {
		snprintf(part, sizeof(part), "--pp %lld", (long long)pp_that_does(m, d, *w));
		used = append(text, size, used, part);
	}
	if (utilization > 0) {
		snprintf(part, sizeof(part), "--utilization %.2f", utilization);
		used = append(text, size, used, part);
	}
	if (other) {
		snprintf(part, sizeof(part), "-d %s%s", other->name,
			 w->memory_bytes > 0 ? " without --memory" : "");
		used = append(text, size, used, part);
	}
	if (!used)
		append(text, size, used, "no tp, pp, utilization or device of the list alone");
}

int memory_check(const struct model *m, const struct device *d, const struct memory_want *w,
		 const struct memory_budget *b, struct err *e)
{
	if (b->kv_bytes == INT64_MAX)
		return err_set(
			e,
			"a KV pool of %lld blocks of %lld tokens, %lld bytes each, is beyond "
			"8 EiB: give fewer or smaller blocks",
			(long long)b->blocks, (long long)w->block_tok,
			(long long)b->kv_token_bytes);
	if (b->blocks > 0)
		return 0;
	if (b->overridden)
		return err_set(e, "the KV pool asked for is smaller than one block of %lld tokens",
			       (long long)w->block_tok);
	char advice[256];
	advise(m, d, w, advice, sizeof(advice));
	char pp[32] = "";
	if (w->pp > 1)
		snprintf(pp, sizeof(pp), ", pp %lld,", (long long)w->pp);
	double unit = (double)gib;
	return err_set(
		e,
		"no room for a KV cache: %s at tp %lld%s on %s%s leaves %.2f GiB of %.2f usable, "
		"after %.2f of weights and %.2f of reserve; what would do: %s",
		m->name, (long long)w->tp, pp, d->name,
		w->memory_bytes > 0 ? ", its memory as --memory says," : "",
		(double)b->left_bytes / unit, (double)b->usable_bytes / unit,
		(double)b->weights_bytes / unit, (double)b->reserve_bytes / unit, advice);
}
