/*
 * plot.h: figures of runs of a results database: what `omnibus plot` draws.
 */
#ifndef RESULTS_PLOT_H
#define RESULTS_PLOT_H

#include "results/choose.h"
#include "results/figure.h"

enum plot_stat { PLOT_MEAN, PLOT_P50, PLOT_P99 };

struct plot_want {
	enum plot_stat stat; /* of TTFT and TPOT against the rate */
	bool each_instance;  /* timeline: a line an instance, not their sum */
};

struct plot_kind {
	const char *name, *summary;
	/* Into an empty figure; what is left out becomes a note. -1: the file cannot be read. */
	int (*fill)(const struct chosen *c, const struct plot_want *w, struct figure *f,
		    struct err *e);
};

extern const struct plot_kind plot_kinds[]; /* ends with a NULL name */

/* plot_rate.c, plot_cdf.c, plot_time.c, plot_memory.c */
int plot_rate(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e);
int plot_cdf(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e);
int plot_timeline(const struct chosen *c, const struct plot_want *w, struct figure *f,
		  struct err *e);
int plot_memory(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e);

/* A statement of which ?1 is a run's id; -1: a sentence. */
int plot_prepare(const struct chosen *c, const char *sql, int64_t run_id, sqlite3_stmt **s,
		 struct err *e);
/* Ends it; -1 and a sentence where its rows could not all be read. */
int plot_finish(const struct chosen *c, sqlite3_stmt *s, struct err *e);

#endif
