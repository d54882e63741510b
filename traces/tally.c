/* tally.c: see tally.h. */
#include "traces/tally.h"
#include "sim/err.h"

static struct tally_entry *place_of(struct tally_entry *entries, size_t size, int64_t value)
{
	size_t i = (size_t)(((uint64_t)value * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (size - 1);
	while (entries[i].count && entries[i].value != value)
		i = (i + 1) & (size - 1);
	return &entries[i];
}

static void grow(struct tally *t)
{
	size_t size = t->size ? 2 * t->size : 1024;
	struct tally_entry *entries = xcalloc(size, sizeof(*entries));
	for (size_t i = 0; i < t->size; i++)
		if (t->entries[i].count)
			*place_of(entries, size, t->entries[i].value) = t->entries[i];
	free(t->entries);
	t->entries = entries;
	t->size = size;
}

bool tally_has(const struct tally *t, int64_t value)
{
	return t->size > 0 && place_of(t->entries, t->size, value)->count > 0;
}

void tally_add(struct tally *t, int64_t value)
{
	if (2 * t->distinct >= t->size)
		grow(t);
	struct tally_entry *e = place_of(t->entries, t->size, value);
	if (e->count++ == 0) {
		e->value = value;
		t->distinct++;
	}
	t->n++;
}

static int by_value(const void *va, const void *vb)
{
	const struct tally_entry *a = va, *b = vb;
	return a->value < b->value ? -1 : a->value > b->value;
}

void tally_sort(struct tally *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->size; i++)
		if (t->entries[i].count)
			t->entries[n++] = t->entries[i];
	CHECK(n == t->distinct, "%zu values, %zu counted", n, t->distinct);
	if (n > 0)
		qsort(t->entries, n, sizeof(*t->entries), by_value);
	int64_t before = 0;
	for (size_t i = 0; i < n; i++) {
		t->entries[i].before = before;
		before += t->entries[i].count;
	}
}

void tally_release(struct tally *t)
{
	free(t->entries);
	*t = (struct tally){0};
}

int64_t tally_at(const struct tally *t, int64_t rank)
{
	size_t low = 0,
	       high = t->distinct; /* the last entry with before <= rank is in [low, high) */
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (t->entries[mid].before <= rank)
			low = mid;
		else
			high = mid;
	}
	return t->entries[low].value;
}

double tally_quantile(const struct tally *t, int64_t num, int64_t den)
{
	int64_t whole = (t->n - 1) / den * num, rest = (t->n - 1) % den * num;
	int64_t rank = whole + rest / den;
	double low = (double)tally_at(t, rank);
	if (rest % den == 0)
		return low;
	return low + ((double)tally_at(t, rank + 1) - low) * (double)(rest % den) / (double)den;
}

double tally_middle_rank(const struct tally *t, int64_t value)
{
	size_t low = 0, high = t->distinct;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (t->entries[mid].value <= value)
			low = mid;
		else
			high = mid;
	}
	const struct tally_entry *e = &t->entries[low];
	return (double)e->before + ((double)e->count + 1) / 2;
}
