/* resave.c: see resave.h. */
#include "tests/resave.h"
#include <inttypes.h>
#include <string.h>

struct resaved {
	const struct writer *w;
	struct trace *was, *is;
	/* sessions by number in the one trace, to the number in the other */
	int64_t *session;
	size_t n_sessions;
	int64_t row;
	char *text;
};

static int differs(const struct resaved *r, const char *what, int64_t was, int64_t is)
{
	snprintf(r->text, RESAVE_TEXT, "%s, row %" PRId64 ": %s was %" PRId64 ", is %" PRId64,
		 r->w->ops->name, r->row, what, was, is);
	return -1;
}

/* The numbers may differ, but the same rows must be together. */
static int compare_sessions(struct resaved *r, int64_t was, int64_t is)
{
	/* Qwen-Bailian's rows all have one, if only their own */
	if (was == 0)
		return is == 0 || r->w->ops == &writer_bailian ? 0 : differs(r, "session", was, is);
	if ((size_t)was >= r->n_sessions) {
		size_t n = 2 * (size_t)was + 16;
		r->session = xrealloc(r->session, n * sizeof(*r->session));
		memset(r->session + r->n_sessions, 0, (n - r->n_sessions) * sizeof(*r->session));
		r->n_sessions = n;
	}
	if (r->session[was] == 0)
		r->session[was] = is;
	return r->session[was] == is ? 0 : differs(r, "session", r->session[was], is);
}

static int compare_ids(const struct resaved *r, const struct trace_row *was,
		       const struct trace_row *is)
{
	if (was->n_hash_ids != is->n_hash_ids)
		return differs(r, "hash ids", was->n_hash_ids, is->n_hash_ids);
	for (int64_t i = 0; i < was->n_hash_ids; i++)
		if (was->hash_ids[i] != is->hash_ids[i])
			return differs(r, "hash id", (int64_t)was->hash_ids[i],
				       (int64_t)is->hash_ids[i]);
	return 0;
}

static int compare_rows(struct resaved *r, const struct trace_row *was, const struct trace_row *is)
{
	const struct writer *w = r->w;
	const bool *holds = w->holds;
	if (was->prompt_tok != is->prompt_tok)
		return differs(r, "prompt", was->prompt_tok, is->prompt_tok);
	if (was->output_tok != is->output_tok)
		return differs(r, "output", was->output_tok, is->output_tok);
	if (w->rounded == 0 && w->ops->step_ns > 0 && was->arrive_ns != is->arrive_ns)
		return differs(r, "arrival", was->arrive_ns, is->arrive_ns);
	if (holds[EXTRA_MAX_TOK] && was->max_tok != is->max_tok)
		return differs(r, "max_tok", was->max_tok, is->max_tok);
	if (holds[EXTRA_PRIORITY] && was->priority != is->priority)
		return differs(r, "priority", was->priority, is->priority);
	if (holds[EXTRA_CLIENT] && w->renamed == 0 && was->client > 0 &&
	    strcmp(trace_client_name(r->was, was->client), trace_client_name(r->is, is->client)) !=
		    0)
		return differs(r, "client", was->client, is->client);
	if (holds[EXTRA_SESSION] && compare_sessions(r, was->session, is->session))
		return -1;
	if (holds[EXTRA_SERVICE] && was->service_ns != is->service_ns)
		return differs(r, "service", was->service_ns, is->service_ns);
	if (holds[EXTRA_SERVICE] && holds[EXTRA_SESSION] && w->rounded == 0 &&
	    was->think_ns != is->think_ns)
		return differs(r, "think time", was->think_ns, is->think_ns);
	return holds[EXTRA_HASH_IDS] ? compare_ids(r, was, is) : 0;
}

static int compare(struct resaved *r, struct err *e)
{
	struct trace_row was, is;
	for (r->row = 1;; r->row++) {
		int more = trace_next(r->was, &was, e), also = trace_next(r->is, &is, e);
		if (more < 0 || also < 0) {
			snprintf(r->text, RESAVE_TEXT, "%s: %.400s", r->w->ops->name, e->text);
			return -1;
		}
		if (more != also)
			return differs(r, "another row", more, also);
		if (more == 0)
			return 0;
		if (compare_rows(r, &was, &is))
			return -1;
	}
}

/* 0, or 1 and the sentence. */
static int save(const struct trace_spec *spec, const struct writer_ops *ops, const char *path,
		struct writer *w, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	if (!t)
		return 1;
	FILE *out = fopen(path, "wb");
	CHECK(out, "cannot write %s", path);
	int failed = writer_copy(w, ops, t, out, e);
	CHECK(fclose(out) == 0, "cannot write %s", path);
	trace_close(t);
	w->trace = NULL;
	return failed ? 1 : 0;
}

int resave(const struct trace_spec *spec, int64_t rows, const struct writer_ops *ops,
	   const char *path, struct writer *w, char text[RESAVE_TEXT])
{
	struct err e = {""};
	struct trace_spec from = *spec, to = {.source = path, .raw_hash_ids = true};
	from.raw_hash_ids = from.lengths_will_do = to.lengths_will_do = true;
	from.limit = rows;
	if (save(&from, ops, path, w, &e)) {
		snprintf(text, RESAVE_TEXT, "%.500s", e.text);
		return 1;
	}
	struct resaved r = {.w = w, .text = text};
	int result = -1;
	r.was = trace_open(&from, &e);
	r.is = trace_open(&to, &e);
	if (r.was && r.is)
		result = compare(&r, &e);
	else
		snprintf(text, RESAVE_TEXT, "%s: %.400s", ops->name, e.text);
	trace_close(r.was);
	trace_close(r.is);
	free(r.session);
	return result;
}
