#include "sim/scratch.h"
#include "sim/endings.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct file {
	char *path, *unfinished; /* as traces/outfile.h writes it */
	struct file *before;
};

static char *folder;
static _Atomic(struct file *) files; /* read by the handler */
static struct sigaction actions_before[N_ENDINGS];

static void take_away(void)
{
	for (const struct file *f = atomic_load(&files); f; f = f->before) {
		unlink(f->path);
		unlink(f->unfinished);
	}
	rmdir(folder);
}

static void end(int sig)
{
	take_away();
	raise(sig);
}

int scratch_open(struct err *e)
{
	const char *in = getenv("TMPDIR");
	size_t size;

	CHECK(!folder, "%s is open", folder);
	in = in && *in ? in : "/tmp";
	size = strlen(in) + sizeof("/omnibus-XXXXXX");
	folder = xmalloc(size);
	snprintf(folder, size, "%s/omnibus-XXXXXX", in);
	if (!mkdtemp(folder)) {
		err_set(e, "cannot make a folder in %s (TMPDIR): %s", in, strerror(errno));
		free(folder);
		folder = NULL;
		return -1;
	}
	endings_watch(end, actions_before);
	return 0;
}

const char *scratch_file(const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 32;
	struct file *f = xcalloc(1, sizeof(*f));

	f->path = xmalloc(size);
	f->unfinished = xmalloc(size);
	snprintf(f->path, size, "%s/%s", folder, name);
	snprintf(f->unfinished, size, "%s.%ld.tmp", f->path, (long)getpid());
	f->before = atomic_load(&files);
	atomic_store(&files, f);
	return f->path;
}

void scratch_close(void)
{
	take_away();
	endings_leave(actions_before);
	for (struct file *f = atomic_exchange(&files, NULL), *before; f; f = before) {
		before = f->before;
		free(f->path);
		free(f->unfinished);
		free(f);
	}
	free(folder);
	folder = NULL;
}
