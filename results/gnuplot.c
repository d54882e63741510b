/* gnuplot.c: starts gnuplot. It gets a script on its standard input, and there is no shell. */
#include "results/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* stdin, stdout and stderr of the child; each a file of its own, so nobody waits for a full pipe.
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

static int run(FILE *script, FILE *out, FILE *errors, struct err *e)
{
	int status, rc;
	pid_t pid;

	rewind(script); /* the child reads from where the file stands */
	if (fflush(out))
		return err_set(e, "the picture cannot be written: %s", strerror(errno));
	rc = start(fileno(script), fileno(out), fileno(errors), &pid);
	if (rc == ENOENT)
		return err_set(e, "gnuplot is not installed, which draws the picture (Debian: "
				  "package gnuplot-nox); --format tsv prints the numbers without "
				  "it");
	if (rc)
		return err_set(e, "gnuplot cannot be started: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return err_set(e, "gnuplot is lost: %s", strerror(errno));
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain(errors, status, e);
}

int gnuplot_draw(FILE *out, const struct figure *f, enum picture kind, struct err *e)
{
	FILE *script = tmpfile(), *errors = tmpfile();
	int rc = 0;

	if (!script || !errors || gnuplot_script(script, f, kind) || fflush(script))
		rc = err_set(e, "a temporary file cannot be written: %s", strerror(errno));
	if (!rc)
		rc = run(script, out, errors, e);
	if (script)
		fclose(script);
	if (errors)
		fclose(errors);
	return rc;
}
