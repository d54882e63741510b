#include "calibrate/form.h"
#include <math.h>
#include <string.h>

static double decode_len(const struct point *at)
{
	return at->decode_seq > 0 ? (double)at->decode_ctx / (double)at->decode_seq : 0;
}

static double group(const struct point *at)
{
	return at->kv_heads > 0 ? (double)at->heads / (double)at->kv_heads : 0;
}

/* Either a field or a size made of several. */
struct size {
	const char *name;
	size_t field;
	double (*get)(const struct point *at);
};

#define FIELD(f)                                                                                   \
	{                                                                                          \
		.name = #f, .field = offsetof(struct point, f)                                     \
	}
static const struct size sizes[] = {
	FIELD(m),
	FIELD(n),
	FIELD(k),
	FIELD(heads),
	FIELD(kv_heads),
	FIELD(head_dim),
	FIELD(prefill_seq),
	FIELD(new_tok),
	FIELD(prior_tok),
	FIELD(decode_seq),
	FIELD(decode_ctx),
	FIELD(longest),
	FIELD(devices),
	FIELD(bytes),
	{.name = "decode_len", .get = decode_len},
	{.name = "group", .get = group},
};

static const struct size *find(const char *name)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcmp(sizes[i].name, name))
			return &sizes[i];
	return NULL;
}

const char *form_size_name(const char *name)
{
	const struct size *s = find(name);

	return s ? s->name : NULL;
}

double form_size(const char *name, const struct point *at)
{
	const struct size *s = find(name);
	int64_t value;

	CHECK(s, "no size is called %s", name);
	if (s->get)
		return s->get(at);
	memcpy(&value, (const char *)at + s->field, sizeof(value));
	return (double)value;
}

void form_place(const char *name, double value, struct point *at)
{
	const struct size *s = find(name);
	int64_t rounded = llround(value);
	double len = decode_len(at), heads = group(at);

	CHECK(s, "no size is called %s", name);
	if (s->get == decode_len)
		at->decode_ctx = llround(value * (double)at->decode_seq);
	else if (s->get == group)
		at->heads = llround(value * (double)at->kv_heads);
	else
		memcpy((char *)at + s->field, &rounded, sizeof(rounded));
	if (s->field == offsetof(struct point, decode_seq) && !s->get && len > 0)
		at->decode_ctx = llround(len * (double)rounded);
	if (s->field == offsetof(struct point, kv_heads) && !s->get && heads > 0)
		at->heads = llround(heads * (double)rounded);
}

double work_gemm_bytes(const struct point *at)
{
	double m = (double)at->m, n = (double)at->n, k = (double)at->k;

	return n * k * at->bits / 8 + 2 * m * (k + n);
}

double work_gemm_flops(const struct point *at)
{
	return 2.0 * (double)at->m * (double)at->n * (double)at->k;
}

/* A new token attends over the prior ones, itself and half of the other new ones. */
double work_prefill_flops(const struct point *at)
{
	double len = (double)at->new_tok;
	double pairs = len * ((double)at->prior_tok + (len + 1) / 2);

	return 4 * (double)at->prefill_seq * pairs * (double)at->heads * (double)at->head_dim;
}

static double kv_bytes(const struct point *at, double tok)
{
	return 2 * tok * (double)at->kv_heads * (double)at->head_dim * at->bits / 8;
}

double work_prefill_bytes(const struct point *at)
{
	return kv_bytes(at, (double)at->prefill_seq * (double)at->prior_tok);
}

double work_decode_bytes(const struct point *at)
{
	return kv_bytes(at, (double)at->decode_ctx);
}

double work_uneven_bytes(const struct point *at)
{
	double mean = (double)at->decode_ctx / (double)at->decode_seq;

	return kv_bytes(at, fmax(0, (double)at->longest - mean));
}

double work_rows_bytes(const struct point *at)
{
	/* of two bytes, how often each column is read or written */
	static const double passes[N_OPS] = {
		[OP_NORM] = 4, [OP_ROPE] = 2, [OP_ACT] = 3, [OP_EMBED] = 2, [OP_SAMPLE] = 2,
	};

	return 2 * passes[at->op] * (double)at->m * (double)at->n;
}

double work_allreduce_bytes(const struct point *at)
{
	double d = (double)at->devices;

	return 2 * (d - 1) / d * (double)at->bytes;
}

double work_copy_bytes(const struct point *at)
{
	return (double)at->bytes;
}
