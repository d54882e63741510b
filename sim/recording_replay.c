/* recording_replay.c: the executor that gives the times of a recording to the same steps. */
#include "sim/recording_format.h"
#include "sim/recording_read.h"
#include <string.h>

struct replay {
	struct executor x;
	struct executor_ops ops; /* with the times of the recording */
	struct reader reader;
	struct recording_facts facts;
	const struct recording_facts *now;
	struct priors priors;
	struct recorded row;
	int64_t steps; /* taken */
	struct err err;
};

static bool at_end(const struct replay *r)
{
	return !strncmp(r->reader.line, "# end: ", 7);
}

/* What differs */

/* Of the runs, as far as their recordings would tell. */
static void say_what_differs(const struct replay *r, char *buf, size_t size)
{
	const char *lead = "; it was recorded with";

	buf[0] = '\0';
	for (const struct field *f = recording_fields; f->name; f++) {
		size_t len, used = strlen(buf);
		const char *then = field_text(f, &r->facts, &len);

		if (!f->md || !strcmp(then, field_text(f, r->now, &len)))
			continue;
		snprintf(buf + used, size - used, "%s %s %.200s", lead, f->help,
			 *then ? then : "not given");
		lead = " and";
	}
	if (!buf[0])
		snprintf(buf, size,
			 "; are the requests, their rate and the other options the same?");
}

static int64_t recorded_tok(const struct recorded *row)
{
	int64_t tok = 0;

	for (int64_t i = 0; i < row->n_prefill; i++)
		tok += row->prefill[i].new_tok;
	return tok;
}

/* The first sequence that is not as recorded; the numbers of them are. -1: all are. */
static int64_t first_other(const struct recorded *row, const struct step *s)
{
	for (int64_t i = 0; i < row->n_prefill; i++)
		if (row->prefill[i].prior_tok != s->seqs[i].prior_tok ||
		    row->prefill[i].new_tok != s->seqs[i].new_tok ||
		    row->prefill[i].sampled != s->seqs[i].sampled)
			return i;
	for (int64_t i = 0; i < row->n_decode; i++)
		if (row->decode->at[i] != s->seqs[row->n_prefill + i].prior_tok)
			return row->n_prefill + i;
	return -1;
}

static double other_numbers(struct replay *r, const struct step *s)
{
	const struct recorded *row = &r->row;
	char differs[800];

	say_what_differs(r, differs, sizeof(differs));
	return err_set(&r->err,
		       "%s: step %" PRId64 " has %" PRId64 " prompts of %" PRId64
		       " tokens and %" PRId64 " sequences that decode, recorded were %" PRId64
		       " of %" PRId64 " and %" PRId64 "%s",
		       r->reader.path, r->steps, s->prefill_seq, s->prefill_tok, s->decode_seq,
		       row->n_prefill, recorded_tok(row), row->n_decode, differs);
}

static double other_sequence(struct replay *r, const struct step *s, int64_t i)
{
	const struct recorded *row = &r->row;
	const struct step_seq decode = {
		.new_tok = 1,
		.prior_tok = i < row->n_prefill ? 0 : row->decode->at[i - row->n_prefill]};
	const struct step_seq *then = i < row->n_prefill ? &row->prefill[i] : &decode;
	char differs[800];

	say_what_differs(r, differs, sizeof(differs));
	return err_set(&r->err,
		       "%s: sequence %" PRId64 " of step %" PRId64 " has %" PRId64
		       " tokens after %" PRId64 ", recorded were %" PRId64 " after %" PRId64 "%s",
		       r->reader.path, i + 1, r->steps, s->seqs[i].new_tok, s->seqs[i].prior_tok,
		       then->new_tok, then->prior_tok, differs);
}

/* The executor */

static double replay_step_ns(const struct executor *x, const struct step *s)
{
	struct replay *r = (struct replay *)(uintptr_t)x; /* it is its first member */

	r->steps++;
	if (reader_next(&r->reader, &r->err) < 0)
		return -1;
	if (at_end(r)) {
		char differs[800];

		say_what_differs(r, differs, sizeof(differs));
		return err_set(&r->err,
			       "%s: there is a step %" PRId64 ", recorded were %" PRId64 "%s",
			       r->reader.path, r->steps, r->steps - 1, differs);
	}
	if (reader_row(&r->reader, &r->priors, r->steps, &r->row, &r->err) < 0)
		return -1;
	if (s->prefill_seq != r->row.n_prefill || s->decode_seq != r->row.n_decode)
		return other_numbers(r, s);
	int64_t other = first_other(&r->row, s);

	return other < 0 ? r->row.ns : other_sequence(r, s, other);
}

static bool replay_outside(const struct executor *x, const struct step *s)
{
	(void)s;
	return ((const struct replay *)(const void *)x)->row.outside;
}

static void replay_free(struct executor *x)
{
	struct replay *r = (struct replay *)(void *)x;

	reader_close(&r->reader);
	priors_release(&r->priors);
	free(r->row.prefill);
	free(r);
}

struct executor *executor_replay_new(const char *path, const struct recording_facts *now,
				     struct err *e)
{
	struct replay *r = xcalloc(1, sizeof(*r));

	r->now = now;
	if (reader_open(&r->reader, path, e) < 0 || reader_facts(&r->reader, &r->facts, e) < 0) {
		replay_free(&r->x);
		return NULL;
	}
	r->ops = (struct executor_ops){.name = "replay",
				       .times = r->facts.times,
				       .runs = true,
				       .step_ns = replay_step_ns,
				       .outside = replay_outside,
				       .free = replay_free};
	r->x = (struct executor){.ops = &r->ops, .notes = r->facts.notes, .failure = &r->err};
	return &r->x;
}

/* The hash of a last line that says so many steps; NULL: it is no such line. */
static const char *hash_of(const char *line, int64_t steps)
{
	char lead[64];
	int n = snprintf(lead, sizeof(lead), recording_last_line, steps, "");
	const char *hash = line + n;

	if (strncmp(line, lead, (size_t)n) != 0)
		return NULL;
	return *hash && !hash[strspn(hash, "0123456789abcdef")] ? hash : NULL;
}

int executor_replay_end(struct executor *x, const char *trace_hash, struct err *e)
{
	struct replay *r = (struct replay *)(void *)x;
	char differs[800];

	if (reader_next(&r->reader, e) < 0)
		return -1;
	if (!at_end(r)) {
		say_what_differs(r, differs, sizeof(differs));
		return err_set(e, "%s: the run ends after step %" PRId64 ", more are recorded%s",
			       r->reader.path, r->steps, differs);
	}
	const char *hash = hash_of(r->reader.line, r->steps);

	if (!hash)
		return reader_refuse(&r->reader, "expected '# end: N steps, trace hash H'", e);
	if (strcmp(hash, trace_hash) != 0)
		return err_set(e,
			       "%s is a recording of another trace: its hash is %.40s, that of "
			       "this one %s",
			       r->reader.path, hash, trace_hash);
	return reader_end(&r->reader, e);
}
