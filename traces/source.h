/*
 * source.h: what stands behind a trace: a reader of one format or a generator. It gives every row
 * as it stands, on its own clock; selection, order, scaling and counting are trace.c's.
 */
#ifndef TRACES_SOURCE_H
#define TRACES_SOURCE_H

#include "traces/input.h"
#include "traces/names.h"
#include "traces/trace.h"
#include <stddef.h>

/* The places in trace_kinds[]: the one list of formats and generators. */
enum kind {
	KIND_AZURE_CSV,
	KIND_OMNIBUS_CSV,
	KIND_CSV,
	KIND_MOONCAKE,
	KIND_NS_JSONL,
	KIND_BURSTGPT,
	KIND_BURSTGPT_3,
	KIND_LENGTHS_CSV,
	KIND_BAILIAN,
	KIND_RAGPULSE,
	KIND_VLLM_JSON,
	KIND_JSONL,
	KIND_SYNTH, /* the first generator; the others follow */
	KIND_AZURE_CONV = KIND_SYNTH,
	KIND_POISSON,
	KIND_GAMMA,
	KIND_CONSTANT,
	KIND_WEIBULL,
	KIND_BURSTS,
	KIND_DIURNAL,
	KIND_AZURE_CODE,
	KIND_SHAREGPT,
	KIND_ARXIV,
	KIND_MOONCAKE_CONV,
	KIND_SERVEGEN_R1,
	N_KINDS,
};

struct source;

struct source_ops {
	/* 1: a row, arrive_ns on the source's own clock, tokens >= 0; 0: the end; -1: a sentence.
	 */
	int (*next)(struct source *s, struct trace_row *row, struct err *e);
	double (*progress)(const struct source *s);
	void (*free)(struct source *s);
};

/* The first member of every source's own struct. */
struct source {
	const struct source_ops *ops;
	enum kind kind;
	bool wall_clock;  /* arrivals count from 1970 UTC; known after the first row */
	bool has_max_tok; /* some row so far had a limit on its output, or may have */
	bool has_sessions, has_clients, has_priorities, has_service; /* of the format */
	bool lengths_only;  /* the format has no arrivals: all are 0 */
	int64_t hash_block; /* tokens a hash id stands for; 0: no hash ids */
	enum trace_hash_rule hash_rule;
	bool hash_unsigned; /* as trace_hash_unsigned() */
	/* Of clients and sessions, where they have names; source_free() releases them. */
	struct names clients, sessions;
	int64_t unknown_parents, restarts, unusable_ids; /* as in trace_counts */
};

bool source_is_synth(const char *source);
struct source *source_open(const struct trace_spec *spec, struct err *e);
void source_free(struct source *s); /* NULL is allowed */
/* The parameters of a generator; nothing is opened. */
int source_check(const struct trace_spec *spec, struct err *e);

enum column {
	COLUMN_ARRIVAL,
	COLUMN_PROMPT,
	COLUMN_OUTPUT,
	COLUMN_MAX_TOK,
	COLUMN_PRIORITY,
	COLUMN_CLIENT,
	COLUMN_SESSION,
	COLUMN_SERVICE,
	COLUMN_HASH_IDS, /* of JSON only */
	N_COLUMNS,
};
enum clock { CLOCK_S, CLOCK_MS, CLOCK_US, CLOCK_NS, CLOCK_WALL, CLOCK_UNKNOWN };

/* What --columns says. Names are cut out of `text`. */
struct columns {
	char *text;
	const char *name[N_COLUMNS]; /* NULL: no such column (or by number) */
	int64_t number[N_COLUMNS];   /* from 1; 0: by name */
	bool no_arrival;	     /* arrival=none: everything arrives at 0 */
	enum clock clock;	     /* CLOCK_UNKNOWN: told from the first row */
};

/* columns_release() is needed after success only. */
int columns_parse(const char *text, struct columns *c, struct err *e);
void columns_release(struct columns *c);
static inline bool columns_has(const struct columns *c, enum column which)
{
	return c->name[which] || c->number[which];
}

/* One value of a row, and where it stands. */
struct cell {
	const char *file;
	int64_t line;
	int64_t column;	  /* from 1; 0: a JSON field */
	const char *name; /* or NULL */
	const char *text;
	size_t len;
};

/* Tokens: a whole number from 0 to NUMBER_TOK_MAX. */
int cell_tok(const struct cell *c, int64_t *tok, struct err *e);
/* A limit of tokens, at least 1; empty: none, 0. */
int cell_limit(const struct cell *c, int64_t *tok, struct err *e);
int cell_total(const struct cell *c, int64_t sum, struct err *e); /* that number, in full */
/* A number from 0 on, inf, or empty: prompt over output, which is only checked. */
int cell_ratio(const struct cell *c, struct err *e);
/* A whole number from -10^15 to 10^15. */
int cell_priority(const struct cell *c, int64_t *priority, struct err *e);
/* A duration in the unit of the clock (seconds where that is no unit); empty: 0. */
int cell_service(const struct cell *c, enum clock clock, int64_t *ns, struct err *e);
/* A name of up to NAME_MAX_BYTES, UTF-8 without control characters; empty: 0. */
enum { NAME_MAX_BYTES = 255 };
int cell_name(const struct cell *c, struct names *names, int64_t *number, struct err *e);
/* An arrival; a clock that is unknown is settled here: a timestamp, or else seconds. */
int cell_arrival(const struct cell *c, enum clock *clock, int64_t *ns, struct err *e);
/* "FILE:LINE: column 2 (NAME)" and then the formatted rest. Returns -1. */
int cell_refuse(const struct cell *c, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Text as it can be shown in a sentence: short, printable. Returns out. */
enum { SHOWN_SIZE = 64 };
const char *show_text(const char *text, size_t len, char out[SHOWN_SIZE]);

/*
 * Readers take over `in`, whose next line is the first that is not blank. `columns` is NULL where
 * the format is to be told from that line; it is not kept.
 */
struct source *csv_new(struct input *in, const struct columns *columns, struct err *e);
struct source *jsonl_new(struct input *in, const struct columns *columns,
			 const struct trace_spec *spec, struct err *e);
struct source *vllm_new(struct input *in, struct err *e); /* a JSON document */
bool vllm_is(const char *text, size_t len);		  /* does a file that begins so hold one? */
struct source *synth_new(const char *text, uint64_t seed, struct err *e); /* after "synth:" */
struct source *memory_new(const struct trace_row *rows, int64_t n);	  /* trace_spec.rows */
/* What can be said without the file of lengths=. */
int synth_check(const char *text, uint64_t seed, struct err *e);

/* Headers, for readers and writers. */
extern const char *const omnibus_csv_columns[N_COLUMNS]; /* NULL: cannot be in our own csv */
extern const char azure_csv_header[], burstgpt_header[], burstgpt_3_header[], lengths_csv_header[];
/* The two log types of BurstGPT; a client is named by its model, a space, and one of them. */
extern const char *const burstgpt_logs[2];

#endif
