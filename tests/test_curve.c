/* Blending between points is linear in tokens. */
#include "calibrate/curve.h"
#include "tests/testing.h"

enum { N_POINTS = 11 };

/* t(n) = 5 + 2n known at n = 1, 2, 4, ..., 1024 */
static void fill(struct curve_point *points)
{
	for (int i = 0; i < N_POINTS; i++) {
		double tok = (double)(1 << i);
		points[i] = (struct curve_point){tok, 5 + 2 * tok};
	}
}

/* Half way between 512 and 1024 in tokens is 768: 5 + 2 x 768 = 1541; in log tokens it would be
 * 1628. */
static void blends_linearly_in_tokens(void **state)
{
	struct curve_point points[N_POINTS];
	struct curve c;

	(void)state;
	fill(points);
	curve_init(&c, points, N_POINTS);
	assert_near(curve_at(&c, 768), 1541, 1e-9);
	for (int tok = 1; tok <= 1024; tok++)
		assert_near(curve_at(&c, tok), 5 + 2 * tok, 1e-9);
}

/* A bend at 100: 10 up to it, then 1 a token; the outer pieces go on. */
static void bends_where_its_points_are(void **state)
{
	const struct curve_point points[] = {{1, 10}, {100, 10}, {200, 110}};
	struct curve c;

	(void)state;
	curve_init(&c, points, 3);
	assert_near(curve_at(&c, 50), 10, 1e-9);
	assert_near(curve_at(&c, 100), 10, 1e-9);
	assert_near(curve_at(&c, 101), 11, 1e-9);
	assert_near(curve_at(&c, 1000), 910, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blends_linearly_in_tokens),
		cmocka_unit_test(bends_where_its_points_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
