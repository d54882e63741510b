/* jsonl_wide.c: lines of JSON with hash ids of 64 bits without a sign. */
#include "traces/jsonl_source.h"
#include <errno.h>
#include <string.h>

/*
 * The line again, whole numbers from 2^63 to 2^64 - 1 within arrays written as the negative number
 * of the same 64 bits, since the library's integers are signed. NULL: there is none.
 */
static char *rewrite_wide(struct jsonl_source *s, const char *line, size_t len, size_t *new_len)
{
	size_t most = len + len / 19 + 1; /* 19 digits may become 20 characters */
	if (most > s->wide_size) {
		s->wide_size = most;
		s->wide = xrealloc(s->wide, s->wide_size);
	}
	char *out = s->wide;
	int arrays = 0;
	bool text = false, found = false;
	for (size_t i = 0; i < len;) {
		size_t n = text ? 0 : strspn(line + i, "0123456789");
		unsigned long long value = 0;
		errno = 0;
		if (n >= 19 && line[i] != '0' && arrays > 0 && strchr("[, \t", line[i - 1]) &&
		    (line[i + n] == ',' || line[i + n] == ']' || line[i + n] == ' '))
			value = strtoull(line + i, NULL, 10);
		if (value > INT64_MAX && errno == 0) {
			out += sprintf(out, "%lld", (long long)value);
			found = true;
			i += n;
			continue;
		}
		for (n = n > 0 ? n : 1; n > 0; n--, i++) {
			if (line[i] == '"')
				text = !text;
			else if (text && line[i] == '\\' && n == 1 && i + 1 < len)
				*out++ = line[i++];
			else if (!text)
				arrays += (line[i] == '[') - (line[i] == ']');
			*out++ = line[i];
		}
	}
	*out = '\0';
	*new_len = (size_t)(out - s->wide);
	s->base.hash_unsigned = s->base.hash_unsigned || found;
	return found ? s->wide : NULL;
}

/* One JSON value, or NULL. */
json_t *jsonl_load(struct jsonl_source *s, const char *line, size_t len, json_error_t *je)
{
	json_t *value = json_loadb(line, len, JSON_REJECT_DUPLICATES, je);
	if (value || json_error_code(je) != json_error_numeric_overflow)
		return value;
	size_t wide_len;
	const char *wide = rewrite_wide(s, line, len, &wide_len);
	return wide ? json_loadb(wide, wide_len, JSON_REJECT_DUPLICATES, je) : NULL;
}
