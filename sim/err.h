/*
 * err.h: one sentence about what went wrong, written into the caller's buffer.
 *
 * A function that can fail on its input takes a `struct err *` last, returns -1 (or NULL) and fills
 * it with one sentence that names the thing, where it is (file, line, column) and what would be
 * valid. On success the buffer is untouched. Only main() prints it and exits.
 */
#ifndef SIM_ERR_H
#define SIM_ERR_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

struct err {
	char text[1024];
};

/* Formats the sentence (no newline, no final full stop needed). Always returns -1. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The sentence for a name that is not in a list: what was given, the nearest valid name and all the
 * valid ones. `kind` is the noun ("policy"). Always returns -1.
 */
int err_unknown(struct err *e, const char *kind, const char *got, const char *const *names,
		size_t n);

/*
 * malloc and friends that end the program with a sentence and exit code 1 when memory is out: there
 * is no way on, and nothing that waits to be written goes out. Never NULL, not even for no bytes.
 */
void *xmalloc(size_t size) __attribute__((returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
/* The same end, for libraries that return NULL. */
void no_memory(size_t n, size_t size) __attribute__((noreturn));
char *xstrdup(const char *s) __attribute__((returns_nonnull));

#ifdef __cplusplus
}
#endif

/* A broken invariant of our own: aborts in every build type; say both numbers in the message. */
#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken invariant: %s: ", __FILE__, __LINE__,       \
				#cond);                                                            \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
