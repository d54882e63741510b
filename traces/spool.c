/* spool.c: see spool.h. Standard input is one for the process, and so is what is kept of it. */
#include "traces/spool.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int fd; /* -1: failed, for the reason in err */
	int64_t start;
	int64_t size; /* bytes kept so far */
	bool ended, failed;
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

static void start(void)
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
		spool.ended = true;
	} else {
		spool.fd = temporary_file(&spool.err);
	}
}

int spool_stdin(int64_t *first, struct err *e)
{
	pthread_once(&once, start);
	if (spool.fd < 0)
		return err_set(e, "%s", spool.err.text);
	*first = spool.start;
	return spool.fd;
}

/* One more piece of standard input, under the lock. A failure stays: the file lacks what came then.
 */
static void keep_more(char *buf, size_t size)
{
	ssize_t n;
	do
		n = read(STDIN_FILENO, buf, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		err_set(&spool.err, "standard input: %s", strerror(errno));
	spool.failed = n < 0 || (n > 0 && write_all(spool.fd, buf, (size_t)n, &spool.err) < 0);
	spool.ended = n == 0;
	spool.size += n > 0 ? n : 0;
}

int spool_fill(int64_t upto, struct err *e)
{
	enum { PIECE = 1 << 16 };
	char *buf = NULL;
	pthread_mutex_lock(&lock);
	while (!spool.ended && !spool.failed && spool.size < upto) {
		buf = buf ? buf : xmalloc(PIECE);
		keep_more(buf, PIECE);
	}
	int result = spool.failed ? err_set(e, "%s", spool.err.text) : 0;
	pthread_mutex_unlock(&lock);
	free(buf);
	return result;
}
