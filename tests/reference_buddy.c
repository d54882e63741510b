/* alloc=buddy: the pool as chunks that are halved and merge. */
#include "tests/reference_state.h"

int64_t ref_power_up(int64_t n)
{
	int64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

int64_t ref_power_down(int64_t n)
{
	int64_t p = 1;

	while (2 * p <= n)
		p *= 2;
	return p;
}

static void chunk_put(struct inst *in, int64_t at, struct chunk chunk)
{
	for (int64_t i = in->chunk_n++; i > at; i--)
		in->chunk[i] = in->chunk[i - 1];
	in->chunk[at] = chunk;
}

static void chunk_drop(struct inst *in, int64_t at)
{
	in->chunk_n--;
	for (int64_t i = at; i < in->chunk_n; i++)
		in->chunk[i] = in->chunk[i + 1];
}

void ref_cut(struct inst *in)
{
	int64_t at = 0;

	in->chunk = xcalloc((size_t)in->total + 1, sizeof *in->chunk);
	while (at < in->total) {
		int64_t size = ref_power_down(in->total - at);

		chunk_put(in, in->chunk_n, (struct chunk){at, size, at, size, true});
		at += size;
	}
}

/* The smallest free chunk of at least `size`, the lowest address among equals; -1: none. */
int64_t ref_chunk_for(const struct inst *in, int64_t size)
{
	int64_t best = -1;

	for (int64_t i = 0; i < in->chunk_n; i++)
		if (in->chunk[i].free && in->chunk[i].size >= size &&
		    (best < 0 || in->chunk[i].size < in->chunk[best].size))
			best = i;
	return best;
}

int64_t ref_chunk_take(struct inst *in, int64_t size)
{
	int64_t at = ref_chunk_for(in, size);

	CHECK(at >= 0, "no chunk of %lld blocks", (long long)size);
	while (in->chunk[at].size > size) {
		struct chunk upper = in->chunk[at];

		in->chunk[at].size /= 2;
		upper.size /= 2;
		upper.address += upper.size;
		chunk_put(in, at + 1, upper);
	}
	in->chunk[at].free = false;
	return in->chunk[at].address;
}

static bool merge_once(struct inst *in)
{
	for (int64_t i = 0; i + 1 < in->chunk_n; i++) {
		struct chunk *low = &in->chunk[i], *high = &in->chunk[i + 1];

		if (!low->free || !high->free || low->size != high->size || low->top != high->top ||
		    (low->address - low->top) % (2 * low->size) != 0)
			continue;
		low->size *= 2;
		chunk_drop(in, i + 1);
		return true;
	}
	return false;
}

void ref_chunk_free(struct sim *s, struct inst *in, int64_t address, int64_t size)
{
	int64_t at = 0;

	while (at < in->chunk_n && in->chunk[at].address != address)
		at++;
	CHECK(at < in->chunk_n && in->chunk[at].size == size && !in->chunk[at].free,
	      "no chunk of %lld at %lld", (long long)size, (long long)address);
	in->chunk[at].free = true;
	while (merge_once(in))
		s->out->seen.buddy_merges++;
}
