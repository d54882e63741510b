/* real_log_reader.h: readers of one format each; within real_log*.c. */
#ifndef RESULTS_REAL_LOG_READER_H
#define RESULTS_REAL_LOG_READER_H

#include "results/real_log.h"
#include "traces/source.h"

enum real_column {
	REAL_ARRIVAL,
	REAL_PROMPT,
	REAL_OUTPUT,
	REAL_SCHEDULED,
	REAL_FIRST,
	REAL_LAST,
	N_REAL_COLUMNS,
};

/* Names are cut out of `text`; NULL: no such column. */
struct real_columns {
	char *text;
	const char *name[N_REAL_COLUMNS];
	enum clock clock;
};

int real_columns_parse(const char *text, struct real_columns *c, struct err *e);
void real_columns_release(struct real_columns *c);

/* A request as it stands in the file, times by the file's own clock; refused where they are in no
 * possible order. */
int real_log_add(struct real_log *l, const struct real_request *r, const char *file, struct err *e);

/* `columns` NULL: a header that is known. */
int real_log_csv(struct real_log *l, struct input *in, const struct real_columns *columns,
		 struct err *e);
int real_log_vllm(struct real_log *l, struct input *in, struct err *e);

#endif
