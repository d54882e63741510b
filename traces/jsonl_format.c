/* jsonl_format.c: the formats that are lines of JSON, and what is particular to each. */
#include "traces/jsonl_source.h"
#include "traces/number.h"
#include <string.h>

static int finish_bailian(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			  struct err *e);
static int finish_ragpulse(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			   struct err *e);

/* In the order in which they are looked for. */
static const struct json_format formats[] = {
	{
		.kind = KIND_BAILIAN,
		.clock = CLOCK_S,
		.sign = "parent_chat_id",
		.field = {[COLUMN_ARRIVAL] = "timestamp",
			  [COLUMN_PROMPT] = "input_length",
			  [COLUMN_OUTPUT] = "output_length",
			  [COLUMN_CLIENT] = "type",
			  [COLUMN_HASH_IDS] = "hash_ids"},
		.block = 16,
		.rule = TRACE_HASH_CEIL,
		.of_block = true,
		.others = {"chat_id", "parent_chat_id", "turn"},
		.finish = finish_bailian,
	},
	{
		.kind = KIND_RAGPULSE,
		.clock = CLOCK_S,
		.sign = "session_id",
		.field = {[COLUMN_ARRIVAL] = "timestamp",
			  [COLUMN_PROMPT] = "input_length",
			  [COLUMN_OUTPUT] = "output_length",
			  [COLUMN_SESSION] = "session_id"},
		.others = {"hash_ids"},
		.finish = finish_ragpulse,
	},
	{
		.kind = KIND_MOONCAKE,
		.clock = CLOCK_MS,
		.sign = "timestamp",
		.field = {[COLUMN_ARRIVAL] = "timestamp",
			  [COLUMN_PROMPT] = "input_length",
			  [COLUMN_OUTPUT] = "output_length",
			  [COLUMN_MAX_TOK] = "max_tokens",
			  [COLUMN_HASH_IDS] = "hash_ids"},
		.block = 512,
		.rule = TRACE_HASH_CEIL,
	},
	{
		.kind = KIND_NS_JSONL,
		.clock = CLOCK_NS,
		.sign = "arrival_time_ns",
		.field = {[COLUMN_ARRIVAL] = "arrival_time_ns",
			  [COLUMN_PROMPT] = "input_length",
			  [COLUMN_OUTPUT] = "output_length",
			  [COLUMN_MAX_TOK] = "max_tokens",
			  [COLUMN_HASH_IDS] = "hash_ids16"},
		.block = 16,
		.rule = TRACE_HASH_FLOOR,
	},
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct json_format *json_format_find(const json_t *object)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (json_object_get(object, formats[i].sign))
			return &formats[i];
	return NULL;
}

/* A whole number that must be there. */
static int read_whole(const struct jsonl_source *s, const json_t *object, const char *name,
		      int64_t *value, struct err *e)
{
	const json_t *v = json_object_get(object, name);
	if (!v)
		return jsonl_refuse(s, e, name, "is missing");
	if (!json_is_integer(v))
		return jsonl_refuse(s, e, name, "expected a whole number");
	*value = json_integer_value(v);
	return 0;
}

/* A chat belongs to the session of its root, which is named by the root's chat_id. */
static int finish_bailian(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			  struct err *e)
{
	int64_t id = 0, parent = 0, turn = 0, root = 0;
	char text[32], what[128];
	if (read_whole(s, object, "chat_id", &id, e) ||
	    read_whole(s, object, "parent_chat_id", &parent, e) ||
	    (json_object_get(object, "turn") && read_whole(s, object, "turn", &turn, e)))
		return -1;
	if (id < 0)
		return jsonl_refuse(s, e, "chat_id", "is negative: expected a whole number from 0");
	if (parent < -1)
		return jsonl_refuse(
			s, e, "parent_chat_id",
			"is negative: expected a chat_id, or -1 for the first of a session");
	enum chats_result result = chats_add(&s->chats, id, parent, row->line, &root);
	switch (result) {
	case CHATS_TWICE:
		snprintf(what, sizeof(what), "%lld is that of line %lld too: expected another",
			 (long long)id, (long long)root);
		return jsonl_refuse(s, e, "chat_id", what);
	case CHATS_CYCLE:
		snprintf(what, sizeof(what), "%lld follows from chat %lld itself",
			 (long long)parent, (long long)id);
		return jsonl_refuse(s, e, "parent_chat_id", what);
	case CHATS_UNKNOWN:
		s->base.unknown_parents++;
		break;
	case CHATS_OK:
		break;
	}
	int len = snprintf(text, sizeof(text), "%lld", (long long)root);
	row->session = names_number(&s->base.sessions, text, (size_t)len);
	return 0;
}

/* Ids by part of the prompt: an object of arrays. They stand for texts of any length. */
static int check_parts(const struct jsonl_source *s, const json_t *parts, struct err *e)
{
	if (!json_is_object(parts))
		return jsonl_refuse(s, e, "hash_ids",
				    "expected an object of arrays of whole numbers");
	void *at = json_object_iter((json_t *)(uintptr_t)parts);
	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)parts, at)) {
		const json_t *ids = json_object_iter_value(at);
		if (!json_is_array(ids))
			return jsonl_refuse(s, e, "hash_ids",
					    "expected an object of arrays of whole numbers");
		for (size_t i = 0; i < json_array_size(ids); i++)
			if (!json_is_integer(json_array_get(ids, i)))
				return jsonl_refuse(
					s, e, "hash_ids",
					"expected an object of arrays of whole numbers");
	}
	return 0;
}

/* The file goes through several weeks, each of which begins at 0. */
static int finish_ragpulse(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			   struct err *e)
{
	static const int64_t week_ns = INT64_C(604800) * 1000000000;
	const json_t *parts = json_object_get(object, "hash_ids");
	if (parts && check_parts(s, parts, e))
		return -1;
	s->base.unusable_ids += parts != NULL;
	if (row->arrive_ns < s->last_ns - week_ns / 2) {
		s->base.restarts++;
		s->shift_ns += week_ns;
	}
	s->last_ns = row->arrive_ns;
	row->arrive_ns += s->shift_ns;
	if (row->arrive_ns > NUMBER_NS_MAX)
		return jsonl_refuse(s, e, "timestamp",
				    "begins another week, beyond 200 years of them: expected no "
				    "more than 10435 weeks, each from 0 on");
	return 0;
}
