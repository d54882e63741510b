/* Backends by name, and modules that are none. */

#include "calibrate/backend.h"
#include "tests/testing.h"
#include <stdlib.h>
#include <string.h>

static void by_name(void **state)
{
	(void)state;
	struct err e;

	assert_ptr_equal(backend_find("cpu", &e), &backend_cpu);
	assert_null(backend_find("gpu", &e));
	assert_non_null(strstr(e.text, "unknown backend 'gpu'"));
	assert_non_null(strstr(e.text, "cuda"));
}

static void no_module(void **state)
{
	(void)state;
	struct err e;

	setenv("OMNIBUS_CUDA_MODULE", testing_path("none.so"), 1);
	assert_null(backend_find("cuda", &e));
	assert_non_null(strstr(e.text, "none.so"));
	assert_non_null(strstr(e.text, "no backend cuda"));
	/* a file that is no library */
	setenv("OMNIBUS_CUDA_MODULE", testing_file("text.so", "no library\n"), 1);
	assert_null(backend_find("cuda", &e));
	assert_non_null(strstr(e.text, "text.so"));
	unsetenv("OMNIBUS_CUDA_MODULE");
}

/* A library without the function. */
static void another_module(void **state)
{
	(void)state;
	struct err e;

	setenv("OMNIBUS_CUDA_MODULE", "libm.so.6", 1);
	assert_null(backend_find("cuda", &e));
	assert_non_null(strstr(e.text, "libm.so.6 has no function omnibus_backend_cuda"));
	unsetenv("OMNIBUS_CUDA_MODULE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name),
		cmocka_unit_test(no_module),
		cmocka_unit_test(another_module),
	};

	return cmocka_run_group_tests_name("backend", tests, NULL, NULL);
}
