/* profile_write.c: a profile as JSON, a fit a line, in the fewest digits that read back the same.
 */
#include "calibrate/config.h"
#include "calibrate/profile_json.h"
#include "traces/outfile.h"
#include <math.h>
#include <string.h>

#define FIELD(n)                                                                                   \
	{                                                                                          \
#n, offsetof(struct point, n)                                                      \
	}
const struct shape_field shape_fields[] = {
	FIELD(m),	   FIELD(n),	       FIELD(k),       FIELD(heads),	 FIELD(kv_heads),
	FIELD(head_dim),   FIELD(prefill_seq), FIELD(new_tok), FIELD(prior_tok), FIELD(decode_seq),
	FIELD(decode_ctx), FIELD(longest),     FIELD(devices), FIELD(bytes),	 {NULL, 0},
};
#undef FIELD

int64_t *shape_at(struct point *p, const struct shape_field *f)
{
	return (int64_t *)(void *)((char *)p + f->offset);
}

/* JSON has no word for what is no number, so that one is no number when it is read either. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_string(isnan(value) ? "nan" : "inf");
}

static json_t *reals(const double *values, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, real(values[i]));
	return a;
}

static json_t *pair(double a, double b)
{
	return reals((const double[]){a, b}, 2);
}

static json_t *held_out_json(const struct held_out *h)
{
	json_t *o = json_object();

	json_object_set_new(o, "folds", json_integer(h->folds));
	json_object_set_new(o, "median", real(h->median));
	json_object_set_new(o, "p90", real(h->p90));
	json_object_set_new(o, "max", real(h->max));
	return o;
}

static json_t *shape_json(const struct point *shape)
{
	json_t *o = json_object();
	struct point copy = *shape;

	for (const struct shape_field *f = shape_fields; f->key; f++)
		if (*shape_at(&copy, f))
			json_object_set_new(o, f->key, json_integer(*shape_at(&copy, f)));
	return o;
}

static json_t *grid_json(const struct grid *g)
{
	json_t *o = json_object(), *axes = json_array();

	for (int i = 0; i < g->n_axes; i++) {
		json_t *axis = json_object();

		json_object_set_new(axis, "size", json_string(g->axis[i].name));
		json_object_set_new(axis, "log2", reals(g->axis[i].knot, (size_t)g->axis[i].n));
		json_array_append_new(axes, axis);
	}
	json_object_set_new(o, "axes", axes);
	json_object_set_new(o, "ln", reals(g->value, g->n));
	return o;
}

static json_t *fit_json(const struct fit *f)
{
	json_t *o = json_object(), *coefs = json_object(), *ranges = json_object();

	json_object_set_new(o, "op", json_string(op_names[f->op]));
	json_object_set_new(o, "bits", json_integer(f->bits));
	json_object_set_new(o, "form", json_string(f->form->name));
	json_object_set_new(o, "shape", shape_json(&f->shape));
	for (int i = 0; i < f->n_coefs; i++)
		json_object_set_new(coefs, f->coef[i].name,
				    pair(f->coef[i].value, f->coef[i].error));
	json_object_set_new(o, "coefs", coefs);
	for (int i = 0; i < f->n_ranges; i++)
		json_object_set_new(ranges, f->range[i].name,
				    pair(f->range[i].min, f->range[i].max));
	json_object_set_new(o, "ranges", ranges);
	json_object_set_new(o, "points", json_integer((json_int_t)f->points));
	json_object_set_new(o, "hash", json_string(f->hash));
	json_object_set_new(o, "held_out", held_out_json(&f->held_out));
	if (f->grid.n_axes > 0)
		json_object_set_new(o, "grid", grid_json(&f->grid));
	return o;
}

static json_t *steps_json(const struct whole_steps *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "model", config_json(s->model));
	json_object_set_new(o, "tp", json_integer(s->tp));
	json_object_set_new(o, "prefill_ns", reals(s->prefill_ns, 3));
	json_object_set_new(o, "small_max", json_integer(s->small_max));
	json_object_set_new(o, "small_ns", reals(s->small_ns, 3));
	json_object_set_new(o, "large_ns", reals(s->large_ns, 3));
	json_object_set_new(o, "mixed_share", real(s->mixed_share));
	json_object_set_new(o, "prefill_error", reals(s->prefill_error, 3));
	json_object_set_new(o, "small_error", reals(s->small_error, 3));
	json_object_set_new(o, "large_error", reals(s->large_error, 3));
	json_object_set_new(o, "prefill_held_out", held_out_json(&s->prefill_held_out));
	json_object_set_new(o, "decode_held_out", held_out_json(&s->decode_held_out));
	json_object_set_new(o, "mixed_held_out", held_out_json(&s->mixed_held_out));
	json_object_set_new(o, "prompt_tok", pair(s->prompt_tok.min, s->prompt_tok.max));
	json_object_set_new(o, "batch", pair(s->batch.min, s->batch.max));
	json_object_set_new(o, "context", pair(s->context.min, s->context.max));
	return o;
}

static json_t *rest_json(const struct rest *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "layer_ns", pair(r->layer_ns, r->layer_error));
	json_object_set_new(o, "layer_tok_ns", pair(r->layer_tok_ns, r->layer_tok_error));
	if (r->tail > 0)
		json_object_set_new(o, "tail", real(r->tail));
	json_object_set_new(o, "points", json_integer((json_int_t)r->points));
	json_object_set_new(o, "sum_median", real(r->sum_median));
	json_object_set_new(o, "sum_p90", real(r->sum_p90));
	json_object_set_new(o, "held_out", held_out_json(&r->held_out));
	return o;
}

static bool reads_back(const json_t *v, int digits)
{
	const char *key;
	const json_t *item;
	char text[64];
	size_t i;

	if (json_is_real(v)) {
		snprintf(text, sizeof(text), "%.*g", digits, json_real_value(v));
		return strtod(text, NULL) == json_real_value(v);
	}
	if (json_is_array(v)) {
		json_array_foreach(v, i, item) if (!reads_back(item, digits)) return false;
	}
	json_object_foreach((json_t *)(uintptr_t)v, key,
			    item) if (!reads_back(item, digits)) return false;
	return true;
}

/* On a line of its own, after a comma unless it is the first. */
static void print_line(FILE *out, const char *key, json_t *v, bool *first)
{
	int digits = 6;

	CHECK(v, "no JSON of %s", key ? key : "a part of a profile");
	while (digits < 17 && !reads_back(v, digits))
		digits++;
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits));

	if (!text)
		no_memory(1, sizeof(*v));
	fputs(*first ? "\n" : ",\n", out);
	if (key)
		fprintf(out, "\"%s\": ", key);
	fputs(text, out);
	*first = false;
	free(text);
	json_decref(v);
}

static void print_facts(FILE *out, const struct profile *p, bool *first)
{
	const struct {
		const char *key, *text;
	} texts[] = {{"source", p->source}, {"date", p->date},	   {"program", p->program},
		     {"driver", p->driver}, {"clocks", p->clocks}, {"server", p->server}};

	print_line(out, "omnibus_profile", json_integer(PROFILE_FORMAT), first);
	print_line(out, "device", device_json(&p->device), first);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].text[0])
			print_line(out, texts[i].key, config_json(texts[i].text), first);
	if (p->peaks_seen)
		print_line(out, "peaks_seen", json_true(), first);
	if (p->repeat_spread != 0)
		print_line(out, "repeat_spread", real(p->repeat_spread), first);
	print_line(out, "rest", rest_json(&p->rest), first);
}

static void print_profile(FILE *out, const struct profile *p)
{
	bool first = true;

	fputc('{', out);
	print_facts(out, p, &first);
	fputs(",\n\"fits\": [", out);
	first = true;
	for (size_t i = 0; i < p->n_fits; i++)
		print_line(out, NULL, fit_json(&p->fit[i]), &first);
	fputs("],\n\"steps\": [", out);
	first = true;
	for (size_t i = 0; i < p->n_steps; i++)
		print_line(out, NULL, steps_json(&p->steps[i]), &first);
	fputs("]}\n", out);
}

/* What was fitted may be nothing that a device can be; then no file comes of it. */
static int check_text(const char *text, size_t size, const char *path, struct err *e)
{
	struct err why;
	struct profile *again = profile_parse(text, size, path, &why);

	profile_free(again);
	return again ? 0
		     : err_set(e, "no profile is written, as it could not be read again: %.900s",
			       why.text);
}

int profile_save(const struct profile *p, const char *path, struct err *e)
{
	struct outfile out;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		no_memory(1, sizeof(*p));
	print_profile(memory, p);
	if (fclose(memory) != 0)
		no_memory(1, sizeof(*p));
	int rc = check_text(text, size, path, e) < 0 || outfile_open(&out, path, e) < 0 ? -1 : 0;
	if (rc == 0) {
		fwrite(text, 1, size, out.stream);
		rc = outfile_commit(&out, e);
	}
	free(text);
	return rc;
}
