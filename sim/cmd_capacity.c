/* omnibus capacity: what fits beside the weights, from shapes alone. */

#include "calibrate/cost.h"
#include "calibrate/memory.h"
#include "results/field.h"
#include "sim/options.h"
#include <string.h>

#define GIB ((double)((int64_t)1 << 30))

struct capacity {
	const char *model_name, *device_name, *format_name;
	double memory_gib, reserve_gib;
	int64_t context;
	bool memory_given, reserve_given, tokens_given, blocks_given;
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
	int64_t crossover_batch;
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
	{.name = NULL},
};
#undef TEXT
#undef INT

/* The smallest batch whose KV, at this context each, is more than the weights that a step reads. */
static int64_t crossover_batch(const struct capacity *c)
{
	int64_t sequence_bytes = c->budget.kv_token_bytes * c->context;
	return model_streamed_bytes(&c->model, c->want.tp) / sequence_bytes + 1;
}

static void fill_row(const struct capacity *c, struct capacity_row *row)
{
	*row = (struct capacity_row){
		.tp = c->want.tp,
		.pp = 1,
		.memory_bytes = c->budget.memory_bytes,
		.weights_bytes = c->budget.weights_bytes,
		.reserve_bytes = c->budget.reserve_bytes,
		.kv_bytes = c->budget.kv_bytes,
		.kv_bytes_per_token = c->budget.kv_token_bytes,
		.blocks = c->budget.blocks,
		.tokens = c->budget.tokens,
		.context = c->context,
		.users = (double)c->budget.tokens / (double)c->context,
		.crossover_batch = crossover_batch(c),
	};
	snprintf(row->model, sizeof(row->model), "%s", c->model.name);
	snprintf(row->device, sizeof(row->device), "%s", c->device.name);
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
	char usable[64];
	snprintf(usable, sizeof(usable), "usable: utilization %.4g", c->want.utilization);
	printf("| %-36s | %10s | %15s |\n", "memory of one device", "GiB", "bytes");
	printf("|:-------------------------------------|-----------:|----------------:|\n");
	print_bytes(c->device.name, b->memory_bytes);
	print_bytes(usable, b->usable_bytes);
	print_bytes("- weights", -b->weights_bytes);
	print_bytes(c->want.reserve_bytes < 0 ? "- reserve (default)" : "- reserve",
		    -b->reserve_bytes);
	print_bytes("= left for KV", b->left_bytes);
	if (b->overridden)
		print_bytes("KV pool as asked for", b->kv_bytes);
}

static void print_md(const struct capacity *c)
{
	const struct memory_budget *b = &c->budget;
	char blocks[64], users[64], kv[64];
	snprintf(blocks, sizeof(blocks), "blocks of %lld tokens", (long long)c->want.block_tok);
	snprintf(users, sizeof(users), "users at %lld tokens", (long long)c->context);
	snprintf(kv, sizeof(kv), "KV bytes a token, %lld bits", (long long)c->want.kv_bits);
	printf("%s on %s, tp %lld: %lld parameters, %lld active, %lld bytes each\n\n",
	       c->model.name, c->device.name, (long long)c->want.tp,
	       (long long)model_params(&c->model), (long long)model_active_params(&c->model),
	       (long long)c->model.dtype_bytes);
	print_budget(c);
	printf("\n| %-36s | %15s |\n", "KV cache of one device", "");
	printf("|:-------------------------------------|----------------:|\n");
	print_count(kv, b->kv_token_bytes);
	print_count(blocks, b->blocks);
	print_count("tokens", b->tokens);
	printf("| %-36s | %15.2f |\n", users, (double)b->tokens / (double)c->context);
	print_count("batch at which KV outgrows weights", crossover_batch(c));
	printf("| %-36s | %12.3f ms |\n", "floor of a decode step, predicted",
	       cost_decode_floor_ns(&c->model, &c->device, c->want.tp) / 1e6);
}

static int check_options(struct capacity *c, struct err *e)
{
	if (!c->model_name)
		return err_set(e, "-m MODEL is missing (omnibus list models)");
	if (!c->device_name)
		return err_set(e, "-d DEVICE is missing (omnibus list devices)");
	if (format_parse(c->format_name) < 0)
		return err_set(e, "--output is '%.40s': it must be md, csv or jsonl",
			       c->format_name);
	if (c->want.utilization <= 0)
		return err_set(e, "--utilization is %g: it must be above 0 and at most 1",
			       c->want.utilization);
	if (c->memory_given && c->memory_gib <= 0)
		return err_set(e, "--memory is %g GiB: it must be above 0", c->memory_gib);
	if (c->tokens_given && c->blocks_given)
		return err_set(e,
			       "--kv-tokens and --kv-blocks are both given: one of them sets the "
			       "KV pool");
	return model_check_kv_bits(c->want.kv_bits, e);
}

/* What the options mean for this model and device. */
static int check_wants(struct capacity *c, struct err *e)
{
	int64_t memory = c->device.memory_bytes;
	if (c->memory_given)
		memory = c->want.memory_bytes = (int64_t)(c->memory_gib * GIB + 0.5);
	if (c->reserve_given)
		c->want.reserve_bytes = (int64_t)(c->reserve_gib * GIB + 0.5);
	if (c->want.reserve_bytes > memory)
		return err_set(e, "--reserve is %g GiB, more than the %.2f GiB of the device",
			       c->reserve_gib, (double)memory / GIB);
	if (!c->context)
		c->context = c->model.context;
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
		{.name = "model",
		 .letter = 'm',
		 .kind = OPTION_TEXT,
		 .value = &c->model_name,
		 .arg = "MODEL",
		 .help = "a built-in model (omnibus list models), or the path of a config.json"},
		{.name = "device",
		 .letter = 'd',
		 .kind = OPTION_TEXT,
		 .value = &c->device_name,
		 .arg = "DEVICE",
		 .help = "a device (omnibus list devices)"},
		{.name = "memory",
		 .kind = OPTION_REAL,
		 .value = &c->memory_gib,
		 .given = &c->memory_given,
		 .arg = "GiB",
		 .max = 1e6,
		 .help = "memory of the device (default: as its driver reports it)"},
		{.name = "tp",
		 .kind = OPTION_INT,
		 .value = &c->want.tp,
		 .arg = "N",
		 .min = 1,
		 .max = 4096,
		 .help = "devices that share each layer (default 1)"},
		{.name = "kv-bits",
		 .kind = OPTION_INT,
		 .value = &c->want.kv_bits,
		 .arg = "16|8|4|2",
		 .help = "bits of a cached number; 16 stands for the model's own type, 4 and 2 add "
			 "32 bits of scale and zero for each 32 numbers (default 16)"},
		{.name = "context",
		 .kind = OPTION_INT,
		 .value = &c->context,
		 .arg = "N",
		 .min = 1,
		 .max = 1e8,
		 .help = "tokens of one user: users = tokens / context (default: the model's "
			 "context)"},
		{.name = "utilization",
		 .kind = OPTION_REAL,
		 .value = &c->want.utilization,
		 .arg = "U",
		 .max = 1,
		 .help = "share of the memory that the server may use (default 0.9)"},
		{.name = "reserve",
		 .kind = OPTION_REAL,
		 .value = &c->reserve_gib,
		 .given = &c->reserve_given,
		 .arg = "GiB",
		 .max = 1e6,
		 .help = "kept back for activations, graphs and the runtime (default: 1 GiB and "
			 "8192 x "
			 "(4 x hidden + 2 x MLP width / tp) numbers)"},
		{.name = "block",
		 .kind = OPTION_INT,
		 .value = &c->want.block_tok,
		 .arg = "N",
		 .min = 1,
		 .max = 65536,
		 .help = "tokens a KV block (default 16)"},
		{.name = "kv-tokens",
		 .kind = OPTION_INT,
		 .value = &c->want.kv_tokens,
		 .given = &c->tokens_given,
		 .arg = "N",
		 .min = 1,
		 .max = 1e9,
		 .help = "size of the KV pool instead of what the budget leaves"},
		{.name = "kv-blocks",
		 .kind = OPTION_INT,
		 .value = &c->want.kv_blocks,
		 .given = &c->blocks_given,
		 .arg = "N",
		 .min = 1,
		 .max = 1e9,
		 .help = "the same in blocks"},
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
		.synopsis = "omnibus capacity -m MODEL -d DEVICE [--memory GiB] [--tp N]\n"
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

int cmd_capacity(int argc, char **argv)
{
	struct err e;
	struct capacity c = {.format_name = "md"};
	memory_want_default(&c.want);
	int first = parse(&c, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || check_options(&c, &e) || device_load(&c.device, c.device_name, &e))
		return complain(&e, EXIT_USAGE);
	if (model_load(&c.model, c.model_name, &e))
		return complain(&e, model_is_path(c.model_name) ? EXIT_FAILED : EXIT_USAGE);
	if (check_wants(&c, &e))
		return complain(&e, EXIT_USAGE);
	return print_capacity(&c);
}
