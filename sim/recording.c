/* recording.c: what a recording says of its run, and writing it. */
#include "sim/recording.h"
#include "results/field.h"
#include "sim/priors.h"
#include "sim/recording_format.h"
#include "sim/utf8.h"
#include "traces/input.h"
#include "traces/outfile.h"
#include <inttypes.h>
#include <string.h>

#define ROW(member, ...) FIELD(struct recording_facts, member, __VA_ARGS__)

const struct field recording_fields[] = {
	ROW(program, .help = "version of omnibus"),
	ROW(policy, .help = "policy", .md = true),
	ROW(params, .help = "parameters", .md = true),
	ROW(model, .help = "model", .md = true),
	ROW(device, .help = "device"),
	ROW(trace, .help = "trace", .md = true),
	ROW(executor, .help = "where the times come from"),
	ROW(times, .help = "what they are: fixed, predicted or measured"),
	ROW(notes, .help = "what is to be said beside them"),
	ROW(clock, .help = "sim or wall"),
	ROW(kv_blocks, .help = "blocks of the KV pool; 0: without limit"),
	ROW(decode_kv_blocks, .help = "blocks of a decode instance's"),
	ROW(tp, .help = "devices that share each layer"),
	ROW(kv_bits, .help = "bits of a cached number"),
	ROW(weight_bits, .help = "bits of a weight"),
	ROW(data_sheet, .help = "the device that -d named"),
	{.name = NULL},
};

struct recorder {
	struct outfile out;
	struct priors priors;
	int64_t steps;
};

struct recorder *recorder_new(const char *path, struct err *e)
{
	struct recorder *r = xcalloc(1, sizeof(*r));

	if (outfile_open(&r->out, path, e) == 0)
		return r;
	free(r);
	return NULL;
}

void recorder_begin(struct recorder *r, const struct recording_facts *f)
{
	fprintf(r->out.stream, "%s\n", recording_first_line);
	for (const struct field *field = recording_fields; field->name; field++) {
		char text[sizeof(f->params)];
		size_t len;

		if (field->kind == FIELD_INT) {
			fprintf(r->out.stream, "# %s: %" PRId64 "\n", field->name,
				field_int(field, f));
			continue;
		}
		snprintf(text, sizeof(text), "%s", field_text(field, f, &len));
		utf8_clean(text); /* a name of a file may have more than one line */
		fprintf(r->out.stream, "# %s: %s\n", field->name, text);
	}
	fprintf(r->out.stream, "%s\n", recording_columns);
}

/* These return how many bytes they wrote. */
static int64_t put_prefill(FILE *out, const struct step *s)
{
	int64_t bytes = 0;

	for (int64_t i = 0; i < s->prefill_seq; i++)
		bytes += fprintf(out, "%s%" PRId64 "+%" PRId64 "%s", i ? " " : "",
				 s->seqs[i].prior_tok, s->seqs[i].new_tok,
				 s->seqs[i].sampled ? "" : "-");
	return bytes;
}

/* Those of the step before, one token longer? */
static bool goes_on(const struct prior_list *l, const struct step_seq *seq, int64_t n)
{
	if (l->n != n)
		return false;
	for (int64_t i = 0; i < n; i++)
		if (seq[i].prior_tok != l->at[i] + 1)
			return false;
	return true;
}

static int64_t put_decode(FILE *out, struct prior_list *l, const struct step *s)
{
	const struct step_seq *seq = s->seqs + s->prefill_seq;
	bool same = goes_on(l, seq, s->decode_seq);
	int64_t bytes = 0;

	if (s->decode_seq == 0)
		return 0;
	l->n = 0;
	for (int64_t i = 0; i < s->decode_seq; i++) {
		CHECK(seq[i].new_tok == 1 && seq[i].sampled, "%lld new tokens in a decode",
		      (long long)seq[i].new_tok);
		prior_list_add(l, seq[i].prior_tok);
		if (!same)
			bytes += fprintf(out, "%s%" PRId64, i ? " " : "", seq[i].prior_tok);
	}
	return same ? fprintf(out, "+") : bytes;
}

int recorder_take(void *arg, const struct step_taken *t, struct err *e)
{
	struct recorder *r = arg;
	FILE *out = r->out.stream;

	int64_t bytes = fprintf(out, "%" PRId64 ",%" PRId32 ",%.17g,%d,", ++r->steps, t->instance,
				t->ns, t->outside);
	bytes += put_prefill(out, t->step);
	bytes += fprintf(out, ",");
	bytes += put_decode(out, priors_of(&r->priors, t->instance), t->step);
	fputc('\n', out);
	if (bytes > INPUT_LINE_MAX)
		return err_set(e,
			       "%s: step %" PRId64 " has %" PRId64
			       " sequences: more than a line of 16 MiB holds",
			       r->out.path, r->steps, t->step->prefill_seq + t->step->decode_seq);
	return ferror(out) ? err_set(e, "cannot write %s: is the disk full?", r->out.path) : 0;
}

int recorder_commit(struct recorder *r, const char *trace_hash, struct err *e)
{
	fprintf(r->out.stream, recording_last_line "\n", r->steps, trace_hash);
	return outfile_commit(&r->out, e);
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	outfile_abandon(&r->out);
	priors_release(&r->priors);
	free(r);
}
