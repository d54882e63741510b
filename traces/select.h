/*
 * select.h: the options with which a command selects rows of a trace and scales their arrivals.
 */
#ifndef TRACES_SELECT_H
#define TRACES_SELECT_H

#include "sim/options.h"
#include "traces/trace.h"

/* Of the rate, where a command takes several, it takes care itself. Start from TRACE_SELECT_INIT.
 */
struct trace_select {
	const char *columns, *window, *rate, *zero, *arrivals, *hash_rule;
	bool sort;
	bool many_rates; /* the command has rates of its own, and checks them against `arrivals` */
	int64_t skip, limit, hash_block, seed;
	double speed, cv;
};

#define TRACE_SELECT_INIT                                                                          \
	{                                                                                          \
		.seed = 1, .zero = "skip"                                                          \
	}

/* Rows of an option table, for `struct trace_select *o`. */
#define TRACE_SELECT_ROWS(o)                                                                       \
	{.name = "columns",                                                                        \
	 .kind = OPTION_TEXT,                                                                      \
	 .value = &(o)->columns,                                                                   \
	 .arg = "arrival=C,prompt=C,output=C[,session=C,...][,unit=s|ms|us|ns]",                   \
	 .help = "the columns of any CSV (or fields of JSON lines), by name or number from 1"},    \
		{.name = "sort",                                                                   \
		 .kind = OPTION_FLAG,                                                              \
		 .value = &(o)->sort,                                                              \
		 .help = "sort by arrival (in memory) instead of refusing"},                       \
		{.name = "skip",                                                                   \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->skip,                                                              \
		 .arg = "N",                                                                       \
		 .min = 0,                                                                         \
		 .max = 1e15,                                                                      \
		 .help = "leave out the first N rows"},                                            \
		{.name = "limit",                                                                  \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->limit,                                                             \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e15,                                                                      \
		 .help = "read at most N rows"},                                                   \
		{.name = "window",                                                                 \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->window,                                                            \
		 .arg = "FROM:TO",                                                                 \
		 .help = "only rows that arrive in these seconds after the file's first row"},     \
		{.name = "speed",                                                                  \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(o)->speed,                                                             \
		 .arg = "X",                                                                       \
		 .min = 1e-9,                                                                      \
		 .max = 1e9,                                                                       \
		 .help = "divide all arrivals by X"},                                              \
		{.name = "hash-block",                                                             \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->hash_block,                                                        \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e9,                                                                       \
		 .help = "tokens a prefix hash stands for (default: the format's own)"},           \
		{.name = "hash-rule",                                                              \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->hash_rule,                                                         \
		 .arg = "ceil|floor",                                                              \
		 .help = "hashes: one a block, or one a full block (default: the format's own)"},  \
		{.name = "zero",                                                                   \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->zero,                                                              \
		 .arg = "skip|clamp|error",                                                        \
		 .help = "rows without output tokens: skip them, give them one, or refuse "        \
			 "(default skip)"},                                                        \
		{.name = "arrivals",                                                               \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->arrivals,                                                          \
		 .arg = "poisson|gamma|weibull|constant",                                          \
		 .help = "draw arrivals at --rate, in place of those recorded"},                   \
		{.name = "cv",                                                                     \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(o)->cv,                                                                \
		 .arg = "X",                                                                       \
		 .min = 0.01,                                                                      \
		 .max = 100,                                                                       \
		 .help = "spread of gamma and weibull gaps over their mean (default 1)"},          \
	{                                                                                          \
		.name = "seed", .kind = OPTION_INT, .value = &(o)->seed, .arg = "S", .min = 0,     \
		.max = 1e18, .help = "of random streams (default 1)"                               \
	}

/* For a command that takes one rate. */
#define TRACE_RATE_ROW(o)                                                                          \
	{                                                                                          \
		.name = "rate", .kind = OPTION_TEXT, .value = &(o)->rate, .arg = "RPS",            \
		.help = "scale the gaps to this rate; inf: all arrive at once"                     \
	}

/* Everything but the source. -1: a sentence (wrong usage). */
int trace_select_spec(const struct trace_select *o, struct trace_spec *spec, struct err *e);

#endif
