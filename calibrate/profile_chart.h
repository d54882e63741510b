/*
 * profile_chart.h: curves of a profile to be drawn: times of GEMMs of a model by tokens, of decode
 * attention by context, of whole decode steps by sequences; those of them that it has.
 */
#ifndef CALIBRATE_PROFILE_CHART_H
#define CALIBRATE_PROFILE_CHART_H

#include "calibrate/model.h"
#include "calibrate/profile.h"

enum { CHARTS = 3, CHART_LINES = 8, CHART_POINTS = 24 };

struct chart_line {
	char name[64];
	size_t n;
	double x[CHART_POINTS], ns[CHART_POINTS];
	bool inside[CHART_POINTS]; /* what was measured; else an extrapolation */
};

struct chart {
	char title[160]; /* of shapes of a model: with its name */
	const char *x_label;
	const char *y_label; /* without the unit, us */
	size_t n;	     /* lines; 0: the profile has nothing of the kind */
	struct chart_line line[CHART_LINES];
};

/* Shapes are those of one of tp devices; tp splits the model. */
void profile_charts(struct chart charts[CHARTS], const struct profile *p, const struct model *m,
		    int64_t tp);

#endif
