#include "sim/executor_kinds.h"

const struct executor_kind executor_kinds[N_EXECUTORS] = {
	[EXECUTOR_PREDICT] = {.name = "predict",
			      .params = "",
			      .summary =
				      "step times predicted from the model's shape and the device"},
	[EXECUTOR_FIXED] = {.name = "fixed",
			    .params = "step_ns=..,prefill_tok_ns=..,decode_seq_ns=..,ctx_tok_ns=..,"
				      "window_tok_ns=..",
			    .summary = "constants given"},
	[EXECUTOR_CPU] = {.name = "cpu",
			  .params = "",
			  .summary = "measured: the model's layers run on this machine's processor",
			  .measures = true},
	[EXECUTOR_CUDA] = {.name = "cuda",
			   .params = "",
			   .summary = "measured: the model's layers run on this machine's GPU",
			   .measures = true},
	[EXECUTOR_REPLAY] = {.name = "replay",
			     .params = "FILE",
			     .summary = "the times of a run that was recorded (--record FILE)"},
};
