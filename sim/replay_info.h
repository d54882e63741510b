/* replay_info.h: what the row and the database say of the settings of a run that is over. */
#ifndef SIM_REPLAY_INFO_H
#define SIM_REPLAY_INFO_H

#include "sim/replay.h"
#include "sim/resources.h"

void replay_info(struct replay *r, const struct resources *res, const struct trace *from);

#endif
