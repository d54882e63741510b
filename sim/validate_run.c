#include "sim/validate.h"
#include <errno.h>
#include <string.h>

void validate_add_record(struct validate_run *v, const struct record *r)
{
	size_t i = (size_t)r->idx;

	if (i >= v->room) {
		size_t room = 2 * i + 64;

		v->record = xrealloc(v->record, room * sizeof(*v->record));
		v->room = room;
	}
	for (; v->n <= i; v->n++)
		v->record[v->n] = (struct record){.idx = -1, .status = RECORD_UNFINISHED};
	v->record[i] = *r;
}

void validate_add_step(struct validate_run *v, const struct step_row *s)
{
	if (v->n_steps == v->step_room) {
		v->step_room = v->step_room ? 2 * v->step_room : 256;
		v->step = xrealloc(v->step, v->step_room * sizeof(*v->step));
	}
	v->step[v->n_steps++] = *s;
}

static int on_record(void *arg, const struct record *r, struct err *e)
{
	(void)e;
	validate_add_record(arg, r);
	return 0;
}

static int on_step(void *arg, const struct step_row *s, struct err *e)
{
	(void)e;
	validate_add_step(arg, s);
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct step_row *x = a, *y = b;

	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

int validate_replay(struct validate_run *v, const struct run_options *o, size_t choice, double rate,
		    struct err *e)
{
	struct replay r = {.options = o,
			   .choice = &o->choices[choice],
			   .rate = rate,
			   .record = on_record,
			   .step = on_step,
			   .sink_arg = v};

	*v = (struct validate_run){.async = o->choices[choice].common.async > 0};
	if (replay_check(o, r.choice, e) < 0)
		return -1;
	replay_run(&r);
	v->summary = r.summary;
	if (r.result < 0)
		*e = r.err;
	replay_release(&r);
	if (v->n_steps > 0)
		qsort(v->step, v->n_steps, sizeof(*v->step), by_end);
	return r.result;
}

static void take_record(void *arg, const struct record *r)
{
	validate_add_record(arg, r);
}

static void take_step(void *arg, const struct step_row *s)
{
	validate_add_step(arg, s);
}

int validate_stored(struct validate_run *v, const char *path, int64_t run_id, struct err *e)
{
	const struct store_taker to = {take_record, take_step, v};
	struct stored_run run;

	*v = (struct validate_run){0};
	if (store_read_requests(path, run_id, &to, &run, e) < 0)
		return -1;
	v->summary = run.summary;
	v->async = param_is_given_as(run.info.params, "async", "1");
	if (v->n_steps > 0)
		qsort(v->step, v->n_steps, sizeof(*v->step), by_end);
	return 0;
}

void validate_run_release(struct validate_run *v)
{
	free(v->record);
	free(v->step);
	*v = (struct validate_run){0};
}

int64_t validate_scheduled_ns(const struct validate_run *v, const struct record *r)
{
	const struct step_row key = {.instance = r->instance, .end_ns = r->schedule_ns};

	if (!v->async)
		return r->schedule_ns;
	if (v->n_steps == 0)
		return -1;
	const struct step_row *s = bsearch(&key, v->step, v->n_steps, sizeof(key), by_end);

	if (!s)
		return r->schedule_ns; /* nothing ran: it was chosen there and then */
	/* the last step of a run of decodes, which differ little */
	return s->end_ns - (s->end_ns - s->start_ns) / s->steps;
}

int validate_print_next(const struct validate_options *o, const struct field *fields,
			const void *const *rows, size_t n, struct err *e)
{
	if (o->run.format != FORMAT_JSONL)
		putchar('\n');
	return validate_print(o, fields, rows, n, e);
}

int validate_print(const struct validate_options *o, const struct field *fields,
		   const void *const *rows, size_t n, struct err *e)
{
	if (fields_print(stdout, o->run.format, fields, rows, n) == 0)
		return 0;
	return err_set(e, "cannot write to the standard output: %s", strerror(errno));
}
