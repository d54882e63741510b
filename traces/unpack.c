/* unpack.c: see unpack.h. Reads with pread(), so that standard input can be shared. */
#include "traces/unpack.h"
#include "traces/spool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { CHUNK = 1 << 16 };
enum packing { PLAIN, GZIP, ZSTD };

struct unpack {
	const char *name; /* the caller's path */
	int fd;
	bool own_fd, stdin_kept;
	int64_t start, pos, size;
	enum packing packing;
	bool open_frame; /* inside a gzip member or Zstandard frame: the end would be too early */
	z_stream gz;
	ZSTD_DStream *zst;
	size_t at, len; /* what is left in `in` */
	unsigned char in[CHUNK];
};

/* Refills the input buffer. 1: there is input, 0: end of file, -1. */
static int refill(struct unpack *u, struct err *e)
{
	if (u->at < u->len)
		return 1;
	/* the first four bytes together tell how it is packed */
	int64_t want = u->pos - u->start + (u->pos == u->start ? 4 : 1);
	if (u->stdin_kept && spool_fill(want, e) < 0)
		return -1;
	ssize_t n;
	do
		n = pread(u->fd, u->in, CHUNK, u->pos);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(e, "cannot read %s: %s", u->name, strerror(errno));
	u->pos += n;
	u->at = 0;
	u->len = (size_t)n;
	return n > 0;
}

static long read_plain(struct unpack *u, void *buf, size_t size, struct err *e)
{
	int more = refill(u, e);
	if (more <= 0)
		return more;
	size_t n = u->len - u->at < size ? u->len - u->at : size;
	memcpy(buf, u->in + u->at, n);
	u->at += n;
	return (long)n;
}

/* Zeros behind a member are padding, of tapes and blocks. Is that all that is left in `in`? */
static bool skip_zeros(struct unpack *u)
{
	while (u->at < u->len && u->in[u->at] == 0)
		u->at++;
	return u->at == u->len;
}

static long read_gzip(struct unpack *u, void *buf, size_t size, struct err *e)
{
	u->gz.next_out = buf;
	u->gz.avail_out = (uInt)size;
	while (u->gz.avail_out == size) {
		int more = refill(u, e);
		if (more < 0)
			return -1;
		if (!more && u->open_frame)
			return err_set(e, "%s: the gzip data end too early: the file is cut short",
				       u->name);
		if (!more)
			return 0;
		if (!u->open_frame && skip_zeros(u))
			continue;
		if (!u->open_frame)
			inflateReset(&u->gz); /* another member follows */
		u->open_frame = true;
		u->gz.next_in = u->in + u->at;
		u->gz.avail_in = (uInt)(u->len - u->at);
		int rc = inflate(&u->gz, Z_NO_FLUSH);
		u->at = u->len - u->gz.avail_in;
		if (rc == Z_STREAM_END)
			u->open_frame = false;
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			return err_set(e, "%s: damaged gzip data (%s)", u->name,
				       u->gz.msg ? u->gz.msg : "unknown reason");
	}
	return (long)(size - u->gz.avail_out);
}

static long read_zstd(struct unpack *u, void *buf, size_t size, struct err *e)
{
	ZSTD_outBuffer out = {.dst = buf, .size = size};
	while (out.pos == 0) {
		/* Output that did not fit into the last buffer comes without more input. */
		int more = u->open_frame && u->at == u->len ? 1 : refill(u, e);
		if (more <= 0)
			return more;
		ZSTD_inBuffer in = {.src = u->in, .size = u->len, .pos = u->at};
		size_t rc = ZSTD_decompressStream(u->zst, &out, &in);
		u->at = in.pos;
		if (ZSTD_isError(rc))
			return err_set(e, "%s: damaged Zstandard data (%s)", u->name,
				       ZSTD_getErrorName(rc));
		u->open_frame = rc != 0;
		if (out.pos > 0 || !u->open_frame || u->at < u->len)
			continue;
		if ((more = refill(u, e)) < 0)
			return -1;
		if (!more)
			return err_set(
				e, "%s: the Zstandard data end too early: the file is cut short",
				u->name);
	}
	return (long)out.pos;
}

static int find_packing(struct unpack *u, struct err *e)
{
	static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	if (refill(u, e) < 0)
		return -1;
	if (u->len >= sizeof(gzip) && !memcmp(u->in, gzip, sizeof(gzip))) {
		u->packing = GZIP;
		CHECK(inflateInit2(&u->gz, 15 + 16) == Z_OK, "zlib does not start");
	} else if (u->len >= sizeof(zstd) && !memcmp(u->in, zstd, sizeof(zstd))) {
		u->packing = ZSTD;
		u->zst = ZSTD_createDStream();
		CHECK(u->zst, "libzstd does not start");
	}
	return 0;
}

static int open_path(struct unpack *u, const char *path, struct err *e)
{
	struct stat st;
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdin")) {
		u->name = "standard input";
		if ((u->fd = spool_stdin(&u->start, e)) < 0)
			return -1;
		u->stdin_kept = true;
	} else {
		u->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		u->own_fd = u->fd >= 0;
	}
	if (u->fd < 0 || fstat(u->fd, &st))
		return err_set(e, "cannot open the trace %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return err_set(e, "%s is a directory: expected a trace file", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%s is not a regular file: a pipe is given as \"-\"", path);
	u->size = st.st_size;
	u->pos = u->start;
	return 0;
}

struct unpack *unpack_open(const char *path, struct err *e)
{
	struct unpack *u = xcalloc(1, sizeof(*u));
	u->name = path;
	u->fd = -1;
	if (open_path(u, path, e) || find_packing(u, e)) {
		unpack_close(u);
		return NULL;
	}
	return u;
}

long unpack_read(struct unpack *u, void *buf, size_t size, struct err *e)
{
	static long (*const read_as[])(struct unpack *, void *, size_t, struct err *) = {
		[PLAIN] = read_plain, [GZIP] = read_gzip, [ZSTD] = read_zstd};
	return read_as[u->packing](u, buf, size, e);
}

const char *unpack_name(const struct unpack *u)
{
	return u->name;
}

double unpack_progress(const struct unpack *u)
{
	int64_t bytes = u->size - u->start;
	return bytes > 0 ? (double)(u->pos - u->start - (int64_t)(u->len - u->at)) / (double)bytes
			 : 1;
}

void unpack_close(struct unpack *u)
{
	if (!u)
		return;
	if (u->packing == GZIP)
		inflateEnd(&u->gz);
	ZSTD_freeDStream(u->zst);
	if (u->own_fd)
		close(u->fd);
	free(u);
}
