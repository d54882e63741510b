/* What to call runs beside each other. */
#include "results/choose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { VALUE_SIZE = FIELD_TEXT_SIZE + 1 };

/* Settings that follow from others, that say nothing about the server, or that a name starts with.
 */
static const char *const never[] = {
	"policy",	 "given",	   "params",	 "model_source",  "trace_hash",
	"trace_format",	 "columns",	   "hash_block", "weights_bytes", "usable_bytes",
	"reserve_bytes", "kv_token_bytes", "slo_ttft_s", "slo_tpot_s",	  "slo_e2e_s",
	"slo_maxgap_s",	 "program_version"};
/* Points of one curve differ in these. */
static const char *const along[] = {"rate_rps", "speed", "seed"};
/* These stand in a name wherever they are not the same in all runs. */
static const char *const always[] = {"model", "device", "tp", "trace"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(name, list[i]))
			return true;
	}
	return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

/* The file without its folders; of a generator with `curves`, all but its rate. */
static void trace_name(const struct run_info *info, bool curves, char *text, size_t size)
{
	const char *slash = strrchr(info->trace, '/'), *rate;
	bool generator = !strncmp(info->trace, "synth:", 6);

	snprintf(text, size, "%s", slash && !generator ? slash + 1 : info->trace);
	rate = generator && curves ? strstr(text, ",rate=") : NULL;
	if (rate) {
		size_t at = (size_t)(rate - text), len = strcspn(rate + 1, ",") + 1;

		memmove(text + at, text + at + len, strlen(text + at + len) + 1);
	}
}

/* A setting as a name shows it: "tp=2"; models, devices, traces by themselves. Empty: NULL. */
static void show(const struct field *f, const struct run_info *info, bool curves, char *text,
		 size_t size)
{
	size_t len;
	const char *value;

	text[0] = '\0';
	if (!strcmp(f->name, "trace")) {
		trace_name(info, curves, text, size);
		return;
	}
	if (field_is_null(f, info))
		return;
	switch (f->kind) {
	case FIELD_INT:
		snprintf(text, size, "%s=%" PRId64, f->name, field_int(f, info));
		break;
	case FIELD_REAL:
		snprintf(text, size, "%s=%.6g", f->name, field_real(f, info));
		break;
	case FIELD_TEXT:
		value = field_text(f, info, &len);
		snprintf(text, size, "%.*s", (int)len, value);
	}
}

struct naming {
	const struct stored_run *runs;
	char **names;
	size_t *first; /* of each run, the first one with its name */
	char (*shown)[VALUE_SIZE];
	size_t n;
	bool curves;
};

static void find_first(struct naming *g)
{
	for (size_t i = 0; i < g->n; i++) {
		g->first[i] = 0;
		while (strcmp(g->names[g->first[i]], g->names[i]) != 0)
			g->first[i]++;
	}
}

/* Whether runs differ in f: any of them, or only those that have one name so far. Fills `shown`. */
static bool tells_apart(struct naming *g, const struct field *f, bool any)
{
	for (size_t i = 0; i < g->n; i++)
		show(f, &g->runs[i].info, g->curves, g->shown[i], sizeof g->shown[i]);
	for (size_t i = 1; i < g->n; i++) {
		if (strcmp(g->shown[i], g->shown[any ? 0 : g->first[i]]) != 0)
			return true;
	}
	return false;
}

static void append(char **name, const char *text)
{
	size_t len = strlen(*name);

	if (!text[0])
		return;
	*name = xrealloc(*name, len + strlen(text) + 3);
	snprintf(*name + len, strlen(text) + 3, "%s%s", len ? ", " : "", text);
}

static void append_shown(struct naming *g)
{
	for (size_t i = 0; i < g->n; i++)
		append(&g->names[i], g->shown[i]);
	find_first(g);
}

static void append_ids(struct naming *g)
{
	bool *twice = xcalloc(g->n, sizeof *twice);
	char text[32];

	for (size_t i = 0; i < g->n; i++) {
		if (g->first[i] != i)
			twice[i] = twice[g->first[i]] = true;
	}
	for (size_t i = 0; i < g->n; i++) {
		snprintf(text, sizeof text, "run %" PRId64, g->runs[i].summary.run_id);
		append(&g->names[i], twice[i] ? text : "");
	}
	free(twice);
}

static void name_policies(struct naming *g)
{
	bool differ = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct summary *s = &g->runs[i].summary;
		size_t size = sizeof s->policy + sizeof s->given + 2;

		g->names[i] = xcalloc(size, 1);
		snprintf(g->names[i], size, "%s%s%s", s->policy, s->given[0] ? ":" : "", s->given);
		differ = differ || strcmp(s->times, g->runs[0].summary.times) != 0;
	}
	for (size_t i = 0; differ && i < g->n; i++)
		append(&g->names[i], g->runs[i].summary.times);
	find_first(g);
}

char **choose_names(const struct stored_run *runs, size_t n, bool curves)
{
	struct naming g = {.runs = runs, .n = n, .curves = curves};

	g.names = xcalloc(n, sizeof *g.names);
	g.first = xcalloc(n, sizeof *g.first);
	g.shown = xcalloc(n, sizeof *g.shown);
	name_policies(&g);
	for (const struct field *f = run_info_fields; f->name; f++) {
		if (IS_ONE_OF(f->name, always) && tells_apart(&g, f, true))
			append_shown(&g);
	}
	/* what a point of a curve stands for comes last, and only where each run has its name */
	for (int last = 0; last < (curves ? 1 : 2); last++) {
		for (const struct field *f = run_info_fields; f->name; f++) {
			if (!f->found && !IS_ONE_OF(f->name, never) &&
			    !IS_ONE_OF(f->name, always) &&
			    IS_ONE_OF(f->name, along) == (last > 0) && tells_apart(&g, f, false))
				append_shown(&g);
		}
	}
	if (!curves)
		append_ids(&g);
	free(g.first);
	free(g.shown);
	return g.names;
}

void choose_names_free(char **names, size_t n)
{
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

void choose_title(const struct stored_run *runs, size_t n, char *title, size_t size)
{
	char *text = xstrdup(""), value[VALUE_SIZE];
	bool same_times = true;

	for (const struct field *f = run_info_fields; f->name; f++) {
		bool same = IS_ONE_OF(f->name, always) && strcmp(f->name, "tp") != 0;

		show(f, &runs[0].info, false, value, sizeof value);
		for (size_t i = 1; i < n && same; i++) {
			char other[VALUE_SIZE];

			show(f, &runs[i].info, false, other, sizeof other);
			same = !strcmp(value, other);
		}
		append(&text, same ? value : "");
	}
	for (size_t i = 1; i < n; i++)
		same_times = same_times && !strcmp(runs[i].summary.times, runs[0].summary.times);
	snprintf(value, sizeof value, "times %s", runs[0].summary.times);
	append(&text, same_times && runs[0].summary.times[0] ? value : "");
	snprintf(title, size, "%s", text);
	free(text);
}
