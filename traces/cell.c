/* cell.c: one value of a row: checked, turned into an integer, or named in a sentence. */
#include "traces/number.h"
#include "traces/source.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *show_text(const char *text, size_t len, char out[SHOWN_SIZE])
{
	static const char dots[] = "...";
	size_t n = 0, room = SHOWN_SIZE - sizeof(dots);
	for (; n < len && n < room; n++)
		out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
	if (n < len) {
		memcpy(out + n, dots, sizeof(dots));
		n += sizeof(dots) - 1;
	}
	out[n] = '\0';
	return out;
}

int cell_refuse(const struct cell *c, struct err *e, const char *fmt, ...)
{
	char rest[512], name[SHOWN_SIZE] = "", where[SHOWN_SIZE + 32];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(rest, sizeof(rest), fmt, ap);
	va_end(ap);
	if (c->name)
		show_text(c->name, strlen(c->name), name);
	if (c->column == 0)
		snprintf(where, sizeof(where), "field %s", name);
	else if (c->name)
		snprintf(where, sizeof(where), "column %lld (%s)", (long long)c->column, name);
	else
		snprintf(where, sizeof(where), "column %lld", (long long)c->column);
	return err_set(e, "%s:%lld: %s: %s", c->file, (long long)c->line, where, rest);
}

#define PRIORITY_MAX INT64_C(1000000000000000)

static int refuse_value(const struct cell *c, const char *problem, const char *expected,
			struct err *e)
{
	char shown[SHOWN_SIZE];
	if (c->len == 0)
		return cell_refuse(c, e, "is empty: expected %s", expected);
	return cell_refuse(c, e, "'%s' %s: expected %s", show_text(c->text, c->len, shown), problem,
			   expected);
}

static const char *const problems[] = {
	[NUMBER_NOT] = "is not a number",
	[NUMBER_NEGATIVE] = "is negative",
	[NUMBER_BIG] = "is too large",
};

/* A whole number up to `max`, which `expected` says. */
static int read_whole(const struct cell *c, int64_t max, const char *expected, int64_t *value,
		      struct err *e)
{
	bool exact = true;
	enum number_result r = number_decimal(c->text, c->len, 0, max, value, &exact);
	if (r != NUMBER_OK)
		return refuse_value(c, problems[r], expected, e);
	return exact ? 0 : refuse_value(c, "is not whole", expected, e);
}

int cell_tok(const struct cell *c, int64_t *tok, struct err *e)
{
	return read_whole(c, NUMBER_TOK_MAX, "a whole number of tokens from 0 to 1000000000", tok,
			  e);
}

int cell_limit(const struct cell *c, int64_t *tok, struct err *e)
{
	*tok = 0;
	if (c->len == 0)
		return 0;
	if (cell_tok(c, tok, e))
		return -1;
	return *tok > 0 ? 0 : cell_refuse(c, e, "'0': expected a limit of at least 1, or none");
}

int cell_total(const struct cell *c, int64_t sum, struct err *e)
{
	int64_t total;
	char shown[SHOWN_SIZE];
	if (read_whole(c, INT64_C(2) * NUMBER_TOK_MAX,
		       "a whole number of tokens from 0 to 2000000000", &total, e))
		return -1;
	if (total == sum)
		return 0;
	return cell_refuse(c, e, "'%s' is not the sum of the row's two: expected %lld",
			   show_text(c->text, c->len, shown), (long long)sum);
}

int cell_ratio(const struct cell *c, struct err *e)
{
	char *end, shown[SHOWN_SIZE];
	double ratio = strtod(c->text, &end);
	if (end == c->text + c->len && !isnan(ratio) && !signbit(ratio))
		return 0;
	return cell_refuse(c, e, "'%s' is no ratio: expected a number from 0 on, inf, or nothing",
			   show_text(c->text, c->len, shown));
}

int cell_priority(const struct cell *c, int64_t *priority, struct err *e)
{
	static const char expected[] = "a whole number from -10^15 to 10^15";
	bool exact = true, minus = c->len > 0 && c->text[0] == '-';
	enum number_result r =
		number_decimal(c->text + minus, c->len - minus, 0, PRIORITY_MAX, priority, &exact);
	if (r != NUMBER_OK)
		return refuse_value(c, problems[r == NUMBER_NEGATIVE ? NUMBER_NOT : r], expected,
				    e);
	if (!exact)
		return refuse_value(c, "is not whole", expected, e);
	if (minus)
		*priority = -*priority;
	return 0;
}

static const int shifts[] = {[CLOCK_S] = 9, [CLOCK_MS] = 6, [CLOCK_US] = 3, [CLOCK_NS] = 0};

int cell_service(const struct cell *c, enum clock clock, int64_t *ns, struct err *e)
{
	bool exact;
	*ns = 0;
	if (c->len == 0)
		return 0;
	enum number_result r =
		number_decimal(c->text, c->len, shifts[clock <= CLOCK_NS ? clock : CLOCK_S],
			       NUMBER_NS_MAX, ns, &exact);
	return r == NUMBER_OK ? 0
			      : refuse_value(c, problems[r],
					     "a time of service, 0 to 200 years, or nothing", e);
}

/* Bytes of the UTF-8 character at p, 0: there is none, or a control character. */
static size_t utf8_len(const unsigned char *p, const unsigned char *end)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
	if (n == 0 || (size_t)(end - p) < n)
		return 0;
	uint32_t code = n == 1 ? *p : *p & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	return code < least[n] || code > 0x10ffff || surrogate || control ? 0 : n;
}

int cell_name(const struct cell *c, struct names *names, int64_t *number, struct err *e)
{
	const unsigned char *p = (const unsigned char *)c->text, *end = p + c->len;
	if (c->len > NAME_MAX_BYTES)
		return refuse_value(c, "is too long", "a name of at most 255 bytes", e);
	while (p < end) {
		size_t n = utf8_len(p, end);
		if (n == 0)
			return refuse_value(c, "is no plain text",
					    "UTF-8 without control characters", e);
		p += n;
	}
	*number = names_number(names, c->text, c->len);
	return 0;
}

static int arrival_clock(const struct cell *c, int64_t *ns, struct err *e)
{
	static const char expected[] = "one such as 2023-11-16 18:17:03.9799600 (or with a zone, "
				       "+00:00), 1970 to 2169";
	enum number_result r = number_clock(c->text, c->len, ns);
	if (r == NUMBER_NOT)
		return refuse_value(c, "is not a timestamp", expected, e);
	return r == NUMBER_OK ? 0 : refuse_value(c, problems[r], expected, e);
}

int cell_arrival(const struct cell *c, enum clock *clock, int64_t *ns, struct err *e)
{
	static const char *const expected[] = {
		[CLOCK_S] = "a time in seconds, 0 to 200 years",
		[CLOCK_MS] = "a time in milliseconds, 0 to 200 years",
		[CLOCK_US] = "a time in microseconds, 0 to 200 years",
		[CLOCK_NS] = "a time in nanoseconds, 0 to 200 years",
	};
	bool exact;
	if (*clock == CLOCK_UNKNOWN)
		*clock = memchr(c->text, ':', c->len) ? CLOCK_WALL : CLOCK_S;
	if (*clock == CLOCK_WALL)
		return arrival_clock(c, ns, e);
	enum number_result r =
		number_decimal(c->text, c->len, shifts[*clock], NUMBER_NS_MAX, ns, &exact);
	return r == NUMBER_OK ? 0 : refuse_value(c, problems[r], expected[*clock], e);
}
