/* recording_format.h: the lines of a recording that are not steps, for those who write and read it.
 */
#ifndef SIM_RECORDING_FORMAT_H
#define SIM_RECORDING_FORMAT_H

#include "results/field.h"
#include <inttypes.h>

/* Of struct recording_facts; in md: what tells runs apart. */
extern const struct field recording_fields[];

static const char recording_first_line[] = "# omnibus recording 1";
static const char recording_columns[] = "step,instance,ns,extrapolated,prefill,decode";
#define recording_last_line "# end: %" PRId64 " steps, trace hash %s"

#endif
