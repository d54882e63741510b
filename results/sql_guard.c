#include "results/sql_guard.h"

#include <stdbool.h>
#include <string.h>

const char sql_guard_functions[] = "abs, avg, coalesce, count, glob, ifnull, iif, instr, length, "
				   "like, lower, max, min, nullif, round, substr, sum, total, "
				   "trim, typeof, upper";

enum { STEPS_A_LOOK = 100000, VALUE_BYTES_MAX = 1000000, PATTERN_BYTES_MAX = 256 };

/* A whole word of the list; SQLite gives names in lower case, as they were registered. */
static bool is_allowed(const char *name)
{
	size_t len = strlen(name);

	for (const char *p = sql_guard_functions; len && (p = strstr(p, name)); p += len) {
		bool starts = p == sql_guard_functions || p[-1] == ' ';

		if (starts && (p[len] == ',' || !p[len]))
			return true;
	}
	return false;
}

static bool starts_with(const char *text, const char *with)
{
	return !sqlite3_strnicmp(text, with, (int)strlen(with));
}

static int authorize(void *unused, int action, const char *first, const char *second,
		     const char *database, const char *inner)
{
	(void)unused;
	(void)database;
	(void)inner;
	switch (action) {
	case SQLITE_SELECT:
		return SQLITE_OK;
	case SQLITE_READ:
		return first && (starts_with(first, "sqlite_") || starts_with(first, "pragma_"))
			       ? SQLITE_DENY
			       : SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && is_allowed(second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int count_steps(void *arg)
{
	struct sql_guard *g = arg;

	g->steps_left -= STEPS_A_LOOK;
	return g->steps_left < 0;
}

void sql_guard_set(struct sql_guard *g, sqlite3 *db, int64_t max_steps)
{
	*g = (struct sql_guard){.db = db, .steps_left = max_steps};
	/* a text in double quotes would be taken for a column that is mistyped, and the other way
	 * round */
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_set_authorizer(db, authorize, NULL);
	sqlite3_progress_handler(db, STEPS_A_LOOK, count_steps, g);
}

void sql_guard_clear(struct sql_guard *g)
{
	sqlite3_set_authorizer(g->db, NULL, NULL);
	sqlite3_progress_handler(g->db, 0, NULL, NULL);
}

/* Behind the quoted text or name that starts at p; NULL: it does not end. */
static const char *skip_quoted(const char *p)
{
	char end = *p == '[' ? ']' : *p;

	/* a doubled quote is one inside: the next piece then starts with it */
	p = strchr(p + 1, end);
	return p ? p + 1 : NULL;
}

/* Behind the comment that starts at p; p itself: none does; NULL: it does not end. */
static const char *skip_comment(const char *p)
{
	const char *end;

	if (p[0] == '-' && p[1] == '-') {
		end = strchr(p, '\n');
		return end ? end : p + strlen(p);
	}
	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		return end ? end + 2 : NULL;
	}
	return p;
}

const char *sql_guard_expression(const char *text)
{
	int depth = 0;

	for (const char *p = text; *p;) {
		const char *next = strchr("'\"`[", *p) ? skip_quoted(p) : skip_comment(p);

		if (!next)
			return "a text, a name or a comment in it does not end";
		if (next != p) {
			p = next;
			continue;
		}
		if (*p == ';')
			return "it is one expression, without a ';'";
		depth += (*p == '(') - (*p == ')');
		if (depth < 0)
			return "it closes a bracket that it did not open";
		p++;
	}
	return depth ? "it does not close a bracket" : NULL;
}
