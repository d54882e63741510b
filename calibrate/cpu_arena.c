/* One array, and three rooms. */

#include "calibrate/cpu_arena.h"
#include "calibrate/cpu_facts.h"
#include "calibrate/weights.h"

enum { COPIES_BYTES = 1 << 30, SHIFT_FLOATS = 1 << 24, LINE_FLOATS = 16 };

void cpu_arena_init(struct cpu_arena *a, int64_t copies, int64_t step_bytes, int threads)
{
	*a = (struct cpu_arena){.threads = threads, .copies = copies, .step_bytes = step_bytes};
}

void cpu_arena_release(struct cpu_arena *a)
{
	free(a->x);
	for (int i = 0; i < ARENA_INPUTS; i++)
		free(a->input[i]);
	*a = (struct cpu_arena){0};
}

int cpu_arena_fits(int64_t bytes, struct err *e)
{
	int64_t there = cpu_memory_free();

	if (bytes <= there)
		return 0;
	return err_set(e, "%.1f GiB more are needed: %.1f GiB are free on this machine",
		       (double)bytes / 0x1p30, (double)there / 0x1p30);
}

/* Floats that an array for parts of n must have. */
static int64_t wanted(const struct cpu_arena *a, int64_t n)
{
	const int64_t most = COPIES_BYTES / (int64_t)sizeof(float);
	int64_t all = a->step_bytes / (int64_t)sizeof(float), copies = n * a->copies;

	copies = copies < most ? copies : most;
	all = copies > all ? copies : all;
	/* of what is larger than all copies may be, each begins elsewhere */
	return all > n ? all : n + SHIFT_FLOATS;
}

/* Grows by what is missing, so that numbers that are there stay as hot or cold as they are. */
static int grow(struct cpu_arena *a, int64_t n, struct err *e)
{
	if (n <= a->n)
		return 0;
	if (cpu_arena_fits((n - a->n) * (int64_t)sizeof(float), e) < 0)
		return -1;
	a->x = xrealloc(a->x, (size_t)n * sizeof(float));
	weights_fill(a->x + a->n, n - a->n, 0, 1, (uint64_t)a->n, a->threads);
	a->n = n;
	return 0;
}

/* In the front of the array alone, where it was grown for something larger. */
float *cpu_arena_part(struct cpu_arena *a, int64_t n, struct err *e)
{
	int64_t all = wanted(a, n);

	if (grow(a, all, e) < 0)
		return NULL;
	if (a->at + n > all)
		a->at = all > 2 * n ? 0 : (a->at + n) % SHIFT_FLOATS % (all - n + 1);
	a->at -= a->at % LINE_FLOATS;
	float *part = a->x + a->at;
	a->at += (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
	return part;
}

float *cpu_arena_room(struct cpu_arena *a, int i, int64_t n, struct err *e)
{
	if (n <= a->room[i])
		return a->input[i];
	if (cpu_arena_fits(n * (int64_t)sizeof(float), e) < 0)
		return NULL;
	free(a->input[i]);
	a->input[i] = xmalloc((size_t)n * sizeof(float));
	a->room[i] = n;
	/* first written by the threads that will use it, as an input */
	weights_fill(a->input[i], n, 0, 1, 0, a->threads);
	return a->input[i];
}

float *cpu_arena_input(struct cpu_arena *a, int i, int64_t n, struct err *e)
{
	float *x = cpu_arena_room(a, i, n, e);

	if (x)
		weights_fill(x, n, 0, 1, ++a->turn, a->threads);
	return x;
}
