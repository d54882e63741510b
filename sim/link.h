/*
 * link.h: what KV moves over between the instances of a disaggregated choice.
 *
 * With link=nvlink each device of the smaller of the two instances has an NVLink of its own to a
 * counterpart in the other: min(prefill tp, decode tp) links in parallel. PCIe and the network are
 * taken as one link an instance. The latency is that of the parameters in any case.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "calibrate/device.h"
#include "sim/choice.h"

/*
 * Bytes a second into a decode instance; 0: as bandwidth= says, or the choice moves nothing. `d`
 * may be NULL, tp is that of instances without a size of their own. -1: a sentence.
 */
int link_bytes_s(const struct choice *c, const struct device *d, int64_t tp, double *bytes_s,
		 struct err *e);

#endif
