/* outfile.c: see outfile.h. */
#include "traces/outfile.h"
#include "sim/endings.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a signal that ends the program -------------------------------------------------------------
 */

static struct sigaction actions_before[N_ENDINGS];
static _Atomic(const char *) unfinished; /* a name to take away, or NULL */

static void take_away(int sig)
{
	const char *name = atomic_load(&unfinished);
	if (name)
		unlink(name);
	raise(sig); /* delivered when this returns */
}

static void watch_endings(const char *name)
{
	CHECK(!atomic_load(&unfinished), "%s while another file is written", name);
	atomic_store(&unfinished, name);
	endings_watch(take_away, actions_before);
}

static void leave_endings(void)
{
	endings_leave(actions_before);
	atomic_store(&unfinished, NULL);
}

/* --- the file -----------------------------------------------------------------------------------
 */

static int refuse(const struct outfile *o, struct err *e)
{
	return err_set(e, "cannot write %s: %s", o->path ? o->path : "to standard output",
		       strerror(errno));
}

static bool is_standard(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

/* Two names of one file that is still to come. */
static bool same_place(const char *a, const char *b)
{
	const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
	struct stat folder_a, folder_b;
	if (strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) != 0)
		return false;
	char *in_a = slash_a ? xstrdup(a) : xstrdup("./"), *in_b = xstrdup(slash_b ? b : "./");
	in_a[slash_a ? slash_a - a + 1 : 2] = in_b[slash_b ? slash_b - b + 1 : 2] = '\0';
	bool same = stat(in_a, &folder_a) == 0 && stat(in_b, &folder_b) == 0 &&
		    folder_a.st_dev == folder_b.st_dev && folder_a.st_ino == folder_b.st_ino;
	free(in_a);
	free(in_b);
	return same;
}

/* By its first bytes: a database holds more than what one output would put in its place. */
static int check_database(const char *path, struct err *e)
{
	static const char magic[16] = "SQLite format 3";
	char first[sizeof(magic)] = "";
	struct stat st;
	FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
	if (!f)
		return 0;
	size_t n = fread(first, 1, sizeof(first), f);
	fclose(f);
	if (n < sizeof(magic) || memcmp(first, magic, sizeof(magic)) != 0)
		return 0;
	return err_set(e, "%s is a SQLite database: the output needs another file", path);
}

int outfile_check_all(const char *path, const char *const *others, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (others[i] && outfile_check(path, others[i], e) < 0)
			return -1;
	return is_standard(path) ? 0 : check_database(path, e);
}

int outfile_check(const char *path, const char *input, struct err *e)
{
	struct stat out, in;
	if (is_standard(path))
		return 0;
	if (stat(path, &out) != 0)
		return same_place(path, input)
			       ? err_set(e, "%s is named twice: the output needs another file",
					 path)
			       : 0;
	if (strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(input, &in))
		return 0;
	if (!S_ISREG(in.st_mode) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return check_database(path, e);
	return err_set(e, "%s is what is read: the output needs another file", path);
}

/* A file that an earlier process of this number left behind is none of ours. */
static int create_beside(struct outfile *o)
{
	enum { TRIES = 100 };
	size_t size = strlen(o->target) + 48;
	int fd = -1;
	o->temporary = xmalloc(size);
	for (int i = 0; i < TRIES && fd < 0; i++) {
		int n = snprintf(o->temporary, size, "%s.%ld", o->target, (long)getpid());
		if (i > 0)
			n += snprintf(o->temporary + n, size - (size_t)n, "-%d", i);
		snprintf(o->temporary + n, size - (size_t)n, ".tmp");
		fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

static int open_beside(struct outfile *o)
{
	sigset_t before;
	endings_hold(&before); /* none comes between a file and the note of its name */
	int fd = create_beside(o);
	if (fd >= 0)
		watch_endings(o->temporary);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (fd < 0) {
		free(o->temporary);
		o->temporary = NULL;
		return -1;
	}
	o->stream = fdopen(fd, "w");
	CHECK(o->stream, "no stream for the open file %d", fd);
	return 0;
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
	struct stat st;
	*o = (struct outfile){.stream = stdout};
	if (is_standard(path))
		return 0;
	if (check_database(path, e) < 0)
		return -1;
	*o = (struct outfile){.path = path};
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		o->stream = fopen(path, "w");
		return o->stream ? 0 : refuse(o, e);
	}
	/* a link stays one: it is its target that is replaced */
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		o->target = realpath(path, NULL);
	else
		o->target = xstrdup(path);
	if (o->target && open_beside(o) == 0)
		return 0;
	refuse(o, e);
	free(o->target);
	o->target = NULL;
	return -1;
}

int outfile_commit(struct outfile *o, struct err *e)
{
	bool failed = fflush(o->stream) || ferror(o->stream);
	if (o->temporary)
		failed = failed || fsync(fileno(o->stream));
	if (o->path)
		failed = fclose(o->stream) || failed;
	o->stream = NULL;
	if (!failed && o->temporary)
		failed = rename(o->temporary, o->target) != 0;
	int result = failed ? refuse(o, e) : 0;
	outfile_abandon(o);
	return result;
}

void outfile_abandon(struct outfile *o)
{
	if (o->stream && o->path)
		fclose(o->stream);
	if (o->temporary) {
		unlink(o->temporary); /* already renamed where all went well */
		leave_endings();
	}
	free(o->temporary);
	free(o->target);
	*o = (struct outfile){0};
}
