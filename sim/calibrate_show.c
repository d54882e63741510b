/* calibrate_show.c: a profile, for people. */
#include "calibrate/config.h"
#include "calibrate/form.h"
#include "sim/calibrate_import.h"
#include "sim/number.h"
#include <inttypes.h>
#include <string.h>

/* "n 4096, k 14336", or "all". */
static void shape_text(const struct fit *f, char text[64])
{
	if (f->shape.n && f->shape.k)
		snprintf(text, 64, "%" PRId64 " x %" PRId64, f->shape.n, f->shape.k);
	else if (f->shape.n)
		snprintf(text, 64, "%" PRId64, f->shape.n);
	else
		snprintf(text, 64, "all");
}

/* "t0_ns 4100 +- 12, ..." */
static void coefs_text(const struct fit *f, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < f->n_coefs && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s %.4g +- %.2g", i ? ", " : "",
				       f->coef[i].name, f->coef[i].value, f->coef[i].error);
	if (f->grid.n_axes > 0 && at < size)
		at += (size_t)snprintf(text + at, size - at, "%s%zu knots over", at ? ", " : "",
				       f->grid.n);
	for (int i = 0; i < f->grid.n_axes && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, " %s", f->grid.axis[i].name);
}

static void print_held_out(FILE *out, const struct held_out *h)
{
	if (h->folds)
		fprintf(out, " %6.2f %% | %6.2f %% | %6.1f %% |", 100 * h->median, 100 * h->p90,
			100 * h->max);
	else
		fprintf(out, " %8s | %8s | %8s |", "-", "-", "-");
}

static void print_fit(FILE *out, const struct fit *f)
{
	char shape[64], coefs[512];

	shape_text(f, shape);
	coefs_text(f, coefs, sizeof(coefs));
	fprintf(out, "| %-9s | %4d | %-14s | %-10s | %6zu |", op_names[f->op], f->bits, shape,
		f->form->name, f->points);
	print_held_out(out, &f->held_out);
	fprintf(out, " %s |\n", coefs);
}

static void print_steps_part(FILE *out, const struct whole_steps *s, const char *part,
			     const double ns[3], const double error[3], const char *const names[3],
			     const struct held_out *h)
{
	fprintf(out, "| %-13s | %2" PRId64 " | %-16s |", s->model, s->tp, part);
	print_held_out(out, h);
	for (int i = 0; i < 3; i++) {
		fprintf(out, "%s %s %.4g", i ? "," : "", names[i], ns[i]);
		if (h->folds)
			fprintf(out, " +- %.2g", error[i]);
	}
	fputs(" |\n", out);
}

static void print_steps(FILE *out, const struct whole_steps *s)
{
	static const char *const prefill[] = {"step_ns", "tok_ns", "tok2_ns"};
	static const char *const decode[] = {"step_ns", "ctx_ns", "seq_ns"};
	char above[32] = "decode";

	print_steps_part(out, s, "prefill", s->prefill_ns, s->prefill_error, prefill,
			 &s->prefill_held_out);
	if (s->small_max) {
		char up_to[32];

		snprintf(up_to, sizeof(up_to), "decode to %" PRId64, s->small_max);
		print_steps_part(out, s, up_to, s->small_ns, s->small_error, decode,
				 &s->decode_held_out);
		snprintf(above, sizeof(above), "decode above");
	}
	print_steps_part(out, s, above, s->large_ns, s->large_error, decode, &s->decode_held_out);
	fprintf(out, "| %-13s | %2" PRId64 " | %-16s |", s->model, s->tp, "mixed");
	print_held_out(out, &s->mixed_held_out);
	fprintf(out, " the larger part and %.4g of the other |\n", s->mixed_share);
}

void calibrate_show_fits(FILE *out, const struct profile *p)
{
	if (p->n_fits)
		fputs("| operation | bits | shape          | form       | points | median   | p90  "
		      "  "
		      "  "
		      "| max      | coefficients |\n"
		      "|:----------|-----:|:---------------|:-----------|-------:|---------:|------"
		      "--"
		      "-:"
		      "|---------:|:-------------|\n",
		      out);
	for (size_t i = 0; i < p->n_fits; i++)
		print_fit(out, &p->fit[i]);
	if (p->n_steps)
		fprintf(out,
			"%s| whole steps   | tp | part             | median   | p90      | max     "
			" "
			"| coefficients |\n"
			"|:--------------|---:|:-----------------|---------:|---------:|---------:"
			"|:-------------|\n",
			p->n_fits ? "\n" : "");
	for (size_t i = 0; i < p->n_steps; i++)
		print_steps(out, &p->steps[i]);
	fputs("\nErrors are of times held out, each forecast from the others.", out);
	fputs(p->n_fits ? " 16 bits stand for the model's own type.\n" : "\n", out);
}

static void print_fact(const char *name, const char *text)
{
	if (text[0])
		printf("%-10s %s\n", name, text);
}

static void print_facts(const struct profile *p)
{
	const struct device *d = &p->device;

	print_fact("device", d->name);
	print_fact("", d->summary);
	printf("%-10s %.1f GiB, %.4g TB/s, %.4g TF/s %s\n", "",
	       (double)d->memory_bytes / 1073741824.0, d->peak_bytes_s / 1e12, d->peak_flops / 1e12,
	       p->peaks_seen ? "at most: a quarter above the best seen" : "of the data sheet");
	print_fact("source", p->source);
	print_fact("server", p->server);
	print_fact("date", p->date);
	print_fact("program", p->program);
	print_fact("driver", p->driver);
	print_fact("clocks", p->clocks);
	if (p->repeat_spread > 0)
		printf("%-10s of half the points the slowest took %.2f times the fastest or more\n",
		       "repeats", p->repeat_spread);
	print_fact("attention", p->device.scope_cell_ns > 0 ? "over all cells in use"
							    : "over each sequence's own context");
}

static void print_range(const struct fit *f)
{
	char shape[64];

	shape_text(f, shape);
	printf("%-9s %2d bits, %s:", op_names[f->op], f->bits, shape);
	for (int i = 0; i < f->n_ranges; i++)
		printf("%s %s %.6g to %.6g", i ? "," : "", f->range[i].name, f->range[i].min,
		       f->range[i].max);
	printf("; %s\n", f->form->text);
}

/* What a forecast takes from the data sheet alone. */
static void print_absent(const struct profile *p)
{
	if (!p->n_fits) {
		puts("\nnot forecast, as no kernels were measured: every other model, any other "
		     "tp, and\nweights and KV in fewer bits than 16");
		return;
	}
	fputs("\nroofline, as nothing of the kind was measured: ", stdout);
	for (int op = 0; op < OP_STEP; op++)
		if (!profile_has(p, (enum op)op, 16))
			printf("%s, ", op_names[op]);
	puts("mixture of experts, latent attention (MLA)");
}

static int show(const struct profile *p, const struct calibrate_options *o, const struct model *m,
		struct err *e)
{
	print_facts(p);
	putchar('\n');
	calibrate_show_fits(stdout, p);
	if (p->n_fits)
		puts("\nmeasured range, and formula:");
	for (size_t i = 0; i < p->n_fits; i++)
		print_range(&p->fit[i]);
	print_absent(p);
	calibrate_chart(stdout, p, m, o->tp);
	return o->plot ? calibrate_plot(o->plot, p, m, o->tp, e) : 0;
}

/* A device of the list is no slip of a profile's name: nothing was measured on it. */
static int refuse_name(const char *name, const char *const *names, size_t n, struct err *e)
{
	char list[512] = "";

	if (!device_listed(name)) {
		err_unknown(e, "profile", name, names, n);
		return config_suggest(name, "JSON file", e);
	}
	for (size_t i = 0, at = 0; i < n && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
				       names[i]);
	return err_set(e,
		       "%s is a device without a profile: nothing was measured on it, and its "
		       "forecasts are a roofline of its data sheet; profiles: %s, or the path of a "
		       "JSON file",
		       name, list);
}

static int load(const char *name, struct profile **p, struct err *e)
{
	const char *const *names;
	size_t n = profile_names(&names);

	*p = profile_built_in(name);
	if (*p)
		return 0;
	if (config_is_path(name)) {
		*p = profile_load(name, e);
		return *p ? 0 : EXIT_FAILED;
	}
	refuse_name(name, names, n, e);
	return EXIT_USAGE;
}

int calibrate_show(const struct calibrate_options *o, struct err *e)
{
	struct profile *p;
	struct model m;
	const char *model = o->model ? o->model : "llama-3-8b";
	int code = load(o->show, &p, e);

	if (code)
		return code;
	if (model_load(&m, model, e) < 0)
		code = model_is_path(model) ? EXIT_FAILED : EXIT_USAGE;
	else if (model_check_tp(&m, o->tp, e) < 0)
		code = EXIT_USAGE;
	else if (show(p, o, &m, e) < 0)
		code = EXIT_FAILED;
	profile_free(p);
	return code;
}
