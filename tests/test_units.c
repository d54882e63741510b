/* Heap, queue, KV pool, agenda and the closed form of runs, each against the obvious way. */
#include "sim/agenda.h"
#include "sim/kv.h"
#include "sim/queue.h"
#include "sim/rng.h"
#include "sim/run.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static int64_t from_to(gsl_rng *rng, int64_t a, int64_t b)
{
	return a + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)(b - a + 1));
}

/* Heap and queue */

enum { JOBS = 40 };

/* The lowest (key, tie) of those that are in, by looking at all. */
static int lowest(const struct heap_entry *in, const bool *there)
{
	int best = -1;

	for (int i = 0; i < JOBS; i++)
		if (there[i] && (best < 0 || in[i].key < in[best].key ||
				 (in[i].key == in[best].key && in[i].tie < in[best].tie)))
			best = i;
	return best;
}

static void check_heap(const struct heap *h, const struct heap_entry *in, const bool *there)
{
	size_t n = 0;

	for (int i = 0; i < JOBS; i++)
		n += there[i];
	assert_i64(h->n, n);
	if (n > 0)
		assert_ptr_equal(h->at[0].job, in[lowest(in, there)].job);
	for (size_t i = 0; i < h->n; i++)
		assert_i64(h->at[i].job->heap_pos, i);
}

/* Pushes, pops and removals from the middle, with many equal keys. */
static void test_heap(void **state)
{
	gsl_rng *rng = rng_new(1, "heap");
	struct job job[JOBS];
	struct heap_entry in[JOBS];
	bool there[JOBS] = {false};
	struct heap h = {0};

	(void)state;
	memset(job, 0, sizeof(job));
	for (int64_t i = 0; i < 20000; i++) {
		int k = (int)from_to(rng, 0, JOBS - 1);

		if (!there[k]) {
			in[k] = (struct heap_entry){from_to(rng, -5, 5), i, &job[k]};
			heap_push(&h, &job[k], in[k].key, in[k].tie);
			there[k] = true;
		} else if (from_to(rng, 0, 1)) {
			heap_remove(&h, &job[k]);
			there[k] = false;
		} else {
			int low = lowest(in, there);

			assert_ptr_equal(heap_pop(&h), &job[low]);
			there[low] = false;
		}
		check_heap(&h, in, there);
	}
	heap_release(&h);
	gsl_rng_free(rng);
}

/* By rank, ties by arrival; what was preempted last is before all of them. */
static void test_queue(void **state)
{
	static const int64_t rank[] = {5, 1, 5, 1, 0};
	static const int want[] = {6, 5, 4, 1, 3, 0, 2};
	struct job job[7];
	struct queue q = {0};

	(void)state;
	memset(job, 0, sizeof(job));
	assert_null(queue_head(&q));
	for (int i = 0; i < 5; i++)
		queue_push(&q, &job[i], rank[i]);
	queue_push_front(&q, &job[5]);
	queue_push_front(&q, &job[6]);
	assert_i64(queue_len(&q), 7);
	for (int i = 0; i < 7; i++) {
		assert_ptr_equal(queue_head(&q), &job[want[i]]);
		assert_i64(queue_head(&q)->state, JOB_WAITING);
		queue_take_head(&q);
	}
	assert_i64(queue_len(&q), 0);
	queue_release(&q);
}

/* KV blocks */

struct growing {
	int64_t n, slots[20];
};

/* Blocks that one more slot for each takes. */
static int64_t need_one(const struct growing *g, int64_t block)
{
	int64_t need = 0;

	for (int64_t i = 0; i < g->n; i++)
		need += (g->slots[i] + 1 + block - 1) / block - (g->slots[i] + block - 1) / block;
	return need;
}

static void one_step(struct growing *g)
{
	for (int64_t i = 0; i < g->n; i++)
		g->slots[i]++;
}

/* How many steps fit, and what they take and add up to, one slot at a time and at once. */
static void check_kv(gsl_rng *rng)
{
	int64_t block = from_to(rng, 1, 20), clock = from_to(rng, 0, 100), most, steps = 0, sum = 0;
	struct growing g = {.n = from_to(rng, 0, 20)};
	struct kv kv;

	kv_init(&kv, block, from_to(rng, 400, 900), 0);
	for (int64_t i = 0; i < g.n; i++) {
		g.slots[i] = from_to(rng, 1, 60);
		kv_grow_join(&kv, g.slots[i], clock, 1);
		kv_take(&kv,
			kv_blocks(&kv, g.slots[i]) > kv_free(&kv) ? 0 : kv_blocks(&kv, g.slots[i]));
	}
	if (g.n > 0 && from_to(rng, 0, 1)) { /* the last one leaves again */
		g.n--;
		kv_grow_leave(&kv, g.slots[g.n], clock, 1);
	}
	assert_i64(kv_need(&kv, clock), need_one(&g, block));
	most = from_to(rng, 0, 600);
	struct growing start = g;
	int64_t used = kv.used, fit = kv_steps(&kv, clock, most);

	for (; steps < most && used + need_one(&g, block) <= kv.total; steps++) {
		used += need_one(&g, block);
		sum += used;
		one_step(&g);
	}
	assert_i64(fit, steps);
	int64_t some = from_to(rng, 0, fit);

	g = start;
	used = kv.used;
	sum = 0;
	for (int64_t i = 0; i < some; i++) {
		used += need_one(&g, block);
		sum += used;
		one_step(&g);
	}
	assert_i64(kv_grow(&kv, clock, some), sum);
	assert_i64(kv.used, used);
	assert_i64(kv_need(&kv, clock + some), need_one(&g, block));
	kv_release(&kv);
}

static void test_kv(void **state)
{
	gsl_rng *rng = rng_new(1, "kv");

	(void)state;
	for (int i = 0; i < 20000; i++)
		check_kv(rng);
	gsl_rng_free(rng);
}

/* Case 9: slots are prompt + output - 1. */
static void test_kv_blocks(void **state)
{
	struct kv kv;

	(void)state;
	kv_init(&kv, 16, 1, 0);
	assert_i64(kv_blocks(&kv, 0), 0);
	assert_i64(kv_blocks(&kv, 16 + 1 - 1), 1);
	assert_i64(kv_blocks(&kv, 16 + 2 - 1), 2);
	assert_i64(kv_blocks(&kv, 15 + 2 - 1), 1);
	kv_release(&kv);
}

/* Agenda */

enum { INSTANCES = 3, SLOTS = N_EVENT_KINDS * INSTANCES };

static void set_slot(struct agenda *a, int slot, int64_t t_ns)
{
	agenda_set(a, (enum event_kind)(slot / INSTANCES), (uint32_t)(slot % INSTANCES), t_ns);
}

static void assert_next(struct agenda *a, int slot, int64_t want_ns)
{
	enum event_kind kind;
	uint32_t index;
	int64_t t_ns;

	assert_i64(agenda_time(a), want_ns);
	assert_true(agenda_next(a, &t_ns, &kind, &index));
	assert_i64(t_ns, want_ns);
	assert_i64(kind, slot / INSTANCES);
	assert_i64(index, slot % INSTANCES);
}

/* Equal times: by kind, then by instance, in whichever order they were set. */
static void test_agenda_ties(void **state)
{
	(void)state;
	for (int backwards = 0; backwards <= 1; backwards++) {
		struct agenda a;

		agenda_init(&a, INSTANCES);
		for (int i = 0; i < SLOTS; i++)
			set_slot(&a, backwards ? SLOTS - 1 - i : i, 7);
		agenda_clear(&a, EVENT_WAIT, 1);
		agenda_clear(&a, EVENT_WAIT, 1); /* clearing what is not set is nothing */
		for (int i = 0; i < SLOTS; i++)
			if (i != EVENT_WAIT * INSTANCES + 1)
				assert_next(&a, i, 7);
		assert_i64(agenda_time(&a), INT64_MAX);
		agenda_release(&a);
	}
}

/* Sets, moves, clears and takes, against looking at all slots. */
static void test_agenda(void **state)
{
	gsl_rng *rng = rng_new(1, "agenda");
	int64_t t_ns[SLOTS];
	struct agenda a;

	(void)state;
	agenda_init(&a, INSTANCES);
	for (int i = 0; i < SLOTS; i++)
		t_ns[i] = INT64_MAX;
	for (int64_t k = 0; k < 20000; k++) {
		int slot = (int)from_to(rng, 0, SLOTS - 1), first = 0;

		for (int i = 1; i < SLOTS; i++)
			if (t_ns[i] < t_ns[first])
				first = i;
		if (from_to(rng, 0, 2) == 0 && t_ns[first] != INT64_MAX) {
			assert_next(&a, first, t_ns[first]);
			t_ns[first] = INT64_MAX;
		} else if (from_to(rng, 0, 3) == 0) {
			agenda_clear(&a, (enum event_kind)(slot / INSTANCES),
				     (uint32_t)(slot % INSTANCES));
			t_ns[slot] = INT64_MAX;
		} else {
			t_ns[slot] = from_to(rng, 0, 20);
			set_slot(&a, slot, t_ns[slot]);
		}
	}
	agenda_release(&a);
	gsl_rng_free(rng);
}

/* Runs */

static void test_round(void **state)
{
	static const double some[] = {
		0, 0.49999999999999994, 0.5, 1.5, 2.5, 4503599627370495.5, 9007199254740993.0};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		assert_i64(round_ns(some[i]), llround(some[i]));
}

/* The end of step j against the sum of the j steps before: exact for whole constants, else within
 * the rounding of the sum. */
static void test_run_end(void **state)
{
	gsl_rng *rng = rng_new(1, "run");

	(void)state;
	for (int i = 0; i < 2000; i++) {
		bool whole = i % 2;
		struct run r = {
			.start_ns = from_to(rng, 0, 1000000),
			.b = from_to(rng, 1, 300),
			.ctx = from_to(rng, 1, 1000000),
			.cost = {.step_ns = (double)from_to(rng, 0, 10000000),
				 .ctx_ns = (double)from_to(rng, 0, 40)},
		};
		double sum = 0;

		if (!whole) {
			r.cost.step_ns += gsl_rng_uniform(rng);
			r.cost.ctx_ns = gsl_rng_uniform(rng);
		}
		for (int64_t j = 1; j <= 500; j++) {
			sum += run_step_ns(&r, j);
			assert_near((double)(run_end_ns(&r, j) - r.start_ns), sum,
				    whole ? 0 : 0.5 + 1e-12 * sum);
		}
		assert_i64(run_end_ns(&r, 0), r.start_ns);
	}
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap),	    cmocka_unit_test(test_queue),
		cmocka_unit_test(test_kv),	    cmocka_unit_test(test_kv_blocks),
		cmocka_unit_test(test_agenda_ties), cmocka_unit_test(test_agenda),
		cmocka_unit_test(test_round),	    cmocka_unit_test(test_run_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
