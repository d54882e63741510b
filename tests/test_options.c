#include "sim/options.h"
#include "tests/testing.h"
#include <string.h>
#include <unistd.h>

/* What the table below fills; cleared before each parse. */
static struct {
	bool flag, seed_given;
	const char *model;
	int64_t seed, limit;
	double speed, any;
	struct option_list policies;
} got;

static const struct option_row rows[] = {
	{"policy", 'p', OPTION_LIST, &got.policies, "POLICY[:k=v,...]", "a policy; may be repeated",
	 0, 0, NULL},
	{"model", 'm', OPTION_TEXT, &got.model, "MODEL", "a model", 0, 0, NULL},
	{"seed", 0, OPTION_INT, &got.seed, "S", "seed of every random stream", 0, 0,
	 &got.seed_given},
	{"limit", 0, OPTION_INT, &got.limit, "N", "take N requests", 1, 1e19, NULL},
	{"speed", 0, OPTION_REAL, &got.speed, "X", "replay X times as fast", 0.001, 1000, NULL},
	{"any-real-number-at-all", 0, OPTION_REAL, &got.any, "NUMBER",
	 "a long text about an option whose own name is long, so long that the text begins on the "
	 "next line and is wrapped there at the width of the page",
	 0, 0, NULL},
	{"flag", 'f', OPTION_FLAG, &got.flag, NULL, "a switch", 0, 0, NULL},
	{0},
};

static const struct option_usage usage = {
	.command = "try",
	.synopsis = "omnibus try TRACE -p POLICY\n       omnibus try --flag",
	.about = "Tries the options.\n",
	.rows = rows,
	.min_args = 1,
	.max_args = 2,
};

enum { MAX_WORDS = 16 };

/* Cuts `line` at blanks into `words` (which point into `copy`) and parses it. */
static int parse_words(const char *line, char *copy, size_t size, char **words, struct err *e)
{
	memset(&got, 0, sizeof(got));
	got.seed = -7;
	CHECK(strlen(line) < size, "%zu characters for %zu", strlen(line), size);
	memcpy(copy, line, strlen(line) + 1);
	int argc = 0;
	char *rest = NULL;
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		words[argc++] = w;
	words[argc] = NULL;
	return options_parse(&usage, argc, words, e);
}

static void assert_wrong(const char *line, const char *part)
{
	char copy[256], *words[MAX_WORDS];
	struct err e = {.text = ""};
	assert_refused(parse_words(line, copy, sizeof(copy), words, &e), e, part);
	options_release(&usage);
}

static void test_all_kinds(void **state)
{
	(void)state;
	char copy[256], *words[MAX_WORDS];
	struct err e;
	int at = parse_words("try a.csv -p static --model=llama --seed 5 -ppaged:chunk=8 --limit=9 "
			     "--speed 2.5 --any-real-number-at-all=-1e300 -f --policy continuous",
			     copy, sizeof(copy), words, &e);
	assert_fine(at, e);
	assert_string_equal(words[at], "a.csv");
	assert_i64(got.policies.n, 3);
	assert_string_equal(got.policies.items[0], "static");
	assert_string_equal(got.policies.items[1], "paged:chunk=8");
	assert_string_equal(got.policies.items[2], "continuous");
	assert_string_equal(got.model, "llama");
	assert_i64(got.seed, 5);
	assert_true(got.seed_given);
	assert_i64(got.limit, 9);
	assert_near(got.speed, 2.5, 0);
	assert_near(got.any, -1e300, 0);
	assert_true(got.flag);
	options_release(&usage);
	assert_null(got.policies.items);
	assert_i64(got.policies.n, 0);
	options_release(&usage); /* again is fine */
}

static void test_absent_options_keep_their_values(void **state)
{
	(void)state;
	char copy[256], *words[MAX_WORDS];
	struct err e;
	assert_i64(parse_words("try a.csv", copy, sizeof(copy), words, &e), 1);
	assert_i64(got.seed, -7);
	assert_false(got.seed_given);
	assert_false(got.flag);
	assert_null(got.model);
	assert_i64(got.policies.n, 0);
}

static void test_positional_come_last(void **state)
{
	(void)state;
	char copy[256], *words[MAX_WORDS];
	struct err e;
	int at = parse_words("try one -f two --seed 3", copy, sizeof(copy), words, &e);
	assert_i64(at, 4);
	assert_string_equal(words[at], "one");
	assert_string_equal(words[at + 1], "two");
	at = parse_words("try -f -- --seed", copy, sizeof(copy), words, &e);
	assert_fine(at, e);
	assert_string_equal(words[at], "--seed");
	assert_false(got.seed_given);
	assert_i64(parse_words("try -", copy, sizeof(copy), words, &e), 1); /* standard input */
}

static void test_positional_count(void **state)
{
	(void)state;
	assert_wrong("try", "0 of at least 1 arguments given; "
			    "usage: omnibus try TRACE -p POLICY");
	assert_wrong("try -f", "0 of at least 1");
	assert_wrong("try a b c", "'c' is one argument too many");
}

static void test_unknown_option(void **state)
{
	(void)state;
	assert_wrong("try a --polcy x", "unknown option of omnibus try '--polcy', nearest is "
					"'--policy'; valid: --policy, --model, --seed, --limit");
	assert_wrong("try a --sed=5", "'--sed', nearest is '--seed'");
	assert_wrong("try a --hepl", "nearest is '--help'");
	assert_wrong("try a -x", "unknown option of omnibus try '-x'");
	assert_wrong("try a -fx", "'-x'");
	assert_wrong("--sed --sed", "'--sed'");
}

static void test_value_missing_or_needless(void **state)
{
	(void)state;
	assert_wrong("try a --seed", "--seed needs a value (S)");
	assert_wrong("try a -p", "--policy needs a value (POLICY[:k=v,...])");
	assert_wrong("try a --flag=yes", "--flag takes no value");
	assert_wrong("try a --help=yes", "--help takes no value");
}

/* An abbreviation that is unique today would not be after the next option. */
static void test_abbreviation_refused(void **state)
{
	(void)state;
	assert_wrong("try a --pol static", "'--pol', nearest is '--policy'");
	assert_wrong("try a --mod=llama", "'--mod', nearest is '--model'");
	assert_wrong("try a --fla", "'--fla', nearest is '--flag'");
	assert_wrong("try a --s 1", "'--s', nearest is '--seed'");
	assert_wrong("try --hel", "'--hel', nearest is '--help'");
}

static void test_given_twice(void **state)
{
	(void)state;
	assert_wrong("try a --seed 1 --seed 2", "--seed is given twice");
	assert_wrong("try a -m x --model y", "--model is given twice");
}

static void test_numbers_checked(void **state)
{
	(void)state;
	assert_wrong("try a --seed 1x", "--seed: '1x' is not a whole number");
	assert_wrong("try a --seed=", "--seed: '' is not a whole number");
	assert_wrong("try a --seed 1.5", "--seed: '1.5'");
	assert_wrong("try a --limit 0", "--limit: '0' is not a whole number of at least 1");
	assert_wrong("try a --limit -1", "--limit: '-1'");
	assert_wrong("try a --limit 9223372036854775808", "--limit: ");
	assert_wrong("try a --speed 0", "--speed: '0' is not a number from 0.001 to 1000");
	assert_wrong("try a --speed nan", "--speed: 'nan'");
	assert_wrong("try a --speed 1e999", "--speed: '1e999'");
	assert_wrong("try a --any-real-number-at-all inf", "'inf' is not a finite number");
}

static void test_no_limit_on_positional(void **state)
{
	(void)state;
	static const struct option_row none[] = {{0}};
	static const struct option_usage many = {.command = "many",
						 .synopsis = "omnibus many [X ...]",
						 .rows = none,
						 .max_args = -1};
	char words[4][8] = {"many", "a", "b", "c"};
	char *argv[] = {words[0], words[1], words[2], words[3], NULL};
	struct err e;
	assert_i64(options_parse(&many, 4, argv, &e), 1);
	assert_i64(options_parse(&many, 1, argv, &e), 1);
}

/* What --help prints, from the file that stdout is for that while. */
static void capture_help(const char *line, char *text, size_t size)
{
	char copy[256], *words[MAX_WORDS];
	struct err e;
	fflush(stdout);
	int saved = dup(1);
	FILE *f = fopen(testing_path("help"), "w+");
	CHECK(f && saved >= 0 && dup2(fileno(f), 1) == 1, "cannot redirect %s", line);
	int result = parse_words(line, copy, sizeof(copy), words, &e);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	rewind(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
	options_release(&usage);
	assert_i64(result, 0);
}

static const char *const help_text =
	"usage: omnibus try TRACE -p POLICY\n"
	"       omnibus try --flag\n"
	"\n"
	"Tries the options.\n"
	"\n"
	"options:\n"
	"  -p, --policy POLICY[:k=v,...]  a policy; may be repeated\n"
	"  -m, --model MODEL              a model\n"
	"      --seed S                   seed of every random stream\n"
	"      --limit N                  take N requests\n"
	"      --speed X                  replay X times as fast\n"
	"      --any-real-number-at-all NUMBER\n"
	"                                 a long text about an option whose own name is long, so "
	"long\n"
	"                                 that the text begins on the next line and is wrapped "
	"there at\n"
	"                                 the width of the page\n"
	"  -f, --flag                     a switch\n"
	"  -h, --help                     print this text\n";

static void test_help(void **state)
{
	(void)state;
	char text[4096];
	capture_help("try --help", text, sizeof(text));
	assert_string_equal(text, help_text);
	/* before any other complaint than those to its left */
	capture_help("try a b c d -h --polcy", text, sizeof(text));
	assert_string_equal(text, help_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_kinds),
		cmocka_unit_test(test_absent_options_keep_their_values),
		cmocka_unit_test(test_positional_come_last),
		cmocka_unit_test(test_positional_count),
		cmocka_unit_test(test_unknown_option),
		cmocka_unit_test(test_value_missing_or_needless),
		cmocka_unit_test(test_abbreviation_refused),
		cmocka_unit_test(test_given_twice),
		cmocka_unit_test(test_numbers_checked),
		cmocka_unit_test(test_no_limit_on_positional),
		cmocka_unit_test(test_help),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
