/* number.c: see number.h. */
#include "traces/number.h"
#include <stdio.h>
#include <stdlib.h>

struct decimal {		  /* a number taken apart; the digits stay in the text */
	const char *digits, *end; /* of the mantissa, the point among them */
	int64_t n_digits,
		point; /* digits in all, and before the point once the exponent is applied */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* An exponent "e-12" at *p up to `end`. False: malformed. */
static bool read_exponent(const char *p, const char *end, int64_t *exponent)
{
	bool minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end)
		return false;
	*exponent = 0;
	for (; p < end; p++) {
		if (!is_digit(*p))
			return false;
		if (*exponent < 100000) /* far beyond what can matter */
			*exponent = *exponent * 10 + (*p - '0');
	}
	if (minus)
		*exponent = -*exponent;
	return true;
}

static bool take_apart(const char *p, const char *end, struct decimal *d)
{
	int64_t exponent = 0, point = -1;
	d->digits = p;
	d->n_digits = 0;
	for (; p < end && (is_digit(*p) || *p == '.'); p++) {
		if (*p != '.')
			d->n_digits++;
		else if (point < 0)
			point = d->n_digits;
		else
			return false;
	}
	d->end = p;
	if (d->n_digits == 0)
		return false;
	if (p < end && ((*p != 'e' && *p != 'E') || !read_exponent(p + 1, end, &exponent)))
		return false;
	d->point = (point < 0 ? d->n_digits : point) + exponent;
	return true;
}

/* The integer made of the first `keep` digits; the rest only rounds. */
static enum number_result collect(const struct decimal *d, int64_t keep, int64_t max, int64_t *out,
				  bool *exact)
{
	int64_t value = 0, i = 0;
	bool up = false;
	*exact = true;
	for (const char *p = d->digits; p < d->end; p++) {
		if (*p == '.')
			continue;
		int digit = *p - '0';
		if (i < keep) {
			if (value > (max - digit) / 10)
				return NUMBER_BIG;
			value = value * 10 + digit;
		} else {
			*exact = *exact && digit == 0;
			up = up || (i == keep && digit >= 5);
		}
		i++;
	}
	for (; i < keep && value > 0; i++) {
		if (value > max / 10)
			return NUMBER_BIG;
		value *= 10;
	}
	if (up && value == max)
		return NUMBER_BIG;
	*out = value + (up ? 1 : 0);
	return NUMBER_OK;
}

enum number_result number_decimal(const char *text, size_t len, int shift, int64_t max,
				  int64_t *out, bool *exact)
{
	const char *p = text, *end = text + len;
	struct decimal d;
	bool minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (!take_apart(p, end, &d))
		return NUMBER_NOT;
	return minus ? NUMBER_NEGATIVE : collect(&d, d.point + shift, max, out, exact);
}

/* Days from 1970-01-01 in the Gregorian calendar (Hinnant's days_from_civil; years >= 0). */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = yoe + era * 400 + (*month <= 2 ? 1 : 0);
}

static int64_t days_in_month(int64_t year, int64_t month)
{
	static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Exactly n digits at *p, and then `after` unless it is 0. Moves *p behind them. */
static bool take_digits(const char **p, const char *end, int n, char after, int64_t *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, (*p)++) {
		if (*p == end || !is_digit(**p))
			return false;
		*out = *out * 10 + (**p - '0');
	}
	if (after && (*p == end || *(*p)++ != after))
		return false;
	return true;
}

/* "", "Z", "+HH", "+HHMM", "+HH:MM": seconds east of Greenwich. */
static bool take_zone(const char *p, const char *end, int64_t *seconds)
{
	int64_t hours, minutes = 0;
	*seconds = 0;
	if (p == end || (*p == 'Z' && p + 1 == end))
		return true;
	if (*p != '+' && *p != '-')
		return false;
	int64_t sign = *p++ == '-' ? -1 : 1;
	if (!take_digits(&p, end, 2, 0, &hours))
		return false;
	if (p < end && *p == ':')
		p++;
	if (p < end && !take_digits(&p, end, 2, 0, &minutes))
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return p == end && end[-1] != ':' && hours <= 23 && minutes <= 59;
}

enum number_result number_clock(const char *text, size_t len, int64_t *ns)
{
	const char *p = text, *end = text + len;
	int64_t year, month, day, hour, minute, second, zone, fraction = 0;
	if (!take_digits(&p, end, 4, '-', &year) || !take_digits(&p, end, 2, '-', &month) ||
	    !take_digits(&p, end, 2, 0, &day) || p == end || (*p != ' ' && *p != 'T'))
		return NUMBER_NOT;
	p++;
	if (!take_digits(&p, end, 2, ':', &hour) || !take_digits(&p, end, 2, ':', &minute) ||
	    !take_digits(&p, end, 2, 0, &second))
		return NUMBER_NOT;
	if (p < end && *p == '.') {
		const char *from = p++;
		bool exact;
		while (p < end && is_digit(*p))
			p++;
		if (number_decimal(from, (size_t)(p - from), 9, INT64_MAX, &fraction, &exact))
			return NUMBER_NOT;
	}
	if (!take_zone(p, end, &zone) || month < 1 || month > 12 || day < 1 ||
	    day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59)
		return NUMBER_NOT;
	if (year < 1970 || year > 2169)
		return NUMBER_BIG;
	int64_t s = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	*ns = (s - zone) * 1000000000 + fraction;
	return *ns < 0 ? NUMBER_NEGATIVE : NUMBER_OK;
}

size_t number_real_print(double value, char out[NUMBER_REAL_SIZE])
{
	int n = snprintf(out, NUMBER_REAL_SIZE, "%.15g", value);
	if (strtod(out, NULL) != value)
		n = snprintf(out, NUMBER_REAL_SIZE, "%.17g", value);
	return (size_t)n;
}

void number_clock_print(int64_t ns, int digits, char separator, char out[NUMBER_CLOCK_SIZE])
{
	int64_t seconds = ns / 1000000000, in_day = seconds % 86400, year, month, day;
	civil_from_days(seconds / 86400, &year, &month, &day);
	int n = snprintf(out, NUMBER_CLOCK_SIZE, "%04d-%02d-%02d%c%02d:%02d:%02d.%09d", (int)year,
			 (int)month, (int)day, separator, (int)(in_day / 3600),
			 (int)(in_day / 60 % 60), (int)(in_day % 60), (int)(ns % 1000000000));
	out[digits > 0 ? n - 9 + digits : n - 10] = '\0';
}
