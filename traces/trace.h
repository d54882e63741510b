/*
 * trace.h: a stream of requests, from a file, standard input or a generator.
 *
 * One call a row; memory does not grow with the file, but for `sort`,
 * for the sessions it has, and for a format that is one document. The kind of a file is told
 * from its content, never from its name; .gz and .zst are decompressed on the way, also told by
 * content.
 */
#ifndef TRACES_TRACE_H
#define TRACES_TRACE_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

struct trace_row {
	int64_t arrive_ns;  /* after the first selected row; never decreases */
	int64_t prompt_tok; /* >= 1 */
	int64_t output_tok; /* >= 1 */
	int64_t max_tok;    /* the client's limit on output tokens, 0 where the trace has none */
	int64_t priority;   /* lower is served first, where a policy asks; 0 where there is none */
	int64_t client;	    /* trace_client_name() has its name; 0: none */
	int64_t session;    /* from 1: rows of one conversation; 0: none */
	int64_t think_ns;   /* from the end of the session's row before this one to its arrival, as
			       recorded and not scaled; -1: it is the session's first. Only where
			       session > 0 */
	int64_t service_ns; /* recorded time from the arrival to the last token; 0: unknown */
	int64_t line;	    /* of the file, from 1 (of a JSON document: the request's number); 0
			       from a generator */
	const uint64_t
		*hash_ids; /* prefix blocks, valid until the next call; NULL: not in the row */
	int64_t n_hash_ids;
};

/* What becomes of rows without output tokens: failed calls. */
enum trace_zero {
	TRACE_ZERO_SKIP,  /* left out and counted */
	TRACE_ZERO_CLAMP, /* they have 1 output token, and are counted */
	TRACE_ZERO_ERROR, /* refused; rows without prompt tokens too */
	N_TRACE_ZERO,
};
extern const char *const trace_zero_names[N_TRACE_ZERO + 1];

/* Are the ids of hash blocks as many as the prompt has blocks, or as it has full ones? */
enum trace_hash_rule { TRACE_HASH_OF_FORMAT, TRACE_HASH_CEIL, TRACE_HASH_FLOOR, N_TRACE_HASH };
extern const char *const trace_hash_names[N_TRACE_HASH + 1]; /* "" for the first */

/* What a rate needs to know of the selection, as recorded. */
struct trace_span {
	int64_t rows, last_ns; /* the last arrival after the first */
};

/* Everything that decides what comes out. Zero it, fill in what is wanted; strings stay the
 * caller's. */
struct trace_spec {
	const char *source; /* a path, "-", or "synth:NAME[,k=v...]" */
	/* In place of what the source names: rows as they are, in the order of their arrival; the
	 * caller's. */
	const struct trace_row *rows;
	int64_t n_rows;
	const char *columns; /* "arrival=..,prompt=..,output=..[,session=..],unit=s" or NULL */
	bool sort;	     /* sort by arrival (holds the rows in memory) instead of refusing */
	int64_t skip;	     /* selected rows to leave out at the start */
	int64_t limit;	     /* rows to give at most, the rest is not read; 0: all */
	bool window; /* only rows that arrive in [from_ns, to_ns) after the file's first row */
	int64_t window_from_ns, window_to_ns; /* nothing is read behind the end of the window */
	uint64_t seed;			      /* of generators; a seed= in the source wins */
	int64_t hash_block;		      /* tokens a hash id stands for; 0: the format's own */
	enum trace_hash_rule hash_rule;
	/* Ids as they stand in the file; else those of formats whose ids stand for the tokens of
	 * one block are made to stand for all before it too. */
	bool raw_hash_ids;
	enum trace_zero zero;
	/*
	 * NULL: arrivals as recorded. Else one of arrivals_names[] (arrivals.h): they are replaced
	 * by gaps drawn at rate_rps, which must be above 0 or rate_inf; cv is that of gamma and
	 * Weibull gaps, 0: 1.
	 */
	const char *arrivals;
	double cv;
	bool lengths_will_do; /* a file without arrivals is no error: all are at 0 */
	/*
	 * Arrivals are scaled by a factor a row, in this order of precedence: rate_rps > 0 scales
	 * the gaps so that (n-1)/(last-first) is that rate (needs one more pass, where `span` is
	 * NULL, and not what trace_measure() found of the same selection); rate_inf puts all
	 * at 0; speed > 0 divides every arrival.
	 */
	double rate_rps, speed;
	bool rate_inf;
	const struct trace_span *span;
};

/* What was seen so far; complete once trace_next() has returned 0. */
struct trace_counts {
	int64_t rows;			/* given */
	int64_t skipped_zero;		/* rows without output tokens (failed calls): skipped */
	int64_t clamped_zero;		/* the same: given with 1 output token */
	int64_t skipped_zero_prompt;	/* rows without prompt tokens: skipped */
	int64_t left_out;		/* read, but left out by skip and window */
	int64_t first_ns, last_ns;	/* of the rows given, as given */
	int64_t prompt_tok, output_tok; /* totals of the rows given */
	int64_t sessions;		/* that the rows given belong to */
	int64_t overlapping;	 /* rows that arrive before their session's last one has ended */
	int64_t unknown_parents; /* rows read whose parent is not in the file before them */
	int64_t restarts;	 /* times at which the clock of the file began anew */
	int64_t unusable_ids;	 /* rows read whose hash ids stand for no block of a fixed length */
	/* FNV-1a, by 64-bit words, mixed: arrival before scaling, prompt, output; where a row has
	 * them its limit, priority, client, session, think time and hash ids too. */
	uint64_t hash;
};

struct trace;

/*
 * Opens a source and reads as far as it takes to know its format. NULL: a sentence with file, line,
 * column, and what was expected. Standard input is spooled to an unlinked temporary file once per
 * process, so several traces can be opened on "-".
 */
struct trace *trace_open(const struct trace_spec *spec, struct err *e);

/*
 * Checks what can be checked without reading anything: the name and parameters of a generator. What
 * is wrong there is wrong usage, not a bad file. -1: a sentence.
 */
int trace_check(const struct trace_spec *spec, struct err *e);

/* One pass over the selection of the spec, whatever its rate or speed. -1: a sentence. */
int trace_measure(const struct trace_spec *spec, struct trace_span *span, struct err *e);

/* 1: a row; 0: the end; -1: a sentence. That no row was selected is an error, not an end. */
int trace_next(struct trace *t, struct trace_row *row, struct err *e);

const struct trace_counts *trace_counts(const struct trace *t);
const char *
trace_format(const struct trace *t); /* "azure-csv", "mooncake-jsonl", "synth:NAME", ... */
int64_t trace_hash_block(const struct trace *t); /* tokens a hash id stands for; 0: no hash ids */
enum trace_hash_rule trace_hash_rule(const struct trace *t);
bool trace_hash_unsigned(const struct trace *t); /* an id so far was beyond 2^63 - 1 in the file */
/*
 * The first given row's arrival by the source's own clock (ns), known after the first row;
 * `wall_clock` says that this clock counts from 1970 UTC.
 */
int64_t trace_base_ns(const struct trace *t, bool *wall_clock);
bool trace_has_max_tok(const struct trace *t); /* some row so far had a limit, or may have */
/* Rows may have these: decided by the format, known once the trace is open. */
bool trace_has_sessions(const struct trace *t);
bool trace_has_clients(const struct trace *t);
bool trace_has_priorities(const struct trace *t);
bool trace_has_service(const struct trace *t);
bool trace_has_arrivals(const struct trace *t); /* false: a file of lengths, all at 0 */
const char *trace_client_name(const struct trace *t, int64_t client);	/* "" for 0 */
const char *trace_session_name(const struct trace *t, int64_t session); /* "": by number only */
double trace_progress(const struct trace *t); /* 0 to 1, of the bytes or rows to come */
void trace_close(struct trace *t);	      /* NULL is allowed */

/* "FROM:TO" in seconds, decimals exact, either side may be empty, into the window of the spec. */
int trace_parse_window(const char *text, struct trace_spec *spec, struct err *e);
/* Checks the text of --columns (which trace_open would refuse) and puts it into the spec. */
int trace_parse_columns(const char *text, struct trace_spec *spec, struct err *e);

/* Names for `list traces`: formats and generators, each with one line; ends with a NULL name. */
struct trace_kind {
	const char *name, *summary;
};
extern const struct trace_kind trace_kinds[];

#endif
