/*
 * import.h: times that others measured, from tables, told apart by their headers, into points.
 *
 * Each format is one entry of a table; import_formats() lists them. What is wrong in a file is one
 * sentence with the file, the line and the column. Rows that say nothing to a forecast are left
 * out and counted by reason.
 */
#ifndef CALIBRATE_IMPORT_H
#define CALIBRATE_IMPORT_H

#include "calibrate/import_table.h"
#include "calibrate/model.h"
#include "calibrate/point.h"
#include "calibrate/profile.h"

/* Whole steps of one model on tp devices that were measured: points of OP_STEP. */
struct import_steps {
	char model[64];
	int64_t tp;
	struct points points;
};

enum { SKIPS_MAX = 24 };
struct import_skip {
	char reason[96];
	size_t rows;
};

/* What a file gave. */
struct import_file {
	char *path;
	const char *format; /* its name */
	size_t rows, points, steps;
	struct import_skip skip[SKIPS_MAX];
	size_t n_skips;
};

struct import {
	/* what the tables do not say: whose layers, on how many devices; NULL, 1 */
	const struct model *model;
	int64_t tp;
	const char *device; /* name: of tables with several devices its rows alone */

	struct points points;	   /* of kernels */
	struct whole_steps *fixed; /* published coefficients */
	size_t n_fixed;
	struct import_steps *steps; /* whole steps to be fitted */
	size_t n_steps;
	struct import_file *files;
	size_t n_files;
};

struct import_format {
	const char *name, *summary;
	const char *header;    /* of the file, to the letter */
	const char *no_points; /* why a format that is known cannot be imported; else NULL */
	bool needs_model;      /* the table does not say whose layers they are */
	/* One row into points, or skipped; a failure is the table's. */
	void (*row)(struct import *in, struct table *t);
};

extern const struct import_format *const import_formats[]; /* NULL at the end */

/* Adds what the file holds. -1: a sentence; an unknown header lists the known ones. */
int import_read(struct import *in, const char *path, struct err *e);
void import_release(struct import *in);

/* Within the formats. The row that is being read is left out. */
void import_skip(struct import *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void import_point(struct import *in, const struct point *p);
/* The points of whole steps of this model; valid until the next call. */
struct points *import_steps_of(struct import *in, const char *model, int64_t tp);
struct whole_steps *import_fixed(struct import *in);

/*
 * Of points of all-reduces that have the same size and devices the fastest is kept: a server takes
 * its own kernel or the library's, whichever is faster. To be called when all files are read.
 */
void import_fastest(struct import *in);

#endif
