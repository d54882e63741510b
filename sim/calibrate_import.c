/* calibrate_import.c: tables of times into a profile. */
#include "sim/calibrate_import.h"
#include "calibrate/config.h"
#include "calibrate/import.h"
#include "calibrate/profile_fit.h"
#include "traces/outfile.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

struct job {
	const struct calibrate_options *o;
	struct device device;
	struct model model;
	struct import in;
	struct profile *profile;
};

enum { BASE_SIZE = 256 };

/* The file's own name, with a ? for what would leave the line. Returns out. */
static const char *base_name(const char *path, char out[BASE_SIZE])
{
	const char *slash = strrchr(path, '/');

	snprintf(out, BASE_SIZE, "%s", slash ? slash + 1 : path);
	for (char *c = out; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return out;
}

/* The second of two names of one file would count all of it twice. */
static int check_twice(const struct calibrate_options *o, struct err *e)
{
	for (size_t i = 0; i < o->import.n; i++) {
		struct stat one, other;

		if (stat(o->import.items[i], &one) < 0)
			continue; /* reading says so */
		for (size_t k = 0; k < i; k++)
			if (stat(o->import.items[k], &other) == 0 && one.st_dev == other.st_dev &&
			    one.st_ino == other.st_ino)
				return err_set(e, "--import %.200s and %.200s are one file",
					       o->import.items[k], o->import.items[i]);
	}
	return 0;
}

/* What the command line names. The exit code; 0: fine. */
static int load(struct job *j, struct err *e)
{
	const struct calibrate_options *o = j->o;

	if (check_twice(o, e) < 0)
		return EXIT_USAGE;
	if (device_load(&j->device, o->device, e) < 0)
		return device_is_path(o->device) ? EXIT_FAILED : EXIT_USAGE;
	device_release(&j->device); /* its own profile is no part of the new one */
	j->in = (struct import){.tp = o->tp, .device = j->device.name};
	if (!o->model)
		return 0;
	if (model_load(&j->model, o->model, e) < 0)
		return model_is_path(o->model) ? EXIT_FAILED : EXIT_USAGE;
	if (model_check_tp(&j->model, o->tp, e) < 0)
		return EXIT_USAGE;
	j->in.model = &j->model;
	return 0;
}

/* A profile with kernels forecasts by these alone, whatever whole steps it has. */
static int check_mixture(const struct import *in, struct err *e)
{
	const struct import_file *kernels = NULL, *steps = NULL;

	for (size_t i = 0; i < in->n_files; i++) {
		const struct import_file *f = &in->files[i];

		kernels = f->points > 0 ? f : kernels;
		steps = f->steps > 0 ? f : steps;
	}
	if (!kernels || !steps)
		return 0;
	return err_set(e,
		       "%.300s has times of kernels and %.300s has whole steps, which a profile "
		       "with kernels does not use: make two profiles, one of each",
		       kernels->path, steps->path);
}

static int read_tables(struct job *j, struct err *e)
{
	for (size_t i = 0; i < j->o->import.n; i++)
		if (import_read(&j->in, j->o->import.items[i], e) < 0)
			return -1;
	import_fastest(&j->in);
	return check_mixture(&j->in, e);
}

static void set_source(struct profile *p, const struct calibrate_options *o)
{
	char base[BASE_SIZE];
	size_t at = 0;

	if (o->source)
		snprintf(p->source, sizeof(p->source), "%s", o->source);
	for (size_t i = 0; !o->source && i < o->import.n && at < sizeof(p->source); i++)
		at += (size_t)snprintf(p->source + at, sizeof(p->source) - at, "%s%s",
				       i ? ", " : "", base_name(o->import.items[i], base));
}

static struct profile *new_profile(const struct job *j)
{
	const struct calibrate_options *o = j->o;
	struct profile *p = xcalloc(1, sizeof(*p));

	p->device = j->device;
	set_source(p, o);
	snprintf(p->date, sizeof(p->date), "%s", o->date);
	snprintf(p->program, sizeof(p->program), "%s", OMNIBUS_VERSION);
	snprintf(p->server, sizeof(p->server), "%s", o->server ? o->server : "");
	if (o->scope_given)
		p->device.scope_cell_ns = o->scope_cell_ns;
	return p;
}

static int fit(struct job *j, struct err *e)
{
	const struct fit_want want = {.folds = 5, .seed = j->o->seed};

	if (profile_fit(j->profile, &j->in.points, &want, e) < 0)
		return -1;
	for (size_t i = 0; i < j->in.n_fixed; i++)
		profile_add_steps(j->profile, &j->in.fixed[i]);
	for (size_t i = 0; i < j->in.n_steps; i++) {
		const struct import_steps *s = &j->in.steps[i];
		struct whole_steps w = {.tp = s->tp};

		snprintf(w.model, sizeof(w.model), "%s", s->model);
		if (profile_fit_steps(&w, &s->points, &want, e) < 0)
			return -1;
		profile_add_steps(j->profile, &w);
	}
	return profile_check(j->profile, e);
}

/* Called like its file, so that results tell it from the device of its data sheet. */
static int save(struct job *j, struct err *e)
{
	struct device *d = &j->profile->device;

	if (strcmp(j->o->output, "-") != 0)
		config_name(d->name, sizeof(d->name), j->o->output);
	return profile_save(j->profile, j->o->output, e);
}

static void print_files(FILE *out, const struct import *in)
{
	fprintf(out, "| %-52s | %-15s | %7s | %7s |\n", "file", "format", "rows", "taken");
	fprintf(out, "|:%-52.52s-|:%-15.15s-|-%7.7s:|-%7.7s:|\n",
		"----------------------------------------------------", "---------------",
		"-------", "-------");
	for (size_t i = 0; i < in->n_files; i++) {
		const struct import_file *f = &in->files[i];
		char base[BASE_SIZE];
		size_t left_out = 0;

		for (size_t k = 0; k < f->n_skips; k++)
			left_out += f->skip[k].rows;
		fprintf(out, "| %-52s | %-15s | %7zu | %7zu |\n", base_name(f->path, base),
			f->format, f->rows, f->rows - left_out);
	}
	for (size_t i = 0; i < in->n_files; i++) {
		const struct import_file *f = &in->files[i];
		char base[BASE_SIZE];

		base_name(f->path, base);
		for (size_t k = 0; k < f->n_skips; k++)
			fprintf(out, "%s%s: %zu rows left out: %s\n", i + k ? "" : "\n", base,
				f->skip[k].rows, f->skip[k].reason);
	}
}

/* Of the same size from several tables of all-reduces the fastest counts. */
static void print_result(const struct job *j)
{
	printf("%s: %s, measured by others, fitted %s\n\n", j->profile->device.name,
	       j->profile->source, j->profile->date);
	print_files(stdout, &j->in);
	putchar('\n');
	calibrate_show_fits(stdout, j->profile);
}

int calibrate_import(const struct calibrate_options *o, struct err *e)
{
	struct job j = {.o = o};
	int code = load(&j, e);

	if (code == 0 && read_tables(&j, e) < 0)
		code = EXIT_FAILED;
	if (code == 0) {
		j.profile = new_profile(&j);
		code = fit(&j, e) < 0 || save(&j, e) < 0 ? EXIT_FAILED : 0;
	}
	if (code == 0 && strcmp(o->output, "-") != 0)
		print_result(&j);
	profile_free(j.profile);
	import_release(&j.in);
	return code;
}
