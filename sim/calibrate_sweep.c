/* calibrate_sweep.c: a sweep with the signals that end it, its progress, its points stored. */
#include "sim/calibrate_backend.h"
#include "sim/endings.h"
#include <time.h>
#include <unistd.h>

struct watch {
	struct store_points *store;
	double shown_s;
	bool show, shown;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void clear_progress(struct watch *c)
{
	if (c->shown)
		fprintf(stderr, "\r%70s\r", "");
	c->shown = false;
}

static bool look(void *arg, const struct sweep_state *s)
{
	struct watch *c = arg;
	double now = now_s(), whole_s = s->spent_s + s->left_s;

	if (c->show && now > c->shown_s + 0.25) {
		fprintf(stderr, "\r%5.1f%%  %zu of %zu points timed, round %d  ETA %.0f s   ",
			whole_s > 0 ? 100 * s->spent_s / whole_s : 0, s->timed, s->points,
			s->round + 1, s->left_s);
		fflush(stderr);
		c->shown_s = now;
		c->shown = true;
	}
	return interrupted;
}

static int keep(void *arg, int64_t idx, const struct point *p, struct err *e)
{
	struct watch *c = arg;

	return c->store ? store_points_put(c->store, idx, p, e) : 0;
}

int calibrate_sweep(const struct sweep_want *w, const struct backend_ops *ops,
		    struct backend *const *b, struct store_points *store, struct sweep_result *r,
		    struct err *e)
{
	struct watch c = {.store = store, .show = isatty(STDERR_FILENO)};
	const struct sweep_hooks hooks = {.arg = &c, .point = keep, .stop = look};
	struct points list = {.at = NULL};
	struct sigaction before[N_ENDINGS];
	int rc;

	sweep_list(w, &list);
	interrupted = 0;
	endings_watch(interrupt, before);
	rc = sweep_run(w, &list, ops, b, &hooks, r, e);
	endings_leave(before);
	points_release(&list);
	clear_progress(&c);
	return rc;
}
