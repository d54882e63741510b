/* Smaller cases that still fail. */
#include "tests/agree.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 12 };

struct shrink {
	struct ref_config *c;
	struct ref_request *req;
	size_t *n;
	case_fails *fails;
	void *arg;
	struct ref_request *less; /* the candidate's */
	bool changed;		  /* in this round */
};

static char *line_of(const struct ref_config *c, const struct ref_request *req, size_t n)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out, "no memory stream for %zu requests", n);
	ref_print_line(out, c, req, n);
	fclose(out);
	return text;
}

/* Takes a candidate (its requests are in s->less) if it is another case that fails. */
static bool take(struct shrink *s, struct ref_config c, size_t n)
{
	char *before = line_of(s->c, s->req, *s->n), *after;
	bool good;

	agree_level(&c, s->less, n);
	after = line_of(&c, s->less, n);
	good = strcmp(before, after) != 0 && strlen(after) <= strlen(before) &&
	       s->fails(s->arg, &c, s->less, n);
	free(before);
	free(after);
	if (!good)
		return false;
	*s->c = c;
	*s->n = n;
	memcpy(s->req, s->less, n * sizeof(*s->req));
	s->changed = true;
	return true;
}

static void drop_requests(struct shrink *s)
{
	for (size_t many = *s->n / 2; many > 0; many /= 2)
		for (size_t at = 0; *s->n > many && at + many <= *s->n;) {
			size_t rest = *s->n - at - many;

			memcpy(s->less, s->req, at * sizeof(*s->req));
			memcpy(s->less + at, s->req + at + many, rest * sizeof(*s->req));
			if (!take(s, *s->c, *s->n - many))
				at += many;
		}
}

static bool try_setting(struct shrink *s, const struct ref_setting *f, double value)
{
	struct ref_config c = *s->c;

	if (ref_get(&c, f) == value)
		return false;
	ref_set(&c, f, value);
	memcpy(s->less, s->req, *s->n * sizeof(*s->req));
	return take(s, c, *s->n);
}

static void shrink_setting(struct shrink *s, const struct ref_setting *f)
{
	if (try_setting(s, f, f->plain) || ref_get(s->c, f) == f->plain)
		return;
	if (f->type == REF_REAL && !try_setting(s, f, 1))
		try_setting(s, f, floor(ref_get(s->c, f)));
	if (f->type != REF_INT)
		return;
	while (ref_get(s->c, f) > 1 && try_setting(s, f, floor(ref_get(s->c, f) / 2)))
		;
	if (ref_get(s->c, f) > 1)
		try_setting(s, f, ref_get(s->c, f) - 1);
}

static bool try_number(struct shrink *s, size_t r, size_t field, int64_t value)
{
	int64_t *at;

	memcpy(s->less, s->req, *s->n * sizeof(*s->req));
	at = (int64_t *)((char *)&s->less[r] + field);
	if (*at == value)
		return false;
	*at = value;
	return take(s, *s->c, *s->n);
}

static void shrink_request(struct shrink *s, size_t r)
{
	static const struct {
		size_t at;
		int64_t least;
	} fields[] = {
		{offsetof(struct ref_request, hash_n), 0},
		{offsetof(struct ref_request, session), 0},
		{offsetof(struct ref_request, priority), 0},
		{offsetof(struct ref_request, max_tok), 0},
		{offsetof(struct ref_request, think_ns), 0},
		{offsetof(struct ref_request, arrive_ns), 0},
		{offsetof(struct ref_request, output_tok), 1},
		{offsetof(struct ref_request, prompt_tok), 1},
	};

	for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++) {
		const int64_t *now = (const int64_t *)((const char *)&s->req[r] + fields[k].at);

		if (*now == fields[k].least || try_number(s, r, fields[k].at, fields[k].least))
			continue;
		while (*now / 2 > fields[k].least && try_number(s, r, fields[k].at, *now / 2))
			;
		if (*now > fields[k].least)
			try_number(s, r, fields[k].at, *now - 1);
	}
}

void shrink_case(struct ref_config *c, struct ref_request *req, size_t *n, case_fails *fails,
		 void *arg)
{
	struct shrink s = {.c = c, .req = req, .n = n, .fails = fails, .arg = arg, .changed = true};

	s.less = xcalloc(*n, sizeof(*s.less));
	for (int round = 0; s.changed && round < ROUNDS; round++) {
		s.changed = false;
		drop_requests(&s);
		for (const struct ref_setting *f = ref_settings; f->name; f++)
			shrink_setting(&s, f);
		for (size_t r = 0; r < *n; r++)
			shrink_request(&s, r);
	}
	free(s.less);
}
