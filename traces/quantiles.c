/* quantiles.c: see quantiles.h. */
#include "traces/quantiles.h"
#include "traces/input.h"
#include "traces/number.h"
#include "traces/source.h"
#include <stdbool.h>
#include <string.h>

static const char header[] = "p,prompt_tok,output_tok";
static const char *const names[] = {"p", "prompt_tok", "output_tok"};
enum { N_NAMES = 3, ROWS_MAX = 100000 };
enum { P_SHIFT = 9, TOK_SHIFT = 3 }; /* decimals that are read */

/* Per mille; dense where the density is high or the tail is long. */
static const int fitted_at[] = {
	0,   1,	  2,   5,   10,	 20,  30,  50,	75,  100, 150, 200,  250, 300,
	350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 875,  900, 925,
	950, 960, 970, 980, 985, 990, 993, 995, 997, 998, 999, 1000,
};

static int read_value(const struct cell *c, bool is_p, double *value, struct err *e)
{
	int64_t v;
	bool exact;
	int64_t max = is_p ? INT64_C(1000000000) : INT64_C(1000) * NUMBER_TOK_MAX;
	if (number_decimal(c->text, c->len, is_p ? P_SHIFT : TOK_SHIFT, max, &v, &exact))
		return cell_refuse(c, e, "'%.30s' is not %s", c->text,
				   is_p ? "a probability from 0 to 1"
					: "a number of tokens from 0 to 1000000000");
	*value = (double)v / (is_p ? 1e9 : 1e3);
	return 0;
}

/* Cuts the line in place; `before` is the row above, NULL for the first. */
static int parse_row(const struct input *in, char *line, const struct quantile *before,
		     struct quantile *q, struct err *e)
{
	double *value[N_NAMES] = {&q->p, &q->prompt_tok, &q->output_tok};
	struct cell c = {.file = input_name(in), .line = input_line_no(in)};
	char *p = line;
	for (int i = 0; i < N_NAMES; i++) {
		c.column = i + 1;
		c.name = names[i];
		c.text = p;
		if (!p)
			return cell_refuse(&c, e, "is missing");
		c.len = strcspn(p, ",");
		p = p[c.len] ? p + c.len + 1 : NULL;
		if (p)
			p[-1] = '\0';
		if (read_value(&c, i == 0, value[i], e))
			return -1;
	}
	if (p)
		return cell_refuse(&c, e, "is followed by more columns, expected %d", N_NAMES);
	c.column = 1;
	c.name = names[0];
	if (before ? q->p <= before->p : q->p != 0)
		return cell_refuse(&c, e, "expected probabilities that rise from 0 to 1");
	if (before && (q->prompt_tok < before->prompt_tok || q->output_tok < before->output_tok))
		return cell_refuse(&c, e, "expected lengths that do not fall");
	return 0;
}

static void append(struct quantile **rows, size_t n, struct quantile q)
{
	if ((n & (n - 1)) == 0) /* 0, 1, 2, 4, 8... */
		*rows = xrealloc(*rows, (n > 0 ? 2 * n : 1) * sizeof(**rows));
	(*rows)[n] = q;
}

/* Returns how many rows, or -1. `*rows` is the caller's to free in any case. */
static long read_rows(struct input *in, struct quantile **rows, struct err *e)
{
	char *line;
	size_t len, n = 0;
	struct quantile q = {0, 0, 0}, last = q;
	int more = input_line(in, &line, &len, e);
	if (more < 0)
		return -1;
	if (more == 0 || strcmp(line, header) != 0)
		return err_set(e, "%s:1: expected the header %s", input_name(in), header);
	while ((more = input_line(in, &line, &len, e)) > 0) {
		if (len == 0)
			continue;
		if (n == ROWS_MAX)
			return err_set(e, "%s: more than %d rows", input_name(in), ROWS_MAX);
		if (parse_row(in, line, n > 0 ? &last : NULL, &q, e))
			return -1;
		append(rows, n++, q);
		last = q;
	}
	if (more < 0)
		return -1;
	if (n < 2 || last.p != 1)
		return err_set(e,
			       "%s: ends at line %lld: expected probabilities that rise from 0 "
			       "to 1",
			       input_name(in), (long long)input_line_no(in));
	return (long)n;
}

int quantiles_read(const char *path, struct quantiles *q, struct err *e)
{
	struct input *in = input_open(path, e);
	struct quantile *rows = NULL;
	if (!in)
		return -1;
	long n = read_rows(in, &rows, e);
	input_close(in);
	if (n < 0)
		free(rows);
	else
		*q = (struct quantiles){rows, (size_t)n};
	return n < 0 ? -1 : 0;
}

void quantiles_write(FILE *out, const struct tally *prompts, const struct tally *outputs)
{
	fprintf(out, "%s\n", header);
	for (size_t i = 0; i < sizeof(fitted_at) / sizeof(fitted_at[0]); i++)
		fprintf(out, "%g,%.12g,%.12g\n", fitted_at[i] / 1000.0,
			tally_quantile(prompts, fitted_at[i], 1000),
			tally_quantile(outputs, fitted_at[i], 1000));
}
