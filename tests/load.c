#include "tests/load.h"
#include "tests/testing.h"

struct model load_model(const char *name)
{
	struct model m;
	struct err e;
	assert_fine(model_load(&m, name, &e), e);
	return m;
}

const struct device *load_device(const char *name)
{
	const struct device *d;
	struct err e;
	assert_fine(device_load(&d, name, &e), e);
	return d;
}
