/*
 * measured.h: a device that was measured, by hand: straight formulas instead of fits, so that a
 * forecast from them can be worked out exactly.
 */
#ifndef TESTS_MEASURED_H
#define TESTS_MEASURED_H

#include "calibrate/form.h"
#include "calibrate/profile.h"

enum { MEASURED_FITS = 11 };

struct measured {
	struct device device; /* the H200 but for its profile */
	struct profile profile;
	struct fit fit[MEASURED_FITS];
};

/* What was measured: everything but mixed steps, in 16 bits; m must stay where it is. */
void measured_init(struct measured *m);
/* One operation more, or less. */
void measured_add(struct measured *m, enum op op, int bits);
void measured_drop(struct measured *m, enum op op);

/* The formulas, ns of one operation. */
double measured_ns(const struct point *at);
/* Decode attention waits for the longest sequence, from 64 on: ns a token beyond the mean. */
enum { MEASURED_BEYOND_NS = 3 };

#endif
