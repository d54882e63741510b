/* spool.c: see spool.h. What it keeps is written once per process, under pthread_once. */
#include "traces/spool.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
	int fd; /* -1: failed, for the reason in err */
	int64_t start;
	struct err err;
} spool;

static int temporary_file(struct err *e)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/omnibus-XXXXXX", dir && *dir ? dir : "/tmp");
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, "TMPDIR is too long a path to keep standard input in");
	int fd = mkstemp(path);
	if (fd < 0)
		return err_set(e, "cannot make a temporary file %s for standard input: %s", path,
			       strerror(errno));
	unlink(path);
	return fd;
}

static int write_all(int fd, const char *buf, size_t len, struct err *e)
{
	while (len > 0) {
		ssize_t n = write(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, "cannot keep standard input in a temporary file: %s",
				       strerror(errno));
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy_stdin(int fd, struct err *e)
{
	char *buf = xmalloc(1 << 16);
	int result = 0;
	for (;;) {
		ssize_t n = read(STDIN_FILENO, buf, 1 << 16);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			result = err_set(e, "standard input: %s", strerror(errno));
		if (n <= 0 || (result = write_all(fd, buf, (size_t)n, e)))
			break;
	}
	free(buf);
	return result;
}

static void fill(void)
{
	struct stat st;
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	spool.fd = -1;
	if (fstat(STDIN_FILENO, &st)) {
		err_set(&spool.err, "standard input: %s", strerror(errno));
	} else if (S_ISDIR(st.st_mode)) {
		err_set(&spool.err, "standard input is a directory: expected a trace");
	} else if (S_ISREG(st.st_mode) && at >= 0) {
		spool.fd = STDIN_FILENO;
		spool.start = at;
	} else {
		int fd = temporary_file(&spool.err);
		if (fd >= 0 && !copy_stdin(fd, &spool.err))
			spool.fd = fd;
		else if (fd >= 0)
			close(fd);
	}
}

int spool_stdin(int64_t *start, struct err *e)
{
	pthread_once(&once, fill);
	if (spool.fd < 0)
		return err_set(e, "%s", spool.err.text);
	*start = spool.start;
	return spool.fd;
}
