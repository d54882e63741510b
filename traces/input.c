/* input.c: see input.h. */
#include "traces/input.h"
#include "traces/unpack.h"
#include <stdbool.h>
#include <string.h>

enum { FIRST_SIZE = 1 << 16 };

struct input {
	struct unpack *unpack;
	char *buf;
	size_t size, from, len; /* bytes [from, len) are not yet given out */
	bool ended, again;
	int64_t line_no;
	size_t last_from, last_len; /* the line given out last */
};

struct input *input_open(const char *path, struct err *e)
{
	struct unpack *u = unpack_open(path, e);
	if (!u)
		return NULL;
	struct input *in = xcalloc(1, sizeof(*in));
	in->unpack = u;
	in->size = FIRST_SIZE;
	in->buf = xmalloc(in->size + 1);
	return in;
}

/* Makes room and reads on. -1: a sentence. */
static int read_more(struct input *in, struct err *e)
{
	if (in->from > 0) {
		memmove(in->buf, in->buf + in->from, in->len - in->from);
		in->len -= in->from;
		in->from = 0;
	}
	if (in->len == in->size) {
		if (in->size > INPUT_LINE_MAX)
			return err_set(e,
				       "%s:%lld: a line of more than 16 MiB: expected a text "
				       "file of shorter lines",
				       unpack_name(in->unpack), (long long)in->line_no + 1);
		in->size *= 2;
		in->buf = xrealloc(in->buf, in->size + 1);
	}
	long n = unpack_read(in->unpack, in->buf + in->len, in->size - in->len, e);
	if (n < 0)
		return -1;
	in->ended = n == 0;
	in->len += (size_t)n;
	return 0;
}

static int check_line(const struct input *in, const char *line, size_t len, struct err *e)
{
	const char *nul = memchr(line, '\0', len);
	if (nul)
		return err_set(e, "%s:%lld: byte %zu is NUL: expected a text file",
			       unpack_name(in->unpack), (long long)in->line_no,
			       (size_t)(nul - line) + 1);
	if (len > INPUT_LINE_MAX)
		return err_set(e,
			       "%s:%lld: a line of more than 16 MiB: expected a text file of "
			       "shorter lines",
			       unpack_name(in->unpack), (long long)in->line_no);
	return 1;
}

int input_line(struct input *in, char **line, size_t *len, struct err *e)
{
	if (!in->again) {
		char *end;
		size_t seen = 0; /* bytes known to hold no LF */
		while (!(
			end = memchr(in->buf + in->from + seen, '\n', in->len - in->from - seen))) {
			seen = in->len - in->from;
			if (in->ended)
				break;
			if (read_more(in, e))
				return -1;
		}
		if (!end && in->from == in->len)
			return 0;
		in->last_from = in->from;
		in->last_len = end ? (size_t)(end - in->buf) - in->from : in->len - in->from;
		in->from += in->last_len + (end ? 1 : 0);
		if (in->line_no++ == 0 && in->last_len >= 3 &&
		    !memcmp(in->buf + in->last_from, "\xef\xbb\xbf", 3)) {
			in->last_from += 3;
			in->last_len -= 3;
		}
		if (in->last_len > 0 && in->buf[in->last_from + in->last_len - 1] == '\r')
			in->last_len--;
	}
	in->again = false;
	*line = in->buf + in->last_from;
	*len = in->last_len;
	int result = check_line(in, *line, *len, e);
	(*line)[*len] = '\0'; /* over the CR or LF, or behind the end of the data */
	return result;
}

int input_head(struct input *in, const char **bytes, size_t *len, struct err *e)
{
	while (!in->ended && in->len < FIRST_SIZE)
		if (read_more(in, e))
			return -1;
	*bytes = in->buf;
	*len = in->len;
	return 0;
}

int input_all(struct input *in, size_t max, char **text, size_t *len, struct err *e)
{
	while (!in->ended) {
		if (in->len > max)
			return err_set(e, "%s: is larger than %zu MiB", unpack_name(in->unpack),
				       max >> 20);
		if (in->len == in->size) {
			in->size *= 2;
			in->buf = xrealloc(in->buf, in->size + 1);
		}
		if (read_more(in, e))
			return -1;
	}
	in->line_no = 1;
	*text = in->buf + in->from;
	*len = in->len - in->from;
	in->buf[in->len] = '\0';
	return 0;
}

void input_again(struct input *in)
{
	in->again = true;
}

int64_t input_line_no(const struct input *in)
{
	return in->line_no;
}

const char *input_name(const struct input *in)
{
	return unpack_name(in->unpack);
}

double input_progress(const struct input *in)
{
	return unpack_progress(in->unpack);
}

void input_close(struct input *in)
{
	if (!in)
		return;
	unpack_close(in->unpack);
	free(in->buf);
	free(in);
}
