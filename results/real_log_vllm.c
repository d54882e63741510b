/*
 * real_log_vllm.c: the document of `vllm bench serve --save-result --save-detailed`: arrays with an
 * entry a request: lengths, time to the first token and the gaps after it in s, errors, and since
 * December 2025 start times.
 */
#include "results/real_log_reader.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { DOCUMENT_MAX = 1 << 30 };
static const double LAST_MAX_S = 4e9; /* 126 years: no simulated time goes beyond */

enum array { ARRAY_PROMPT, ARRAY_OUTPUT, ARRAY_FIRST, ARRAY_GAPS, ARRAY_START, ARRAY_ERROR };
enum { N_NEEDED = ARRAY_START, N_ARRAYS = ARRAY_ERROR + 1 };
static const char *const names[N_ARRAYS] = {
	[ARRAY_PROMPT] = "input_lens", [ARRAY_OUTPUT] = "output_lens", [ARRAY_FIRST] = "ttfts",
	[ARRAY_GAPS] = "itls",	       [ARRAY_START] = "start_times",  [ARRAY_ERROR] = "errors"};

struct document {
	const char *file;
	const json_t *array[N_ARRAYS];
	double first_start_s; /* the earliest: times keep their digits behind it */
	size_t n;
};

static int refuse(const struct document *d, int which, size_t i, const char *expected,
		  struct err *e)
{
	return err_set(e, "%s:%zu: field %s: expected %s", d->file, i + 1, names[which], expected);
}

static int find_arrays(struct document *d, const json_t *root, struct err *e)
{
	for (int i = 0; i < N_ARRAYS; i++) {
		const json_t *a = json_object_get(root, names[i]);

		if ((!a || json_is_null(a)) && i >= N_NEEDED)
			continue;
		if (!json_is_array(a))
			return err_set(e,
				       "%s:1: field %s: is missing or no array: vllm bench serve "
				       "writes it with --save-result --save-detailed",
				       d->file, names[i]);
		if (i > 0 && json_array_size(a) != d->n)
			return err_set(e,
				       "%s:1: field %s: has %zu entries for %zu requests: expected "
				       "one for each",
				       d->file, names[i], json_array_size(a), d->n);
		d->array[i] = a;
		d->n = json_array_size(a);
	}
	return 0;
}

static int64_t to_ns(double s)
{
	return (int64_t)llround(s * 1e9);
}

/* A time in s, from 0 to 10^9. */
static int read_s(const struct document *d, int which, size_t i, const json_t *v, double *s,
		  struct err *e)
{
	*s = json_is_number(v) ? json_number_value(v) : -1;
	if (*s >= 0 && *s <= 1e9)
		return 0;
	return refuse(d, which, i, "seconds, from 0 to 1000000000", e);
}

static int read_tok(const struct document *d, int which, size_t i, int64_t *tok, struct err *e)
{
	const json_t *v = json_array_get(d->array[which], i);

	*tok = json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
	if (*tok >= 0 && *tok <= 1000000000)
		return 0;
	return refuse(d, which, i, "a whole number of tokens from 0 to 1000000000", e);
}

static bool has_failed(const struct document *d, size_t i, const struct real_request *r)
{
	const char *error = json_string_value(json_array_get(d->array[ARRAY_ERROR], i));

	return (error && error[0]) || r->output_tok == 0 || r->prompt_tok == 0;
}

static int read_gaps(const struct document *d, size_t i, struct real_request *r, struct err *e)
{
	const json_t *gaps = json_array_get(d->array[ARRAY_GAPS], i);
	double sum_s = 0, longest_s = 0;
	size_t n = json_array_size(gaps);

	if (!json_is_array(gaps))
		return refuse(d, ARRAY_GAPS, i, "an array of seconds", e);
	for (size_t k = 0; k < n; k++) {
		double s;

		if (read_s(d, ARRAY_GAPS, i, json_array_get(gaps, k), &s, e) < 0)
			return -1;
		sum_s += s;
		longest_s = fmax(longest_s, s);
	}
	if (!((double)r->first_ns / 1e9 + sum_s < LAST_MAX_S))
		return refuse(d, ARRAY_GAPS, i,
			      "a last token less than 126 years after the first start", e);
	r->last_ns = r->first_ns + to_ns(sum_s);
	r->gap_mean_ns = n > 0 ? sum_s / (double)n * 1e9 : NAN;
	r->gap_max_ns = n > 0 ? longest_s * 1e9 : NAN;
	return 0;
}

static int read_request(const struct document *d, size_t i, struct real_log *l, struct err *e)
{
	struct real_request r = {.line = (int64_t)i + 1, .schedule_ns = -1};
	double start_s = d->first_start_s, first_s;

	if (read_tok(d, ARRAY_PROMPT, i, &r.prompt_tok, e) < 0 ||
	    read_tok(d, ARRAY_OUTPUT, i, &r.output_tok, e) < 0)
		return -1;
	if (has_failed(d, i, &r)) {
		l->failed++;
		return 0;
	}
	if (read_s(d, ARRAY_FIRST, i, json_array_get(d->array[ARRAY_FIRST], i), &first_s, e) < 0)
		return -1;
	if (d->array[ARRAY_START])
		start_s = json_number_value(json_array_get(d->array[ARRAY_START], i));
	if (!(start_s - d->first_start_s < LAST_MAX_S))
		return refuse(d, ARRAY_START, i,
			      "seconds, less than 126 years after the first of them", e);
	if (!(start_s - d->first_start_s + first_s < LAST_MAX_S))
		return refuse(d, ARRAY_FIRST, i,
			      "a first token less than 126 years after the first start", e);
	r.arrive_ns = to_ns(start_s - d->first_start_s);
	r.first_ns = r.arrive_ns + to_ns(first_s);
	if (read_gaps(d, i, &r, e) < 0)
		return -1;
	return real_log_add(l, &r, d->file, e);
}

static int find_start(struct document *d, struct err *e)
{
	for (size_t i = 0; i < json_array_size(d->array[ARRAY_START]); i++) {
		const json_t *v = json_array_get(d->array[ARRAY_START], i);

		if (!json_is_number(v) || !(fabs(json_number_value(v)) <= 1e10))
			return refuse(d, ARRAY_START, i,
				      "seconds, from -10000000000 to 10000000000", e);
		if (i == 0 || json_number_value(v) < d->first_start_s)
			d->first_start_s = json_number_value(v);
	}
	return 0;
}

/* The rate and the limit that the client was given; a rate of "inf" is a text. */
static void read_settings(const json_t *root, struct real_log *l)
{
	const json_t *rate = json_object_get(root, "request_rate");
	const json_t *limit = json_object_get(root, "max_concurrency");

	if (json_is_number(rate) && json_number_value(rate) > 0)
		l->rate_rps = json_number_value(rate);
	else if (json_is_string(rate) && strcmp(json_string_value(rate), "inf") == 0)
		l->rate_rps = INFINITY;
	if (json_is_integer(limit) && json_integer_value(limit) > 0)
		l->in_flight = (int64_t)json_integer_value(limit);
}

static int read_document(struct real_log *l, const json_t *root, const char *file, struct err *e)
{
	struct document d = {.file = file};

	l->format = "vllm-json";
	if (find_arrays(&d, root, e) < 0 || find_start(&d, e) < 0)
		return -1;
	read_settings(root, l);
	l->has_arrivals = d.array[ARRAY_START] != NULL;
	for (size_t i = 0; i < d.n; i++)
		if (read_request(&d, i, l, e) < 0)
			return -1;
	return 0;
}

int real_log_vllm(struct real_log *l, struct input *in, struct err *e)
{
	char *text, shown[SHOWN_SIZE];
	size_t len;
	json_error_t je;

	if (input_all(in, DOCUMENT_MAX, &text, &len, e) < 0)
		return -1;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3, len -= 3;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);

	if (!root)
		return err_set(e, "%s:%d: column %d: not valid JSON (%s)", input_name(in), je.line,
			       je.column, show_text(je.text, strlen(je.text), shown));
	int result = read_document(l, root, input_name(in), e);

	json_decref(root);
	return result;
}
