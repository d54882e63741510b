/* omnibus capacity: what fits beside the weights, from shapes alone. */

#include "calibrate/cost.h"
#include "results/field.h"
#include "sim/hardware_options.h"
#include <string.h>

#define GIB ((double)((int64_t)1 << 30))

struct capacity {
	struct hardware_options hardware;
	const char *format_name;
	int64_t context;
	struct memory_want want;
	struct model model;
	struct device device;
	struct memory_budget budget;
};

struct capacity_row {
	char model[64], device[64];
	int64_t tp, pp, memory_bytes, weights_bytes, reserve_bytes, kv_bytes, kv_bytes_per_token;
	int64_t blocks, tokens, context;
	double users;
	int64_t crossover_batch, kv_full_bytes_per_token, kv_window_bytes_per_token, window_tok;
	int64_t weight_bits;
};

#define TEXT(n)                                                                                    \
	{                                                                                          \
		.name = #n, .kind = FIELD_TEXT, .offset = offsetof(struct capacity_row, n),        \
		.size = sizeof(((struct capacity_row *)0)->n)                                      \
	}
#define INT(n)                                                                                     \
	{                                                                                          \
		.name = #n, .kind = FIELD_INT, .offset = offsetof(struct capacity_row, n),         \
		.size = sizeof(int64_t)                                                            \
	}
static const struct field capacity_fields[] = {
	TEXT(model),
	TEXT(device),
	INT(tp),
	INT(pp),
	INT(memory_bytes),
	INT(weights_bytes),
	INT(reserve_bytes),
	INT(kv_bytes),
	INT(kv_bytes_per_token),
	INT(blocks),
	INT(tokens),
	INT(context),
	{.name = "users",
	 .kind = FIELD_REAL,
	 .offset = offsetof(struct capacity_row, users),
	 .size = sizeof(double)},
	INT(crossover_batch),
	INT(kv_full_bytes_per_token),
	INT(kv_window_bytes_per_token),
	INT(window_tok),
	INT(weight_bits),
	{.name = NULL},
};
#undef TEXT
#undef INT

/* The smallest batch whose KV, at this context each, is more than the weights that a step reads. */
static int64_t crossover_batch(const struct capacity *c)
{
	struct model_kv kv;
	model_kv(&c->model, c->want.tp, 1, c->want.kv_bits, &kv);
	return model_streamed_bytes(&c->model, c->want.tp) /
		       model_kv_sequence_bytes(&c->model, &kv, c->context) +
	       1;
}

/* Sequences of the context's length that fit: with a window they take fewer blocks than tokens. */
static double users(const struct capacity *c)
{
	const struct memory_budget *b = &c->budget;
	if (!c->model.window_layers)
		return (double)b->tokens / (double)c->context;
	return (double)b->blocks /
	       (double)model_kv_sequence_blocks(&c->model, &b->kv, c->want.block_tok, c->context);
}

static void fill_row(const struct capacity *c, struct capacity_row *row)
{
	bool window = c->model.window_layers > 0;
	*row = (struct capacity_row){
		.tp = c->want.tp,
		.pp = c->want.pp,
		.memory_bytes = c->budget.memory_bytes,
		.weights_bytes = c->budget.weights_bytes,
		.reserve_bytes = c->budget.reserve_bytes,
		.kv_bytes = c->budget.kv_bytes,
		.kv_bytes_per_token = window ? FIELD_NULL_INT : c->budget.kv_token_bytes,
		.blocks = c->budget.blocks,
		.tokens = c->budget.tokens,
		.context = c->context,
		.users = users(c),
		.crossover_batch = crossover_batch(c),
		.kv_full_bytes_per_token = c->budget.kv.full_bytes,
		.kv_window_bytes_per_token = c->budget.kv.window_bytes,
		.window_tok = window ? c->model.window_tok : FIELD_NULL_INT,
		.weight_bits = hardware_options_weight_bits(&c->hardware),
	};
	snprintf(row->model, sizeof(row->model), "%s", c->model.name);
	snprintf(row->device, sizeof(row->device), "%s", c->device.name);
}

enum { MD_NAME = 256 };

/* A name comes from a file of the user's. */
static void md_name(char cell[MD_NAME], const char *name)
{
	fields_md_text(cell, name, strnlen(name, MD_NAME / 2 - 1));
}

static void print_bytes(const char *what, int64_t bytes)
{
	printf("| %-36s | %10.3f | %15lld |\n", what, (double)bytes / GIB, (long long)bytes);
}

static void print_count(const char *what, int64_t n)
{
	printf("| %-36s | %15lld |\n", what, (long long)n);
}

static void print_budget(const struct capacity *c)
{
	const struct memory_budget *b = &c->budget;
	char usable[64], device[MD_NAME];
	snprintf(usable, sizeof(usable), "usable: utilization %.4g", c->want.utilization);
	printf("| %-36s | %10s | %15s |\n", "memory of one device", "GiB", "bytes");
	printf("|:-------------------------------------|-----------:|----------------:|\n");
	md_name(device, c->device.name);
	print_bytes(device, b->memory_bytes);
	print_bytes(usable, b->usable_bytes);
	print_bytes("- weights", -b->weights_bytes);
	print_bytes(c->want.reserve_bytes < 0 ? "- reserve (default)" : "- reserve",
		    -b->reserve_bytes);
	print_bytes("= left for KV", b->left_bytes);
	if (b->overridden)
		print_bytes("KV pool as asked for", b->kv_bytes);
}

/* One figure, or the two terms where some layers have a window. */
static void print_kv_bytes(const struct capacity *c)
{
	const struct model_kv *kv = &c->budget.kv;
	char what[64];
	if (!c->model.window_layers) {
		snprintf(what, sizeof(what), "KV bytes a token, %lld bits",
			 (long long)c->want.kv_bits);
		print_count(what, kv->full_bytes);
		return;
	}
	snprintf(what, sizeof(what), "KV bytes of each token, %lld bits",
		 (long long)c->want.kv_bits);
	print_count(what, kv->full_bytes);
	snprintf(what, sizeof(what), "and of each of the last %lld",
		 (long long)c->model.window_tok);
	print_count(what, kv->window_bytes);
}

static void print_pool(const struct capacity *c)
{
	const struct memory_budget *b = &c->budget;
	char blocks[64], at[64];
	snprintf(blocks, sizeof(blocks), "blocks of %lld %s", (long long)c->want.block_tok,
		 c->model.window_layers ? "slots" : "tokens");
	snprintf(at, sizeof(at), "users at %lld tokens", (long long)c->context);
	printf("\n| %-36s | %15s |\n", "KV cache of one device", "");
	printf("|:-------------------------------------|----------------:|\n");
	print_kv_bytes(c);
	print_count(blocks, b->blocks);
	print_count(c->model.window_layers ? "slots" : "tokens", b->tokens);
	printf("| %-36s | %15.2f |\n", at, users(c));
	print_count("batch at which KV outgrows weights", crossover_batch(c));
	printf("| %-36s | %12.3f ms |\n", "roofline of a decode step, predicted",
	       cost_decode_floor_ns(&c->model, &c->device, c->want.tp) / 1e6);
	if (c->model.window_layers)
		printf("\n%lld of %lld layers attend to the last %lld tokens only: there is no "
		       "single figure of KV bytes a token.\n",
		       (long long)c->model.window_layers, (long long)c->model.layers,
		       (long long)c->model.window_tok);
}

static void print_md(const struct capacity *c)
{
	char model[MD_NAME], device[MD_NAME];
	md_name(model, c->model.name);
	md_name(device, c->device.name);
	printf("%s on %s, tp %lld", model, device, (long long)c->want.tp);
	if (c->want.pp > 1)
		printf(", pp %lld", (long long)c->want.pp);
	printf(": %lld parameters, %lld active, %lld bytes each",
	       (long long)model_params(&c->model), (long long)model_active_params(&c->model),
	       (long long)c->model.dtype_bytes);
	if (c->model.expert_bits > 0)
		printf(" (experts: %g bits)", model_expert_bits(&c->model));
	if (c->model.weight_bits > 0)
		printf(" (linear layers: %g bits)", model_linear_bits(&c->model));
	printf("\n\n");
	print_budget(c);
	print_pool(c);
}

static int check_options(struct capacity *c, struct err *e)
{
	if (!c->hardware.model_name)
		return err_set(e, "-m MODEL is missing (omnibus list models)");
	if (!c->hardware.device_name)
		return err_set(e, "-d DEVICE is missing (omnibus list devices)");
	if (format_parse(c->format_name) < 0)
		return err_set(e, "--output is '%.40s': it must be md, csv or jsonl",
			       c->format_name);
	return hardware_options_check(&c->hardware, &c->want, e);
}

/* What the options mean for this model and device. */
static int check_wants(struct capacity *c, struct err *e)
{
	int64_t memory = c->want.memory_bytes ? c->want.memory_bytes : c->device.memory_bytes;
	if (c->want.reserve_bytes > memory)
		return err_set(e, "--reserve is %g GiB, more than the %.2f GiB of the device",
			       c->hardware.reserve_gib, (double)memory / GIB);
	if (!c->context)
		c->context = c->model.context;
	if (model_check_pp(&c->model, c->want.pp, e) < 0)
		return -1;
	if (c->want.tp > c->model.heads)
		return model_check_tp(&c->model, c->want.tp, e);
	return 0;
}

static int complain(const struct err *e, int code)
{
	fprintf(stderr, "omnibus capacity: %s\n", e->text);
	return code;
}

static int print_capacity(struct capacity *c)
{
	struct err e;
	struct capacity_row row;
	const void *rows[] = {&row};
	enum format format = (enum format)format_parse(c->format_name);
	memory_budget(&c->model, &c->device, &c->want, &c->budget);
	fill_row(c, &row);
	if (format == FORMAT_MD)
		print_md(c);
	else
		fields_print(stdout, format, capacity_fields, rows, 1);
	if (fflush(stdout) || ferror(stdout)) {
		err_set(&e, "cannot write to the standard output");
		return complain(&e, EXIT_FAILED);
	}
	if (memory_check(&c->model, &c->device, &c->want, &c->budget, &e))
		return complain(&e, EXIT_FAILED);
	if (model_check_tp(&c->model, c->want.tp, &e))
		fprintf(stderr, "omnibus capacity: note: %s; servers refuse that\n", e.text);
	if (c->budget.overridden && c->budget.kv_bytes > c->budget.left_bytes)
		fprintf(stderr,
			"omnibus capacity: note: the KV pool asked for, %.2f GiB, is more than the "
			"%.2f GiB left\n",
			(double)c->budget.kv_bytes / GIB, (double)c->budget.left_bytes / GIB);
	return 0;
}

static int parse(struct capacity *c, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		HARDWARE_ROWS(&c->hardware, &c->want),
		{.name = "context",
		 .kind = OPTION_INT,
		 .value = &c->context,
		 .arg = "N",
		 .min = 1,
		 .max = 1e8,
		 .help = "tokens of one user: users = tokens / context (default: the model's "
			 "context)"},
		{.name = "output",
		 .letter = 'o',
		 .kind = OPTION_TEXT,
		 .value = &c->format_name,
		 .arg = "md|csv|jsonl",
		 .help = "format (default md)"},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "capacity",
		.synopsis = "omnibus capacity -m MODEL -d DEVICE [--memory GiB] [--tp N] [--pp N]\n"
			    "       [--kv-bits 16|8|4|2] [--context N] [--utilization U] "
			    "[--reserve GiB]\n"
			    "       [--block N] [--kv-tokens N | --kv-blocks N] [-o md|csv|jsonl]",
		.about = "Prints the memory budget of one device line by line, and what its KV "
			 "cache "
			 "holds.\n\n"
			 "crossover_batch is the smallest batch whose KV cache, at this context "
			 "each, "
			 "is larger\nthan the weights that a decode step reads (all but the "
			 "looked-up "
			 "embedding).\n\n"
			 "Without room for one block the row is printed, and the exit code is 1.",
		.rows = rows,
	};
	return options_parse(&usage, argc, argv, e);
}

/* The exit code; 0: all is there. */
static int load(struct capacity *c, struct err *e)
{
	if (device_load(&c->device, c->hardware.device_name, e))
		return device_is_path(c->hardware.device_name) ? EXIT_FAILED : EXIT_USAGE;
	if (model_load(&c->model, c->hardware.model_name, e))
		return model_is_path(c->hardware.model_name) ? EXIT_FAILED : EXIT_USAGE;
	hardware_options_apply(&c->hardware, &c->model);
	return check_wants(c, e) ? EXIT_USAGE : 0;
}

int cmd_capacity(int argc, char **argv)
{
	struct err e;
	struct capacity c = {.format_name = "md"};
	memory_want_default(&c.want);
	int first = parse(&c, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || check_options(&c, &e))
		return complain(&e, EXIT_USAGE);
	int code = load(&c, &e);
	code = code ? complain(&e, code) : print_capacity(&c);
	device_release(&c.device);
	return code;
}
