/*
 * omnibus-fuzz SECONDS [SEED]: random cases over every setting, the reference simulator against the
 * engine with and without fast-forward, audited; until the time is over or something differs. What
 * fails is made smaller, and printed as one line that can be given back:
 *
 *     omnibus-fuzz --case 'name=value ... requests=ARRIVE:PROMPT:OUTPUT,...'
 *
 * Case k of seed s is the same everywhere. The engine runs in processes of its own, so that one
 * that aborts is a failure like others. Exit code 1: something differs; 2: usage.
 */
#include "tests/agree.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CASE_SECONDS = 20 }; /* a case that takes longer hangs */

/* Shared with the process that tries. */
struct progress {
	int64_t next; /* case */
	struct verdict verdict;
	struct agree_seen seen;
};

struct fuzz {
	unsigned long seed;
	double until_s;
	bool aborts; /* the case that is being made smaller */
	struct progress *progress;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct progress *shared_memory(void)
{
	FILE *file = tmpfile();
	void *at = MAP_FAILED;

	if (file && ftruncate(fileno(file), sizeof(struct progress)) == 0)
		at = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE, MAP_SHARED,
			  fileno(file), 0);
	CHECK(at != MAP_FAILED, "no shared memory of %zu bytes", sizeof(struct progress));
	fclose(file);
	return at;
}

static void make_case(unsigned long seed, int64_t k, struct ref_config *c, struct ref_request **req,
		      size_t *n)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	gsl_rng_set(rng, seed * 1000003 + (unsigned long)k + 1);
	reference_random_case(rng, (enum ref_kind)(k % 4), c, req, n);
	agree_level(c, *req, *n);
	gsl_rng_free(rng);
}

/* In a process of its own: cases until one differs or the time is over. */
static void try_on(struct fuzz *f)
{
	struct progress *p = f->progress;

	for (; now_s() < f->until_s; p->next++) {
		struct ref_config c;
		struct ref_request *req;
		size_t n;

		alarm(CASE_SECONDS);
		make_case(f->seed, p->next, &c, &req, &n);
		p->verdict = agree_try(&c, req, n, &p->seen);
		free(req);
		if (p->verdict.text[0])
			_exit(1);
	}
	_exit(0);
}

/* How a process that tries ended: "" where nothing was wrong. */
static struct verdict ended(pid_t pid, const struct progress *p)
{
	struct verdict v = {""};
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		snprintf(v.text, sizeof(v.text), "no process");
	else if (WIFSIGNALED(status))
		snprintf(v.text, sizeof(v.text), "signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 1 && p->verdict.text[0])
		v = p->verdict;
	else if (WEXITSTATUS(status) != 0)
		snprintf(v.text, sizeof(v.text), "exit code %d", WEXITSTATUS(status));
	return v;
}

static struct verdict try_apart(struct fuzz *f, const struct ref_config *c,
				const struct ref_request *req, size_t n, bool quiet)
{
	pid_t pid;

	f->progress->verdict = (struct verdict){""};
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(3);
		alarm(CASE_SECONDS);
		f->progress->verdict = agree_try(c, req, n, NULL);
		_exit(f->progress->verdict.text[0] != 0);
	}
	return ended(pid, f->progress);
}

/* A case that aborts is not made smaller into one that differs, nor the other way. */
static bool still_fails(void *arg, const struct ref_config *c, const struct ref_request *req,
			size_t n)
{
	struct fuzz *f = arg;
	struct verdict v = try_apart(f, c, req, n, true);

	return v.text[0] && (strncmp(v.text, "signal", 6) == 0) == f->aborts;
}

static int report(struct fuzz *f, struct ref_config *c, struct ref_request *req, size_t n)
{
	struct verdict v;

	f->aborts = strncmp(try_apart(f, c, req, n, true).text, "signal", 6) == 0;
	shrink_case(c, req, &n, still_fails, f);
	v = try_apart(f, c, req, n, false);
	printf("%s\nomnibus-fuzz --case '", v.text);
	ref_print_line(stdout, c, req, n);
	printf("'\n");
	fflush(NULL);
	if (fork() == 0) { /* it may abort */
		agree_explain(stderr, c, req, n);
		_exit(0);
	}
	wait(NULL);
	return 1;
}

static int one_case(struct fuzz *f, const char *line)
{
	struct ref_config c;
	struct ref_request *req;
	struct err e;
	size_t n;
	int rc = 0;

	if (ref_parse_line(line, &c, &req, &n, &e) < 0) {
		fprintf(stderr, "omnibus-fuzz: %s\n", e.text);
		free(req);
		return 2;
	}
	agree_level(&c, req, n);
	if (try_apart(f, &c, req, n, false).text[0])
		rc = report(f, &c, req, n);
	else
		agree_explain(stdout, &c, req, n);
	free(req);
	return rc;
}

static int many_cases(struct fuzz *f)
{
	struct verdict v;
	pid_t pid;
	int rc = 0;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		try_on(f);
	v = ended(pid, f->progress);
	printf("seed %lu: ", f->seed);
	agree_print_seen(stdout, &f->progress->seen);
	if (v.text[0]) {
		struct ref_config c;
		struct ref_request *req;
		size_t n;

		printf("case %lld: %s\n", (long long)f->progress->next, v.text);
		make_case(f->seed, f->progress->next, &c, &req, &n);
		rc = report(f, &c, req, n);
		free(req);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct fuzz f = {.seed = 1, .progress = shared_memory()};
	char *end = NULL;
	double seconds;

	if (argc == 3 && strcmp(argv[1], "--case") == 0)
		return one_case(&f, argv[2]);
	seconds = argc == 2 || argc == 3 ? strtod(argv[1], &end) : 0;
	if (argc == 3 && end && !*end)
		f.seed = strtoul(argv[2], &end, 10);
	if (!end || *end || !(seconds > 0)) {
		fprintf(stderr, "usage: omnibus-fuzz SECONDS [SEED] | --case 'LINE'\n");
		return 2;
	}
	f.until_s = now_s() + seconds;
	return many_cases(&f);
}
