/* rows.h: a trace read into an array, for the suites of traces. */
#ifndef TESTS_ROWS_H
#define TESTS_ROWS_H

#include "tests/testing.h"
#include "traces/trace.h"
#include <string.h>

enum { ROWS_MAX = 64 };

struct rows {
	struct trace_row row[ROWS_MAX]; /* hash_ids are not valid */
	uint64_t last_hash[ROWS_MAX];	/* the last hash id of each row, 0 for none */
	struct trace_counts counts;
	char format[32];
};

/* 0, or -1 and the sentence. */
static inline int read_rows(const struct trace_spec *spec, struct rows *r, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	struct trace_row row;
	int more = -1, n = 0;
	memset(r, 0, sizeof(*r));
	while (t && (more = trace_next(t, &row, e)) > 0) {
		CHECK(n < ROWS_MAX, "%d rows", n);
		r->row[n] = row;
		r->last_hash[n] = row.n_hash_ids > 0 ? row.hash_ids[row.n_hash_ids - 1] : 0;
		n++;
	}
	if (more == 0) {
		r->counts = *trace_counts(t);
		snprintf(r->format, sizeof(r->format), "%s", trace_format(t));
		assert_i64(r->counts.rows, n);
	}
	trace_close(t);
	return more;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");
	CHECK(f, "cannot write %s", path);
	size_t written = fwrite(bytes, 1, size, f);
	CHECK(fclose(f) == 0 && written == size, "%zu of %zu bytes in %s", written, size, path);
}

/* Bytes with anything in them, into a file of the test's own. */
static inline const char *bytes_file(const char *name, const void *bytes, size_t size)
{
	const char *path = testing_path(name);
	write_bytes(path, bytes, size);
	return path;
}

#endif
