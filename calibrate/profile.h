/*
 * profile.h: what was measured on one device, fitted: the device's facts, and a fit for each
 * operation. One JSON file (profile_save() writes it, README.md has its fields).
 *
 * It serves any model on that device: an operation is asked for by its sizes. Where several fits
 * answer, the one for exactly that shape does; one for all shapes otherwise.
 */
#ifndef CALIBRATE_PROFILE_H
#define CALIBRATE_PROFILE_H

#include "calibrate/device.h"
#include "calibrate/fit.h"

/*
 * Whole steps of one model on so many devices, where no kernels were timed: prefill a + b N + c S
 * (N prompt tokens, S the sum of their squares), decode a + b ctx + c batch, with other
 * coefficients above small_max sequences. DistServe, OSDI'24, appendix A.
 */
struct whole_steps {
	char model[64];
	int64_t tp;
	double prefill_ns[3];
	int64_t small_max;
	double small_ns[3], large_ns[3]; /* equal where there is one piece */
	/* what a mixed step takes: the larger part of both and so much of the other; 1: their sum
	 */
	double mixed_share;
	/* coefficients that a table of whole steps determined: errors; 0: published without */
	double prefill_error[3], small_error[3], large_error[3];
	struct held_out prefill_held_out, decode_held_out, mixed_held_out; /* folds 0: not known */
	struct range prompt_tok, batch, context; /* of what was measured; max 0: not known */
};

/*
 * What whole steps took beyond the sum of their parts (gaps between kernels): layers x (layer_ns +
 * tokens x layer_tok_ns), which a forecast adds. Never below 0, and 0 where that forecast no better
 * what was held out.
 */
struct rest {
	double layer_ns, layer_tok_ns;
	double layer_error, layer_tok_error;
	/*
	 * What repeats of a whole step took in the mean beyond their median, as a share of it: on a
	 * machine with other work some take much longer. Fits are of medians; a run is a sum, and a
	 * forecast takes means. 0: not known.
	 */
	double tail;
	size_t points;		  /* whole steps; 0: none were timed, and all is 0 */
	double sum_median;	  /* of sum / measured - 1: without the rest, signed */
	double sum_p90;		  /* of its size */
	struct held_out held_out; /* of sum and rest together */
};

struct profile {
	struct device device; /* device.profile is NULL */
	char source[256];     /* where the points come from, with licence where they are others' */
	char date[32];	      /* of the fit, YYYY-MM-DD */
	char program[32];     /* version of omnibus */
	char driver[64], clocks[128]; /* as found; "" for imported tables */
	char server[64];	      /* whose kernels: "vLLM 0.24.0"; "" for our own */
	bool peaks_seen; /* the device's peaks are of no data sheet, but what was seen, and a
			    quarter above */
	/* of the slowest repeat over the fastest, the median over points: how busy the machine was
	 * with something else; 0: not known */
	double repeat_spread;
	struct fit *fit;
	size_t n_fits;
	struct whole_steps *steps;
	size_t n_steps;
	struct rest rest;
};

/* Where an answer stands. */
enum profile_where {
	PROFILE_INSIDE,	 /* within what was measured */
	PROFILE_OUTSIDE, /* extrapolated */
	PROFILE_ABSENT	 /* nothing of the kind was measured: the answer is 0 */
};

/* ns of one operation at these sizes, in the mean: the fit's, and rest.tail of it. at->ns is not
 * read. `where` may be NULL. */
double profile_ns(const struct profile *p, const struct point *at, enum profile_where *where);
/*
 * The share of profile_ns() of a GEMM that quantises its activations first: what its own formula
 * says of that pass, with the constant that it has beyond the one of a GEMM in 16 bits. 0: no such
 * pass is told apart.
 */
double profile_quantise_share(const struct profile *p, const struct point *at);
bool profile_has(const struct profile *p, enum op op, int bits);
/* NULL: none of this model and tp. */
const struct whole_steps *profile_steps(const struct profile *p, const char *model, int64_t tp);

/* From the text of a file; `name` is for sentences. NULL: a sentence with the field. */
struct profile *profile_parse(const char *text, size_t size, const char *name, struct err *e);
/* From a file; what profile_check() refuses is refused here, after the path. */
struct profile *profile_load(const char *path, struct err *e);
/* Whole or not at all (traces/outfile.h); refused where it could not be read again. */
int profile_save(const struct profile *p, const char *path, struct err *e);
void profile_free(struct profile *p);

/*
 * What no device can be: a decode step or a prompt of a model below its roofline floor, an
 * operation of less than a ns, times that fall by more than a tenth where a size doubles, an
 * operation with too few points. -1: the sentence gives the operation, the sizes and both figures.
 */
int profile_check(const struct profile *p, struct err *e);

/* The profiles that omnibus comes with, by the names of `list devices`; NULL: none of that name. */
struct profile *profile_built_in(const char *name);
/* Their names, sorted; returns how many there are. */
size_t profile_names(const char *const **names);

#endif
