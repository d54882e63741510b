/* The blocks of an instance's pool: counted, or each by itself where they are known by content
 * (prefix=on) or lie in chunks (alloc=buddy). */
#include "tests/reference_state.h"

int64_t ref_blocks(const struct sim *s, int64_t slots)
{
	const struct ref_config *c = s->cfg;
	int64_t all = ref_ceil(slots, c->block_tok), last;

	if (c->window_tok == 0)
		return all;
	last = ref_ceil(ref_min(slots, c->window_tok), c->block_tok);
	return c->window_only ? last : all + c->window_share * last;
}

void ref_pool_init(const struct sim *s, struct inst *in)
{
	in->free = in->total;
	if (in->policy->prefix) {
		in->cached = xcalloc((size_t)in->total, sizeof *in->cached);
		CHECK(s->cfg->hash_block == 0 || s->cfg->hash_block % s->cfg->block_tok == 0 ||
			      s->cfg->block_tok % s->cfg->hash_block == 0,
		      "hash ids of %lld tokens", (long long)s->cfg->hash_block);
	}
	if (in->policy->buddy)
		ref_cut(in);
}

void ref_pool_release(struct inst *in)
{
	free(in->cached);
	free(in->chunk);
}

bool ref_reserve_never(const struct ref_policy *p, int64_t total, int64_t blocks)
{
	return p->buddy ? ref_power_up(blocks) > ref_power_down(total) : blocks > total;
}

bool ref_reserve_fits(struct sim *s, const struct inst *in, int64_t blocks)
{
	if (!in->policy->buddy)
		return blocks <= in->free;
	if (ref_chunk_for(in, ref_power_up(blocks)) >= 0)
		return true;
	s->out->seen.buddy_refusals += ref_power_up(blocks) <= in->free;
	return false;
}

void ref_reserve(struct sim *s, struct inst *in, struct job *j, int64_t blocks)
{
	CHECK(j->blocks == 0, "%lld blocks", (long long)j->blocks);
	if (in->policy->buddy) {
		blocks = ref_power_up(blocks);
		j->address = ref_chunk_take(in, blocks);
	}
	ref_take(s, in, j, blocks);
}

/* --- prefix=on --- */

/* What block k of the prompt is known by; false: by nothing. */
static bool identity(const struct sim *s, int64_t r, int64_t k, uint64_t *id, int64_t *part)
{
	int64_t h = s->cfg->hash_block, b = s->cfg->block_tok, at;

	if (h == 0 || (k + 1) * b > s->job[r].prompt)
		return false;
	at = h % b == 0 ? k * b / h : (k + 1) * b / h - 1;
	*part = h % b == 0 ? k % (h / b) : 0;
	if (at >= s->req[r].hash_n)
		return false;
	*id = s->req[r].hash[at];
	return true;
}

static int64_t lookup(const struct inst *in, uint64_t id, int64_t part)
{
	for (int64_t i = 0; i < in->total; i++)
		if (in->cached[i].known && in->cached[i].id == id && in->cached[i].part == part)
			return i;
	return -1;
}

static int64_t known_block(const struct sim *s, const struct inst *in, int64_t r, int64_t k)
{
	uint64_t id;
	int64_t part;

	return identity(s, r, k, &id, &part) ? lookup(in, id, part) : -1;
}

int64_t ref_prefix_find(const struct sim *s, const struct inst *in, int64_t r, int64_t *held)
{
	int64_t most = (s->job[r].seq - 1) / s->cfg->block_tok, k = 0;

	*held = 0;
	if (!in->policy->prefix)
		return 0;
	for (; k < most; k++) {
		int64_t i = known_block(s, in, r, k);

		if (i < 0)
			break;
		*held += in->cached[i].holders > 0;
	}
	return k;
}

void ref_prefix_hold(struct sim *s, struct inst *in, int64_t r)
{
	struct job *j = &s->job[r];
	int64_t held, n = ref_prefix_find(s, in, r, &held);

	CHECK(j->blocks == 0 && j->block_n == 0, "%lld blocks", (long long)j->blocks);
	for (int64_t k = 0; k < n; k++) {
		int64_t i = known_block(s, in, r, k);

		in->free -= in->cached[i].holders == 0;
		in->cached[i].holders++;
		j->block[j->block_n++] = i;
	}
	CHECK(in->free >= 0, "%lld free", (long long)in->free);
	j->blocks = n;
	j->prefilled = n * s->cfg->block_tok;
	if (!j->admitted)
		j->cached = j->prefilled;
	s->out->seen.found_blocks += n;
	s->out->seen.shared_blocks += held;
}

void ref_prefix_know(struct sim *s, struct inst *in, int64_t r)
{
	const struct job *j = &s->job[r];

	if (!in->policy->prefix)
		return;
	for (int64_t k = j->prefilled / s->cfg->block_tok;
	     k < j->block_n && (k + 1) * s->cfg->block_tok <= j->prefilled + j->add; k++) {
		struct cached *c = &in->cached[j->block[k]];
		uint64_t id;
		int64_t part;

		if (c->known || !identity(s, r, k, &id, &part) || lookup(in, id, part) >= 0)
			continue;
		c->known = true;
		c->id = id;
		c->part = part;
		if (in->pp > 1)
			ref_all_due(in);
	}
}

/* A free block: one that is not known, else the one released first, of those the last of its
 * prompt. */
static int64_t pick(const struct inst *in)
{
	int64_t best = -1;

	for (int64_t i = 0; i < in->total; i++) {
		const struct cached *c = &in->cached[i], *to = &in->cached[best < 0 ? i : best];

		if (c->holders > 0)
			continue;
		if (!c->known)
			return i;
		if (best < 0 || c->released < to->released ||
		    (c->released == to->released && c->place > to->place))
			best = i;
	}
	CHECK(best >= 0, "none of %lld blocks is free", (long long)in->total);
	return best;
}

void ref_take(struct sim *s, struct inst *in, struct job *j, int64_t blocks)
{
	CHECK(blocks >= 0 && blocks <= in->free, "%lld blocks of %lld", (long long)blocks,
	      (long long)in->free);
	for (int64_t k = 0; in->policy->prefix && k < blocks; k++) {
		int64_t i = pick(in);

		s->out->seen.evictions += in->cached[i].known;
		in->cached[i] = (struct cached){.holders = 1};
		j->block[j->block_n++] = i;
	}
	in->free -= blocks;
	j->blocks += blocks;
}

void ref_free(struct sim *s, struct inst *in, struct job *j, int64_t blocks)
{
	if (in->policy->buddy && blocks > 0)
		ref_chunk_free(s, in, j->address, blocks);
	if (!in->policy->prefix) {
		in->free += blocks;
		return;
	}
	CHECK(blocks == j->block_n, "%lld blocks, not %lld", (long long)j->block_n,
	      (long long)blocks);
	in->releases++;
	for (int64_t k = 0; k < j->block_n; k++) {
		struct cached *c = &in->cached[j->block[k]];

		CHECK(c->holders > 0, "block %lld of nobody", (long long)j->block[k]);
		if (--c->holders > 0)
			continue;
		c->released = in->releases;
		c->place = k;
		in->free++;
	}
	j->block_n = 0;
}

/* --- the count --- */

static void check_cached(const struct sim *s, int64_t i)
{
	const struct inst *in = &s->inst[i];
	int64_t free = 0, holders = 0;

	for (int64_t k = 0; k < in->total; k++) {
		const struct cached *c = &in->cached[k];

		free += c->holders == 0;
		holders += c->holders;
		CHECK(!c->known || lookup(in, c->id, c->part) == k, "block %lld is known twice",
		      (long long)k);
	}
	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r];

		holders -= j->place == i ? j->blocks : 0;
		holders -= j->source == i ? j->kept : 0;
	}
	CHECK(free == in->free && holders == 0, "%lld free, not %lld; %lld holders too many",
	      (long long)free, (long long)in->free, (long long)holders);
}

void ref_pool_check(const struct sim *s, int64_t i)
{
	const struct inst *in = &s->inst[i];
	int64_t used = 0, free = 0;

	if (in->policy->prefix) {
		check_cached(s, i);
		return;
	}
	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r];

		used += j->place == i ? j->blocks : 0;
		used += j->source == i ? j->kept : 0;
	}
	CHECK(in->free + used == in->total && in->free >= 0, "%lld free + %lld used of %lld",
	      (long long)in->free, (long long)used, (long long)in->total);
	for (int64_t k = 0; k < in->chunk_n; k++)
		free += in->chunk[k].free ? in->chunk[k].size : 0;
	CHECK(!in->policy->buddy || free == in->free, "%lld free in chunks, not %lld",
	      (long long)free, (long long)in->free);
}
