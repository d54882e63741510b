#include "tests/load.h"
#include "tests/testing.h"
#include <string.h>

struct model load_model(const char *name)
{
	struct model m;
	struct err e;
	assert_fine(model_load(&m, name, &e), e);
	return m;
}

const struct device *load_device(const char *name)
{
	size_t n;
	const struct device *list = device_list(&n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	fail_msg("no device %s", name);
	return NULL;
}
