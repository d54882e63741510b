/*
 * validate_served.c: `omnibus validate --served`: servers under a closed loop, a row of means each,
 * run again with the settings that the row and the benchmark's recipe give (README.md).
 *
 * What is left out is decided by what a row says of itself, before any forecast.
 */
#include "sim/validate_served.h"
#include "calibrate/import_table.h"
#include "sim/options.h"
#include "sim/rng.h"
#include <math.h>
#include <string.h>

enum {
	BUDGET_TOK = 8192,    /* of a step, in all rows */
	REQUESTS_A_SEAT = 10, /* the first of each at t = 0 */
	TRT_STREAM_TOK = 20,  /* tokens a delivery, as far as TRT_STREAM_TP devices at 1024/1024 */
	TRT_STREAM_TP = 4,
};

/* Whose kernels stand for a server's. */
static const struct server {
	const char *backend, *system, *device;
} servers[] = {
	{"vllm", "h200_sxm", "h200"},
	{"trtllm", "h200_sxm", "h200-trtllm"},
	{"vllm", "b200_sxm", "b200"},
	{"trtllm", "b200_sxm", "b200"},
};
enum { N_SERVERS = sizeof(servers) / sizeof(servers[0]) };

/* Llama-3.1-70B has the weights' shapes of Llama-3-70B; its longer context is not reached. */
static const char *const models[][2] = {
	{"meta-llama/Llama-3.1-70B", "llama-3-70b"},
	{"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
};
enum { N_MODELS = sizeof(models) / sizeof(models[0]) };

/* Reading */

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
}

static void find_server(struct served_row *r, const char *backend, const char *system)
{
	snprintf(r->server, sizeof(r->server), "%.20s %.20s", backend, system);
	for (int i = 0; i < N_SERVERS; i++)
		if (!strcmp(servers[i].backend, backend) && !strcmp(servers[i].system, system))
			r->of = &servers[i];
}

/* Bits of the weights are taken from it. */
static void check_precision(struct table *t, const char *precision)
{
	static const char *const known[] = {"bf16", "fp16", "fp8", "fp4"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i], precision))
			return;
	table_fail(t, "precision", "'%.40s' is not known: expected bf16, fp16, fp8 or fp4",
		   precision);
}

static struct served_row read_row(struct table *t)
{
	struct served_row r = {.line = table_line(t),
			       .prompt_tok = table_int(t, "isl", 1, 100000000),
			       .output_tok = table_int(t, "osl", 1, 100000000),
			       .in_flight = table_int(t, "concurrency", 1, 100000),
			       .tp = table_int(t, "tp_size", 1, 4096),
			       .ttft_measured_s = table_ns(t, "ttft_ms", 1e6) / 1e9,
			       .tpot_measured_s = table_ns(t, "tpot_ms", 1e6) / 1e9};

	r.ttft_predicted_s = r.ttft_error = r.tpot_predicted_s = r.tpot_error = NAN;
	copy(r.model, sizeof(r.model), table_text(t, "model"));
	copy(r.precision, sizeof(r.precision), table_text(t, "precision"));
	check_precision(t, r.precision);
	copy(r.quantised, sizeof(r.quantised), table_text(t, "gemm_quant_mode"));
	find_server(&r, table_text(t, "backend"), table_text(t, "system"));
	return r;
}

static int check_header(const struct table *t, struct err *e)
{
	static const char *const needed[] = {
		"backend", "model",	  "system",  "precision",	"isl",	  "osl",
		"tp_size", "concurrency", "ttft_ms", "gemm_quant_mode", "tpot_ms"};
	char header[4096];

	snprintf(header, sizeof(header), ",%s,", table_header(t));
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), ",%s,", needed[i]);
		const char *at = strstr(header, name);

		if (at && strstr(at + strlen(name) - 1, name))
			return err_set(e, "%s:%lld: column %s is there twice: expected once",
				       table_name(t), (long long)table_line(t), needed[i]);
		if (!at)
			return err_set(e,
				       "%s:%lld: column %s is missing: expected backend, model, "
				       "system, precision, gemm_quant_mode, isl, osl, concurrency, "
				       "tp_size, ttft_ms and tpot_ms",
				       table_name(t), (long long)table_line(t), needed[i]);
	}
	return 0;
}

static int read_rows(struct served *s, const char *path, struct err *e)
{
	struct table *t = table_open(path, e);
	int more = -1;

	if (!t)
		return -1;
	if (check_header(t, e) == 0)
		while ((more = table_next(t)) > 0) {
			struct served_row r = read_row(t);

			if (table_failed(t)) {
				more = -1;
				break;
			}
			s->row = xrealloc(s->row, (s->n + 1) * sizeof(*s->row));
			s->row[s->n++] = r;
		}
	if (more == 0 && s->n == 0)
		more = err_set(e, "%s: has no rows", path);
	table_close(t);
	return more;
}

/* Running */

static const char *model_of(const struct served_row *r)
{
	for (int i = 0; i < N_MODELS; i++)
		if (!strcmp(models[i][0], r->model))
			return models[i][1];
	return NULL;
}

/* Lengths from 0.8 L to L, each as likely. */
static int64_t draw(gsl_rng *rng, int64_t longest)
{
	int64_t least = (longest * 4 + 4) / 5;

	return least + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)(longest - least + 1));
}

static struct trace_row *make_requests(const struct served_row *r, uint64_t seed, int64_t *n)
{
	gsl_rng *rng = rng_new(seed, "served");
	struct trace_row *rows;

	*n = r->in_flight * REQUESTS_A_SEAT;
	rows = xcalloc((size_t)*n, sizeof(*rows));
	for (int64_t i = 0; i < *n; i++) {
		rows[i].prompt_tok = draw(rng, r->prompt_tok);
		rows[i].output_tok = draw(rng, r->output_tok);
	}
	gsl_rng_free(rng);
	return rows;
}

struct command {
	char text[6][64];
	char policy[128];
	char *argv[20];
	int argc;
};

static void add(struct command *c, const char *name, const char *value)
{
	/* options are read, not written */
	c->argv[c->argc++] = (char *)(uintptr_t)name;
	c->argv[c->argc++] = (char *)(uintptr_t)value;
	c->argv[c->argc] = NULL;
}

/*
 * The settings as options of `omnibus run`. Servers of fp8 weights have an fp8 cache: on one H200
 * they ran 32 requests of 8192 + 1024 tokens at once (no TTFT has a queue in it), which is 87 GB in
 * 16 bits, beside 70 GB of weights in 141.
 */
static void make_command(struct command *c, const struct served_row *r)
{
	bool trt = !strcmp(r->of->backend, "trtllm");
	bool coarse =
		trt && r->tp <= TRT_STREAM_TP && r->prompt_tok == 1024 && r->output_tok == 1024;

	snprintf(c->policy, sizeof(c->policy),
		 "vllm-v1:chunk=%d,max_seqs=%lld,async=1,stream=%d,fused_quant=%d", BUDGET_TOK,
		 (long long)r->in_flight, coarse ? TRT_STREAM_TOK : 1, trt);
	snprintf(c->text[0], sizeof(c->text[0]), "%lld", (long long)r->tp);
	snprintf(c->text[1], sizeof(c->text[1]), "%lld", (long long)r->in_flight);
	c->argv[c->argc++] = (char *)(uintptr_t) "validate";
	add(c, "-m", model_of(r));
	add(c, "-d", r->of->device);
	add(c, "-p", c->policy);
	add(c, "--tp", c->text[0]);
	add(c, "--closed-loop", c->text[1]);
	if (!strcmp(r->precision, "fp8")) {
		add(c, "--weight-bits", "8");
		add(c, "--kv-bits", "8");
	}
}

/* Whether the pool holds a mean request in every seat. What its servers kept back is not known. */
static bool pool_holds(const struct run_options *o, const struct served_row *r)
{
	struct memory_budget b;

	memory_budget(&o->model, &o->device, &o->memory, &b);
	return (double)(b.blocks * o->memory.block_tok) >=
	       0.9 * (double)((r->prompt_tok + r->output_tok) * r->in_flight);
}

static int forecast(struct served_row *r, struct run_options *o, struct err *e)
{
	struct validate_run v = {0};
	int result = 0;

	if (!pool_holds(o, r))
		copy(r->left_out, sizeof(r->left_out),
		     "its requests need more KV than the pool has");
	else if ((result = validate_replay(&v, o, 0, NAN, e)) == 0) {
		r->ttft_predicted_s = v.summary.ttft_mean_s;
		r->tpot_predicted_s = v.summary.tpot_mean_s;
		r->ttft_error = r->ttft_predicted_s / r->ttft_measured_s - 1;
		r->tpot_error = r->tpot_predicted_s / r->tpot_measured_s - 1;
	}
	validate_run_release(&v);
	return result;
}

static int run_row(struct served_row *r, uint64_t seed, struct err *e)
{
	struct option_row rows[RUN_OPTION_ROWS];
	const struct option_usage usage = {
		.command = "validate", .synopsis = "", .about = "", .rows = rows};
	struct run_options o;
	struct command c = {.argc = 0};
	struct err why;
	int result = 0;

	make_command(&c, r);
	run_options_rows(&o, rows);
	struct trace_row *requests = make_requests(r, seed, &o.spec.n_rows);

	o.spec.rows = requests;
	if (options_parse(&usage, c.argc, c.argv, e) < 0)
		result = -1;
	else if (run_options_understand(&o, "served", &why) < 0)
		snprintf(r->left_out, sizeof(r->left_out), "%.90s", why.text);
	else
		result = forecast(r, &o, e);
	run_options_release(&o);
	free(requests);
	return result;
}

/* What a row says of itself. */
static void judge(struct served_row *r)
{
	if (!r->of)
		copy(r->left_out, sizeof(r->left_out), "no kernels of this server and system");
	else if (!model_of(r))
		copy(r->left_out, sizeof(r->left_out), "no such model");
	else if (strcmp(r->quantised, "fp8") != 0 && strcmp(r->quantised, "bf16") != 0)
		snprintf(r->left_out, sizeof(r->left_out), "no GEMM in %s was measured",
			 r->quantised);
}

int validate_served(struct validate_options *o, struct err *e)
{
	struct served s = {0};
	int code = read_rows(&s, o->served, e) < 0 ? EXIT_FAILED : 0;

	for (size_t i = 0; i < s.n && code == 0; i++) {
		judge(&s.row[i]);
		if (!s.row[i].left_out[0] &&
		    run_row(&s.row[i], (uint64_t)o->run.select.seed, e) < 0)
			code = EXIT_FAILED;
	}
	if (code == 0)
		code = served_print(o, &s, e);
	free(s.row);
	return code;
}
