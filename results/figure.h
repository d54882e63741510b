/*
 * figure.h: a plot as numbers: panels with the same lines in each of them. Printed as TSV, or drawn
 * (gnuplot.h).
 *
 * Names and labels are copied or are literals, as said; everything goes with figure_release().
 */
#ifndef RESULTS_FIGURE_H
#define RESULTS_FIGURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct figure_point {
	int64_t run_id;
	double x, y;	  /* y NaN: not known, and no line goes across */
	double low, high; /* of the values that y is the mean of; NaN without */
	bool hollow;	  /* drawn so */
	double saturated; /* 1 or 0; NaN: not known */
	double lost;	  /* share of the requests that were not served */
};

struct figure_curve { /* what a line is in one panel; x does not fall */
	struct figure_point *at;
	size_t n, room;
};

enum figure_scale { FIGURE_AUTO, FIGURE_LINEAR, FIGURE_LOG };

struct figure_panel {
	const char *quantity; /* first column of the TSV; literals */
	char x_label[64], y_label[64];
	bool may_log_x, may_log_y; /* by the scale of the figure: values without a natural zero */
	bool whole;		   /* y is a count */
	double y_max; /* of a share: where the axis ends, unless values are far below */
	struct figure_curve *curves;
};

struct figure_rule { /* a horizontal line with what it says; in the first panel */
	double y;
	char label[64];
};

struct figure {
	char title[256];
	const char *x_name, *y_name; /* columns of the TSV; literals */
	bool steps;		     /* a value holds until the next one; else points are joined */
	bool from_zero;		     /* a line rises from 0 at its first x */
	bool stacked;		     /* panels one above the other, else beside each other */
	bool has_hollow, has_range;  /* columns of the TSV */
	enum figure_scale scale;
	struct figure_panel *panels;
	size_t n_panels;
	char **names; /* of the lines */
	size_t n_lines;
	struct figure_rule rules[8];
	size_t n_rules;
	char **notes; /* what was left out and why, for people */
	size_t n_notes;
};

/* All zero is empty. The panels first: lines are then added to all of them. */
struct figure_panel *figure_panel(struct figure *f, const char *quantity);
size_t figure_line(struct figure *f, const char *name); /* its index */
void figure_add(struct figure *f, size_t panel, size_t line, const struct figure_point *p);
void figure_note(struct figure *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool figure_is_empty(const struct figure *f); /* not one value */
void figure_release(struct figure *f);

/* One line a point, header first; numbers with 15 digits, an empty cell for NaN. -1: the stream. */
int figure_print_tsv(FILE *out, const struct figure *f);

#endif
