/* Prefix caches: the known blocks by themselves, against the obvious way, and in the engine. */
#include "sim/kv.h"
#include "sim/rng.h"
#include "tests/run_rows.h"
#include "tests/schedule.h"
#include <string.h>

/* Known blocks */

static struct prompt *prompt_of(const struct kv *kv, const uint64_t *id, int64_t n, int64_t tok)
{
	return prompt_new(kv->prefix, id, n, tok / kv->block_tok);
}

/* What a prompt of so many tokens finds, when all but its last token may be known. */
static int64_t found(struct kv *kv, const uint64_t *id, int64_t n, int64_t tok)
{
	struct prompt *p = prompt_of(kv, id, n, tok);
	int64_t blocks = prefix_find(kv->prefix, p, (tok - 1) / kv->block_tok);

	free(p);
	return blocks;
}

/* Takes its blocks, holding those that are found, and fills them. */
static struct kv_hold take(struct kv *kv, const uint64_t *id, int64_t n, int64_t tok)
{
	struct kv_hold h = {.blocks = kv_blocks(kv, tok), .prompt = prompt_of(kv, id, n, tok)};
	int64_t have = 0;

	if (prefix_find(kv->prefix, h.prompt, (tok - 1) / kv->block_tok) > 0)
		have = kv_take_found(kv, h.prompt);
	kv_take(kv, h.blocks - have);
	prefix_fill(kv->prefix, h.prompt, tok / kv->block_tok);
	return h;
}

static void give(struct kv *kv, struct kv_hold *h)
{
	kv_give_back(kv, h);
	free(h->prompt);
}

static void pool(struct kv *kv, int64_t block_tok, int64_t hash_tok, int64_t blocks)
{
	kv_init(kv, block_tok, blocks, 0);
	kv_remember(kv, hash_tok);
}

/* Ids of 8 tokens over blocks of 4: two parts an id. The last id may stand for less. */
static void test_ids_larger_than_blocks(void **state)
{
	static const uint64_t a[] = {7, 9, 11}, b[] = {7, 9, 12}, c[] = {9, 7};
	struct kv kv;

	(void)state;
	pool(&kv, 4, 8, 100);
	struct kv_hold h = take(&kv, a, 3, 21); /* five full blocks: 7.0 7.1 9.0 9.1 11.0 */

	assert_i64(kv.prefix->known, 5);
	assert_i64(kv.used, 6);
	assert_i64(found(&kv, a, 3, 21), 5);
	assert_i64(found(&kv, a, 3, 20), 4); /* one token is computed */
	assert_i64(found(&kv, b, 3, 24), 4);
	assert_i64(found(&kv, a, 1, 8), 1);
	assert_i64(found(&kv, c, 2, 16), 3); /* 9 is known wherever it stands: 9.0, 9.1, 7.0 */
	give(&kv, &h);
	assert_i64(kv.used, 0);
	assert_i64(kv.prefix->idle, 5);
	kv_release(&kv);
}

/* Blocks of 6 over ids of 2 tokens: known by the third id of each. Seven ids are two blocks. */
static void test_ids_smaller_than_blocks(void **state)
{
	static const uint64_t a[] = {1, 2, 3, 4, 5, 6, 7}, b[] = {1, 2, 3, 4, 5, 8},
			      c[] = {0, 0, 3, 0, 0, 6, 0, 0, 9};
	struct kv kv;

	(void)state;
	pool(&kv, 6, 2, 100);
	struct kv_hold h = take(&kv, a, 7, 15);

	assert_i64(kv.prefix->known, 2);
	assert_i64(found(&kv, a, 7, 15), 2);
	assert_i64(found(&kv, b, 6, 13), 1);
	assert_i64(found(&kv, c, 9, 19), 2); /* an id stands for all before it */
	give(&kv, &h);
	kv_release(&kv);
}

/* Two of the same at once: the second computes copies that nobody will ever find. */
static void test_copies(void **state)
{
	static const uint64_t a[] = {1, 2, 3};
	struct kv kv;

	(void)state;
	pool(&kv, 4, 4, 100);
	struct kv_hold first = {3, 0, prompt_of(&kv, a, 3, 12)}, second = first;

	second.prompt = prompt_of(&kv, a, 3, 12);
	kv_take(&kv, 6);
	prefix_fill(kv.prefix, first.prompt, 2);
	prefix_fill(kv.prefix, second.prompt, 3);
	prefix_fill(kv.prefix, first.prompt, 3);
	assert_i64(kv.prefix->known, 3); /* 1 and 2 of the first, 3 of the second */
	give(&kv, &first);
	assert_i64(kv.used, 3);
	assert_i64(kv.prefix->idle, 2);
	give(&kv, &second);
	assert_i64(kv.used, 0);
	assert_i64(kv.prefix->idle, 3);
	kv_release(&kv);
}

/*
 * A pool of 8 blocks. What was let go first is forgotten first, of one prompt its last block; being
 * found and held again makes it the newest; blocks that are not known go before all of them.
 */
static void test_order_of_forgetting(void **state)
{
	static const uint64_t a[] = {1, 2, 3}, b[] = {1, 4}, c[] = {5, 6};
	struct kv kv;

	(void)state;
	pool(&kv, 4, 4, 8);
	struct kv_hold ha = take(&kv, a, 3, 12), hb = take(&kv, b, 2, 9), hc = take(&kv, c, 2, 8);

	assert_i64(kv.used, 3 + 2 + 2); /* 1 is shared; b has a block that is not full */
	give(&kv, &hc);			/* idle: 6 5 */
	give(&kv, &ha);			/* idle: 6 5 3 2; b holds 1 */
	give(&kv, &hb);			/* idle: 6 5 3 2 4 1 */
	assert_i64(kv.prefix->idle, 6);
	kv_take(&kv, 2); /* two were never known */
	assert_i64(kv.prefix->idle, 6);
	kv_take(&kv, 1);
	assert_i64(found(&kv, c, 2, 9), 1); /* 6 is gone */
	assert_i64(found(&kv, a, 3, 13), 3);
	struct kv_hold again = take(&kv, a, 3, 12); /* finds 1 2, not the last one; 3 is a copy */

	assert_i64(kv.used, 6);
	assert_i64(found(&kv, c, 2, 9), 0); /* its own block was that of 5: the next in order */
	give(&kv, &again);		    /* idle: 3 4 2 1; what was a copy is free */
	kv_take(&kv, 2);
	assert_i64(found(&kv, a, 3, 13), 2); /* 3 is gone */
	assert_i64(found(&kv, b, 2, 9), 2);
	kv_take(&kv, 1);
	assert_i64(found(&kv, b, 2, 9), 1); /* and now 4 */
	kv_take(&kv, 2);
	assert_i64(found(&kv, a, 3, 13), 0);
	assert_i64(kv.prefix->known, 0);
	assert_i64(kv_free(&kv), 0);
	kv_release(&kv);
}

/* Ids that differ in a single bit, and many of them: none is taken for another. */
static void test_exact(void **state)
{
	enum { N = 30000 };
	struct kv kv;
	uint64_t id[N];

	(void)state;
	for (int i = 0; i < N; i++)
		id[i] = i < 64 ? UINT64_C(1) << i : (uint64_t)i * UINT64_C(0x100000000) + 7;
	pool(&kv, 1, 3, 3 * N); /* three parts each */
	struct kv_hold h = take(&kv, id, N, 3 * N);

	assert_i64(kv.prefix->known, 3 * N);
	for (int i = 0; i < N; i++) {
		const uint64_t other = id[i] ^ (UINT64_C(1) << 40);

		assert_i64(found(&kv, &id[i], 1, 4), 3);
		if (other < UINT64_C(1) << 30)
			assert_i64(found(&kv, &other, 1, 4), 0);
	}
	give(&kv, &h);
	kv_take(&kv, 2 * N); /* the last third of the prompt is known last */
	assert_i64(kv.prefix->known, N);
	assert_i64(found(&kv, id, N, 3 * N), N);
	assert_i64(found(&kv, &id[N / 3], 1, 4), 0);
	kv_release(&kv);
}

/* The obvious way: all names that are known, in the order in which they will be forgotten. */
enum { NAMES = 64, HOLDERS = 6, LONGEST = 6 };

struct plain {
	struct {
		uint64_t id;
		int64_t holders;
	} known[NAMES]; /* idle ones in order */
	int n;
};

static int plain_find(const struct plain *p, uint64_t id)
{
	for (int i = 0; i < p->n; i++)
		if (p->known[i].id == id)
			return i;
	return -1;
}

static void plain_remove(struct plain *p, int at)
{
	memmove(&p->known[at], &p->known[at + 1], (size_t)(p->n - at - 1) * sizeof(p->known[0]));
	p->n--;
}

static void plain_forget(struct plain *p, int64_t n)
{
	for (int i = 0; n > 0; n--) {
		while (p->known[i].holders > 0)
			i++;
		plain_remove(p, i);
	}
}

struct holder {
	struct kv_hold hold;
	uint64_t id[LONGEST];
	bool own[LONGEST];
	int64_t n;
};

static void plain_take(struct plain *p, struct holder *h, int64_t idle, int64_t room)
{
	int64_t k = 0, need;

	for (int at; k < h->n - 1 && (at = plain_find(p, h->id[k])) >= 0; k++) {
		idle -= p->known[at].holders == 0;
		room -= p->known[at].holders == 0;
		p->known[at].holders++;
		h->own[k] = false;
	}
	need = h->n - k;
	if (need > room - idle)
		plain_forget(p, need - (room - idle));
	for (; k < h->n; k++) {
		h->own[k] = plain_find(p, h->id[k]) >= 0;
		if (h->own[k])
			continue;
		p->known[p->n].id = h->id[k];
		p->known[p->n++].holders = 1;
	}
}

static void plain_give(struct plain *p, const struct holder *h)
{
	for (int64_t k = h->n - 1; k >= 0; k--) {
		if (h->own[k])
			continue;
		int at = plain_find(p, h->id[k]);
		uint64_t id = p->known[at].id;

		if (--p->known[at].holders > 0)
			continue;
		plain_remove(p, at); /* to the end */
		p->known[p->n].id = id;
		p->known[p->n++].holders = 0;
	}
}

static void compare(struct kv *kv, const struct plain *p)
{
	int64_t idle = 0;
	uint32_t block = kv->prefix->block[0].next;

	for (int i = 0; i < p->n; i++) {
		if (p->known[i].holders > 0)
			continue;
		assert_true(block != 0);
		assert_i64(kv->prefix->block[block].id, p->known[i].id);
		block = kv->prefix->block[block].next;
		idle++;
	}
	assert_i64(kv->prefix->known, p->n);
	assert_i64(kv->prefix->idle, idle);
	assert_true(block == 0);
}

/* Ids are mostly those of a tree, now and then of nothing sensible. */
static void random_ids(gsl_rng *rng, struct holder *h)
{
	uint64_t at = 1;

	h->n = 1 + (int64_t)gsl_rng_uniform_int(rng, LONGEST);
	for (int64_t k = 0; k < h->n; k++) {
		at = at * 2 + gsl_rng_uniform_int(rng, 2);
		h->id[k] = gsl_rng_uniform_int(rng, 30) ? at : 1000 + 10 * (uint64_t)k;
	}
}

static void test_random(void **state)
{
	gsl_rng *rng = rng_new(1, "prefix");
	struct plain p = {0};
	struct holder holders[HOLDERS] = {0};
	struct kv kv;
	int64_t finds = 0;

	(void)state;
	pool(&kv, 4, 4, HOLDERS * LONGEST / 2 + LONGEST);
	for (int i = 0; i < 100000; i++) {
		struct holder *h = &holders[gsl_rng_uniform_int(rng, HOLDERS)];

		if (h->n > 0) {
			plain_give(&p, h);
			give(&kv, &h->hold);
			h->n = 0;
		} else {
			random_ids(rng, h);
			if (h->n > kv_free(&kv)) {
				h->n = 0;
				continue;
			}
			plain_take(&p, h, kv.prefix->idle, kv_free(&kv));
			h->hold = take(&kv, h->id, h->n, 4 * h->n);
			finds += h->hold.prompt->found;
		}
		compare(&kv, &p);
	}
	assert_true(finds > 10000);
	for (int i = 0; i < HOLDERS; i++)
		if (holders[i].n > 0)
			give(&kv, &holders[i].hold);
	kv_release(&kv);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_larger_than_blocks),
		cmocka_unit_test(test_ids_smaller_than_blocks),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_order_of_forgetting),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
