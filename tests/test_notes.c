/* The table of words in calibrate/README.md has every word that the program can put into `notes`.
 */
#include "tests/testing.h"
#include <glob.h>
#include <stdbool.h>
#include <string.h>

enum { WORD_MAX = 64, KNOWN_CALLS = 20 };

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = xcalloc(1, 1 << 18);

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 18) - 1, f) > 0);
	fclose(f);
	return text;
}

/* `word` has a row of the table, or is the PART of one. */
static bool is_in_table(const char *table, const char *word)
{
	char quoted[2 * WORD_MAX + 4], open[2 * WORD_MAX + 4];
	const char *dash = strchr(word, '-');

	snprintf(open, sizeof(open), "| `%s` |", word);
	if (strstr(table, open))
		return true;
	if (word[0] && word[strlen(word) - 1] == '=') { /* a number follows */
		snprintf(open, sizeof(open), "| `%s", word);
		return strstr(table, open) != NULL;
	}
	if (!dash)
		return false;
	snprintf(open, sizeof(open), "| `%.*s-PART` |", (int)(dash - word), word);
	snprintf(quoted, sizeof(quoted), "`%s`", dash + 1);
	return strstr(table, open) && strstr(table, quoted);
}

/* The first string after `at` in the statement, up to a %; false: there is none. */
static bool first_string(const char *at, char word[WORD_MAX])
{
	size_t to_end = strcspn(at, ";{");
	const char *quote = memchr(at, '"', to_end);

	if (!quote)
		return false;
	snprintf(word, WORD_MAX, "%.*s", (int)strcspn(quote + 1, "\"%"), quote + 1);
	return true;
}

struct seen {
	const char *table;
	int words, without, missing;
};

/* Every call of `call`, and the word that it adds, `prefix` before it. */
static void look_for(struct seen *s, const char *path, const char *text, const char *call,
		     const char *prefix)
{
	for (const char *at = text; (at = strstr(at, call)); at += strlen(call)) {
		char word[WORD_MAX], whole[2 * WORD_MAX];

		if (at[strlen(call) + strcspn(at + strlen(call), ";{")] == '{')
			continue; /* the function itself */
		if (!first_string(at, word)) {
			s->without++;
			continue;
		}
		snprintf(whole, sizeof(whole), "%s%s", prefix, word);
		s->words += word[0] != '\0';
		if (word[0] == '\0' || is_in_table(s->table, whole))
			continue;
		print_error("%s: '%s' is in no row of the table\n", path, whole);
		s->missing++;
	}
}

static void look_at(struct seen *s, const char *pattern)
{
	glob_t found;

	assert_i64(glob(testing_source(pattern), 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		char *text = read_file(path);

		look_for(s, path, text, " add_note(", "");
		look_for(s, path, text, "\tadd_note(", "");
		look_for(s, path, text, "cost_note(", "");
		look_for(s, path, text, "note_part(", "roofline-");
		int without = s->without;
		look_for(s, path, text, "notes = ", "");
		s->without = without; /* those of another executor, and texts that calls fill */
		free(text);
	}
	globfree(&found);
}

static void test_every_word_is_in_the_table(void **state)
{
	char *readme = read_file(testing_source("calibrate/README.md"));
	struct seen s = {.table = strstr(readme, "\n## Words in `notes`\n")};

	(void)state;
	assert_non_null(s.table);
	look_at(&s, "sim/*.c");
	look_at(&s, "calibrate/*.c");
	assert_i64(s.missing, 0);
	assert_true(s.words >= KNOWN_CALLS);
	assert_i64(s.without, 1); /* note_part() itself, whose callers are looked at */
	free(readme);
}

/* The test finds what is missing. */
static void test_a_missing_word_is_found(void **state)
{
	static const char table[] = "| `roofline` | a |\n| `roofline-PART` | `gemm` |\n"
				    "| `stream=N` | b, not `oracle` |\n";

	(void)state;
	assert_true(is_in_table(table, "roofline"));
	assert_true(is_in_table(table, "roofline-gemm"));
	assert_true(is_in_table(table, "stream="));
	assert_false(is_in_table(table, "roofline-head"));
	assert_false(is_in_table(table, "extrapolated-gemm"));
	assert_false(is_in_table(table, "oracle"));
	assert_false(is_in_table(table, "reply="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_word_is_in_the_table),
		cmocka_unit_test(test_a_missing_word_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
