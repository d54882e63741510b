#include "sim/err.h"
#include "sim/utf8.h"
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

int err_set(struct err *e, const char *fmt, ...)
{
	/* Through a buffer of its own: a caller may put more words around e->text itself. */
	char text[sizeof(e->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* One line, and nothing that a terminal obeys, whatever the names in it hold. */
	utf8_clean(text);
	memcpy(e->text, text, sizeof(text));
	return -1;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;
	return m < c ? m : c;
}

/* Levenshtein's distance, of at most the first 63 bytes: names are shorter. */
static size_t distance(const char *a, const char *b)
{
	enum { LONGEST = 63 };
	size_t row[LONGEST + 1];
	size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

/* A name that begins with what was given is nearer than any other. */
static size_t nearest(const char *got, const char *const *names, size_t n)
{
	size_t best = 0, best_distance = SIZE_MAX, len = strlen(got);
	for (size_t i = 0; i < n; i++) {
		size_t d = distance(got, names[i]) + 1;
		if (len > 0 && strncmp(got, names[i], len) == 0)
			d = 0;
		if (d < best_distance) {
			best = i;
			best_distance = d;
		}
	}
	return best;
}

int err_unknown(struct err *e, const char *kind, const char *got, const char *const *names,
		size_t n)
{
	if (n == 0)
		return err_set(e, "unknown %s '%.100s': there are none to choose from", kind, got);
	char list[sizeof(e->text)];
	size_t used = 0;
	list[0] = '\0';
	for (size_t i = 0; i < n && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 names[i]);
	return err_set(e, "unknown %s '%.100s', nearest is '%s'; valid: %s", kind, got,
		       names[nearest(got, names, n)], list);
}

void no_memory(size_t n, size_t size)
{
	size_t bytes = size > 0 && n > SIZE_MAX / size ? SIZE_MAX : n * size;
	fprintf(stderr, "omnibus: out of memory: %zu more bytes were needed\n", bytes);
	_exit(1);
}

void *xmalloc(size_t size)
{
	return xrealloc(NULL, size);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = n && size ? calloc(n, size) : calloc(1, 1);
	if (!p)
		no_memory(n, size);
	return p;
}

void *xrealloc(void *p, size_t size)
{
	/* realloc(p, 0) may free p and return NULL; then a second free of it would be a bug */
	void *q = realloc(p, size ? size : 1);
	if (!q)
		no_memory(1, size);
	return q;
}

char *xstrdup(const char *s)
{
	size_t size = strlen(s) + 1;
	return memcpy(xmalloc(size), s, size);
}
