#include "results/gnuplot.h"

#include <string.h>

/* Bytes of the UTF-8 character at p, 0 where none is. */
static size_t char_bytes(const unsigned char *p)
{
	size_t n = p[0] < 0x80			 ? 1
		   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		   : (p[0] & 0xf0) == 0xe0	 ? 3
						 : 0;

	if (p[0] >= 0xf0 && p[0] < 0xf5)
		n = 4;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* not in the shortest form, a half of a pair, or beyond the last one */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

char *gnuplot_name(const char *name, size_t max)
{
	const unsigned char *p = (const unsigned char *)name;
	char *text = xmalloc(strlen(name) + 4), *to = text;
	size_t n = 0, kept, at = 0;

	for (const unsigned char *q = p; *q; n++)
		q += char_bytes(q) ? char_bytes(q) : 1;
	kept = n > max ? max - 1 : n; /* the ellipsis is one */
	for (; *p; at++) {
		size_t bytes = char_bytes(p);

		if (n == kept || at < kept - kept / 2 || at >= n - kept / 2) {
			if (bytes == 0 || *p < ' ' || *p == 0x7f)
				*to++ = '?';
			else
				to = (char *)memcpy(to, p, bytes) + bytes;
		} else if (at == kept - kept / 2) {
			to = (char *)memcpy(to, "…", 3) + 3;
		}
		p += bytes ? bytes : 1;
	}
	*to = '\0';
	return text;
}
