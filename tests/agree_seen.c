/* What happened in the cases that were tried. */
#include "tests/agree.h"

#define COUNT(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct agree_seen, run.field)                                     \
	}

static const struct {
	const char *name;
	size_t at;
} counts[] = {
	{"cases", offsetof(struct agree_seen, cases)},
	{"completed", offsetof(struct agree_seen, completed)},
	{"rejected", offsetof(struct agree_seen, rejected)},
	{"unfinished", offsetof(struct agree_seen, unfinished)},
	{"aborted", offsetof(struct agree_seen, aborted)},
	{"gaps", offsetof(struct agree_seen, gaps)},
	{"preempted", offsetof(struct agree_seen, preempted)},
	{"swapped", offsetof(struct agree_seen, swapped)},
	COUNT(evictions),
	COUNT(shared_blocks),
	COUNT(found_blocks),
	COUNT(paddings),
	COUNT(mixed_steps),
	COUNT(order_changes),
	COUNT(queue_limited),
	COUNT(follow_ups),
	COUNT(stage_waits),
	COUNT(share_refusals),
	COUNT(aborted_waiting),
	COUNT(aborted_swapped),
	COUNT(aborted_ready),
	COUNT(aborted_moving),
	COUNT(aborted_running),
	COUNT(aborted_held),
	COUNT(saved_by_last_step),
	COUNT(late_sights),
	COUNT(late_seats),
	COUNT(host_steps),
	COUNT(window_turns),
	COUNT(buddy_refusals),
	COUNT(buddy_merges),
};

enum { N_COUNTS = sizeof counts / sizeof *counts };

/* The fields of struct ref_seen are all int64_t. */
_Static_assert(sizeof(struct agree_seen) == N_COUNTS * sizeof(int64_t),
	       "a count is not in the list");

void agree_count(struct agree_seen *seen, const struct ref_run *run)
{
	const int64_t *from = (const int64_t *)&run->seen;
	int64_t *to = (int64_t *)&seen->run;

	for (size_t i = 0; i < sizeof run->seen / sizeof *from; i++)
		to[i] += from[i];
	seen->cases++;
	seen->preempted += run->preemptions;
	seen->swapped += run->swaps;
	for (size_t r = 0; r < run->n; r++) {
		seen->completed += run->outcome[r].status == REF_COMPLETED;
		seen->rejected += run->outcome[r].status == REF_REJECTED;
		seen->unfinished += run->outcome[r].status == REF_UNFINISHED;
		seen->aborted += run->outcome[r].status == REF_ABORTED;
		seen->gaps += run->outcome[r].max_gap_ns > 0;
	}
}

static int64_t count(const struct agree_seen *seen, int i)
{
	return *(const int64_t *)((const char *)seen + counts[i].at);
}

void agree_add(struct agree_seen *seen, const struct agree_seen *more)
{
	for (int i = 0; i < N_COUNTS; i++)
		*(int64_t *)((char *)seen + counts[i].at) += count(more, i);
}

const char *agree_rare(const struct agree_seen *seen, int64_t least)
{
	for (int i = 0; i < N_COUNTS; i++)
		if (count(seen, i) < least)
			return counts[i].name;
	return NULL;
}

void agree_print_seen(FILE *out, const struct agree_seen *seen)
{
	for (int i = 0; i < N_COUNTS; i++)
		fprintf(out, "%s%lld %s", i > 0 ? ", " : "", (long long)count(seen, i),
			counts[i].name);
	fputc('\n', out);
}
