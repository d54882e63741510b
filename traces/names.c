/* names.c: see names.h. */
#include "traces/names.h"
#include "sim/err.h"
#include <string.h>

static size_t hash_of(const char *text, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return (size_t)(hash ^ (hash >> 32));
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct names *names, const char *text, size_t len)
{
	size_t i = hash_of(text, len) & (names->n_slots - 1);
	for (; names->slots[i]; i = (i + 1) & (names->n_slots - 1)) {
		const char *there = names_text(names, names->slots[i]);
		if (strncmp(there, text, len) == 0 && there[len] == '\0')
			break;
	}
	return &names->slots[i];
}

static void grow_slots(struct names *names)
{
	names->n_slots = names->n_slots ? 2 * names->n_slots : 64;
	free(names->slots);
	names->slots = xcalloc(names->n_slots, sizeof(*names->slots));
	for (size_t i = 0; i < names->n; i++) {
		const char *text = names->text + names->at[i];
		*slot_of(names, text, strlen(text)) = (uint32_t)i + 1;
	}
}

static void append(struct names *names, const char *text, size_t len)
{
	if (names->n == names->at_size) {
		names->at_size = names->at_size ? 2 * names->at_size : 64;
		names->at = xrealloc(names->at, names->at_size * sizeof(*names->at));
	}
	if (names->text_len + len + 1 > names->text_size) {
		names->text_size = 2 * (names->text_len + len + 1);
		names->text = xrealloc(names->text, names->text_size);
	}
	names->at[names->n++] = names->text_len;
	memcpy(names->text + names->text_len, text, len);
	names->text_len += len;
	names->text[names->text_len++] = '\0';
}

int64_t names_number(struct names *names, const char *text, size_t len)
{
	if (len == 0)
		return 0;
	if (2 * names->n >= names->n_slots)
		grow_slots(names);
	uint32_t *slot = slot_of(names, text, len);
	if (*slot == 0) {
		CHECK(names->n < UINT32_MAX, "%zu names", names->n);
		append(names, text, len);
		*slot = (uint32_t)names->n;
	}
	return *slot;
}

const char *names_text(const struct names *names, int64_t number)
{
	return number > 0 && number <= (int64_t)names->n ? names->text + names->at[number - 1] : "";
}

void names_release(struct names *names)
{
	free(names->text);
	free(names->at);
	free(names->slots);
	*names = (struct names){0};
}
