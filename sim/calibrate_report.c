/* calibrate_report.c: what is printed of a calibration. */
#include "sim/calibrate_backend.h"
#include "sim/calibrate_import.h"

static void print_rest(FILE *out, const struct rest *r)
{
	if (r->points == 0) {
		fputs("\nNo whole steps were timed: the sum of the parts is not checked.\n", out);
		return;
	}
	fprintf(out,
		"\n%zu whole steps, measured; the sum of their parts is %+.2f %% off (median), "
		"%.2f %% at p90.\n"
		"Repeats of a step took %.2f %% more in the mean than in the median: fits are of "
		"medians, a forecast takes the mean.\n",
		r->points, 100 * r->sum_median, 100 * r->sum_p90, 100 * r->tail);
	if (r->layer_ns <= 0 && r->layer_tok_ns <= 0) {
		fputs("No time between the parts forecasts them better: the sum stands.\n", out);
		return;
	}
	fprintf(out,
		"With the rest, %.0f +- %.0f ns a layer and %.2f +- %.2f ns a layer and token, "
		"held out:\n%.2f %% off (median), %.2f %% at p90, %.2f %% at most.\n",
		r->layer_ns, r->layer_error, r->layer_tok_ns, r->layer_tok_error,
		100 * r->held_out.median, 100 * r->held_out.p90, 100 * r->held_out.max);
}

void calibrate_print_measured(FILE *out, const struct profile *p)
{
	fprintf(out, "Measured on %s. Errors are of times held out.\n\n", p->device.name);
	calibrate_show_fits(out, p);
	print_rest(out, &p->rest);
}

void calibrate_print_noise(FILE *out, const struct sweep_result *r)
{
	static const double busy = 2;
	double spread = sweep_spread(&r->points);

	if (spread > busy)
		fprintf(out,
			"omnibus calibrate: the slowest repeat of half the points took more than "
			"%.1f times the fastest: the device was busy with something else, and "
			"forecasts are no better than that\n",
			spread);
}

void calibrate_print_left_out(FILE *out, const struct sweep_result *r)
{
	for (int i = 0; i < r->n_notes; i++)
		fprintf(out, "omnibus calibrate: not timed: %s\n", r->note[i].text);
	if (r->dear)
		fprintf(out,
			"omnibus calibrate: %zu of %zu points not timed, as each would take too "
			"much of the budget\n",
			r->dear, r->listed);
	if (r->late)
		fprintf(out,
			"omnibus calibrate: %zu of %zu points not timed, as the budget was used; "
			"a longer --budget times more\n",
			r->late, r->listed);
}
