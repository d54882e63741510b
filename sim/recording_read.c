#include "sim/recording_read.h"
#include "sim/recording_format.h"
#include "sim/run.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Lines */

int reader_open(struct reader *r, const char *path, struct err *e)
{
	*r = (struct reader){0};
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->in = fopen(path, "r");
	return r->in ? 0 : err_set(e, "cannot read %s: %s", path, strerror(errno));
}

void reader_close(struct reader *r)
{
	if (r->in)
		fclose(r->in);
	free(r->line);
}

int reader_refuse(const struct reader *r, const char *what, struct err *e)
{
	return err_set(e, "%s, line %" PRId64 ": %s", r->path, r->line_number, what);
}

int reader_next(struct reader *r, struct err *e)
{
	ssize_t n = getline(&r->line, &r->room, r->in);

	r->line_number++;
	if (n < 0)
		return reader_refuse(r, "the recording is cut off here: its last line is missing",
				     e);
	if (n > 0 && r->line[n - 1] == '\n')
		r->line[n - 1] = '\0';
	return 0;
}

/* Facts */

static int set_fact(struct reader *r, const struct field *f, const char *text,
		    struct recording_facts *facts, struct err *e)
{
	char *at = (char *)facts + f->offset, *end;

	if (f->kind == FIELD_TEXT) {
		snprintf(at, f->size, "%s", text);
		return 0;
	}
	long long v = strtoll(text, &end, 10);
	int64_t whole = v;

	if (end == text || *end || v < 0)
		return reader_refuse(r, "it is not a whole number", e);
	memcpy(at, &whole, sizeof(whole));
	return 0;
}

static int read_fact(struct reader *r, struct recording_facts *facts, struct err *e)
{
	char *name = r->line + 2, *colon = strstr(r->line, ": ");

	if (strncmp(r->line, "# ", 2) != 0 || !colon)
		return reader_refuse(r, "expected '# name: value', or the names of the columns", e);
	*colon = '\0';
	for (const struct field *f = recording_fields; f->name; f++)
		if (!strcmp(f->name, name))
			return set_fact(r, f, colon + 2, facts, e);
	return reader_refuse(r, "no recording of this version has such a name", e);
}

int reader_facts(struct reader *r, struct recording_facts *facts, struct err *e)
{
	static const char *const times[] = {"fixed", "predicted", "measured"};

	*facts = (struct recording_facts){0};
	if (reader_next(r, e) < 0 || strcmp(r->line, recording_first_line) != 0)
		return err_set(e, "%s is no recording: its first line is not '%s'", r->path,
			       recording_first_line);
	for (;;) {
		if (reader_next(r, e) < 0)
			return -1;
		if (!strcmp(r->line, recording_columns))
			break;
		if (read_fact(r, facts, e) < 0)
			return -1;
	}
	if (!facts->executor[0] || !facts->clock[0])
		return reader_refuse(r,
				     !facts->executor[0] ? "no line before it says '# executor: '"
							 : "no line before it says '# clock: '",
				     e);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!strcmp(facts->times, times[i]))
			return 0;
	return reader_refuse(r, "times are fixed, predicted or measured", e);
}

int recording_load_facts(const char *path, struct recording_facts *f, struct err *e)
{
	struct reader r;
	int result = reader_open(&r, path, e);

	if (result == 0)
		result = reader_facts(&r, f, e);
	reader_close(&r);
	return result;
}

/* Steps */

static bool take_whole(char **at, int64_t *v)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*v = strtoll(*at, &end, 10);
	*at = end;
	return errno == 0;
}

static bool take_char(char **at, char c)
{
	bool there = **at == c;

	*at += there;
	return there;
}

static bool take_prefill(char **at, struct recorded *row)
{
	row->n_prefill = 0;
	while (**at != ',') {
		struct step_seq q = {.sampled = true};

		if ((row->n_prefill > 0 && !take_char(at, ' ')) || !take_whole(at, &q.prior_tok) ||
		    !take_char(at, '+') || !take_whole(at, &q.new_tok))
			return false;
		q.sampled = !take_char(at, '-');
		if (row->n_prefill == row->prefill_room) {
			row->prefill_room = row->prefill_room ? 2 * row->prefill_room : 64;
			row->prefill = xrealloc(row->prefill,
						(size_t)row->prefill_room * sizeof(*row->prefill));
		}
		row->prefill[row->n_prefill++] = q;
	}
	return take_char(at, ',');
}

static bool take_decode(char **at, struct recorded *row)
{
	struct prior_list *l = row->decode;
	int64_t prior;

	row->n_decode = 0;
	if (!**at)
		return true;
	if (take_char(at, '+')) {
		for (int64_t i = 0; i < l->n; i++)
			l->at[i]++;
	} else {
		l->n = 0;
		do {
			if (!take_whole(at, &prior))
				return false;
			prior_list_add(l, prior);
		} while (take_char(at, ' '));
	}
	row->n_decode = l->n;
	return !**at && l->n > 0;
}

static bool take_row(char *at, struct priors *priors, struct recorded *row)
{
	enum { INSTANCES_MAX = 1 << 20 };
	int64_t instance, outside;
	char *end;

	if (!take_whole(&at, &row->step) || !take_char(&at, ',') || !take_whole(&at, &instance) ||
	    instance > INSTANCES_MAX || !take_char(&at, ','))
		return false;
	row->ns = strtod(at, &end);
	if (end == at || !(row->ns >= 0) || isinf(row->ns))
		return false;
	at = end;
	if (!take_char(&at, ',') || !take_whole(&at, &outside) || outside > 1 ||
	    !take_char(&at, ','))
		return false;
	row->outside = outside == 1;
	row->instance = (int32_t)instance;
	row->decode = priors_of(priors, row->instance);
	return take_prefill(&at, row) && take_decode(&at, row);
}

int reader_row(struct reader *r, struct priors *priors, int64_t step, struct recorded *row,
	       struct err *e)
{
	if (take_row(r->line, priors, row) && row->step == step)
		return row->ns < (double)TIME_MAX_NS
			       ? 0
			       : reader_refuse(r, "its ns must be below 4e18, 126 years", e);
	return reader_refuse(r, "it is not the step that comes next in a recording", e);
}
