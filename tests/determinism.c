/*
 * determinism.c: prints everything that comes out of a fixed set of runs of every policy, preset
 * and shape, to be compared byte for byte between builds at different levels of optimisation.
 */
#include "tests/subjects.h"

enum { RUNS = 12 };

int main(void)
{
	size_t n;
	struct subject *all = subjects_all(&n);

	for (size_t k = 0; k < n; k++) {
		for (uint64_t i = 0; i < RUNS; i++) {
			struct random_run run;
			struct harness_result r;

			random_run_init(&run, &all[k], i);
			harness_run(&run.options, run.row, run.n, &r);
			char *text = harness_text(&r);

			printf("%s %llu\n%s", all[k].name, (unsigned long long)i, text);
			free(text);
			harness_release(&r);
			random_run_release(&run);
		}
	}
	free(all);
	return 0;
}
