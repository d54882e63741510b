#include "sim/kv.h"
#include <string.h>

void kv_init(struct kv *kv, int64_t block_tok, int64_t total, int64_t host_total)
{
	*kv = (struct kv){
		.block_tok = block_tok, .total = total, .room = total, .host_total = host_total};
	kv->shift = -1;
	for (int i = 0; i < 62; i++)
		if (block_tok == INT64_C(1) << i)
			kv->shift = i;
	kv_growth_init(&kv->growth, block_tok);
}

void kv_growth_init(struct kv_growth *g, int64_t block_tok)
{
	*g = (struct kv_growth){.grow = xcalloc((size_t)block_tok, sizeof(*g->grow))};
}

void kv_growth_release(struct kv_growth *g)
{
	free(g->grow);
	*g = (struct kv_growth){0};
}

void kv_release(struct kv *kv)
{
	kv_growth_release(&kv->growth);
	if (kv->prefix)
		prefix_release(kv->prefix);
	if (kv->buddy)
		buddy_release(kv->buddy);
	free(kv->prefix);
	free(kv->buddy);
	*kv = (struct kv){0};
}

void kv_remember(struct kv *kv, int64_t hash_tok)
{
	kv->prefix = xmalloc(sizeof(*kv->prefix));
	prefix_init(kv->prefix, kv->block_tok, hash_tok);
}

void kv_use_chunks(struct kv *kv)
{
	kv->buddy = xmalloc(sizeof(*kv->buddy));
	buddy_init(kv->buddy, kv->total);
}

static void set_room(struct kv *kv)
{
	kv->room = kv->total - kv->prefix->idle;
}

void kv_make_room(struct kv *kv, int64_t blocks)
{
	CHECK(blocks >= 0 && blocks <= kv_free(kv), "%lld blocks of %lld free", (long long)blocks,
	      (long long)kv_free(kv));
	prefix_forget(kv->prefix, blocks - (kv->room - kv->used));
	set_room(kv);
}

void kv_give(struct kv *kv, int64_t blocks)
{
	CHECK(blocks >= 0 && blocks <= kv->used, "%lld blocks of %lld used", (long long)blocks,
	      (long long)kv->used);
	kv->used -= blocks;
}

bool kv_take_chunk(struct kv *kv, int64_t blocks, int64_t *address)
{
	if (kv->buddy && !buddy_fits(kv->buddy, blocks))
		return false;
	if (blocks > kv_free(kv))
		return false;
	kv_take(kv, blocks);
	*address = kv->buddy ? buddy_take(kv->buddy, blocks) : 0;
	return true;
}

int64_t kv_take_found(struct kv *kv, struct prompt *p)
{
	kv->used += prefix_hold(kv->prefix, p); /* those that were idle */
	set_room(kv);
	return p->held;
}

void kv_give_back(struct kv *kv, const struct kv_hold *h)
{
	int64_t blocks = h->blocks;

	if (kv->prefix && h->prompt) {
		blocks -= prefix_let_go(kv->prefix, h->prompt);
		set_room(kv);
	}
	if (kv->buddy && blocks > 0)
		buddy_give(kv->buddy, h->address, blocks);
	kv_give(kv, blocks);
}

static int64_t *counter(struct kv *kv, int64_t slots, int64_t clock)
{
	if (kv->shift >= 0)
		return &kv->growth.grow[(slots - clock) & (kv->block_tok - 1)];
	int64_t at = kv_offset(kv, clock) + slots % kv->block_tok;

	return &kv->growth.grow[at < kv->block_tok ? at : at - kv->block_tok];
}

void kv_grow_join(struct kv *kv, int64_t slots, int64_t clock, int64_t blocks)
{
	*counter(kv, slots, clock) += blocks;
	kv->growth.growers += blocks;
}

void kv_grow_leave(struct kv *kv, int64_t slots, int64_t clock, int64_t blocks)
{
	int64_t *n = counter(kv, slots, clock);

	CHECK(*n >= blocks, "%lld blocks at this offset, not %lld", (long long)*n,
	      (long long)blocks);
	*n -= blocks;
	kv->growth.growers -= blocks;
}

int64_t kv_window_blocks(const struct kv *kv, int64_t tok)
{
	int64_t within = tok < kv->window_tok ? tok : kv->window_tok;
	int64_t all = kv->window_only ? 0 : kv_div(kv, tok - 1) + 1;

	return all + kv->window_share * (kv_div(kv, within - 1) + 1);
}

int64_t kv_steps(const struct kv *kv, int64_t clock, int64_t most)
{
	int64_t b = kv->block_tok, free_blocks = kv_free(kv);

	if (most <= 0 || (kv_div(kv, most - 1) + 1) * kv->growth.growers <= free_blocks)
		return most;
	int64_t turns = free_blocks / kv->growth.growers; /* whole turns of the counters that fit */
	int64_t steps = turns * b;

	free_blocks -= turns * kv->growth.growers;
	for (int64_t at = kv_offset(kv, clock); steps < most; steps++) {
		free_blocks -= kv->growth.grow[at];
		if (free_blocks < 0)
			break;
		at = at ? at - 1 : b - 1;
	}
	return steps;
}

/*
 * The next `steps` steps (no more than a turn) with the counter `at` first: what they take, added
 * to *taken, and the sum over them of what is taken by then.
 */
static int64_t grow_sum(const struct kv *kv, int64_t at, int64_t steps, int64_t *taken)
{
	const int64_t *grow = kv->growth.grow;
	int64_t last = at + 1 > steps ? at + 1 - steps : 0; /* before the counters begin anew */
	int64_t left = steps - (at + 1 - last), sum = 0;

	for (int64_t i = at; i >= last; i--)
		sum += *taken += grow[i];
	for (int64_t i = kv->block_tok - 1; left > 0; i--, left--)
		sum += *taken += grow[i];
	return sum;
}

int64_t kv_grow(struct kv *kv, int64_t clock, int64_t steps)
{
	int64_t b = kv->block_tok, used = kv->used * steps;

	if (kv->growth.growers == 0)
		return used;
	int64_t turns = kv_div(kv, steps), rest = steps - turns * b;
	int64_t at = kv_offset(kv, clock), taken = 0;

	if (turns > 0) { /* turn t starts with t growers' blocks more */
		int64_t sum = grow_sum(kv, at, b, &taken);

		used += turns * sum + kv->growth.growers * b * (turns * (turns - 1) / 2);
		taken = 0;
	}
	used += grow_sum(kv, at, rest, &taken) + turns * kv->growth.growers * rest;
	kv_take(kv, turns * kv->growth.growers + taken);
	return used;
}
