/*
 * grid.h: a function of up to FIT_AXES sizes, linear in their logarithms between the knots of a
 * grid ("tents"), and how it is found.
 *
 * The values at the knots are those of least squares, robust (Huber's weights, iterated), where
 * second differences along each axis and values themselves cost a little, so that knots which no
 * point is near follow their neighbours, and the formula beneath far from any. The normal equations
 * are a band as wide as two layers of the first axis: list the longest axis first.
 */
#ifndef CALIBRATE_GRID_H
#define CALIBRATE_GRID_H

#include "calibrate/form.h"

enum { GRID_CORNERS = 1 << FIT_AXES };

/* The knots around a point: their places in grid.value and weights, which add up to 1. */
struct grid_cell {
	int n;
	size_t at[GRID_CORNERS];
	double weight[GRID_CORNERS];
};

/*
 * Lays knots over the sizes of these points, at sizes that occur, at most as many as the form
 * allows and half as many as there are points; an axis along which they are all equal is left out.
 * Values are 0. False: no axis is left.
 */
bool grid_lay(struct grid *g, const struct form *f, const struct points *p);
void grid_release(struct grid *g);

/* Beyond the outer knots it stays at the edge. */
struct grid_cell grid_find(const struct grid *g, const struct point *at);
double grid_at(const struct grid *g, const struct point *at);

/* Values that follow y[i] at the points; `seen`, one a knot, is the weight of points near it. */
void grid_fit(struct grid *g, const struct points *p, const double *y, double *seen);

/*
 * Moves values as little as makes formula and correction together rise everywhere. rise[a][i] is
 * what the logarithm of the formula rises from the knot before i along axis a to i, counted at
 * the flattest place between the two; `seen` as from grid_fit().
 */
void grid_rise(struct grid *g, double *const *rise, const double *seen);

/* How far apart neighbours along an axis are in grid.value. */
size_t grid_stride(const struct grid *g, int axis);

#endif
