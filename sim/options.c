#include "sim/options.h"
#include "sim/number.h"
#include <getopt.h>
#include <string.h>

enum {
	MAX_ROWS = 64,
	HELP_COLUMN_MAX = 36, /* longer options get their help on the next line */
	LINE_WIDTH = 96,
	LONG_BASE = 256, /* getopt_long returns this plus the row for a long option */
};

struct parse {
	const struct option_usage *u;
	size_t n;
	bool seen[MAX_ROWS];
};

struct getopt_tables {
	struct option longs[MAX_ROWS + 2];
	char shorts[2 * MAX_ROWS + 3];
};

static size_t count_rows(const struct option_usage *u)
{
	size_t n = 0;
	while (u->rows[n].name)
		n++;
	CHECK(n <= MAX_ROWS, "%s has %zu options, room for %d", u->command, n, MAX_ROWS);
	return n;
}

static void build_tables(const struct parse *p, struct getopt_tables *t)
{
	char *s = t->shorts;
	*s++ = ':'; /* a missing argument is told apart from an unknown option */
	*s++ = 'h';
	for (size_t i = 0; i < p->n; i++) {
		const struct option_row *row = &p->u->rows[i];
		bool takes = row->kind != OPTION_FLAG;
		t->longs[i] = (struct option){
			.name = row->name,
			.has_arg = takes ? required_argument : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (row->letter) {
			*s++ = row->letter;
			if (takes)
				*s++ = ':';
		}
	}
	t->longs[p->n] = (struct option){.name = "help", .val = 'h'};
}

/* The row of what getopt_long returned or left in optopt, or NULL. */
static const struct option_row *find_row(const struct parse *p, int val)
{
	if (val >= LONG_BASE)
		return &p->u->rows[val - LONG_BASE];
	for (size_t i = 0; i < p->n; i++)
		if (p->u->rows[i].letter && p->u->rows[i].letter == val)
			return &p->u->rows[i];
	return NULL;
}

static int break_line(int column)
{
	printf("\n%*s", column, "");
	return column;
}

/* Continues at `column`; the cursor is there already. A newline in the text is one in the output.
 */
static void print_wrapped(const char *text, int column)
{
	int at = column;
	while (*text) {
		int word = (int)strcspn(text, " \n");
		if (at > column && at + 1 + word > LINE_WIDTH)
			at = break_line(column);
		at += printf("%s%.*s", at > column ? " " : "", word, text);
		text += word;
		if (*text == '\n')
			at = break_line(column);
		if (*text)
			text++;
	}
	putchar('\n');
}

static int format_left(const struct option_row *row, char *buf, size_t size)
{
	char letter[] = {'-', row->letter, ',', '\0'};
	return snprintf(buf, size, "  %3s --%s%s%s", row->letter ? letter : "", row->name,
			row->arg ? " " : "", row->arg ? row->arg : "");
}

static void print_row(const struct option_row *row, int column)
{
	char left[160];
	int width = format_left(row, left, sizeof(left));
	if (width + 2 > column)
		printf("%s\n%*s", left, column, "");
	else
		printf("%-*s", column, left);
	print_wrapped(row->help ? row->help : "", column);
}

static void print_help(const struct parse *p)
{
	static const struct option_row help = {
		.name = "help", .letter = 'h', .help = "print this text"};
	char left[160];
	int column = format_left(&help, left, sizeof(left)) + 2;
	for (size_t i = 0; i < p->n; i++) {
		int width = format_left(&p->u->rows[i], left, sizeof(left)) + 2;
		if (width > column && width <= HELP_COLUMN_MAX)
			column = width;
	}
	printf("usage: %s\n\n", p->u->synopsis);
	size_t about = p->u->about ? strlen(p->u->about) : 0;
	while (about > 0 && p->u->about[about - 1] == '\n')
		about--;
	if (about > 0)
		printf("%.*s\n\n", (int)about, p->u->about);
	printf("options:\n");
	for (size_t i = 0; i < p->n; i++)
		print_row(&p->u->rows[i], column);
	print_row(&help, column);
}

static int store(const struct option_row *row, const char *text, struct err *e)
{
	char what[80];
	snprintf(what, sizeof(what), "--%s", row->name);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)row->value = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)row->value = text;
		return 0;
	case OPTION_INT: {
		int64_t min, max;
		limits_int(row->min, row->max, &min, &max);
		return parse_int(text, what, min, max, row->value, e);
	}
	case OPTION_REAL: {
		double min, max;
		limits_real(row->min, row->max, &min, &max);
		return parse_real(text, what, min, max, row->value, e);
	}
	case OPTION_LIST: {
		struct option_list *list = row->value;
		list->items = xrealloc(list->items, (list->n + 1) * sizeof(*list->items));
		list->items[list->n++] = text;
		return 0;
	}
	}
	CHECK(0, "option --%s has kind %d", row->name, (int)row->kind);
	return -1;
}

static int take(struct parse *p, const struct option_row *row, struct err *e)
{
	size_t i = (size_t)(row - p->u->rows);
	if (p->seen[i] && row->kind != OPTION_LIST && row->kind != OPTION_FLAG)
		return err_set(e, "--%s is given twice", row->name);
	p->seen[i] = true;
	if (row->given)
		*row->given = true;
	return store(row, optarg, e);
}

static int unknown_option(const struct parse *p, const char *word, struct err *e)
{
	char names[MAX_ROWS + 1][64], got[64], kind[64];
	const char *list[MAX_ROWS + 1];
	for (size_t i = 0; i < p->n; i++) {
		snprintf(names[i], sizeof(names[i]), "--%s", p->u->rows[i].name);
		list[i] = names[i];
	}
	list[p->n] = "--help";
	snprintf(got, sizeof(got), "%.*s", (int)strcspn(word, "="), word);
	snprintf(kind, sizeof(kind), "option of omnibus %s", p->u->command);
	return err_unknown(e, kind, got, list, p->n + 1);
}

/*
 * The word of the long option just returned when it is not the whole name: getopt_long takes any
 * unique beginning, which would break command lines whenever an option is added. Else NULL.
 */
static const char *abbreviated(const struct parse *p, int index, char **argv)
{
	bool apart = optarg && optarg == argv[optind - 1];
	const char *word = argv[optind - (apart ? 2 : 1)];
	size_t len = strcspn(word + 2, "=");
	const char *name = (size_t)index < p->n ? p->u->rows[index].name : "help";
	return strlen(name) == len ? NULL : word;
}

/* getopt_long said '?' or ':'. */
static int wrong_option(const struct parse *p, int code, char **argv, struct err *e)
{
	const struct option_row *row = find_row(p, optopt);
	if (row && code == ':')
		return err_set(e, "--%s needs a value (%s)", row->name,
			       row->arg ? row->arg : "VALUE");
	if (row || optopt == 'h')
		return err_set(e, "--%s takes no value", row ? row->name : "help");
	char letter[] = {'-', (char)optopt, '\0'};
	return unknown_option(p, optopt ? letter : argv[optind - 1], e);
}

static int check_positional(const struct option_usage *u, int n, const char *first_extra,
			    struct err *e)
{
	int line = (int)strcspn(u->synopsis, "\n");
	if (n < u->min_args)
		return err_set(e, "%d of at least %d arguments given; usage: %.*s", n, u->min_args,
			       line, u->synopsis);
	if (u->max_args >= 0 && n > u->max_args)
		return err_set(e, "'%.100s' is one argument too many; usage: %.*s", first_extra,
			       line, u->synopsis);
	return 0;
}

int options_parse(const struct option_usage *u, int argc, char **argv, struct err *e)
{
	struct parse p = {.u = u, .n = count_rows(u)};
	struct getopt_tables t = {0};
	build_tables(&p, &t);
	opterr = 0;
	optind = 0; /* glibc: start anew, also after another table */
	int code, index = -1;
	while ((code = getopt_long(argc, argv, t.shorts, t.longs, &index)) != -1) {
		if (code == '?' || code == ':')
			return wrong_option(&p, code, argv, e);
		const char *part = index >= 0 ? abbreviated(&p, index, argv) : NULL;
		if (part)
			return unknown_option(&p, part, e);
		index = -1; /* a short option does not set it */
		if (code == 'h') {
			print_help(&p);
			return 0;
		}
		if (take(&p, find_row(&p, code), e) < 0)
			return -1;
	}
	int n = argc - optind;
	const char *extra = u->max_args >= 0 && n > u->max_args ? argv[optind + u->max_args] : "";
	return check_positional(u, n, extra, e) < 0 ? -1 : optind;
}

void options_release(const struct option_usage *u)
{
	for (const struct option_row *row = u->rows; row->name; row++) {
		if (row->kind != OPTION_LIST)
			continue;
		struct option_list *list = row->value;
		free(list->items);
		*list = (struct option_list){0};
	}
}
