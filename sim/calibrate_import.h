/*
 * calibrate_import.h: `omnibus calibrate --import` and `--show`. Both print their result on stdout
 * and return the exit code: 0, or EXIT_FAILED or EXIT_USAGE and a sentence.
 */
#ifndef SIM_CALIBRATE_IMPORT_H
#define SIM_CALIBRATE_IMPORT_H

#include "calibrate/model.h"
#include "sim/calibrate_options.h"

int calibrate_import(const struct calibrate_options *o, struct err *e);
int calibrate_show(const struct calibrate_options *o, struct err *e);

/* Every fit of a profile, then every set of whole steps, as tables. */
void calibrate_show_fits(FILE *out, const struct profile *p);

/* Times by size, as text; the model's shapes on one of tp devices. */
void calibrate_chart(FILE *out, const struct profile *p, const struct model *m, int64_t tp);
/* The same drawn into a file. */
int calibrate_plot(const char *path, const struct profile *p, const struct model *m, int64_t tp,
		   struct err *e);

#endif
