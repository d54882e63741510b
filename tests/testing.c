#include "tests/testing.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void testing_i64(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	if (got == want)
		return;
	print_error("%s is %" PRId64 ", not %" PRId64 "\n", what, got, want);
	_fail(file, line);
}

void testing_near(double got, double want, double tolerance, const char *what, const char *file,
		  int line)
{
	/* written so that NaN fails */
	if (got == want || fabs(got - want) <= tolerance)
		return;
	print_error("%s is %.17g, not %.17g +- %g\n", what, got, want, tolerance);
	_fail(file, line);
}

void testing_refused(int result, const struct err *e, const char *part, const char *what,
		     const char *file, int line)
{
	if (result != -1) {
		print_error("%s gave %d, not an error about '%s'\n", what, result, part);
		_fail(file, line);
	}
	if (!memchr(e->text, '\0', sizeof(e->text)) || !strstr(e->text, part)) {
		print_error("%s says '%.*s', without '%s'\n", what, (int)sizeof(e->text), e->text,
			    part);
		_fail(file, line);
	}
}

void testing_not_fine(int result, const struct err *e, const char *what, const char *file, int line)
{
	print_error("%s gave %d: %.*s\n", what, result, (int)sizeof(e->text), e->text);
	_fail(file, line);
	abort(); /* never: cmocka has jumped to the next test */
}

/* What the process made: its folder, and the paths handed out, all gone at exit. */
static struct {
	char folder[256];
	pid_t owner;
	char **paths;
	size_t n;
} made;

static const char *keep(char *path)
{
	made.paths = xrealloc(made.paths, (made.n + 1) * sizeof(*made.paths));
	made.paths[made.n++] = path;
	return path;
}

static char *join(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = xmalloc(size);
	snprintf(path, size, "%s/%s", folder, name);
	return path;
}

/* Never follows a link: what it leads to is not the test's. */
static void remove_all(const char *path)
{
	if (unlink(path) == 0)
		return;
	DIR *folder = opendir(path); /* unlink() refuses folders */
	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		char *child = join(path, entry->d_name);
		remove_all(child);
		free(child);
	}
	closedir(folder);
	rmdir(path);
}

static void clean_up(void)
{
	if (made.owner == getpid()) /* not in a child that a test forked */
		remove_all(made.folder);
	for (size_t i = 0; i < made.n; i++)
		free(made.paths[i]);
	free(made.paths);
}

static const char *own_folder(void)
{
	if (made.owner)
		return made.folder;
	const char *tmp = getenv("TMPDIR");
	snprintf(made.folder, sizeof(made.folder), "%s/omnibus-test-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	CHECK(mkdtemp(made.folder), "cannot make %s: %s", made.folder, strerror(errno));
	made.owner = getpid();
	atexit(clean_up);
	return made.folder;
}

const char *testing_path(const char *name)
{
	return keep(join(own_folder(), name));
}

const char *testing_file(const char *name, const char *content)
{
	const char *path = testing_path(name);
	FILE *f = fopen(path, "wb");
	CHECK(f, "cannot write %s: %s", path, strerror(errno));
	size_t size = strlen(content), written = fwrite(content, 1, size, f);
	CHECK(fclose(f) == 0 && written == size, "%zu of %zu bytes in %s", written, size, path);
	return path;
}

int testing_count_files(const char *path)
{
	char folder[512];
	snprintf(folder, sizeof(folder), "%s", path);
	char *name = strrchr(folder, '/');
	*name++ = '\0';
	DIR *d = opendir(folder);
	assert_non_null(d);
	int n = 0;
	for (struct dirent *f; (f = readdir(d));)
		n += strncmp(f->d_name, name, strlen(name)) == 0;
	closedir(d);
	return n;
}

const char *testing_source(const char *name)
{
	return keep(join(OMNIBUS_SOURCE, name));
}

const char *testing_shared(const char *name)
{
	const char *folder = getenv("OMNIBUS_SHARED");
	char *path = join(folder && *folder ? folder : OMNIBUS_SOURCE "/../shared", name);
	if (access(path, R_OK) == 0)
		return keep(path);
	free(path);
	return NULL;
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	CHECK(f, "cannot read %s: %s", path, strerror(errno));
	size_t size = 0, room = 4096;
	char *text = xmalloc(room);
	for (size_t n; (n = fread(text + size, 1, room - size - 1, f)) > 0;) {
		size += n;
		if (size + 1 == room)
			text = xrealloc(text, room *= 2);
	}
	text[size] = '\0';
	fclose(f);
	return text;
}

static void redirect(int fd, const char *path, int flags)
{
	int to = open(path, flags, 0600);
	if (to < 0 || dup2(to, fd) < 0)
		_exit(126);
	close(to);
}

/* Without a terminal or input of the caller's: the same wherever the tests run. */
static int run_shell(const char *command, const char *out, const char *err)
{
	fflush(NULL);
	pid_t child = fork();
	CHECK(child >= 0, "cannot fork: %s", strerror(errno));
	if (child == 0) {
		redirect(0, "/dev/null", O_RDONLY);
		redirect(1, out, O_WRONLY | O_CREAT | O_TRUNC);
		redirect(2, err, O_WRONLY | O_CREAT | O_TRUNC);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	int status;
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR, "cannot wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *format_command(const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int args = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	CHECK(args >= 0, "cannot format '%s': %d", fmt, args);
	size_t size = sizeof("'" OMNIBUS_PROGRAM "' ") + (size_t)args;
	char *command = xmalloc(size);
	int used = snprintf(command, size, "'%s' ", OMNIBUS_PROGRAM);
	vsnprintf(command + used, size - (size_t)used, fmt, ap);
	return command;
}

struct run_output testing_run(const char *args_fmt, ...)
{
	va_list ap;
	va_start(ap, args_fmt);
	char *command = format_command(args_fmt, ap);
	va_end(ap);
	char *out = join(own_folder(), ".stdout"), *err = join(own_folder(), ".stderr");
	struct run_output o = {.code = run_shell(command, out, err)};
	o.out = read_all(out);
	o.err = read_all(err);
	free(command);
	free(out);
	free(err);
	return o;
}

void testing_run_free(struct run_output *o)
{
	free(o->out);
	free(o->err);
	*o = (struct run_output){0};
}

void testing_exit(const struct run_output *o, int want, const char *what, const char *file,
		  int line)
{
	if (o->code == want)
		return;
	print_error("%s exited with %d, not %d, and said: %s\n", what, o->code, want, o->err);
	_fail(file, line);
}
