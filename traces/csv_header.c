/* csv_header.c: the headers of CSV that are known, and the columns that --columns names. */
#include "traces/csv_source.h"
#include <string.h>

const char azure_csv_header[] = "TIMESTAMP,ContextTokens,GeneratedTokens";
const char burstgpt_header[] =
	"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";
const char burstgpt_3_header[] = "Timestamp,Session ID,Elapsed time,Model,Request tokens,"
				 "Response tokens,Total tokens,Log Type";
const char lengths_csv_header[] = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio";
const char *const burstgpt_logs[2] = {"Conversation log", "API log"};
const char *const omnibus_csv_columns[N_COLUMNS] = {
	[COLUMN_ARRIVAL] = "arrive_s",	[COLUMN_PROMPT] = "prompt_tok",
	[COLUMN_OUTPUT] = "output_tok", [COLUMN_MAX_TOK] = "max_tok",
	[COLUMN_PRIORITY] = "priority", [COLUMN_CLIENT] = "client",
	[COLUMN_SESSION] = "session",	[COLUMN_SERVICE] = "service_s",
};

/* Headers that need no --columns, and what stands where in them. */
static const struct known {
	enum kind kind;
	enum clock clock;
	const char *header;
	int at[N_CSV_COLUMNS]; /* from 1; 0: has none */
	size_t least;	       /* columns, the rest may be missing */
} known[] = {
	{KIND_AZURE_CSV,
	 CLOCK_WALL,
	 azure_csv_header,
	 {[COLUMN_ARRIVAL] = 1, [COLUMN_PROMPT] = 2, [COLUMN_OUTPUT] = 3},
	 3},
	{KIND_BURSTGPT,
	 CLOCK_S,
	 burstgpt_header,
	 {[COLUMN_ARRIVAL] = 1,
	  [COLUMN_CLIENT] = 2,
	  [COLUMN_PROMPT] = 3,
	  [COLUMN_OUTPUT] = 4,
	  [COLUMN_TOTAL] = 5,
	  [COLUMN_LOG] = 6},
	 6},
	{KIND_BURSTGPT_3,
	 CLOCK_S,
	 burstgpt_3_header,
	 {[COLUMN_ARRIVAL] = 1,
	  [COLUMN_SESSION] = 2,
	  [COLUMN_SERVICE] = 3,
	  [COLUMN_CLIENT] = 4,
	  [COLUMN_PROMPT] = 5,
	  [COLUMN_OUTPUT] = 6,
	  [COLUMN_TOTAL] = 7,
	  [COLUMN_LOG] = 8},
	 8},
	{KIND_LENGTHS_CSV,
	 CLOCK_S,
	 lengths_csv_header,
	 {[COLUMN_PROMPT] = 1, [COLUMN_OUTPUT] = 2, [COLUMN_TOTAL] = 3, [COLUMN_RATIO] = 4},
	 2},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };

/* Is the row that was read the header, or as much of it as there must be? */
static bool header_is(const struct csv_source *s, const struct known *k)
{
	const char *p = k->header;
	for (size_t i = 0; i < s->n_fields; i++) {
		size_t len = strcspn(p, ",");
		if (strlen(csv_field(s, i)) != len || strncmp(csv_field(s, i), p, len) != 0)
			return false;
		p += len;
		if (*p == '\0')
			return i + 1 == s->n_fields;
		p++;
	}
	return s->n_fields >= k->least;
}

/* Our own header: three columns, and then any of the others. 1: it is, 0: it is not, -1. */
static int read_own_header(struct csv_source *s, struct err *e)
{
	char kind[512];
	for (size_t i = 0; i < s->n_fields; i++) {
		const char *name = csv_field(s, i);
		int which = 0;
		while (which < N_COLUMNS && (!omnibus_csv_columns[which] ||
					     strcmp(omnibus_csv_columns[which], name) != 0))
			which++;
		if (i <= COLUMN_OUTPUT && which != (int)i)
			return 0;
		if (which == N_COLUMNS) {
			snprintf(kind, sizeof(kind), "column of %s:%lld", input_name(s->in),
				 (long long)s->line);
			return err_unknown(e, kind, name, omnibus_csv_columns, COLUMN_SERVICE + 1);
		}
		if (s->at[which])
			return err_set(e, "%s:%lld: column %zu: %s is there twice",
				       input_name(s->in), (long long)s->line, i + 1, name);
		s->at[which] = (int64_t)i + 1;
	}
	s->base.kind = KIND_OMNIBUS_CSV;
	s->clock = CLOCK_S;
	return s->n_fields > COLUMN_OUTPUT;
}

static int detect(struct csv_source *s, struct err *e)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!header_is(s, &known[i]))
			continue;
		s->base.kind = known[i].kind;
		s->clock = known[i].clock;
		for (int c = 0; c < N_CSV_COLUMNS; c++)
			if (known[i].at[c] <= (int)s->n_fields)
				s->at[c] = known[i].at[c];
		s->base.lengths_only = s->at[COLUMN_ARRIVAL] == 0;
		return 0;
	}
	int own = read_own_header(s, e);
	if (own != 0)
		return own < 0 ? -1 : 0;
	char shown[SHOWN_SIZE], line[256];
	size_t n = 0;
	for (size_t i = 0; i < s->text_len && n < sizeof(line); i++, n++)
		line[n] = s->text[i] ? s->text[i] : ',';
	return err_set(e,
		       "%s:%lld: column 1: '%s' is no header that is known: expected "
		       "TIMESTAMP,ContextTokens,GeneratedTokens (Azure), "
		       "arrive_s,prompt_tok,output_tok[,...], BurstGPT's, "
		       "num_prefill_tokens,num_decode_tokens, a line of JSON, or --columns "
		       "arrival=..,prompt=..,output=..,unit=..",
		       input_name(s->in), (long long)s->line,
		       show_text(line, n > 0 ? n - 1 : 0, shown));
}

static int find_column(struct csv_source *s, const struct columns *c, enum column which,
		       struct err *e)
{
	if (c->number[which] > (int64_t)s->n_fields)
		return err_set(e, "%s:%lld: --columns names column %lld, the file has %zu",
			       input_name(s->in), (long long)s->line, (long long)c->number[which],
			       s->n_fields);
	s->at[which] = c->number[which];
	if (!c->name[which])
		return 0;
	const char *names[FIELDS_MAX];
	for (size_t i = 0; i < s->n_fields; i++) {
		names[i] = csv_field(s, i);
		if (strcmp(names[i], c->name[which]) != 0)
			continue;
		if (s->at[which])
			return err_set(e,
				       "%s:%lld: the header has '%.100s' in columns %lld and %zu: "
				       "--columns takes the number of the one that is meant",
				       input_name(s->in), (long long)s->line, names[i],
				       (long long)s->at[which], i + 1);
		s->at[which] = (int64_t)i + 1;
	}
	if (s->at[which])
		return 0;
	char kind[512];
	snprintf(kind, sizeof(kind), "column of %s:%lld", input_name(s->in), (long long)s->line);
	return err_unknown(e, kind, c->name[which], names, s->n_fields);
}

/* The first line is a header unless every column wanted is given by number and holds a number. */
static bool first_is_header(struct csv_source *s, const struct columns *c)
{
	struct err ignored;
	int64_t tok;
	for (enum column i = 0; i < N_COLUMNS; i++)
		if (c->name[i])
			return true;
	return csv_tok(s, COLUMN_PROMPT, &tok, &ignored) != 0 &&
	       csv_tok(s, COLUMN_OUTPUT, &tok, &ignored) != 0;
}

int csv_read_header(struct csv_source *s, const struct columns *columns, struct err *e)
{
	s->n_columns = s->n_fields;
	bool header = true;
	if (columns && columns_has(columns, COLUMN_HASH_IDS))
		return err_set(e, "%s: --columns: hash_ids can only be read from JSON lines",
			       input_name(s->in));
	if (columns) {
		s->base.kind = KIND_CSV;
		s->clock = columns->clock;
		for (enum column i = 0; i < N_COLUMNS; i++)
			if (find_column(s, columns, i, e))
				return -1;
		header = first_is_header(s, columns);
	} else if (detect(s, e)) {
		return -1;
	}
	for (int i = COLUMN_OUTPUT + 1; i < N_CSV_COLUMNS; i++)
		s->more = s->more || s->at[i] > 0;
	s->base.has_max_tok = s->at[COLUMN_MAX_TOK] > 0;
	s->base.has_priorities = s->at[COLUMN_PRIORITY] > 0;
	s->base.has_clients = s->at[COLUMN_CLIENT] > 0;
	s->base.has_sessions = s->at[COLUMN_SESSION] > 0;
	s->base.has_service = s->at[COLUMN_SERVICE] > 0;
	if (header) {
		s->names = xmalloc(s->text_len);
		memcpy(s->names, s->text, s->text_len);
	} else {
		input_again(s->in);
	}
	return 0;
}
