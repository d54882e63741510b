/* The named workloads at a million rows: against what they were fitted to, and their own tables. */
#include "tests/testing.h"
#include "traces/measure.h"
#include "traces/workloads.h"
#include <math.h>
#include <string.h>

static const int checked_at[] = {10, 25, 50, 75, 90, 95, 99}; /* per cent */
enum { N_CHECKED = sizeof(checked_at) / sizeof(checked_at[0]) };
#define PART 0.05 /* the promise */

static void measure(const char *source, const char *columns, struct measure *m)
{
	struct err e;
	struct trace_spec spec = {.source = source, .columns = columns, .seed = 1};
	assert_fine(measure_trace(&spec, 16, 0, m, &e), e);
}

static void assert_share(double got, double want)
{
	assert_near(got, want, fabs(want) * PART);
}

static const struct named {
	const char *name, *file, *columns;
	bool has_arrivals;
	int64_t prefix_tok;
} named[] = {
	{"azure-conv", "AzureLLMInferenceTrace_conv.csv", NULL, true, 0},
	{"azure-code", "AzureLLMInferenceTrace_code.csv", NULL, true, 0},
	{"sharegpt", "sharegpt_8k_filtered_stats_llama2_tokenizer.csv",
	 "arrival=none,prompt=num_prefill_tokens,output=num_decode_tokens", false, 0},
	{"arxiv", "arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
	 "arrival=none,prompt=num_prefill_tokens,output=num_decode_tokens", false, 0},
	{"mooncake-conv", "mooncake_conversation_trace.jsonl", NULL, true, 512},
};
enum { N_NAMED = sizeof(named) / sizeof(named[0]) };

static void make(const char *name, struct measure *m)
{
	char source[128];
	snprintf(source, sizeof(source), "synth:%s,n=1000000", name);
	measure(source, NULL, m);
}

static void like_the_real_traces(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_NAMED; i++) {
		char path[256];
		struct measure real, made;
		snprintf(path, sizeof(path), "traces/%s", named[i].file);
		shared_or_skip(file, path);
		measure(file, named[i].columns, &real);
		make(named[i].name, &made);
		for (int k = 0; k < N_CHECKED; k++) {
			assert_share(tally_quantile(&made.prompts, checked_at[k], 100),
				     tally_quantile(&real.prompts, checked_at[k], 100));
			assert_share(tally_quantile(&made.outputs, checked_at[k], 100),
				     tally_quantile(&real.outputs, checked_at[k], 100));
		}
		assert_share(made.prompt_mean, real.prompt_mean);
		assert_share(made.output_mean, real.output_mean);
		assert_near(made.correlation, real.correlation, 0.01);
		if (named[i].has_arrivals) {
			assert_share(made.rate_rps, real.rate_rps);
			assert_share(made.gap_cv, real.gap_cv);
		}
		measure_release(&real);
		measure_release(&made);
	}
}

/* The value of a table at p, linear in between. */
static double table_at(const struct quantiles *q, double p, bool prompts)
{
	size_t k = 1;
	while (k < q->n - 1 && q->rows[k].p < p)
		k++;
	const struct quantile *a = &q->rows[k - 1], *b = &q->rows[k];
	double low = prompts ? a->prompt_tok : a->output_tok;
	double high = prompts ? b->prompt_tok : b->output_tok;
	return low + (p - a->p) / (b->p - a->p) * (high - low);
}

static void like_their_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_NAMED; i++) {
		struct err e;
		struct measure made;
		const struct workload *w = workload_find(named[i].name, &e);
		assert_non_null(w);
		make(named[i].name, &made);
		for (int k = 0; k < N_CHECKED; k++) {
			double p = checked_at[k] / 100.0;
			assert_share(tally_quantile(&made.prompts, checked_at[k], 100),
				     table_at(&w->quantiles, p, true) +
					     (double)named[i].prefix_tok);
			assert_share(tally_quantile(&made.outputs, checked_at[k], 100),
				     table_at(&w->quantiles, p, false));
		}
		measure_release(&made);
	}
}

/* Lengths of several clients together: each table with its number of requests. */
struct mix {
	struct {
		double weight;
		size_t n;
		struct quantile rows[20];
	} part[64];
	size_t n;
};

static double mix_below(const struct mix *mix, double tok, bool prompts)
{
	double below = 0, all = 0;
	for (size_t i = 0; i < mix->n; i++) {
		struct quantiles q = {mix->part[i].rows, mix->part[i].n};
		double low = 0, high = 1;
		for (int k = 0; k < 40; k++) {
			double mid = (low + high) / 2;
			if (table_at(&q, mid, prompts) <= tok)
				low = mid;
			else
				high = mid;
		}
		below += low * mix->part[i].weight;
		all += mix->part[i].weight;
	}
	return below / all;
}

static double mix_at(const struct mix *mix, double p, bool prompts)
{
	double low = 0, high = 1e6;
	for (int k = 0; k < 40; k++) {
		double mid = (low + high) / 2;
		if (mix_below(mix, mid, prompts) < p)
			low = mid;
		else
			high = mid;
	}
	return high;
}

static void assert_mixed(const struct mix *mix)
{
	struct measure made;
	make("servegen-r1", &made);
	for (int k = 0; k < N_CHECKED; k++) {
		assert_share(tally_quantile(&made.prompts, checked_at[k], 100),
			     mix_at(mix, checked_at[k] / 100.0, true));
		assert_share(tally_quantile(&made.outputs, checked_at[k], 100),
			     mix_at(mix, checked_at[k] / 100.0, false));
	}
	assert_share(made.rate_rps, 11.577);
	measure_release(&made);
}

static void servegen_is_like_its_tables(void **state)
{
	(void)state;
	static struct mix mix;
	mix.n = 0;
	for (int i = 0; i < SERVEGEN_CLIENTS; i++)
		for (int w = 0; w < 4; w++, mix.n++) {
			const struct quantiles *q = &servegen_r1[i].quantiles[w];
			mix.part[mix.n].weight = 0;
			for (int h = 6 * w; h < 6 * w + 6; h++)
				mix.part[mix.n].weight += servegen_r1[i].hour[h];
			mix.part[mix.n].n = q->n;
			memcpy(mix.part[mix.n].rows, q->rows, q->n * sizeof(*q->rows));
		}
	assert_mixed(&mix);
}

static int client_of(const char *name)
{
	for (int i = 0; i < SERVEGEN_CLIENTS; i++)
		if (strcmp(servegen_r1[i].name, name) == 0)
			return i;
	return -1;
}

/* The part of a client and window in the mix, made where it is new. */
static size_t part_of(struct mix *mix, int place[SERVEGEN_CLIENTS][4], int client, int window)
{
	static const double p[] = {0,	0.01, 0.05, 0.1, 0.2,  0.3,  0.4,   0.5,
				   0.6, 0.7,  0.8,  0.9, 0.95, 0.99, 0.999, 1};
	enum { N = sizeof(p) / sizeof(p[0]) };
	if (place[client][window] == 0) {
		place[client][window] = (int)++mix->n;
		mix->part[mix->n - 1].n = N;
		for (size_t i = 0; i < N; i++)
			mix->part[mix->n - 1].rows[i].p = p[i];
	}
	return (size_t)place[client][window] - 1;
}

/* client,window_s,field,mean,p1,...,p100 */
static void read_lengths(const char *path, struct mix *mix, int place[SERVEGEN_CLIENTS][4])
{
	char line[512], name[16], field[16];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		int window, used;
		double mean;
		if (sscanf(line, "%15[^,],%d,%15[^,],%lf%n", name, &window, field, &mean, &used) !=
			    4 ||
		    client_of(name) < 0)
			continue;
		size_t at = part_of(mix, place, client_of(name), window / 21600);
		char *rest = line + used;
		for (size_t i = 1; i < mix->part[at].n; i++) {
			assert_true(*rest == ',');
			double tok = strtod(rest + 1, &rest);
			struct quantile *q = &mix->part[at].rows[i];
			*(field[0] == 'i' ? &q->prompt_tok : &q->output_tok) = tok;
		}
		mix->part[at].rows[0].prompt_tok = mix->part[at].rows[1].prompt_tok;
		mix->part[at].rows[0].output_tok = mix->part[at].rows[1].output_tok;
	}
	fclose(f);
}

/* client,t_s,rate_rps,...: bins of ten minutes; those without lengths count by the nearest. */
static void read_rates(const char *path, struct mix *mix, int place[SERVEGEN_CLIENTS][4])
{
	char line[512], name[16];
	double t, rate;
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15[^,],%lf,%lf", name, &t, &rate) != 3 || client_of(name) < 0)
			continue;
		int window = (int)(t / 21600), client = client_of(name);
		for (int far = 0; far < 4; far++) {
			int low = window - far, high = window + far;
			int found = low >= 0 && place[client][low] ? low : high;
			if (found < 4 && place[client][found]) {
				mix->part[place[client][found] - 1].weight += rate;
				break;
			}
		}
	}
	fclose(f);
}

static void servegen_is_like_the_real_figures(void **state)
{
	(void)state;
	static struct mix mix;
	int place[SERVEGEN_CLIENTS][4] = {{0}};
	shared_or_skip(lengths, "traces/servegen_deepseek-r1_lengths.csv");
	shared_or_skip(rates, "traces/servegen_deepseek-r1_arrivals.csv");
	mix.n = 0;
	read_lengths(lengths, &mix, place);
	read_rates(rates, &mix, place);
	assert_mixed(&mix);
}

/* A day: the requests of each client, hour by hour, and the gaps of one that is steady. */
static void clients_keep_their_hours(void **state)
{
	(void)state;
	static int64_t count[SERVEGEN_CLIENTS][24];
	struct err e;
	struct trace_row row;
	struct trace_spec spec = {.source = "synth:servegen-r1,n=950000", .seed = 1};
	struct trace *t = trace_open(&spec, &e);
	int64_t last_ns = 0;
	while (t && trace_next(t, &row, &e) > 0) {
		assert_true(row.client >= 1 && row.client <= SERVEGEN_CLIENTS);
		count[row.client - 1][row.arrive_ns / INT64_C(3600000000000)]++;
		last_ns = row.arrive_ns;
	}
	trace_close(t);
	int whole = (int)(last_ns / INT64_C(3600000000000)); /* hours that are complete */
	assert_true(whole >= 20 && whole < 24);
	for (int i = 0; i < SERVEGEN_CLIENTS; i++)
		for (int h = 0; h < whole; h++) {
			const struct client *c = &servegen_r1[i];
			double want = c->hour[h] * 3600; /* its variance is about cv^2 times it */
			assert_near(count[i][h], want, 5 * fmax(c->cv, 1) * sqrt(want) + 10);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_the_real_traces),
		cmocka_unit_test(like_their_tables),
		cmocka_unit_test(servegen_is_like_its_tables),
		cmocka_unit_test(servegen_is_like_the_real_figures),
		cmocka_unit_test(clients_keep_their_hours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
