#include "calibrate/import.h"
#include "sim/number.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const struct import_format *find_format(const char *header)
{
	for (size_t i = 0; import_formats[i]; i++)
		if (strcmp(import_formats[i]->header, header) == 0)
			return import_formats[i];
	return NULL;
}

/* How many columns of one header the other one has. */
static int columns_shared(const char *header, const char *other)
{
	int shared = 0;

	for (const char *c = header; *c; c += strspn(c, ",")) {
		size_t n = strcspn(c, ",");

		for (const char *o = other; *o && n > 0; o += strspn(o, ",")) {
			size_t m = strcspn(o, ",");

			if (m == n && strncmp(c, o, n) == 0) {
				shared++;
				break;
			}
			o += m;
		}
		c += n;
	}
	return shared;
}

/* The one with most columns of the header; NULL: none has any. */
static const struct import_format *nearest_format(const char *header)
{
	const struct import_format *best = NULL;
	int most = 0;

	for (size_t i = 0; import_formats[i]; i++) {
		int shared = columns_shared(import_formats[i]->header, header);

		if (import_formats[i]->no_points || shared <= most)
			continue;
		most = shared;
		best = import_formats[i];
	}
	return best;
}

/* The names of the known ones, and the header of the nearest, as all would be a page. */
static int refuse_header(const struct table *t, struct err *e)
{
	char known[sizeof(e->text)] = "", near[512] = "";
	const struct import_format *best = nearest_format(table_header(t));
	size_t at = 0;

	for (size_t i = 0; import_formats[i] && at < sizeof(known); i++)
		if (!import_formats[i]->no_points)
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s",
					       at ? ", " : "", import_formats[i]->name);
	if (best)
		snprintf(near, sizeof(near), "; nearest is %s: %s", best->name, best->header);
	return err_set(e,
		       "%.150s:1: '%.80s' is no header that is known%s; known are: %.300s "
		       "(omnibus calibrate --help has their headers)",
		       table_name(t), table_header(t), near, known);
}

static int check_format(const struct import *in, const struct table *t,
			const struct import_format *f, struct err *e)
{
	if (f->no_points)
		return err_set(e, "%.400s holds %s: %s", table_name(t), f->summary, f->no_points);
	if (f->needs_model && !in->model)
		return err_set(e,
			       "%.400s holds %s, and does not say of which model: -m MODEL (and "
			       "--tp N) is missing",
			       table_name(t), f->summary);
	return 0;
}

static struct import_file *add_file(struct import *in, const char *path,
				    const struct import_format *f)
{
	in->files = xrealloc(in->files, (in->n_files + 1) * sizeof(*in->files));
	struct import_file *file = &in->files[in->n_files++];

	*file = (struct import_file){.path = xstrdup(path), .format = f->name};
	return file;
}

static size_t count_steps(const struct import *in)
{
	size_t n = in->n_fixed;

	for (size_t i = 0; i < in->n_steps; i++)
		n += in->steps[i].points.n;
	return n;
}

static int read_rows(struct import *in, struct table *t, const struct import_format *f,
		     const char *path, struct err *e)
{
	size_t points = in->points.n, steps = count_steps(in), rows = 0;

	add_file(in, path, f);
	while (table_next(t) > 0) {
		f->row(in, t);
		rows++;
	}
	if (table_failed(t))
		return -1;
	struct import_file *file = &in->files[in->n_files - 1];
	file->rows = rows;
	file->points = in->points.n - points;
	file->steps = count_steps(in) - steps;
	if (file->points + file->steps > 0)
		return 0;
	if (file->n_skips > 0)
		return err_set(e, "%.400s: none of its %zu rows can be taken: %s", path, rows,
			       file->skip[0].reason);
	return err_set(e, "%.400s has a header and no rows", path);
}

static int read_table(struct import *in, struct table *t, const char *path, struct err *e)
{
	const struct import_format *f = find_format(table_header(t));

	if (!f)
		return refuse_header(t, e);
	if (check_format(in, t, f, e) < 0)
		return -1;
	return read_rows(in, t, f, path, e);
}

int import_read(struct import *in, const char *path, struct err *e)
{
	struct table *t = table_open(path, e);
	int result = t ? read_table(in, t, path, e) : -1;

	table_close(t);
	return result;
}

void import_release(struct import *in)
{
	for (size_t i = 0; i < in->n_files; i++)
		free(in->files[i].path);
	for (size_t i = 0; i < in->n_steps; i++)
		points_release(&in->steps[i].points);
	free(in->files);
	free(in->steps);
	free(in->fixed);
	points_release(&in->points);
}

void import_skip(struct import *in, const char *fmt, ...)
{
	struct import_file *f = &in->files[in->n_files - 1];
	char reason[sizeof(f->skip[0].reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < f->n_skips; i++) {
		if (strcmp(f->skip[i].reason, reason) == 0) {
			f->skip[i].rows++;
			return;
		}
	}
	if (f->n_skips == SKIPS_MAX) { /* the last one stands for all others */
		snprintf(f->skip[SKIPS_MAX - 1].reason, sizeof(reason), "other reasons");
		f->skip[SKIPS_MAX - 1].rows++;
		return;
	}
	f->skip[f->n_skips] = (struct import_skip){.rows = 1};
	memcpy(f->skip[f->n_skips++].reason, reason, sizeof(reason));
}

void import_point(struct import *in, const struct point *p)
{
	points_add(&in->points, p);
}

struct points *import_steps_of(struct import *in, const char *model, int64_t tp)
{
	for (size_t i = 0; i < in->n_steps; i++)
		if (in->steps[i].tp == tp && strcmp(in->steps[i].model, model) == 0)
			return &in->steps[i].points;
	in->steps = xrealloc(in->steps, (in->n_steps + 1) * sizeof(*in->steps));
	struct import_steps *s = &in->steps[in->n_steps++];
	*s = (struct import_steps){.tp = tp};
	snprintf(s->model, sizeof(s->model), "%s", model);
	return &s->points;
}

struct whole_steps *import_fixed(struct import *in)
{
	in->fixed = xrealloc(in->fixed, (in->n_fixed + 1) * sizeof(*in->fixed));
	struct whole_steps *s = &in->fixed[in->n_fixed++];

	*s = (struct whole_steps){.tp = 0};
	return s;
}

/* By devices and size, equal ones by time. */
static int by_size(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	if (p->devices != q->devices)
		return p->devices < q->devices ? -1 : 1;
	if (p->bytes != q->bytes)
		return p->bytes < q->bytes ? -1 : 1;
	return (p->ns > q->ns) - (p->ns < q->ns);
}

void import_fastest(struct import *in)
{
	struct points reduces = {.at = NULL};
	size_t kept = 0;

	for (size_t i = 0; i < in->points.n; i++) {
		if (in->points.at[i].op == OP_ALLREDUCE)
			points_add(&reduces, &in->points.at[i]);
		else
			in->points.at[kept++] = in->points.at[i];
	}
	in->points.n = kept;
	if (reduces.n > 0)
		qsort(reduces.at, reduces.n, sizeof(*reduces.at), by_size);
	for (size_t i = 0; i < reduces.n; i++) {
		const struct point *p = &reduces.at[i];

		if (i == 0 || p->devices != p[-1].devices || p->bytes != p[-1].bytes)
			points_add(&in->points, p);
	}
	points_release(&reduces);
}
