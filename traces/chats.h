/* chats.h: which root each chat of a tree of chats leads to, told row by row. */
#ifndef TRACES_CHATS_H
#define TRACES_CHATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chat {
	int64_t id, parent, root;
	int64_t line; /* 0: no row of its own was seen, only that of a child */
	bool used;
};

struct chats { /* zero it before use; memory grows with the chats */
	struct chat *slots;
	size_t n, size;
};

enum chats_result {
	CHATS_OK,
	CHATS_UNKNOWN, /* no row of the parent was seen before: it is taken for the root */
	CHATS_TWICE,   /* the chat had a row before; *root is its line */
	CHATS_CYCLE,   /* the chat is its own ancestor */
};

/* `parent` -1: it is a root itself. */
enum chats_result chats_add(struct chats *c, int64_t id, int64_t parent, int64_t line,
			    int64_t *root);
void chats_release(struct chats *c);

#endif
