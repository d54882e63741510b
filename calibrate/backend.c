/* Backends by name: the one that is compiled in, and the module. */

#include "calibrate/backend.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

typedef const struct backend_ops *module_entry(void);

enum { MODULE_PATH = 4096 };

static const char module_name[] = "omnibus-cuda.so";

/* Beside the program; -1: its own path is not known. */
static int beside_program(char *path)
{
	ssize_t n = readlink("/proc/self/exe", path, MODULE_PATH - sizeof(module_name) - 1);
	char *slash;

	if (n <= 0)
		return -1;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -1;
	strcpy(slash + 1, module_name);
	return 0;
}

static const struct backend_ops *load(const char *path, struct err *e)
{
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	module_entry *entry;

	if (!module) {
		err_set(e,
			"no backend cuda: %s; it is built where nvcc is, and looked for beside the "
			"program or where OMNIBUS_CUDA_MODULE says",
			dlerror());
		return NULL;
	}
	/* the cast that POSIX prescribes: C has none from an object to a function */
	*(void **)(&entry) = dlsym(module, "omnibus_backend_cuda");
	if (entry)
		return entry();
	err_set(e, "no backend cuda: %s has no function omnibus_backend_cuda", path);
	dlclose(module);
	return NULL;
}

static const struct backend_ops *find_cuda(struct err *e)
{
	const char *named = getenv("OMNIBUS_CUDA_MODULE");
	char path[MODULE_PATH];

	if (named && *named)
		return load(named, e);
	if (beside_program(path) < 0) {
		err_set(e, "no backend cuda: /proc/self/exe does not say where the program is, and "
			   "OMNIBUS_CUDA_MODULE is not set");
		return NULL;
	}
	return load(path, e);
}

const struct backend_ops *backend_find(const char *name, struct err *e)
{
	static const char *const names[] = {"cpu", "cuda"};

	if (strcmp(name, backend_cpu.name) == 0)
		return &backend_cpu;
	if (strcmp(name, "cuda") == 0)
		return find_cuda(e);
	err_unknown(e, "backend", name, names, sizeof(names) / sizeof(names[0]));
	return NULL;
}
