/* cmd_list.c: what can be named on the command line, printed from the tables that the code uses. */
#include "calibrate/device.h"
#include "calibrate/model.h"
#include "calibrate/profile.h"
#include "sim/choice.h"
#include "sim/engine.h"
#include "sim/executor_kinds.h"
#include "sim/options.h"
#include "sim/router.h"
#include "traces/trace.h"
#include <inttypes.h>
#include <string.h>

static void print_choices(const struct param *p)
{
	for (size_t i = 0; p->choices[i]; i++)
		printf("%s%s", i ? "|" : "", p->choices[i]);
}

static void print_params(const struct param *p)
{
	for (; p && p->name; p++) {
		char text[64];

		snprintf(text, sizeof(text), "%s=%s", p->name, p->init);
		printf("    %-28s %s", text, p->help);
		if (p->kind == PARAM_CHOICE) {
			fputs(" (", stdout);
			print_choices(p);
			putchar(')');
		} else if (p->kind != PARAM_TEXT) {
			printf(" (%.10g to %.10g)", p->min, p->max);
		}
		putchar('\n');
	}
}

static void list_policies(void)
{
	for (size_t i = 0; policies[i]; i++) {
		printf("%-16s %s\n", policies[i]->name, policies[i]->summary);
		print_params(policies[i]->params);
	}
	printf("%-16s a shape: %s\n", shape_disaggregated.name, shape_disaggregated.summary);
	print_params(disaggregated_params);
	printf("%-16s %s\n", "every policy", "");
	print_params(common_params);
	puts("\nnot modelled: data-parallel attention, expert parallelism, speculative decoding");
}

static void list_presets(void)
{
	for (size_t i = 0; presets[i].name; i++)
		printf("%-18s %s\n%-18s %s\n", presets[i].name, presets[i].means, "",
		       presets[i].source);
}

static void list_routers(void)
{
	for (size_t i = 0; routers[i]; i++)
		printf("%-18s %s\n", routers[i]->name, routers[i]->summary);
}

static void list_executors(void)
{
	for (int i = 0; i < N_EXECUTORS; i++) {
		const struct executor_kind *x = &executor_kinds[i];

		printf("%-10s ", x->name);
		if (x->params[0])
			printf("%s:%s: ", x->name, x->params);
		puts(x->summary);
	}
}

/* KV of a token: in layers that attend to all, and in those with a window, while it is within. */
static void list_models(void)
{
	size_t n;
	const struct model *m = model_list(&n);

	printf("%-18s %14s %14s %16s %10s %7s %9s\n", "model", "parameters", "active",
	       "KV bytes/token", "in window", "window", "context");
	for (size_t i = 0; i < n; i++) {
		struct model_kv kv;
		char bytes[32] = "-", window[32] = "-";

		model_kv(&m[i], 1, 1, 16, &kv);
		if (m[i].window_layers) {
			snprintf(bytes, sizeof(bytes), "%" PRId64, kv.window_bytes);
			snprintf(window, sizeof(window), "%" PRId64, m[i].window_tok);
		}
		printf("%-18s %14" PRId64 " %14" PRId64 " %16" PRId64 " %10s %7s %9" PRId64 "\n",
		       m[i].name, model_params(&m[i]), model_active_params(&m[i]), kv.full_bytes,
		       bytes, window, m[i].context);
	}
	puts("KV in 16 bits (or the model's own) on one device; in window: what a token takes "
	     "besides, while it is among the last `window`.");
}

/* The fit of all shapes of an operation, in 16 bits; NULL: none. */
static const struct fit *fit_of(const struct profile *p, enum op op)
{
	for (size_t i = 0; i < p->n_fits; i++)
		if (p->fit[i].op == op && p->fit[i].bits == 16 && p->fit[i].shape.n == 0)
			return &p->fit[i];
	return NULL;
}

/* Median errors of times held out, of GEMMs, attention of decodes and of prompts. */
static void print_errors(const struct profile *p, char *text, size_t size)
{
	static const enum op ops[] = {OP_GEMM, OP_DECODE, OP_PREFILL};
	size_t used = 0;

	snprintf(text, size, "%s", !p ? "roofline" : p->n_steps > 0 ? "whole steps" : "");
	for (size_t i = 0; p && p->n_fits > 0 && i < sizeof(ops) / sizeof(ops[0]); i++) {
		const struct fit *f = fit_of(p, ops[i]);
		char one[16] = "-";

		if (f)
			snprintf(one, sizeof(one), "%.1f", 100 * f->held_out.median);
		int n = snprintf(text + used, size - used, "%s%s", i > 0 ? " / " : "", one);
		used += n > 0 ? (size_t)n : 0;
	}
}

static void list_devices(void)
{
	size_t n;
	const struct device *d = device_list(&n);

	printf("%-12s %10s %9s %10s %11s %9s %12s %15s  %s\n", "device", "memory GiB", "peak TB/s",
	       "bf16 TF/s", "NVLink GB/s", "PCIe GB/s", "network GB/s", "times: error, %", "name");
	for (size_t i = 0; i < n; i++) {
		struct profile *p = profile_built_in(d[i].name);
		char nvlink[32] = "-", errors[64];

		if (d[i].nvlink_bytes_s > 0)
			snprintf(nvlink, sizeof(nvlink), "%.0f", d[i].nvlink_bytes_s / 1e9);
		print_errors(p, errors, sizeof(errors));
		printf("%-12s %10.1f %9.3f %10.1f %11s %9.1f %12.1f %15s  %s\n", d[i].name,
		       (double)d[i].memory_bytes / 1073741824.0, d[i].peak_bytes_s / 1e12,
		       d[i].peak_flops / 1e12, nvlink, d[i].pcie_bytes_s / 1e9,
		       d[i].network_bytes_s / 1e9, errors, d[i].summary);
		profile_free(p);
	}
	puts("Links: bytes a second of one device, one direction. A device of your own: -d "
	     "FILE.json (calibrate/README.md).\n\n"
	     "Times: of a roofline of the data sheet, or fitted to measured ones, with the median "
	     "error of those\nheld out: GEMMs / attention of decodes / attention of prompts. "
	     "Fitted "
	     "to (omnibus calibrate --show NAME):");
	const char *const *names;
	size_t n_names = profile_names(&names);

	for (size_t i = 0; i < n_names; i++) {
		struct profile *p = profile_built_in(names[i]);
		char errors[64];

		print_errors(p, errors, sizeof(errors));
		printf("%-18s %15s  %s\n", names[i], errors, p->source);
		profile_free(p);
	}
}

static void list_traces(void)
{
	for (size_t i = 0; trace_kinds[i].name; i++)
		printf("%-24s %s\n", trace_kinds[i].name, trace_kinds[i].summary);
}

static const struct list {
	const char *name;
	void (*print)(void);
} lists[] = {
	{"policies", list_policies},   {"presets", list_presets}, {"routers", list_routers},
	{"executors", list_executors}, {"models", list_models},	  {"devices", list_devices},
	{"traces", list_traces},
};
enum { N_LISTS = sizeof(lists) / sizeof(lists[0]) };

static int list(const char *name, struct err *e)
{
	const char *names[N_LISTS];

	for (size_t i = 0; i < N_LISTS; i++) {
		names[i] = lists[i].name;
		if (!strcmp(name, lists[i].name)) {
			lists[i].print();
			return 0;
		}
	}
	return err_unknown(e, "list", name, names, N_LISTS);
}

int cmd_list(int argc, char **argv)
{
	static const struct option_row rows[] = {{.name = NULL}};
	static const struct option_usage usage = {
		.command = "list",
		.synopsis = "omnibus list policies|presets|routers|executors|models|devices|traces",
		.about = "Prints what can be named on the command line, with defaults and ranges.",
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	struct err e;
	int first = options_parse(&usage, argc, argv, &e);

	if (first == 0)
		return 0;
	if (first < 0 || list(argv[first], &e) < 0) {
		fprintf(stderr, "omnibus list: %s\n", e.text);
		return EXIT_USAGE;
	}
	if (fflush(stdout) != 0) {
		fputs("omnibus list: cannot write to the standard output\n", stderr);
		return EXIT_FAILED;
	}
	return 0;
}
