/*
 * gnuplot.c: starts gnuplot. It gets a script on its standard input, and there is no shell. The
 * picture comes through a pipe, as gnuplot itself does not notice that a disk is full.
 */
#include "results/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* stdin, stdout and stderr of the child; of these only stdout is a pipe, so nobody waits for
 * another one that is full.
 */
static int start(int in, int out, int err_fd, pid_t *pid)
{
	static char name[] = "gnuplot", defaults[] = "-d"; /* no settings of the user's */
	char *argv[] = {name, defaults, NULL};
	posix_spawn_file_actions_t files;
	int rc;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, err_fd, STDERR_FILENO);
	rc = posix_spawnp(pid, name, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* The last line that it printed on stderr says what is wrong. */
static int complain(FILE *errors, int status, struct err *e)
{
	char line[400], last[400] = "";

	rewind(errors);
	while (fgets(line, sizeof line, errors)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " ^")])
			memcpy(last, line, sizeof last);
	}
	if (WIFSIGNALED(status))
		return err_set(e, "gnuplot was ended by signal %d", WTERMSIG(status));
	return err_set(e, "gnuplot failed: %s", last[0] ? last : "it says nothing");
}

/* All that comes out of the pipe, until its writers are gone. */
static char *read_all(int fd, size_t *n)
{
	size_t room = 65536;
	char *bytes = xmalloc(room);
	ssize_t got;

	*n = 0;
	while ((got = read(fd, bytes + *n, room - *n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		*n += got > 0 ? (size_t)got : 0;
		if (*n == room)
			bytes = xrealloc(bytes, room *= 2);
	}
	return bytes;
}

static int run(FILE *script, FILE *errors, char **picture, size_t *n, struct err *e)
{
	int status, rc, ends[2];
	pid_t pid;

	rewind(script); /* the child reads from where the file stands */
	if (pipe(ends))
		return err_set(e, "gnuplot cannot be started: %s", strerror(errno));
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	rc = start(fileno(script), ends[1], fileno(errors), &pid);
	close(ends[1]);
	if (!rc)
		*picture = read_all(ends[0], n);
	close(ends[0]);
	if (rc == ENOENT)
		return err_set(e, "gnuplot is not installed, which draws the picture (Debian: "
				  "package gnuplot-nox)");
	if (rc)
		return err_set(e, "gnuplot cannot be started: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return err_set(e, "gnuplot is lost: %s", strerror(errno));
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain(errors, status, e);
}

static bool has_end(const char *picture, size_t n, enum picture kind)
{
	static const struct {
		const char *bytes;
		size_t n;
	} all[] = {
		[PICTURE_SVG] = {"</svg>", 6},
		[PICTURE_PDF] = {"%%EOF", 5},
		[PICTURE_PNG] = {"\0\0\0\0IEND\xae\x42\x60\x82", 12},
	};

	while (kind != PICTURE_PNG && n > 0 && (picture[n - 1] == '\n' || picture[n - 1] == '\r'))
		n--;
	return n >= all[kind].n && !memcmp(picture + n - all[kind].n, all[kind].bytes, all[kind].n);
}

/* The time of drawing is no part of a result: it becomes the first second of 1970. */
static void forget_date(char *picture, size_t n)
{
	static const char key[] = "/CreationDate (D:", date[] = "19700101000000Z)";
	size_t n_key = sizeof key - 1, n_date = sizeof date - 1;

	for (size_t i = 0; i + n_key + n_date <= n; i++) {
		char *at = picture + i + n_key;

		if (!memcmp(picture + i, key, n_key) && !memcmp(at + 14, "Z)", 2)) {
			memcpy(at, date, n_date);
			return;
		}
	}
}

static int copy(FILE *out, char *picture, size_t n, enum picture kind, struct err *e)
{
	if (!picture || !has_end(picture, n, kind))
		return err_set(e, "gnuplot failed: its picture of %zu bytes has no end", n);
	if (kind == PICTURE_PDF)
		forget_date(picture, n);
	if (fwrite(picture, 1, n, out) != n)
		return err_set(e, "the picture cannot be written: %s", strerror(errno));
	return 0;
}

int gnuplot_draw(FILE *out, const struct figure *f, enum picture kind, struct err *e)
{
	FILE *script = tmpfile(), *errors = tmpfile();
	char *picture = NULL;
	size_t n = 0;
	int rc = 0;

	if (!script || !errors || gnuplot_script(script, f, kind) || fflush(script))
		rc = err_set(e, "a temporary file cannot be written: %s", strerror(errno));
	if (!rc)
		rc = run(script, errors, &picture, &n, e);
	if (!rc)
		rc = copy(out, picture, n, kind, e);
	free(picture);
	if (script)
		fclose(script);
	if (errors)
		fclose(errors);
	return rc;
}
