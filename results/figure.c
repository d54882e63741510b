#include "results/figure.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "sim/err.h"
#include "sim/utf8.h"

struct figure_panel *figure_panel(struct figure *f, const char *quantity)
{
	struct figure_panel *p;

	CHECK(f->n_lines == 0, "panel %s after %zu lines", quantity, f->n_lines);
	f->panels = xrealloc(f->panels, (f->n_panels + 1) * sizeof *f->panels);
	p = &f->panels[f->n_panels++];
	*p = (struct figure_panel){.quantity = quantity, .y_max = NAN};
	return p;
}

size_t figure_line(struct figure *f, const char *name)
{
	size_t n = f->n_lines++;

	f->names = xrealloc(f->names, f->n_lines * sizeof *f->names);
	f->names[n] = xstrdup(name);
	for (size_t i = 0; i < f->n_panels; i++) {
		struct figure_panel *p = &f->panels[i];

		p->curves = xrealloc(p->curves, f->n_lines * sizeof *p->curves);
		p->curves[n] = (struct figure_curve){0};
	}
	return n;
}

void figure_add(struct figure *f, size_t panel, size_t line, const struct figure_point *p)
{
	struct figure_curve *c = &f->panels[panel].curves[line];

	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 16;
		c->at = xrealloc(c->at, c->room * sizeof *c->at);
	}
	c->at[c->n++] = *p;
}

void figure_note(struct figure *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	utf8_clean(text);
	f->notes = xrealloc(f->notes, (f->n_notes + 1) * sizeof *f->notes);
	f->notes[f->n_notes++] = xstrdup(text);
}

bool figure_is_empty(const struct figure *f)
{
	for (size_t i = 0; i < f->n_panels; i++) {
		for (size_t k = 0; k < f->n_lines; k++) {
			const struct figure_curve *c = &f->panels[i].curves[k];

			for (size_t j = 0; j < c->n; j++) {
				if (!isnan(c->at[j].y))
					return false;
			}
		}
	}
	return true;
}

void figure_release(struct figure *f)
{
	for (size_t i = 0; i < f->n_panels; i++) {
		for (size_t k = 0; k < f->n_lines; k++)
			free(f->panels[i].curves[k].at);
		free(f->panels[i].curves);
	}
	for (size_t k = 0; k < f->n_lines; k++)
		free(f->names[k]);
	for (size_t k = 0; k < f->n_notes; k++)
		free(f->notes[k]);
	free(f->panels);
	free(f->names);
	free(f->notes);
	*f = (struct figure){0};
}

/* --- TSV ----------------------------------------------------------------------------------------
 */

static void print_text(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void print_cell(FILE *out, double v)
{
	fputc('\t', out);
	if (!isnan(v))
		fprintf(out, "%.15g", v);
}

static void print_curve(FILE *out, const struct figure *f, size_t panel, size_t line)
{
	const struct figure_curve *c = &f->panels[panel].curves[line];

	for (size_t i = 0; i < c->n; i++) {
		const struct figure_point *p = &c->at[i];

		fprintf(out, "%s\t", f->panels[panel].quantity);
		print_text(out, f->names[line]);
		fprintf(out, "\t%lld", (long long)p->run_id);
		print_cell(out, p->x);
		print_cell(out, p->y);
		if (f->has_range) {
			print_cell(out, p->low);
			print_cell(out, p->high);
		}
		if (f->has_hollow) {
			print_cell(out, p->saturated);
			print_cell(out, p->lost);
		}
		fputc('\n', out);
	}
}

int figure_print_tsv(FILE *out, const struct figure *f)
{
	fprintf(out, "quantity\tline\trun_id\t%s\t%s%s%s\n", f->x_name, f->y_name,
		f->has_range ? "\tlow\thigh" : "", f->has_hollow ? "\tsaturated\tlost" : "");
	for (size_t i = 0; i < f->n_panels; i++) {
		for (size_t k = 0; k < f->n_lines; k++)
			print_curve(out, f, i, k);
	}
	return ferror(out) ? -1 : 0;
}
