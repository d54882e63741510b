#include "calibrate/import_formats.h"

/* Two that people have beside those that can be read, with the reason why they cannot. */
static const struct import_format sarathi_chunking = {
	.name = "sarathi-chunking",
	.summary = "whole prompts prefilled in chunks",
	.header = "prefill_length,chunk_size,prefill_execution_time,"
		  "prefill_execution_time_relative",
	.no_points = "a time of several steps together, of a model that is not named, is no time "
		     "of one step",
};

static const struct import_format served_closed_loop = {
	.name = "served-closed-loop",
	.summary = "means over requests of served runs",
	.header = "source,measured,backend,backend_version,model,system,precision,gemm_quant_mode,"
		  "isl,osl,concurrency,batch_size,tp_size,ttft_ms,tpot_ms",
	.no_points = "it is what a forecast is compared with, not what it is made from",
};

const struct import_format *const import_formats[] = {
	&import_gemm,
	&import_attn_decode,
	&import_attn_prefill,
	&import_allreduce,
	&import_nccl,
	&import_vidur_allreduce,
	&import_attention,
	&import_skew,
	&import_dense,
	&import_per_sequence,
	&import_vidur_linear,
	&import_step_fits,
	&import_splitwise,
	&import_whole_steps,
	&sarathi_chunking,
	&served_closed_loop,
	NULL,
};
