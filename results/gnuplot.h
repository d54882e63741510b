/*
 * gnuplot.h: draws a figure with the program gnuplot, which is started when it is needed.
 *
 * Lines differ in colour (Okabe and Ito's, told apart by the colour-blind), in dashes and in the
 * shape of their points: any two of 20 without colours, of 140 with them. The legend
 * stands below the panels, as tall as it has to be.
 */
#ifndef RESULTS_GNUPLOT_H
#define RESULTS_GNUPLOT_H

#include "results/figure.h"
#include "sim/err.h"

enum picture { PICTURE_SVG, PICTURE_PDF, PICTURE_PNG };

/* What gnuplot is told. -1: the stream failed. */
int gnuplot_script(FILE *out, const struct figure *f, enum picture kind);

/*
 * Draws into a stream; the same figure gives the same bytes. -1 and a sentence: gnuplot is not
 * here, what it complained of, that its picture has no end, or that the stream failed.
 */
int gnuplot_draw(FILE *out, const struct figure *f, enum picture kind, struct err *e);

/* A name of at most `max` characters, its middle left out where it is longer; bytes that are no
 * UTF-8 or that a picture cannot show are '?'. On the heap. */
char *gnuplot_name(const char *name, size_t max);

#endif
