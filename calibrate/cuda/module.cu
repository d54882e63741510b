/* The backend "cuda", as backend.c finds it in the module. */

#include "check.h"
#include "session.h"

static int check_all(uint64_t seed, void (*say)(void *arg, const char *line), void *arg, err *e)
{
	hardware gpu;
	check c = {};

	if (hardware_find(&gpu, e) < 0)
		return -1;
	c.seed = seed;
	c.say = say;
	c.arg = arg;
	check_elementwise(c);
	check_cache(c);
	check_gemm(c);
	check_attention(c);
	check_steps(c);
	if (const char *what = last_failure())
		return err_set(e, "the GPU failed in the checks: %s", what);
	if (c.failures > 0)
		return err_set(e, "%d of the checks failed, the first: %s", c.failures, c.worst);
	return 0;
}

static void facts(backend *, backend_facts *f)
{
	hardware_facts(f);
}

extern "C" __attribute__((visibility("default"))) const backend_ops *omnibus_backend_cuda(void)
{
	static const backend_ops ops = {
		"cuda",	      "the first NVIDIA GPU: cuBLASLt and kernels of our own, bf16",
		session_open, session_close,
		facts,	      session_step,
		session_time, check_all,
		nullptr};

	return &ops;
}
