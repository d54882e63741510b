/*
 * hardware_options.h: the options that say what a model runs on and how much of it is KV cache, for
 * every command that has them.
 */
#ifndef SIM_HARDWARE_OPTIONS_H
#define SIM_HARDWARE_OPTIONS_H

#include "calibrate/memory.h"
#include "sim/options.h"

/* As given, beside the struct memory_want that other rows write into. */
struct hardware_options {
	const char *model_name, *device_name;
	double memory_gib, reserve_gib;
	int64_t weight_bits;
	bool memory_given, reserve_given, weight_bits_given, tp_given, kv_bits_given;
};

/* Rows of an option table, for `struct hardware_options *o` and `struct memory_want *w`. */
#define HARDWARE_ROWS(o, w)                                                                        \
	{.name = "model",                                                                          \
	 .letter = 'm',                                                                            \
	 .kind = OPTION_TEXT,                                                                      \
	 .value = &(o)->model_name,                                                                \
	 .arg = "MODEL",                                                                           \
	 .help = "a built-in model (omnibus list models), or the path of a config.json"},          \
		{.name = "device",                                                                 \
		 .letter = 'd',                                                                    \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->device_name,                                                       \
		 .arg = "DEVICE",                                                                  \
		 .help = "a device (omnibus list devices), or the path of a JSON file"},           \
		{.name = "memory",                                                                 \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(o)->memory_gib,                                                        \
		 .given = &(o)->memory_given,                                                      \
		 .arg = "GiB",                                                                     \
		 .max = 1e6,                                                                       \
		 .help = "memory of the device (default: as its driver reports it)"},              \
		{.name = "tp",                                                                     \
		 .kind = OPTION_INT,                                                               \
		 .value = &(w)->tp,                                                                \
		 .given = &(o)->tp_given,                                                          \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 4096,                                                                      \
		 .help = "devices that share each layer (default 1)"},                             \
		{.name = "pp",                                                                     \
		 .kind = OPTION_INT,                                                               \
		 .value = &(w)->pp,                                                                \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 500,                                                                       \
		 .help = "stages of a pipeline, each with a share of the layers on tp devices "    \
			 "(default 1)"},                                                           \
		{.name = "kv-bits",                                                                \
		 .kind = OPTION_INT,                                                               \
		 .value = &(w)->kv_bits,                                                           \
		 .given = &(o)->kv_bits_given,                                                     \
		 .arg = "16|8|4|2",                                                                \
		 .help = "bits of a cached number; 16 stands for the model's own type, 4 and 2 "   \
			 "add 32 bits of scale and zero for each 32 numbers (default 16)"},        \
		{.name = "weight-bits",                                                            \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->weight_bits,                                                       \
		 .given = &(o)->weight_bits_given,                                                 \
		 .arg = "16|8|4",                                                                  \
		 .help = "bits of a weight of the linear layers; 16 stands for the model's own "   \
			 "type, 4 adds 8 bits of scale for each 16 numbers; embedding, head and "  \
			 "norms stay (default 16)"},                                               \
		{.name = "utilization",                                                            \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(w)->utilization,                                                       \
		 .arg = "U",                                                                       \
		 .max = 1,                                                                         \
		 .help = "share of the memory that the server may use (default 0.9)"},             \
		{.name = "reserve",                                                                \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(o)->reserve_gib,                                                       \
		 .given = &(o)->reserve_given,                                                     \
		 .arg = "GiB",                                                                     \
		 .max = 1e6,                                                                       \
		 .help = "kept back for activations, graphs and the runtime (default: 1 GiB and "  \
			 "8192 x (4 x hidden + 2 x MLP width / tp) numbers)"},                     \
		{.name = "block",                                                                  \
		 .kind = OPTION_INT,                                                               \
		 .value = &(w)->block_tok,                                                         \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e6,                                                                       \
		 .help = "tokens a KV block (default 16)"},                                        \
		{.name = "kv-tokens",                                                              \
		 .kind = OPTION_INT,                                                               \
		 .value = &(w)->kv_tokens,                                                         \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e12,                                                                      \
		 .help = "size of the KV pool instead of what the budget leaves, in tokens"},      \
	{                                                                                          \
		.name = "kv-blocks", .kind = OPTION_INT, .value = &(w)->kv_blocks, .arg = "N",     \
		.min = 1, .max = 1e12, .help = "the same in blocks"                                \
	}

/* What can be wrong with them whatever the model and the device, and memory as bytes into `w`. */
int hardware_options_check(const struct hardware_options *o, struct memory_want *w, struct err *e);

/* Bits of the weights as asked for: 16, 8 or 4; and into the model, once that is loaded. */
int64_t hardware_options_weight_bits(const struct hardware_options *o);
void hardware_options_apply(const struct hardware_options *o, struct model *m);

#endif
