/*
 * import_steps.c: tables of whole steps: published coefficients (DistServe's), Splitwise's, and a
 * plain one of anybody's own.
 */
#include "calibrate/import_formats.h"
#include <string.h>

enum { COUNT_MAX = 1 << 24 };
static const double ms = 1e6, s = 1e9;

/* As `omnibus list models` has it: without its maker. */
static void model_name(char to[64], const char *published)
{
	const char *slash = strrchr(published, '/');

	snprintf(to, 64, "%.63s", slash ? slash + 1 : published);
	if (strncmp(to, "llama2-", 7) == 0)
		snprintf(to, 64, "llama-2-%.50s", (slash ? slash + 1 : published) + 7);
}

static void read_coefs(struct table *t, const char *const columns[3], double coefs[3])
{
	for (int i = 0; i < 3; i++)
		coefs[i] = ms * table_real(t, columns[i], 0, 1e6);
}

/* Batches below the threshold have the first set of coefficients. */
static void step_fit_row(struct import *in, struct table *t)
{
	static const char *const prefill[] = {"prefill_a", "prefill_b", "prefill_c"};
	static const char *const small[] = {"dec_small_a", "dec_small_b", "dec_small_c"};
	static const char *const large[] = {"dec_large_a", "dec_large_b", "dec_large_c"};
	struct whole_steps *w = import_fixed(in);

	*w = (struct whole_steps){
		.tp = table_int(t, "tp", 1, MAX_HEADS),
		.small_max = table_int(t, "bs_threshold", 1, COUNT_MAX) - 1,
		.mixed_share = 1,
	};
	model_name(w->model, table_text(t, "model"));
	read_coefs(t, prefill, w->prefill_ns);
	read_coefs(t, small, w->small_ns);
	read_coefs(t, large, w->large_ns);
	for (size_t i = 0; i + 1 < in->n_fixed; i++)
		if (in->fixed[i].tp == w->tp && strcmp(in->fixed[i].model, w->model) == 0)
			table_fail(t, "model",
				   "and tp are those of a row before: one set of "
				   "coefficients each is valid");
}

const struct import_format import_step_fits = {
	.name = "step-fits",
	.summary = "published coefficients of whole steps",
	.header = "model,tp,bs_threshold,prefill_a,prefill_b,prefill_c,dec_small_a,dec_small_b,"
		  "dec_small_c,dec_large_a,dec_large_b,dec_large_c",
	.row = step_fit_row,
};

/* A row is a batch of equal requests: its prefill, and the mean over its decode steps. */
static void splitwise_row(struct import *in, struct table *t)
{
	const char *hardware = table_text(t, "hardware");
	char model[64];
	int64_t prompt = table_int(t, "prompt_size", 1, COUNT_MAX);
	int64_t seqs = table_int(t, "batch_size", 1, COUNT_MAX);
	int64_t output = table_int(t, "token_size", 1, COUNT_MAX);
	int64_t tp = table_int(t, "tensor_parallel", 1, MAX_HEADS);
	struct point p = {.op = OP_STEP,
			  .bits = 16,
			  .devices = tp,
			  .prefill_seq = seqs,
			  .new_tok = prompt,
			  .ns = table_ns(t, "prompt_time", ms)};
	struct point d = {.op = OP_STEP,
			  .bits = 16,
			  .devices = tp,
			  .decode_seq = seqs,
			  .decode_ctx = seqs * (prompt + output / 2),
			  .ns = table_ns(t, "token_time", ms)};

	if (table_failed(t))
		return;
	if (!in->device || strncmp(hardware, in->device, strlen(in->device)) != 0) {
		import_skip(in, "hardware %.40s: the device is %.20s", hardware,
			    in->device ? in->device : "not named");
		return;
	}
	model_name(model, table_text(t, "model"));
	struct points *points = import_steps_of(in, model, tp);
	points_add(points, &p);
	points_add(points, &d);
}

const struct import_format import_splitwise = {
	.name = "splitwise",
	.summary = "batches of equal requests, of Splitwise's simulator",
	.header = "model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,"
		  "prompt_time,token_time,e2e_time,tensor_parallel",
	.row = splitwise_row,
};

static void check_mixed(struct table *t, const char *phase, const struct point *p)
{
	if (p->prefill_seq && !p->new_tok)
		table_fail(t, "prompt_tokens", "is 0 in a row of phase %s", phase);
	else if (p->decode_seq && !p->decode_ctx)
		table_fail(t, "context_tokens", "is 0 in a row of phase %s", phase);
	else if (p->decode_ctx < p->decode_seq)
		table_fail(t, "context_tokens", "is below batch: each sequence has one at least");
}

/*
 * prefill: `batch` equal prompts of prompt_tokens together. decode: `batch` sequences of
 * context_tokens together. mixed: one prompt, or chunk of it, beside `batch` such sequences.
 */
static void whole_row(struct import *in, struct table *t)
{
	const char *phase = table_text(t, "phase");
	int64_t batch = table_int(t, "batch", 1, COUNT_MAX);
	int64_t prompt = table_int(t, "prompt_tokens", 0, COUNT_MAX);
	int64_t context = table_int(t, "context_tokens", 0, INT64_C(1) << 40);
	struct point p = {.op = OP_STEP, .bits = 16, .devices = in->tp};
	bool prefill = strcmp(phase, "prefill") == 0, mixed = strcmp(phase, "mixed") == 0;

	p.ns = table_ns(t, "seconds", s);
	if (!prefill && !mixed && strcmp(phase, "decode") != 0)
		table_fail(t, "phase", "is '%.40s': it must be prefill, decode or mixed", phase);
	if (table_failed(t))
		return;
	if (prefill && prompt % batch)
		table_fail(t, "prompt_tokens",
			   "is %lld for %lld prompts: they are of equal length, so that it must "
			   "be a multiple",
			   (long long)prompt, (long long)batch);
	p.prefill_seq = prefill ? batch : mixed;
	p.new_tok = prefill ? prompt / batch : mixed ? prompt : 0;
	p.decode_seq = prefill ? 0 : batch;
	p.decode_ctx = prefill ? 0 : context;
	check_mixed(t, phase, &p);
	if (table_failed(t))
		return;
	if (prefill && context)
		import_skip(in, "prompts after cached tokens: a fit of whole steps has no term for "
				"them");
	else
		points_add(import_steps_of(in, in->model->name, in->tp), &p);
}

const struct import_format import_whole_steps = {
	.name = "whole-steps",
	.summary = "whole steps",
	.header = "phase,batch,prompt_tokens,context_tokens,seconds",
	.needs_model = true,
	.row = whole_row,
};
