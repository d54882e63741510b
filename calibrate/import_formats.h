/* import_formats.h: the formats that import.h reads; their list is in import_formats.c. */
#ifndef CALIBRATE_IMPORT_FORMATS_H
#define CALIBRATE_IMPORT_FORMATS_H

#include "calibrate/config.h"
#include "calibrate/import.h"

/* import_kernels.c */
extern const struct import_format import_gemm, import_attn_decode, import_attn_prefill,
	import_allreduce, import_nccl, import_vidur_allreduce;
/* import_layers.c */
extern const struct import_format import_attention, import_skew, import_dense, import_per_sequence,
	import_vidur_linear;
/* import_steps.c */
extern const struct import_format import_step_fits, import_splitwise, import_whole_steps;

#endif
