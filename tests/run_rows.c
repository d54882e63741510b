#include "tests/run_rows.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char run_program[] = OMNIBUS_PROGRAM;

size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

struct run_output run_well(const char *args)
{
	struct run_output o = testing_run("run %s", args);
	if (o.code != 0)
		print_error("omnibus run %s\n", args);
	assert_exit(o, 0);
	return o;
}

void assert_says(const char *args, const char *part)
{
	struct run_output o = run_well(args);
	if (!strstr(o.err, part))
		print_error("omnibus run %s: no '%s' in: %s\n", args, part, o.err);
	assert_non_null(strstr(o.err, part));
	testing_run_free(&o);
}

struct results run_rows(const char *args)
{
	char jsonl[1024];
	struct results r = {.n = 0};
	snprintf(jsonl, sizeof(jsonl), "%s -o jsonl", args);
	struct run_output o = run_well(jsonl);
	for (const char *line = o.out, *end; (end = strchr(line, '\n')); line = end + 1) {
		json_error_t e;
		assert_true(r.n < ROWS_MAX);
		r.row[r.n] = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &e);
		assert_non_null(r.row[r.n]);
		assert_true(json_is_object(r.row[r.n]));
		r.n++;
	}
	testing_run_free(&o);
	return r;
}

void free_rows(struct results *r)
{
	for (size_t i = 0; i < r->n; i++)
		json_decref(r->row[i]);
}

double row_number(const struct results *r, size_t i, const char *name)
{
	const json_t *v = json_object_get(r->row[i], name);
	if (!json_is_number(v))
		print_error("row %zu: %s is no number\n", i, name);
	assert_true(json_is_number(v));
	return json_number_value(v);
}

const char *row_text(const struct results *r, size_t i, const char *name)
{
	const char *s = json_string_value(json_object_get(r->row[i], name));
	assert_non_null(s);
	return s;
}

void assert_row(const char *args, const struct expect *want)
{
	struct results r = run_rows(args);
	assert_i64(r.n, 1);
	for (; want->name; want++) {
		double got = row_number(&r, 0, want->name);
		if (got != want->value)
			print_error("omnibus run %s: %s\n", args, want->name);
		assert_near(got, want->value, 1e-12);
	}
	free_rows(&r);
}

bool have_tool(const char *tool)
{
	char command[64];
	snprintf(command, sizeof(command), "command -v %s >/dev/null", tool);
	return system(command) == 0;
}

pid_t run_start(const char *args)
{
	char command[1024];
	snprintf(command, sizeof(command), "exec '%s' run %s", run_program, args);
	fflush(NULL);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0)
		return child;
	int null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}
