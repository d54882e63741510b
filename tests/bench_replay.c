/*
 * omnibus-bench: what a simulated request costs: ns a request and ns an event, generation included,
 * and peak memory. Each measurement is a process of its own; times are medians of --repeat of them.
 */
#include "sim/options.h"
#include "sim/replay.h"
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench {
	struct option_list policies, requests;
	int64_t repeat;
	double rate;
};

struct measure {
	double wall_s;
	int64_t requests, events, peak_kib;
};

/* What prefix= is measured on: 2048 tokens of one of 1000 system prompts, ids of 16 tokens. */
static const char with_ids[] = ",prefix_tok=2048,prefixes=1000,hash_block=16";

static int measure_here(const struct bench *b, const char *policy, const char *n, struct measure *m)
{
	char source[192];
	const char *words[] = {"run", source, "-p",	    policy, "-m", "llama-3-8b",
			       "-d",  "h200", "--requests", "none", NULL};
	struct run_options o;
	struct rusage usage;
	struct err e;

	snprintf(source, sizeof(source), "synth:azure-conv,n=%s,rate=%g%s", n, b->rate,
		 strstr(policy, "prefix=") ? with_ids : "");
	if (run_options_parse(&o, sizeof(words) / sizeof(words[0]) - 1, (char **)(uintptr_t)words,
			      &e) != 1) {
		fprintf(stderr, "omnibus-bench: %s\n", e.text);
		return -1;
	}
	struct replay r = {.options = &o, .choice = &o.choices[0], .rate = o.rates[0]};

	replay_run(&r);
	if (r.result < 0) {
		fprintf(stderr, "omnibus-bench: %s\n", r.err.text);
		return -1;
	}
	getrusage(RUSAGE_SELF, &usage);
	*m = (struct measure){r.wall_s, r.summary.requests, r.counts.events, usage.ru_maxrss};
	run_options_release(&o);
	return 0;
}

/* In a child, so that peak memory is that of one run. */
static int measure(const struct bench *b, const char *policy, const char *n, struct measure *m)
{
	int fd[2];

	if (pipe(fd) < 0)
		return -1;
	pid_t child = fork();

	if (child == 0) {
		struct measure mine;
		bool fine = measure_here(b, policy, n, &mine) == 0 &&
			    write(fd[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine);

		_exit(fine ? 0 : 1);
	}
	close(fd[1]);
	bool fine = child > 0 && read(fd[0], m, sizeof(*m)) == (ssize_t)sizeof(*m);

	close(fd[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return fine ? 0 : -1;
}

static int by_wall(const void *a, const void *b)
{
	const struct measure *x = a, *y = b;

	return (x->wall_s > y->wall_s) - (x->wall_s < y->wall_s);
}

static int bench_one(const struct bench *b, const char *policy, const char *n)
{
	struct measure all[101];

	for (int64_t i = 0; i < b->repeat; i++)
		if (measure(b, policy, n, &all[i]) < 0)
			return -1;
	qsort(all, (size_t)b->repeat, sizeof(all[0]), by_wall);
	const struct measure *m = &all[b->repeat / 2];

	printf("| %-28s | %9" PRId64 " | %10.0f | %8.0f | %14.2f | %8.1f |\n", policy, m->requests,
	       m->wall_s * 1e9 / (double)m->requests, m->wall_s * 1e9 / (double)m->events,
	       (double)m->events / (double)m->requests, (double)m->peak_kib / 1024);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const policies_default[] = {
		"static",	 "continuous",	     "paged",		"paged:chunk=512",
		"disaggregated", "paged:prefix=off", "paged:prefix=on",
	};
	static const char *const requests_default[] = {"100000", "1000000", "10000000"};
	struct bench b = {.repeat = 3, .rate = 3};
	const struct option_row rows[] = {
		{"policy", 'p', OPTION_LIST, &b.policies, "NAME[:k=v,...]",
		 "policies to measure, those with prefix= on prompts with hash ids [all four, "
		 "paged twice, prefix off and on]",
		 0, 0, 0},
		{"requests", 'n', OPTION_LIST, &b.requests, "N",
		 "requests of a run; several are measured in turn [100000, 1000000, 10000000]", 0,
		 0, 0},
		{"repeat", 0, OPTION_INT, &b.repeat, "N", "runs of which the median is shown [3]",
		 1, 101, 0},
		{"rate", 0, OPTION_REAL, &b.rate, "RPS", "offered rate of synth:azure-conv [3]",
		 1e-3, 1e6, 0},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "omnibus-bench",
		.synopsis = "omnibus-bench [option ...]",
		.about = "Measures what a simulated request costs (llama-3-8b on h200, --requests "
			 "none).",
		.rows = rows,
	};
	struct err e;
	int first = options_parse(&usage, argc, argv, &e);

	if (first == 0)
		return 0;
	if (first < 0) {
		fprintf(stderr, "omnibus-bench: %s\n", e.text);
		return EXIT_USAGE;
	}
	if (b.policies.n == 0)
		b.policies = (struct option_list){(const char **)(uintptr_t)policies_default,
						  sizeof(policies_default) /
							  sizeof(policies_default[0])};
	if (b.requests.n == 0)
		b.requests = (struct option_list){(const char **)(uintptr_t)requests_default, 3};
	puts("| policy (measured)            |  requests | ns/request | ns/event | events/request "
	     "| peak MiB "
	     "|");
	puts("|:-----------------------------|----------:|-----------:|---------:|---------------:|"
	     "---------:"
	     "|");
	for (size_t i = 0; i < b.policies.n; i++)
		for (size_t k = 0; k < b.requests.n; k++)
			if (bench_one(&b, b.policies.items[i], b.requests.items[k]) < 0)
				return EXIT_FAILED;
	return 0;
}
