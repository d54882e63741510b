#include "sim/backend_executor.h"

struct backend_executor {
	struct executor x;
	struct executor_ops ops; /* with the backend's name */
	const struct backend_ops *backend_ops;
	struct backend *backend; /* NULL: it could not be opened again */
	struct backend_want want;
	struct backend_seq *seqs;
	int64_t seqs_room;
	struct err err;
};

static struct backend_executor *of(const struct executor *x)
{
	return (struct backend_executor *)(uintptr_t)x; /* it is its first member */
}

static int refuse(const struct backend_executor *b, const struct err *why, struct err *e)
{
	return err_set(e, "executor %s: %s", b->backend_ops->name, why->text);
}

/* What is done for the first time takes longer: a prompt, then a decode. */
static int warm_up(struct backend_executor *b, struct err *e)
{
	int64_t tok = b->want.max_tok < 16 ? b->want.max_tok : 16;
	struct backend_seq prompt = {.new_tok = tok < b->want.kv_tok ? tok : 1, .sampled = true};
	struct backend_seq decode = {.new_tok = 1, .sampled = true};
	double ns;

	return b->backend_ops->step(b->backend, &prompt, 1, &ns, e) < 0 ||
			       b->backend_ops->step(b->backend, &decode, 1, &ns, e) < 0
		       ? -1
		       : 0;
}

static int open_it(struct backend_executor *b, struct err *e)
{
	struct err why;

	if (b->backend_ops->open(&b->backend, &b->want, &why) < 0) {
		b->backend = NULL;
		return refuse(b, &why, e);
	}
	return warm_up(b, &why) < 0 ? refuse(b, &why, e) : 0;
}

static void close_it(struct backend_executor *b)
{
	if (b->backend)
		b->backend_ops->close(b->backend);
	b->backend = NULL;
}

/* What a step needs. */
struct need {
	int64_t tok, seqs, kv_tok;
};

static struct need need_of(const struct step *s, int64_t block_tok)
{
	struct need n = {.seqs = s->n_seqs};

	for (int64_t i = 0; i < s->n_seqs; i++) {
		int64_t slots = s->seqs[i].prior_tok + s->seqs[i].new_tok;

		n.tok += s->seqs[i].new_tok;
		n.kv_tok += (slots + block_tok - 1) / block_tok * block_tok;
	}
	return n;
}

static bool grow(int64_t *room, int64_t need)
{
	bool grows = need > *room;

	while (need > *room)
		*room *= 2;
	return grows;
}

/* By an eighth more: it may be most of the memory. */
static bool grow_pool(struct backend_executor *b, int64_t need_tok)
{
	if (need_tok <= b->want.kv_tok)
		return false;
	b->want.kv_tok = need_tok + need_tok / 8;
	return true;
}

/* Room for the step: most often there is. */
static int make_room(struct backend_executor *b, const struct step *s)
{
	struct need n = need_of(s, b->want.block_tok);
	bool grows = grow(&b->want.max_tok, n.tok);

	grows = grow(&b->want.max_seqs, n.seqs) || grows;
	grows = grow_pool(b, n.kv_tok) || grows;
	if (!grows)
		return 0;
	close_it(b);
	return open_it(b, &b->err);
}

static void list(struct backend_executor *b, const struct step *s)
{
	if (s->n_seqs > b->seqs_room) {
		b->seqs_room = 2 * s->n_seqs;
		b->seqs = xrealloc(b->seqs, (size_t)b->seqs_room * sizeof(*b->seqs));
	}
	for (int64_t i = 0; i < s->n_seqs; i++)
		b->seqs[i] = (struct backend_seq){.new_tok = s->seqs[i].new_tok,
						  .prior_tok = s->seqs[i].prior_tok,
						  .sampled = s->seqs[i].sampled};
}

static double run_step(const struct executor *x, const struct step *s)
{
	struct backend_executor *b = of(x);
	struct err why;
	double ns;

	if (make_room(b, s) < 0)
		return -1;
	list(b, s);
	if (b->backend_ops->step(b->backend, b->seqs, (size_t)s->n_seqs, &ns, &why) < 0)
		return refuse(b, &why, &b->err);
	if (!(ns >= 0))
		return err_set(&b->err, "executor %s: a step took %g ns", b->backend_ops->name, ns);
	return ns;
}

static void free_it(struct executor *x)
{
	struct backend_executor *b = of(x);

	close_it(b);
	free(b->seqs);
	free(b);
}

struct executor *backend_executor_new(const struct backend_ops *ops,
				      const struct backend_want *want, struct err *e)
{
	struct backend_executor *b = xcalloc(1, sizeof(*b));

	b->ops = (struct executor_ops){.name = ops->name,
				       .summary = ops->summary,
				       .times = "measured",
				       .runs = true,
				       .step_ns = run_step,
				       .free = free_it};
	b->x = (struct executor){.ops = &b->ops, .failure = &b->err};
	b->x.notes = want->tp > 1 ? "no-allreduce" : "";
	b->backend_ops = ops;
	b->want = *want;
	if (open_it(b, e) == 0) {
		b->want.if_short = NULL; /* what it grows to is what steps need */
		return &b->x;
	}
	free_it(&b->x);
	return NULL;
}

void backend_executor_device(const struct executor *x, char *name, size_t size)
{
	const struct backend_executor *b = of(x);
	struct backend_facts facts = {.device = ""};

	if (b->backend_ops->device) {
		b->backend_ops->device(b->backend, name, size);
		return;
	}
	b->backend_ops->facts(b->backend, &facts);
	snprintf(name, size, "%s", facts.device);
}
