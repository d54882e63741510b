/* outfile.c: see outfile.h. */
#include "traces/outfile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const struct outfile *o, struct err *e)
{
	return err_set(e, "cannot write %s: %s", o->path ? o->path : "to standard output",
		       strerror(errno));
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
	struct stat st;
	*o = (struct outfile){.stream = path ? NULL : stdout, .path = path};
	if (!path)
		return 0;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		o->stream = fopen(path, "w");
		return o->stream ? 0 : refuse(o, e);
	}
	size_t size = strlen(path) + 32;
	o->temporary = xmalloc(size);
	snprintf(o->temporary, size, "%s.%ld.tmp", path, (long)getpid());
	int fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	o->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (o->stream)
		return 0;
	refuse(o, e);
	free(o->temporary);
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
		failed = rename(o->temporary, o->path) != 0;
	int result = failed ? refuse(o, e) : 0;
	outfile_abandon(o);
	return result;
}

void outfile_abandon(struct outfile *o)
{
	if (o->stream && o->path)
		fclose(o->stream);
	if (o->temporary)
		unlink(o->temporary); /* already renamed where all went well */
	free(o->temporary);
	*o = (struct outfile){0};
}
