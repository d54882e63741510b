#include "results/field.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "sim/err.h"

/* The longest cell: every byte of a text as \u001f, two quotes and a NUL. */
enum { CELL_SIZE = 6 * FIELD_TEXT_SIZE + 3 };

int format_parse(const char *name)
{
	static const char *const names[] = {
		[FORMAT_MD] = "md", [FORMAT_CSV] = "csv", [FORMAT_JSONL] = "jsonl"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!strcmp(name, names[i]))
			return (int)i;
	}
	return -1;
}

int64_t field_int(const struct field *f, const void *row)
{
	int64_t v;

	memcpy(&v, (const char *)row + f->offset, sizeof v);
	return v;
}

double field_real(const struct field *f, const void *row)
{
	double v;

	memcpy(&v, (const char *)row + f->offset, sizeof v);
	return v;
}

const char *field_text(const struct field *f, const void *row, size_t *len)
{
	const char *text = (const char *)row + f->offset;

	CHECK(f->size <= FIELD_TEXT_SIZE, "%s has %zu bytes, at most %d", f->name, f->size,
	      FIELD_TEXT_SIZE);
	*len = strnlen(text, f->size);
	return text;
}

bool field_is_null(const struct field *f, const void *row)
{
	size_t len;

	switch (f->kind) {
	case FIELD_INT:
		return field_int(f, row) == FIELD_NULL_INT;
	case FIELD_REAL:
		return isnan(field_real(f, row));
	case FIELD_TEXT:
		field_text(f, row, &len);
		return len == 0;
	}
	return true;
}

void fields_clear(const struct field *fields, void *row)
{
	static const int64_t null_int = FIELD_NULL_INT;
	static const double null_real = NAN;

	for (const struct field *f = fields; f->name; f++) {
		char *at = (char *)row + f->offset;

		if (f->kind == FIELD_INT)
			memcpy(at, &null_int, sizeof null_int);
		else if (f->kind == FIELD_REAL)
			memcpy(at, &null_real, sizeof null_real);
		else
			memset(at, 0, f->size);
	}
}

/* RFC 4180: quoted where it has to be, quotes doubled. */
static void csv_text(char *cell, const char *text, size_t len)
{
	bool quote = false;
	char *p = cell;

	for (size_t i = 0; i < len; i++)
		quote = quote || strchr(",\"\r\n", text[i]);
	if (quote)
		*p++ = '"';
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			*p++ = '"';
		*p++ = text[i];
	}
	if (quote)
		*p++ = '"';
	*p = '\0';
}

/* A bar would end the cell, a line break the table. */
void fields_md_text(char *cell, const char *text, size_t len)
{
	char *p = cell;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '|')
			*p++ = '\\';
		*p++ = (unsigned char)text[i] < ' ' ? ' ' : text[i];
	}
	*p = '\0';
}

/* JSON is UTF-8: in a text that is not (a file name), the bytes above ASCII become U+FFFD. */
static void json_text(char *cell, const char *text, size_t len)
{
	json_t *valid = json_stringn(text, len);
	char *p = cell;

	*p++ = '"';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || (c >= 0x80 && !valid)) {
			p += sprintf(p, "\\u%04x", c < ' ' ? (unsigned)c : 0xfffdu);
			continue;
		}
		if (c == '"' || c == '\\')
			*p++ = '\\';
		*p++ = text[i];
	}
	*p++ = '"';
	*p = '\0';
	json_decref(valid);
}

static void real_cell(char *cell, enum format format, double v)
{
	if (isinf(v) && format == FORMAT_JSONL)
		strcpy(cell, "null");
	else if (format != FORMAT_MD)
		snprintf(cell, CELL_SIZE, "%.15g", v);
	else if (fabs(v) >= 1e3 && fabs(v) < 1e15) /* no exponents for people */
		snprintf(cell, CELL_SIZE, "%.0f", v);
	else
		snprintf(cell, CELL_SIZE, "%.4g", v);
}

static void render(char *cell, enum format format, const struct field *f, const void *row)
{
	static const char *const nulls[] = {
		[FORMAT_MD] = "-", [FORMAT_CSV] = "", [FORMAT_JSONL] = "null"};
	static void (*const texts[])(char *, const char *, size_t) = {
		[FORMAT_MD] = fields_md_text, [FORMAT_CSV] = csv_text, [FORMAT_JSONL] = json_text};
	size_t len;

	if (field_is_null(f, row)) {
		strcpy(cell, nulls[format]);
		return;
	}
	switch (f->kind) {
	case FIELD_INT:
		snprintf(cell, CELL_SIZE, "%" PRId64, field_int(f, row));
		break;
	case FIELD_REAL:
		real_cell(cell, format, field_real(f, row));
		break;
	case FIELD_TEXT: {
		const char *text = field_text(f, row, &len);

		texts[format](cell, text, len);
		break;
	}
	}
}

/* Characters, not bytes: what a terminal shows of UTF-8. */
static int width_of(const char *cell)
{
	int n = 0;

	for (; *cell; cell++)
		n += ((unsigned char)*cell & 0xc0) != 0x80;
	return n;
}

static const char *title_of(const struct field *f)
{
	return f->title ? f->title : f->name;
}

static int md_width(const struct field *f, const void *const *rows, size_t n)
{
	char cell[CELL_SIZE];
	int width = width_of(title_of(f));

	if (width < 2)
		width = 2; /* the rule of a column of numbers is "-:" */
	for (size_t i = 0; i < n; i++) {
		render(cell, FORMAT_MD, f, rows[i]);
		if (width_of(cell) > width)
			width = width_of(cell);
	}
	return width;
}

/* Texts stand left, numbers right. */
static void md_cell(FILE *out, const struct field *f, int width, const char *cell)
{
	int pad = width - width_of(cell);

	if (f->kind == FIELD_TEXT)
		fprintf(out, "| %s%*s ", cell, pad, "");
	else
		fprintf(out, "| %*s%s ", pad, "", cell);
}

static void md_rule(FILE *out, const struct field *f, int width)
{
	fputs("| ", out);
	for (int i = 0; i < width - 1; i++)
		fputc('-', out);
	fputs(f->kind == FIELD_TEXT ? "- " : ": ", out);
}

static bool is_zero(const struct field *f, const void *row)
{
	return (f->kind == FIELD_INT && field_int(f, row) == 0) ||
	       (f->kind == FIELD_REAL && field_real(f, row) == 0);
}

static bool in_md(const struct field *f, const void *const *rows, size_t n)
{
	bool some = !f->sparse && !f->sparse_zero;

	for (size_t i = 0; i < n && !some; i++)
		some = !field_is_null(f, rows[i]) && !(f->sparse_zero && is_zero(f, rows[i]));
	return f->md && some;
}

static void print_md(FILE *out, const struct field *fields, const void *const *rows, size_t n)
{
	char cell[CELL_SIZE];
	int *width;
	size_t n_fields = 0;

	while (fields[n_fields].name)
		n_fields++;
	width = xcalloc(n_fields ? n_fields : 1, sizeof *width);
	for (size_t k = 0; k < n_fields; k++)
		width[k] = in_md(&fields[k], rows, n) ? md_width(&fields[k], rows, n) : 0;
	/* the title, the rule, then the rows */
	for (size_t line = 0; line < n + 2; line++) {
		for (size_t k = 0; k < n_fields; k++) {
			if (width[k] == 0)
				continue;
			if (line == 1) {
				md_rule(out, &fields[k], width[k]);
				continue;
			}
			if (line > 1)
				render(cell, FORMAT_MD, &fields[k], rows[line - 2]);
			md_cell(out, &fields[k], width[k], line ? cell : title_of(&fields[k]));
		}
		fputs("|\n", out);
	}
	free(width);
}

static void print_csv(FILE *out, const struct field *fields, const void *const *rows, size_t n)
{
	char cell[CELL_SIZE];

	for (const struct field *f = fields; f->name; f++)
		fprintf(out, "%s%s", f == fields ? "" : ",", f->name);
	fputc('\n', out);
	for (size_t i = 0; i < n; i++) {
		for (const struct field *f = fields; f->name; f++) {
			render(cell, FORMAT_CSV, f, rows[i]);
			fprintf(out, "%s%s", f == fields ? "" : ",", cell);
		}
		fputc('\n', out);
	}
}

static void print_jsonl(FILE *out, const struct field *fields, const void *const *rows, size_t n)
{
	char cell[CELL_SIZE];

	for (size_t i = 0; i < n; i++) {
		for (const struct field *f = fields; f->name; f++) {
			render(cell, FORMAT_JSONL, f, rows[i]);
			fprintf(out, "%s\"%s\":%s", f == fields ? "{" : ",", f->name, cell);
		}
		fputs("}\n", out);
	}
}

int fields_print(FILE *out, enum format format, const struct field *fields, const void *const *rows,
		 size_t n)
{
	switch (format) {
	case FORMAT_MD:
		print_md(out, fields, rows, n);
		break;
	case FORMAT_CSV:
		print_csv(out, fields, rows, n);
		break;
	case FORMAT_JSONL:
		print_jsonl(out, fields, rows, n);
		break;
	}
	return fflush(out) || ferror(out) ? -1 : 0;
}
