#include "sim/utf8.h"
#include <stdbool.h>
#include <string.h>

static size_t bytes_said(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first >= 0xf5)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t utf8_bytes(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = bytes_said(p[0]);
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* not in the shortest form, a half of a pair, or beyond the last one */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

/* C0, DEL and C1. */
static bool is_control(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	return p[0] < ' ' || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

void utf8_clean(char *text)
{
	char *to = text;
	for (const char *p = text; *p;) {
		size_t n = utf8_bytes(p);
		if (n == 0 || is_control(p)) {
			*to++ = '?';
		} else {
			memmove(to, p, n);
			to += n;
		}
		p += n ? n : 1;
	}
	*to = '\0';
}
