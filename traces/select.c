/* select.c: see select.h. */
#include "traces/select.h"
#include <string.h>

int trace_select_spec(const struct trace_select *o, struct trace_spec *spec, struct err *e)
{
	*spec = (struct trace_spec){
		.sort = o->sort,
		.skip = o->skip,
		.limit = o->limit,
		.hash_block = o->hash_block,
		.seed = (uint64_t)o->seed,
		.speed = o->speed,
	};
	if (o->columns && trace_parse_columns(o->columns, spec, e))
		return -1;
	if (o->window && trace_parse_window(o->window, spec, e))
		return -1;
	if (o->rate && o->speed > 0)
		return err_set(e, "--rate and --speed cannot both be given");
	spec->rate_inf = o->rate && strcmp(o->rate, "inf") == 0;
	if (o->rate && !spec->rate_inf)
		return parse_real(o->rate, "--rate", 1e-9, 1e9, &spec->rate_rps, e);
	return 0;
}
