/* side.c: see side.h. */
#include "traces/side.h"
#include <math.h>
#include <stdbool.h>

enum { ZIPF_MAX = 1000000 };

static const char *const side_names[] = {"prompt", "output"};

static int check_spread(const struct side *s, const char *owner, const char *name, struct err *e)
{
	if (s->sd > 0 && s->p90 > 0)
		return err_set(e, "%s: %s_sd and %s_p90 cannot both be given", owner, name, name);
	if (s->tok == 0 && (s->sd > 0 || s->p90 > 0))
		return err_set(e, "%s: %s_sd and %s_p90 need %s, the mean or median, at least 1",
			       owner, name, name, name);
	if (s->p90 > 0 && s->p90 < (double)s->tok)
		return err_set(e, "%s: %s_p90=%g is below the median, %s=%lld", owner, name, s->p90,
			       name, (long long)s->tok);
	return 0;
}

static int check_range(const struct side *s, const char *owner, const char *name, struct err *e)
{
	bool range = s->lo > 0 || s->hi > 0;
	if (range && s->tok > 0)
		return err_set(e, "%s: %s and %s_lo, %s_hi cannot both be given", owner, name, name,
			       name);
	if (range && (s->lo < 1 || s->hi < s->lo))
		return err_set(e,
			       "%s: %s_lo=%lld and %s_hi=%lld: expected both, at least 1, the "
			       "lower one first",
			       owner, name, (long long)s->lo, name, (long long)s->hi);
	if (s->zipf > 0 && !range)
		return err_set(e, "%s: %s_zipf needs %s_lo and %s_hi", owner, name, name, name);
	if (s->zipf > 0 && s->hi - s->lo >= ZIPF_MAX)
		return err_set(e,
			       "%s: %s_zipf: at most %d different lengths, %lld to %lld are more",
			       owner, name, ZIPF_MAX, (long long)s->lo, (long long)s->hi);
	return 0;
}

static void from_quantiles(struct lengths *l, const struct quantiles *q, enum which_side which,
			   int64_t max)
{
	struct knot *knots = xcalloc(q->n, sizeof(*knots));
	for (size_t i = 0; i < q->n; i++)
		knots[i] =
			(struct knot){q->rows[i].p, which == SIDE_PROMPT ? q->rows[i].prompt_tok
									 : q->rows[i].output_tok};
	lengths_knots(l, knots, q->n, max);
	free(knots);
}

int side_lengths(const struct side *s, enum which_side which, const struct quantiles *q,
		 const char *owner, struct lengths *l, struct err *e)
{
	static const double z90 = 1.2815515655446004; /* Phi(z90) = 0.9 */
	double tok = (double)s->tok;
	if (check_spread(s, owner, side_names[which], e) ||
	    check_range(s, owner, side_names[which], e))
		return -1;
	if (s->zipf > 0) {
		lengths_zipf(l, s->lo, s->hi, s->zipf, s->max);
	} else if (s->lo > 0) {
		lengths_uniform(l, s->lo, s->hi, s->max);
	} else if (s->sd > 0) {
		double variance = log1p(s->sd / tok * (s->sd / tok));
		lengths_lognormal(l, log(tok) - variance / 2, sqrt(variance), s->max);
	} else if (s->p90 > 0) {
		lengths_lognormal(l, log(tok), log(s->p90 / tok) / z90, s->max);
	} else if (s->tok == 0 && q->n > 0) {
		from_quantiles(l, q, which, s->max);
	} else {
		lengths_fixed(l, s->tok > 0 ? s->tok : which == SIDE_PROMPT ? 512 : 128, s->max);
	}
	return 0;
}
