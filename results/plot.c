#include "results/plot.h"

#include "results/db.h"

const struct plot_kind plot_kinds[] = {
	{"latency-rate", "normalized latency, TTFT and TPOT against the offered rate", plot_rate},
	{"cdf", "distributions of TTFT, TPOT and E2E over requests", plot_cdf},
	{"timeline", "requests running, KV in use and queue over time", plot_timeline},
	{"memory", "weights and KV of one device by requests running", plot_memory},
	{.name = NULL},
};

int plot_prepare(const struct chosen *c, const char *sql, int64_t run_id, sqlite3_stmt **s,
		 struct err *e)
{
	if (db_prepare(c->db, sql, s))
		return db_fail(c->db, c->path, "cannot be read", e);
	sqlite3_bind_int64(*s, 1, run_id);
	return 0;
}

int plot_finish(const struct chosen *c, sqlite3_stmt *s, struct err *e)
{
	return sqlite3_finalize(s) ? db_fail(c->db, c->path, "cannot be read", e) : 0;
}
