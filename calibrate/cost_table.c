/* Tables of measured attention, as they are read. */

#include "calibrate/cost_parts.h"

void decode_table_seqs(const struct decode_table *t, int64_t n, struct cost_seqs *seqs)
{
	seqs->per = 1 / (double)n;
	seqs->i = knots_find(&t->seqs, (double)n);
	seqs->share = knots_share(&t->seqs, seqs->i, (double)n);
}

void decode_table_piece(const struct decode_table *t, const struct cost_seqs *seqs, int64_t n,
			int64_t ctx, int64_t longest, struct decode_piece *piece)
{
	size_t i = seqs->i, j = knots_find_scaled(&t->length, (double)ctx, (double)n, seqs->per);
	const struct line *a = &t->line[i][j], *b = &t->line[i + 1][j];
	piece->line.at0 = a->at0 + seqs->share * (b->at0 - a->at0);
	piece->line.slope = (a->slope + seqs->share * (b->slope - a->slope)) * seqs->per;
	piece->ctx_max = j + 2 < t->length.n ? n * (int64_t)t->length.at[j + 1] : INT64_MAX;
	piece->outside = j >= t->inside || (double)n > t->seqs_max;
	if (longest == 0 || !t->uneven)
		return;
	double beyond = larger(0, (double)longest - (double)ctx * seqs->per);
	double from = t->beyond_ns[i], to = t->beyond_ns[i + 1];
	piece->line.at0 += beyond * (from + seqs->share * (to - from));
}

struct alike cost_alike(double tok, double seqs, double pairs, double prior)
{
	double keys = pairs / tok; /* that a token attends to: prior + (tok + 1) / 2 */
	double most = keys - (tok / seqs + 1) / 2;
	struct alike a = {.prior = larger(0, smaller(prior / seqs, most))};
	a.tok = larger(1, 2 * (keys - a.prior) - 1);
	if (a.tok > tok) { /* a long one beside short ones: nearly all is its work */
		a.tok = tok;
		a.prior = keys - (tok + 1) / 2;
	}
	a.seqs = tok / a.tok;
	return a;
}

/* Linear between values k and k + 1. */
static double along(const double *ns, size_t k, double share)
{
	return ns[k] + share * (ns[k + 1] - ns[k]);
}

static double pairs_of(double tok, double prior)
{
	return tok * (prior + (tok + 1) / 2);
}

double prefill_table_ns(const struct prefill_table *t, const struct alike *a)
{
	size_t i = knots_find(&t->seqs, a->seqs), j = knots_find(&t->tok, a->tok);
	size_t k = knots_find(&t->prior, a->prior + 1);
	double seqs = larger(0, knots_share(&t->seqs, i, a->seqs));
	double prior = knots_share(&t->prior, k, a->prior + 1);
	double from = pairs_of(t->tok.at[j], a->prior), to = pairs_of(t->tok.at[j + 1], a->prior);
	double tok = larger(0, (pairs_of(a->tok, a->prior) - from) / (to - from));
	double few = along(t->ns[i][j], k, prior);
	double many = along(t->ns[i + 1][j], k, prior);
	few += tok * (along(t->ns[i][j + 1], k, prior) - few);
	many += tok * (along(t->ns[i + 1][j + 1], k, prior) - many);
	return few + seqs * (many - few);
}

void mixed_table_limit(const struct mixed_table *t, double at[4])
{
	for (int k = 0; k < 4; k++) {
		const struct knots *axis = &t->axis[k];
		at[k] = smaller(axis->at[axis->n - 1], larger(axis->at[0], at[k]));
	}
}

double mixed_table_ns(const struct mixed_table *t, const double at[4])
{
	size_t i[4];
	double share[4], ns[4];
	for (int k = 0; k < 4; k++) {
		i[k] = knots_find(&t->axis[k], at[k]);
		share[k] = knots_share(&t->axis[k], i[k], at[k]);
	}
	double from = pairs_of(t->axis[0].at[i[0]], at[1] - 1);
	double to = pairs_of(t->axis[0].at[i[0] + 1], at[1] - 1);
	share[0] = (pairs_of(at[0], at[1] - 1) - from) / (to - from);
	for (size_t n = 0; n < 4; n++) {
		const double(*v)[MIXED_KNOTS] = t->ns[i[0] + n / 2][i[1] + n % 2];
		double low = along(v[i[2]], i[3], share[3]);
		double high = along(v[i[2] + 1], i[3], share[3]);
		ns[n] = low + share[2] * (high - low);
	}
	double few = ns[0] + share[1] * (ns[1] - ns[0]), many = ns[2] + share[1] * (ns[3] - ns[2]);
	return few + share[0] * (many - few);
}
