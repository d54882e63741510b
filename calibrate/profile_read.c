/* profile_read.c: a profile from JSON; what is wrong with it is one sentence with the field. */
#include "calibrate/config.h"
#include "calibrate/profile_json.h"
#include <string.h>

enum { FITS_MAX = 4096 };
static const double real_max = 1e300;

/* Whole steps */

/* No step takes no time. */
static void read_step_ns(struct config *c, const char *key, double ns[3])
{
	read_reals(c, key, ns, 3, 0);
	if (!c->failed && !(ns[0] + ns[1] + ns[2] > 0))
		config_fail(c, "%s is 0 in all three: one of them must be above 0", key);
}

static void read_steps(struct config *c, struct whole_steps *s)
{
	static const char *const names[] = {"model",
					    "tp",
					    "prefill_ns",
					    "small_max",
					    "small_ns",
					    "large_ns",
					    "mixed_share",
					    "prefill_error",
					    "small_error",
					    "large_error",
					    "prefill_held_out",
					    "decode_held_out",
					    "mixed_held_out",
					    "prompt_tok",
					    "batch",
					    "context"};

	config_known(c, names, sizeof(names) / sizeof(names[0]));
	if (!config_text(c, "model"))
		config_fail(c, "model is missing: it must be the name of a model");
	config_line(c, "model", s->model, sizeof(s->model));
	s->tp = config_int(c, "tp", 4096);
	s->small_max = config_int_or(c, "small_max", 0, INT64_C(1) << 40, 0);
	read_step_ns(c, "prefill_ns", s->prefill_ns);
	read_step_ns(c, "small_ns", s->small_ns);
	read_step_ns(c, "large_ns", s->large_ns);
	s->mixed_share = config_real(c, "mixed_share", 0, 1, true, 1);
	read_reals(c, "prefill_error", s->prefill_error, 3, 0);
	read_reals(c, "small_error", s->small_error, 3, 0);
	read_reals(c, "large_error", s->large_error, 3, 0);
	read_held_out(c, "prefill_held_out", &s->prefill_held_out);
	read_held_out(c, "decode_held_out", &s->decode_held_out);
	read_held_out(c, "mixed_held_out", &s->mixed_held_out);
	read_range(c, "prompt_tok", &s->prompt_tok);
	read_range(c, "batch", &s->batch);
	read_range(c, "context", &s->context);
	s->prompt_tok.name = "prompt_tok";
	s->batch.name = "batch";
	s->context.name = "context";
}

/* The profile */

static void read_value_error(struct config *c, const char *key, double *value, double *error)
{
	double pair[2] = {0, 0};

	read_reals(c, key, pair, 2, -real_max);
	*value = pair[0];
	*error = pair[1];
}

static void read_rest(struct config *c, struct rest *r)
{
	static const char *const names[] = {"layer_ns",	  "layer_tok_ns", "tail",    "points",
					    "sum_median", "sum_p90",	  "held_out"};
	struct part p;

	part_open(&p, c, "rest");
	config_known(&p.config, names, sizeof(names) / sizeof(names[0]));
	read_value_error(&p.config, "layer_ns", &r->layer_ns, &r->layer_error);
	read_value_error(&p.config, "layer_tok_ns", &r->layer_tok_ns, &r->layer_tok_error);
	r->tail = config_real(&p.config, "tail", 0, 100, false, 0);
	r->points = (size_t)config_int_or(&p.config, "points", 0, INT64_C(1) << 40, 0);
	r->sum_median = config_real(&p.config, "sum_median", -real_max, real_max, true, 0);
	r->sum_p90 = config_real(&p.config, "sum_p90", -real_max, real_max, true, 0);
	read_held_out(&p.config, "held_out", &r->held_out);
	for (int i = 0; i < 2; i++)
		if (!p.config.failed && (i ? r->layer_tok_ns : r->layer_ns) < 0)
			config_fail(&p.config, "%s[0] is %g: it must not be below 0", names[i],
				    i ? r->layer_tok_ns : r->layer_ns);
	part_close(&p, c);
}

static void read_facts(struct config *c, struct profile *p)
{
	static const char *const names[] = {"omnibus_profile",
					    "device",
					    "source",
					    "date",
					    "program",
					    "driver",
					    "clocks",
					    "server",
					    "peaks_seen",
					    "repeat_spread",
					    "rest",
					    "fits",
					    "steps"};
	struct part device;
	int64_t format = config_int(c, "omnibus_profile", 1000);

	if (!c->failed && format != PROFILE_FORMAT)
		config_fail(c, "omnibus_profile is %lld: this program reads format %d",
			    (long long)format, PROFILE_FORMAT);
	config_known(c, names, sizeof(names) / sizeof(names[0]));
	part_open(&device, c, "device");
	config_name(p->device.name, sizeof(p->device.name), c->path);
	device_read(&device.config, &p->device);
	part_close(&device, c);
	config_line(c, "source", p->source, sizeof(p->source));
	config_line(c, "date", p->date, sizeof(p->date));
	config_line(c, "program", p->program, sizeof(p->program));
	config_line(c, "driver", p->driver, sizeof(p->driver));
	config_line(c, "clocks", p->clocks, sizeof(p->clocks));
	config_line(c, "server", p->server, sizeof(p->server));
	p->peaks_seen = config_bool_or(c, "peaks_seen", false);
	p->repeat_spread = config_real(c, "repeat_spread", 1, 1e9, false, 0);
	read_rest(c, &p->rest);
}

/* How many objects an array holds. */
static size_t array_size(struct config *c, const char *key)
{
	const json_t *a = json_object_get(c->root, key);

	if (!json_is_array(a) || json_array_size(a) > FITS_MAX)
		config_fail(c, "%s must be an array of at most %d objects", key, FITS_MAX);
	return c->failed ? 0 : json_array_size(a);
}

static bool same_shape(const struct fit *a, const struct fit *b)
{
	struct point one = a->shape, other = b->shape;

	for (const struct shape_field *s = shape_fields; s->key; s++)
		if (*shape_at(&one, s) != *shape_at(&other, s))
			return false;
	return true;
}

/* Of two that answer the same only one would be heard. */
static void check_fit_once(struct config *c, const struct fit *fit, size_t at)
{
	for (size_t i = 0; i < at && !c->failed; i++)
		if (fit[i].op == fit[at].op && fit[i].bits == fit[at].bits &&
		    same_shape(&fit[i], &fit[at]))
			config_fail(c,
				    "fits[%zu] and fits[%zu] are both %s of %d bits with the same "
				    "shape: one of them must go",
				    i, at, op_names[fit[at].op], fit[at].bits);
}

static void check_steps_once(struct config *c, const struct whole_steps *s, size_t at)
{
	for (size_t i = 0; i < at && !c->failed; i++)
		if (s[i].tp == s[at].tp && !strcmp(s[i].model, s[at].model))
			config_fail(c,
				    "steps[%zu] and steps[%zu] are both of %s, tp %lld: one of "
				    "them must go",
				    i, at, s[at].model, (long long)s[at].tp);
}

static void read_parts(struct config *c, struct profile *p)
{
	char label[32];
	struct part part;

	p->n_fits = array_size(c, "fits");
	p->n_steps = array_size(c, "steps");
	p->fit = xcalloc(p->n_fits, sizeof(*p->fit));
	p->steps = xcalloc(p->n_steps, sizeof(*p->steps));
	for (size_t i = 0; i < p->n_fits && !c->failed; i++) {
		snprintf(label, sizeof(label), "fits[%zu]", i);
		part_init(&part, c, json_array_get(json_object_get(c->root, "fits"), i), label);
		read_fit(&part.config, &p->fit[i]);
		part_close(&part, c);
		check_fit_once(c, p->fit, i);
	}
	for (size_t i = 0; i < p->n_steps && !c->failed; i++) {
		snprintf(label, sizeof(label), "steps[%zu]", i);
		part_init(&part, c, json_array_get(json_object_get(c->root, "steps"), i), label);
		read_steps(&part.config, &p->steps[i]);
		part_close(&part, c);
		check_steps_once(c, p->steps, i);
	}
	if (!c->failed && p->n_fits + p->n_steps == 0)
		config_fail(c, "fits and steps are both empty: one of them must hold something");
}

bool profile_is(const json_t *root)
{
	return json_object_get(root, "omnibus_profile") != NULL;
}

struct profile *profile_from(const json_t *root, const char *name, struct err *e)
{
	struct config c = {.root = root, .path = name, .e = e};
	struct profile *p = xcalloc(1, sizeof(*p));

	if (!json_is_object(root))
		config_fail(&c, "a profile is one JSON object");
	read_facts(&c, p);
	if (!c.failed)
		read_parts(&c, p);
	if (!c.failed)
		return p;
	profile_free(p);
	return NULL;
}

struct profile *profile_of_file(const json_t *root, const char *path, struct err *e)
{
	struct profile *p = profile_from(root, path, e);
	struct err why;

	if (!p || profile_check(p, &why) == 0)
		return p;
	err_set(e, "%.400s: %.900s", path, why.text);
	profile_free(p);
	return NULL;
}

struct profile *profile_parse(const char *text, size_t size, const char *name, struct err *e)
{
	json_error_t at;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);

	if (!root) {
		err_set(e, "%.400s:%d:%d: not valid JSON: %s", name, at.line, at.column, at.text);
		return NULL;
	}
	struct profile *p = profile_from(root, name, e);

	json_decref(root);
	return p;
}

struct profile *profile_load(const char *path, struct err *e)
{
	struct config_file file;

	if (config_open(&file, path, "profile", e) < 0)
		return NULL;
	struct profile *p = file.config.failed ? NULL : profile_of_file(file.root, file.path, e);

	return config_close(&file) == 0 ? p : NULL;
}
