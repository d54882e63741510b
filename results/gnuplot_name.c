#include "results/gnuplot.h"

#include <string.h>

#include "sim/utf8.h"

char *gnuplot_name(const char *name, size_t max)
{
	const char *p = name;
	char *text = xmalloc(strlen(name) + 4), *to = text;
	size_t n = 0, kept, at = 0;

	for (const char *q = p; *q; n++)
		q += utf8_bytes(q) ? utf8_bytes(q) : 1;
	kept = n > max ? max - 1 : n; /* the ellipsis is one */
	for (; *p; at++) {
		size_t bytes = utf8_bytes(p);

		if (n == kept || at < kept - kept / 2 || at >= n - kept / 2) {
			if (bytes == 0 || (unsigned char)*p < ' ' || *p == 0x7f)
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
