/*
 * conversation.h: which rows of a generated trace belong together: sessions of several turns,
 * system prompts that are shared, and the hash ids that tell a prefix cache what is the same.
 *
 * Two ways to make sessions. Turns: a session has a geometric number of them; each prompt is all
 * that was said before it and a new input. Following: lengths stay as drawn, and with a given
 * probability a row goes on with the longest of the last conversations that its prompt can hold.
 * Either way a session's tokens never change behind its end, so a block of them is identified by
 * the session and its number, and a block of a system prompt by that and its number.
 * Memory: a few words for each session that is not over.
 */
#ifndef TRACES_CONVERSATION_H
#define TRACES_CONVERSATION_H

#include "traces/trace.h"
#include <gsl/gsl_randist.h>

/* A row of a generated trace has no more hash ids: 128 MiB of them. */
#define CONVERSATION_IDS_MAX (INT64_C(1) << 24)

struct conversation_spec {
	int64_t prefix_tok, prefixes; /* tokens before every prompt; how many different ones */
	double prefix_zipf;	      /* popularity of the r-th: r^-prefix_zipf */
	double turns, think_s;	      /* means; turns 1: single requests */
	double follow;		      /* part of the rows that follow another; not with turns > 1 */
	int64_t open;		      /* conversations that can be followed */
	double token_s;	    /* a row is thought to end so many s a token after its arrival */
	int64_t prompt_max; /* no longer prompt; a session ends before it */
	int64_t hash_block;
	enum trace_hash_rule hash_rule; /* ceil: a partial block has an id too */
	uint64_t seed;
};

struct turn {	       /* a session, between two of its rows */
	int64_t at_ns; /* next arrival (turns), or end of the last row (following) */
	int64_t session, client, think_ns;
	int64_t history_tok; /* prompt and output of the last row */
	int64_t prefix;
};

struct place { /* of a conversation that can be followed */
	int64_t history_tok;
	size_t at; /* in the ring */
};

struct conversation {
	struct conversation_spec spec;
	gsl_rng *session_rng, *prefix_rng;
	gsl_ran_discrete_t *popularity;
	uint64_t key;	    /* of hash ids */
	int64_t sessions;   /* begun */
	struct turn *turns; /* a heap by at_ns, or a ring where rows follow */
	size_t n, room, oldest;
	struct place *places; /* of the ring's, sorted by length */
	uint64_t *ids;
	size_t ids_room;
};

/* Does the spec make anything of rows at all? */
bool conversation_is_needed(const struct conversation_spec *spec);
void conversation_init(struct conversation *c, const struct conversation_spec *spec);
void conversation_release(struct conversation *c); /* also of a zeroed one */

/* When the next turn of a session that has begun arrives; INT64_MAX: there is none. */
static inline int64_t conversation_due_ns(const struct conversation *c)
{
	return c->n > 0 && !(c->spec.follow > 0) ? c->turns[0].at_ns : INT64_MAX;
}

/* Whose that turn is. */
static inline int64_t conversation_due_client(const struct conversation *c)
{
	return c->turns[0].client;
}

/*
 * Makes a drawn row (arrival, client, and lengths of its own) one of a conversation; `due`: of the
 * one that is due, whose arrival and client it takes. Hash ids are valid until the next call.
 */
void conversation_place(struct conversation *c, bool due, struct trace_row *row);

#endif
