#include "tests/reference_text.h"

#include <inttypes.h>
#include <string.h>

static const char *const kinds[] = {"static", "continuous", "paged", NULL};
static const char *const reserves[] = {"max", "pow2", "oracle", NULL};
static const char *const orders[] = {"fcfs", "sjf", "ljf", "priority", NULL};
static const char *const routers[] = {"round-robin", "least-outstanding", "least-kv", NULL};
static const char *const rules[] = {"model", "output", "N", NULL};

#define AT(field) offsetof(struct ref_config, field)
#define POLICY(of_, in, swaps)                                                                     \
	{of_ "policy", REF_NAME, AT(in.kind), REF_PAGED, kinds},                                   \
		{of_ "seats", REF_INT, AT(in.seats), 4, NULL},                                     \
		{of_ "wait_ns", REF_INT, AT(in.wait_ns), 0, NULL},                                 \
		{of_ "reply_batch", REF_FLAG, AT(in.reply_batch), 0, NULL},                        \
		{of_ "reserve", REF_NAME, AT(in.reserve), REF_ORACLE, reserves},                   \
		{of_ "buddy", REF_FLAG, AT(in.buddy), 0, NULL},                                    \
		{of_ "chunk", REF_INT, AT(in.chunk), 0, NULL},                                     \
		{of_ "max_batched", REF_INT, AT(in.max_batched_tok), 8192, NULL},                  \
		{of_ "watermark", REF_REAL, AT(in.watermark), 0, NULL},                            \
		{of_ "swap", REF_FLAG, AT(in.swap), swaps, NULL},                                  \
		{of_ "mixed", REF_FLAG, AT(in.mixed), 0, NULL},                                    \
		{of_ "max_paddings", REF_INT, AT(in.max_paddings), -1, NULL},                      \
		{of_ "prefix", REF_FLAG, AT(in.prefix), 0, NULL},                                  \
		{of_ "order", REF_NAME, AT(in.order), REF_FCFS, orders},                           \
	{                                                                                          \
		of_ "predict_error", REF_REAL, AT(in.predict_error), 0, NULL                       \
	}

const struct ref_setting ref_settings[] = {
	POLICY("", policy, 0),
	{"instances", REF_INT, AT(instances), 1, NULL},
	{"router", REF_NAME, AT(router), REF_ROUND_ROBIN, routers},
	{"blocks", REF_INT, AT(blocks), 1000, NULL},
	{"block", REF_INT, AT(block_tok), 16, NULL},
	{"step_ns", REF_REAL, AT(step_ns), 10, NULL},
	{"prefill_tok_ns", REF_REAL, AT(prefill_tok_ns), 0, NULL},
	{"decode_seq_ns", REF_REAL, AT(decode_seq_ns), 0, NULL},
	{"ctx_tok_ns", REF_REAL, AT(ctx_tok_ns), 0, NULL},
	{"window_tok_ns", REF_REAL, AT(window_tok_ns), 0, NULL},
	{"host_us", REF_REAL, AT(host_us), 0, NULL},
	{"host_seq_us", REF_REAL, AT(host_seq_us), 0, NULL},
	{"async", REF_FLAG, AT(async), 0, NULL},
	{"pp", REF_INT, AT(pp), 1, NULL},
	{"window", REF_INT, AT(window_tok), 0, NULL},
	{"window_share", REF_INT, AT(window_share), 1, NULL},
	{"window_only", REF_FLAG, AT(window_only), 0, NULL},
	{"window_token_bytes", REF_INT, AT(window_token_bytes), 0, NULL},
	{"token_bytes", REF_INT, AT(kv_token_bytes), 0, NULL},
	{"pcie_bytes_s", REF_REAL, AT(pcie_bytes_s), 1e9, NULL},
	{"host_blocks", REF_INT, AT(host_blocks), 0, NULL},
	{"disaggregated", REF_FLAG, AT(disaggregated), 0, NULL},
	POLICY("decode_", decode, 1),
	{"decode_instances", REF_INT, AT(decode_instances), 1, NULL},
	{"decode_blocks", REF_INT, AT(decode_blocks), 1, NULL},
	{"decode_pp", REF_INT, AT(decode_pp), 1, NULL},
	{"latency_ns", REF_REAL, AT(latency_ns), 0, NULL},
	{"link_bytes_s", REF_REAL, AT(link_bytes_s), 1e9, NULL},
	{"ttft_decode", REF_FLAG, AT(ttft_decode), 0, NULL},
	{"context", REF_INT, AT(model_context), 0, NULL},
	{"max_tokens", REF_NAME, AT(max_tok_rule), REF_MAX_TOK_OUTPUT, rules},
	{"max_tok", REF_INT, AT(max_tok), 1, NULL},
	{"max_model_len", REF_INT, AT(max_model_len), 0, NULL},
	{"truncate", REF_FLAG, AT(truncate), 0, NULL},
	{"horizon_ns", REF_INT, AT(horizon_ns), -1, NULL},
	{"closed_loop", REF_INT, AT(closed_loop), 0, NULL},
	{"queue_limit", REF_INT, AT(queue_limit), 0, NULL},
	{"timeout_ns", REF_INT, AT(timeout_ns), 0, NULL},
	{"sessions_open", REF_FLAG, AT(sessions_open), 0, NULL},
	{"hash_block", REF_INT, AT(hash_block), 0, NULL},
	{"stream", REF_INT, AT(stream), 1, NULL},
	{"seed", REF_INT, AT(seed), 0, NULL},
	{NULL, REF_INT, 0, 0, NULL},
};

/* Integers beyond 2^53 do not occur. */
double ref_get(const struct ref_config *c, const struct ref_setting *f)
{
	const char *at = (const char *)c + f->at;

	switch (f->type) {
	case REF_INT:
		return (double)*(const int64_t *)at;
	case REF_REAL:
		return *(const double *)at;
	case REF_FLAG:
		return *(const bool *)at;
	case REF_NAME:
		return *(const unsigned *)at;
	}
	return 0;
}

void ref_set(struct ref_config *c, const struct ref_setting *f, double value)
{
	char *at = (char *)c + f->at;

	switch (f->type) {
	case REF_INT:
		*(int64_t *)at = (int64_t)value;
		break;
	case REF_REAL:
		*(double *)at = value;
		break;
	case REF_FLAG:
		*(bool *)at = value != 0;
		break;
	case REF_NAME:
		*(unsigned *)at = (unsigned)value;
		break;
	}
}

struct ref_config ref_plain(void)
{
	struct ref_config c = {.keep_steps = true};

	for (const struct ref_setting *f = ref_settings; f->name; f++)
		ref_set(&c, f, f->plain);
	return c;
}

/* --- print --- */

static void print_request(FILE *out, const struct ref_request *q)
{
	fprintf(out, "%" PRId64 ":%" PRId64 ":%" PRId64, q->arrive_ns, q->prompt_tok,
		q->output_tok);
	if (q->max_tok == 0 && q->priority == 0 && q->session == 0 && q->hash_n == 0)
		return;
	fprintf(out, ":%" PRId64 ":%" PRId64 ":%" PRId64 ":%" PRId64, q->max_tok, q->priority,
		q->session, q->think_ns);
	for (int64_t k = 0; k < q->hash_n; k++)
		fprintf(out, "%c%" PRIu64, k == 0 ? ':' : '.', q->hash[k]);
}

void ref_print_line(FILE *out, const struct ref_config *c, const struct ref_request *req, size_t n)
{
	for (const struct ref_setting *f = ref_settings; f->name; f++) {
		double value = ref_get(c, f);

		if (value == f->plain)
			continue;
		if (f->type == REF_NAME)
			fprintf(out, "%s=%s ", f->name, f->names[(int)value]);
		else
			fprintf(out, "%s=%.17g ", f->name, value);
	}
	fputs("requests=", out);
	for (size_t r = 0; r < n; r++) {
		if (r > 0)
			fputc(',', out);
		print_request(out, &req[r]);
	}
}

/* --- parse --- */

static int parse_setting(const char *word, size_t name_len, struct ref_config *c, struct err *e)
{
	const char *value = word + name_len + 1;
	char *end;

	for (const struct ref_setting *f = ref_settings; f->name; f++) {
		if (strlen(f->name) != name_len || strncmp(f->name, word, name_len) != 0)
			continue;
		for (int k = 0; f->type == REF_NAME && f->names[k]; k++)
			if (strcmp(f->names[k], value) == 0) {
				ref_set(c, f, k);
				return 0;
			}
		ref_set(c, f, strtod(value, &end));
		if (f->type == REF_NAME || end == value || *end)
			return err_set(e, "%s: '%s' is no value of it", f->name, value);
		return 0;
	}
	return err_set(e, "'%s' is no setting of a case", word);
}

static int parse_request(const char *text, struct ref_request *q, struct err *e)
{
	int64_t *const fields[] = {&q->arrive_ns, &q->prompt_tok, &q->output_tok, &q->max_tok,
				   &q->priority,  &q->session,	  &q->think_ns};
	const char *at = text;
	char *end;

	*q = (struct ref_request){.think_ns = -1};
	for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
		*fields[k] = strtoll(at, &end, 10);
		if (end == at || (k < 2 && *end != ':'))
			return err_set(e, "request '%s' is not ARRIVE:PROMPT:OUTPUT...", text);
		at = end;
		if (*at != ':')
			break;
		at++;
	}
	while (*at && q->hash_n < REF_HASHES) {
		q->hash[q->hash_n++] = strtoull(at, &end, 10);
		if (end == at)
			return err_set(e, "request '%s': '%s' is no hash id", text, at);
		at = *end == '.' ? end + 1 : end;
	}
	return 0;
}

static int parse_requests(char *text, struct ref_request **req, size_t *n, struct err *e)
{
	char *rest = text;

	*n = 1;
	for (const char *p = text; *p; p++)
		*n += *p == ',';
	free(*req);
	*req = xcalloc(*n, sizeof **req);
	for (size_t r = 0; r < *n; r++)
		if (parse_request(strtok_r(r ? NULL : text, ",", &rest), &(*req)[r], e) < 0)
			return -1;
	return 0;
}

static int parse_words(char *line, struct ref_config *c, struct ref_request **req, size_t *n,
		       struct err *e)
{
	char *rest = line;

	for (char *w = strtok_r(line, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest)) {
		const char *equals = strchr(w, '=');
		int rc;

		if (!equals || !equals[1])
			return err_set(e, "'%s' is not name=value", w);
		if (strncmp(w, "requests=", 9) == 0)
			rc = parse_requests(w + 9, req, n, e);
		else
			rc = parse_setting(w, (size_t)(equals - w), c, e);
		if (rc < 0)
			return -1;
	}
	return *n > 0 ? 0 : err_set(e, "a case has requests=ARRIVE:PROMPT:OUTPUT,...");
}

int ref_parse_line(const char *line, struct ref_config *c, struct ref_request **req, size_t *n,
		   struct err *e)
{
	char *copy = xstrdup(line);
	int rc;

	*c = ref_plain();
	*req = NULL;
	*n = 0;
	rc = parse_words(copy, c, req, n, e);
	free(copy);
	return rc;
}
