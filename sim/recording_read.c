#include "sim/recording_read.h"
#include "sim/options.h"
#include "sim/recording_format.h"
#include "sim/run.h"
#include "traces/input.h"
#include "traces/number.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines */

int reader_open(struct reader *r, const char *path, struct err *e)
{
	struct stat st;

	*r = (struct reader){0};
	if (strlen(path) >= sizeof(r->path))
		return err_set(e, "the path of a recording has %zu bytes: at most %zu are valid",
			       strlen(path), sizeof(r->path) - 1);
	snprintf(r->path, sizeof(r->path), "%s", path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, "%s is a directory: expected a recording (--record FILE)", path);
	if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
		return err_set(e, "cannot read %s: %s", path, strerror(errno));
	r->in = input_open(r->path, e);
	return r->in ? 0 : -1;
}

void reader_close(struct reader *r)
{
	input_close(r->in);
}

int reader_refuse(const struct reader *r, const char *what, struct err *e)
{
	return err_set(e, "%.400s, line %" PRId64 ": %.600s", r->path, r->line_number, what);
}

int reader_next(struct reader *r, struct err *e)
{
	size_t len;
	int more = input_line(r->in, &r->line, &len, e);

	r->line_number++;
	if (more == 0)
		return reader_refuse(r, "the recording is cut off here: its last line is missing",
				     e);
	return more < 0 ? -1 : 0;
}

int reader_end(struct reader *r, struct err *e)
{
	size_t len;
	int more = input_line(r->in, &r->line, &len, e);

	r->line_number++;
	return more <= 0 ? more
			 : reader_refuse(r, "nothing may follow the line '# end: ' of a recording",
					 e);
}

/* Facts */

/* The largest whole number of a fact: blocks of a pool, and far more than any has. */
static const int64_t fact_max = INT64_C(1) << 50;

static int set_text(struct reader *r, const struct field *f, const char *text,
		    struct recording_facts *facts, struct err *e)
{
	char *at = (char *)facts + f->offset;
	size_t len = strlen(text);
	struct err why;

	if (len < f->size) {
		memcpy(at, text, len + 1);
		return 0;
	}
	err_set(&why, "%s has %zu bytes: at most %zu are valid", f->name, len, f->size - 1);
	return reader_refuse(r, why.text, e);
}

static int set_whole(struct reader *r, const struct field *f, const char *text,
		     struct recording_facts *facts, struct err *e)
{
	int64_t whole;
	struct err why;

	if (parse_int(text, f->name, 0, fact_max, &whole, &why) < 0)
		return reader_refuse(r, why.text, e);
	memcpy((char *)facts + f->offset, &whole, sizeof(whole));
	return 0;
}

static int set_fact(struct reader *r, const struct field *f, const char *text,
		    struct recording_facts *facts, uint64_t *seen, struct err *e)
{
	uint64_t bit = UINT64_C(1) << (f - recording_fields);
	struct err why;

	if (*seen & bit) {
		err_set(&why, "%s was given before: a recording gives it once", f->name);
		return reader_refuse(r, why.text, e);
	}
	*seen |= bit;
	return f->kind == FIELD_TEXT ? set_text(r, f, text, facts, e)
				     : set_whole(r, f, text, facts, e);
}

/* `seen` has a bit for each of the facts that were read. */
static int read_fact(struct reader *r, struct recording_facts *facts, uint64_t *seen, struct err *e)
{
	char *name = r->line + 2, *colon = strstr(r->line, ": ");

	if (strncmp(r->line, "# ", 2) != 0 || !colon)
		return reader_refuse(r, "expected '# name: value', or the names of the columns", e);
	*colon = '\0';
	for (const struct field *f = recording_fields; f->name; f++)
		if (!strcmp(f->name, name))
			return set_fact(r, f, colon + 2, facts, seen, e);
	return reader_refuse(r, "no recording of this version has such a name", e);
}

int reader_facts(struct reader *r, struct recording_facts *facts, struct err *e)
{
	static const char *const times[] = {"fixed", "predicted", "measured"};

	uint64_t seen = 0;

	*facts = (struct recording_facts){0};
	if (reader_next(r, e) < 0)
		return -1;
	if (strcmp(r->line, recording_first_line) != 0)
		return err_set(e, "%s is no recording: its first line is not '%s'", r->path,
			       recording_first_line);
	for (;;) {
		if (reader_next(r, e) < 0)
			return -1;
		if (!strcmp(r->line, recording_columns))
			break;
		if (read_fact(r, facts, &seen, e) < 0)
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

/* Of a sequence: a prompt and an output, each as long as a trace may say. */
static const int64_t seq_tok_max = INT64_C(2) * NUMBER_TOK_MAX;

/* What stands before the next `end`, and `at` behind it; NULL: there is none. */
static char *cut(char **at, char end)
{
	char *start = *at, *stop = strchr(start, end);

	if (!stop)
		return NULL;
	*stop = '\0';
	*at = stop + 1;
	return start;
}

/* The next of a list between spaces; `at` is NULL behind the last. */
static char *next_of_list(char **at)
{
	char *last = *at, *text = cut(at, ' ');

	if (text)
		return text;
	*at = NULL;
	return last;
}

static int read_prompt(char *text, struct step_seq *q, struct err *e)
{
	size_t len = strlen(text);

	q->sampled = len == 0 || text[len - 1] != '-';
	if (!q->sampled)
		text[len - 1] = '\0';
	char *prior = cut(&text, '+');

	if (!prior)
		return err_set(e, "prefill: '%.100s' is not PRIOR+NEW or PRIOR+NEW-", text);
	if (parse_int(prior, "prefill, PRIOR", 0, seq_tok_max, &q->prior_tok, e) < 0)
		return -1;
	return parse_int(text, "prefill, NEW", 0, seq_tok_max - q->prior_tok, &q->new_tok, e);
}

static int read_prefill(char *text, struct recorded *row, struct err *e)
{
	row->n_prefill = 0;
	for (char *at = *text ? text : NULL; at;) {
		struct step_seq q = {0};

		if (read_prompt(next_of_list(&at), &q, e) < 0)
			return -1;
		if (row->n_prefill == row->prefill_room) {
			row->prefill_room = row->prefill_room ? 2 * row->prefill_room : 64;
			row->prefill = xrealloc(row->prefill,
						(size_t)row->prefill_room * sizeof(*row->prefill));
		}
		row->prefill[row->n_prefill++] = q;
	}
	return 0;
}

static int go_on(struct prior_list *l, struct err *e)
{
	if (l->n == 0)
		return err_set(e, "decode: + goes on from a step before, and none has decoded");
	for (int64_t i = 0; i < l->n; i++)
		if (++l->at[i] > seq_tok_max)
			return err_set(e,
				       "decode: + is a sequence of %" PRId64
				       " tokens: at most %" PRId64 " are valid",
				       l->at[i], seq_tok_max);
	return 0;
}

static int read_decode(char *text, struct recorded *row, struct err *e)
{
	struct prior_list *l = row->decode;
	int64_t prior;

	row->n_decode = 0;
	if (!*text)
		return 0;
	if (!strcmp(text, "+")) {
		if (go_on(l, e) < 0)
			return -1;
	} else {
		l->n = 0;
		for (char *at = text; at;) {
			if (parse_int(next_of_list(&at), "decode, PRIOR", 0, seq_tok_max, &prior,
				      e) < 0)
				return -1;
			prior_list_add(l, prior);
		}
	}
	row->n_decode = l->n;
	return 0;
}

static int read_row(char *at, struct priors *priors, struct recorded *row, struct err *e)
{
	enum { COLUMNS = 6, INSTANCES_MAX = 1 << 20 };
	char *cell[COLUMNS];
	int64_t instance, outside;

	for (int i = 0; i < COLUMNS - 1; i++)
		if (!(cell[i] = cut(&at, ',')))
			return err_set(e, "it has %d of the %d columns of a step", i + 1, COLUMNS);
	cell[COLUMNS - 1] = at;
	if (parse_int(cell[0], "step", 1, INT64_MAX, &row->step, e) < 0 ||
	    parse_int(cell[1], "instance", 0, INSTANCES_MAX, &instance, e) < 0 ||
	    parse_real(cell[2], "ns", 0, INFINITY, &row->ns, e) < 0 ||
	    parse_int(cell[3], "extrapolated", 0, 1, &outside, e) < 0)
		return -1;
	if (!(row->ns < (double)TIME_MAX_NS))
		return err_set(e, "its ns must be below 4e18, 126 years");
	row->outside = outside == 1;
	row->instance = (int32_t)instance;
	row->decode = priors_of(priors, row->instance);
	return read_prefill(cell[4], row, e) < 0 ? -1 : read_decode(cell[5], row, e);
}

int reader_row(struct reader *r, struct priors *priors, int64_t step, struct recorded *row,
	       struct err *e)
{
	struct err why;

	if (read_row(r->line, priors, row, &why) < 0)
		return reader_refuse(r, why.text, e);
	return row->step == step
		       ? 0
		       : reader_refuse(r, "it is not the step that comes next in a recording", e);
}
