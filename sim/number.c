#include "sim/number.h"
#include "sim/options.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* 2^63: the first double above every int64_t. */
static const double int64_end = 9223372036854775808.0;

static int64_t clamp_int(double x)
{
	if (x >= int64_end)
		return INT64_MAX;
	return x < -int64_end ? INT64_MIN : (int64_t)x;
}

void limits_int(double min, double max, int64_t *min_out, int64_t *max_out)
{
	bool none = min == 0 && max == 0;
	*min_out = none ? INT64_MIN : clamp_int(ceil(min));
	*max_out = none ? INT64_MAX : clamp_int(floor(max));
}

void limits_real(double min, double max, double *min_out, double *max_out)
{
	bool none = min == 0 && max == 0;
	*min_out = none ? -INFINITY : min;
	*max_out = none ? INFINITY : max;
}

static int refuse_int(const char *text, const char *what, int64_t min, int64_t max, struct err *e)
{
	if (min == INT64_MIN && max == INT64_MAX)
		return err_set(e, "%s: '%.100s' is not a whole number", what, text);
	if (max == INT64_MAX)
		return err_set(e, "%s: '%.100s' is not a whole number of at least %" PRId64, what,
			       text, min);
	if (min == INT64_MIN)
		return err_set(e, "%s: '%.100s' is not a whole number of at most %" PRId64, what,
			       text, max);
	return err_set(e, "%s: '%.100s' is not a whole number from %" PRId64 " to %" PRId64, what,
		       text, min, max);
}

int parse_int(const char *text, const char *what, int64_t min, int64_t max, int64_t *out,
	      struct err *e)
{
	/* strtoll alone would skip blanks and take a plus sign. */
	const char *digits = text + (text[0] == '-');
	size_t n = strspn(digits, "0123456789");
	if (n == 0 || digits[n])
		return refuse_int(text, what, min, max, e);
	errno = 0;
	long long value = strtoll(text, NULL, 10);
	if (errno || value < min || value > max)
		return refuse_int(text, what, min, max, e);
	*out = value;
	return 0;
}

static int refuse_real(const char *text, const char *what, double min, double max, struct err *e)
{
	char low[REAL_TEXT_MAX], high[REAL_TEXT_MAX];
	print_real(min, low, sizeof(low));
	print_real(max, high, sizeof(high));
	if (isinf(min) && isinf(max))
		return err_set(e, "%s: '%.100s' is not a finite number", what, text);
	if (isinf(max))
		return err_set(e, "%s: '%.100s' is not a number of at least %s", what, text, low);
	if (isinf(min))
		return err_set(e, "%s: '%.100s' is not a number of at most %s", what, text, high);
	return err_set(e, "%s: '%.100s' is not a number from %s to %s", what, text, low, high);
}

int parse_real(const char *text, const char *what, double min, double max, double *out,
	       struct err *e)
{
	/* strtod alone would take blanks, nan, inf and hexadecimal. */
	char *end = NULL;
	errno = 0;
	double value = strtod(text, &end);
	bool plain = text[0] && text[0] != '+' && !text[strspn(text, "0123456789.eE+-")];
	/* A subnormal sets ERANGE too and is as good as any; one that became 0 is lost. */
	bool lost = errno == ERANGE && (value == 0 || isinf(value));
	if (!plain || end == text || *end || lost || value < min || value > max)
		return refuse_real(text, what, min, max, e);
	*out = value;
	return 0;
}

void print_real(double value, char *buf, size_t size)
{
	/* below this a whole number is readable, and exact, without an exponent */
	bool whole = fabs(value) < 1e15 && value == floor(value);
	for (int digits = whole ? 17 : 1; digits <= 17; digits++) {
		int n = snprintf(buf, size, "%.*g", digits, value);
		CHECK(n >= 0 && (size_t)n < size, "a real of %d characters in %zu bytes", n, size);
		if (strtod(buf, NULL) == value)
			return;
	}
}
