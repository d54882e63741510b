/* cmd_compare.c: `omnibus compare`: runs of a results database beside each other. */
#include "results/store.h"
#include "sim/options.h"
#include <string.h>

static bool differs(const struct field *f, const struct stored_run *runs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const char *a = (const char *)&runs[0].info, *b = (const char *)&runs[i].info;
		size_t len_a, len_b;

		switch (f->kind) {
		case FIELD_INT:
			if (field_int(f, a) != field_int(f, b))
				return true;
			break;
		case FIELD_REAL:
			if (field_is_null(f, a) != field_is_null(f, b) ||
			    (!field_is_null(f, a) && field_real(f, a) != field_real(f, b)))
				return true;
			break;
		case FIELD_TEXT:
			a = field_text(f, a, &len_a);
			b = field_text(f, b, &len_b);
			if (len_a != len_b || memcmp(a, b, len_a))
				return true;
		}
	}
	return false;
}

static bool in_table(const char *name)
{
	for (const struct field *f = summary_fields; f->name; f++) {
		if (f->md && !strcmp(f->name, name))
			return true;
	}
	return false;
}

/* A line a run, of the settings that are not the same in all and that the table above lacks. */
static int print_differences(FILE *out, const struct stored_run *runs, const void **rows, size_t n)
{
	struct field shown[128] = {
		{.name = "run",
		 .kind = FIELD_INT,
		 .offset = offsetof(struct stored_run, summary) + offsetof(struct summary, run_id),
		 .size = sizeof(int64_t),
		 .md = true},
	};
	size_t n_shown = 1;

	for (const struct field *f = run_info_fields; f->name; f++) {
		if (f->found || in_table(f->name) || !differs(f, runs, n))
			continue;
		CHECK(n_shown + 1 < sizeof shown / sizeof shown[0], "%zu settings", n_shown);
		shown[n_shown] = *f;
		shown[n_shown].md = true;
		shown[n_shown++].offset += offsetof(struct stored_run, info);
	}
	if (n_shown == 1)
		return 0;
	for (size_t i = 0; i < n; i++)
		rows[i] = &runs[i];
	fputs("\nSettings that differ:\n\n", out);
	return fields_print(out, FORMAT_MD, shown, rows, n);
}

static int print_runs(FILE *out, enum format format, const struct stored_run *runs, size_t n)
{
	const void **rows = xcalloc(n, sizeof *rows);
	int rc;

	for (size_t i = 0; i < n; i++)
		rows[i] = &runs[i].summary;
	rc = fields_print(out, format, summary_fields, rows, n);
	if (!rc && format == FORMAT_MD)
		rc = print_differences(out, runs, rows, n);
	free(rows);
	return rc;
}

static int parse_ids(char **args, size_t n, int64_t *ids, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (parse_int(args[i], "the id of a run", 1, INT64_MAX, &ids[i], e))
			return -1;
	}
	return 0;
}

static int parse_format(const char *name, struct err *e)
{
	static const char *const names[] = {"md", "csv", "jsonl"};
	int format = format_parse(name);

	return format >= 0 ? format : err_unknown(e, "format", name, names, 3);
}

static int compare(const char *path, enum format format, const int64_t *ids, size_t n,
		   struct err *e)
{
	struct stored_run *runs;
	size_t n_runs;
	int rc = 0;

	if (store_read(path, ids, n, &runs, &n_runs, e))
		return -1;
	if (print_runs(stdout, format, runs, n_runs))
		rc = err_set(e, "the output cannot be written");
	free(runs);
	return rc;
}

int cmd_compare(int argc, char **argv)
{
	const char *path = NULL, *output = "md";
	const struct option_row rows[] = {
		{.name = "db",
		 .kind = OPTION_TEXT,
		 .value = &path,
		 .arg = "FILE",
		 .help = "results database, as written by omnibus run --db"},
		{.name = "output",
		 .letter = 'o',
		 .kind = OPTION_TEXT,
		 .value = &output,
		 .arg = "md|csv|jsonl",
		 .help = "format (default md)"},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "compare",
		.synopsis = "omnibus compare --db FILE [RUN ...] [-o md|csv|jsonl]",
		.about = "Prints the results of the runs with these ids, in this order (without "
			 "ids: of "
			 "all),\nand as md the settings in which they differ.",
		.rows = rows,
		.max_args = -1,
	};
	struct err e;
	int64_t *ids = NULL;
	int format, code = EXIT_USAGE, first = options_parse(&usage, argc, argv, &e);

	if (first == 0)
		return 0;
	if (first < 0 || (format = parse_format(output, &e)) < 0)
		goto out;
	if (!path) {
		err_set(&e, "--db FILE is missing: the results database to read");
		goto out;
	}
	ids = xcalloc((size_t)(argc - first) + 1, sizeof *ids);
	if (parse_ids(argv + first, (size_t)(argc - first), ids, &e))
		goto out;
	code = compare(path, (enum format)format, ids, (size_t)(argc - first), &e) ? EXIT_FAILED
										   : 0;
out:
	if (code)
		fprintf(stderr, "omnibus compare: %s\n", e.text);
	free(ids);
	options_release(&usage);
	return code;
}
