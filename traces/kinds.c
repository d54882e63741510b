/* kinds.c: the one list of formats and generators. */
#include "traces/source.h"

const struct trace_kind trace_kinds[N_KINDS + 1] = {
	[KIND_AZURE_CSV] = {"azure-csv", "Azure LLM inference traces of 2023 and 2024: "
					 "TIMESTAMP,ContextTokens,GeneratedTokens"},
	[KIND_OMNIBUS_CSV] = {"csv", "our own: arrive_s,prompt_tok,output_tok[,max_tok][,priority]"
				     "[,client][,session][,service_s]"},
	[KIND_CSV] = {"columns-csv", "any CSV, its columns named by --columns"},
	[KIND_MOONCAKE] = {"mooncake-jsonl", "timestamp (ms), input_length, output_length, "
					     "hash_ids of 512 tokens, the last one partial"},
	[KIND_NS_JSONL] = {"ns-jsonl",
			   "arrival_time_ns, input_length, output_length, hash_ids16 of "
			   "16 tokens, full ones only"},
	[KIND_BURSTGPT] = {"burstgpt-csv", "BurstGPT 1 and 2: Timestamp (s), Model, Request and "
					   "Response tokens, Log Type"},
	[KIND_BURSTGPT_3] = {"burstgpt-3-csv", "BurstGPT 3: the same with Session ID and Elapsed "
					       "time (s)"},
	[KIND_LENGTHS_CSV] = {"lengths-csv", "lengths without arrivals: "
					     "num_prefill_tokens,num_decode_tokens[,...]"},
	[KIND_BAILIAN] = {"bailian-jsonl",
			  "Qwen-Bailian: timestamp (s), chat_id, parent_chat_id, hash_ids of 16 "
			  "tokens, the last one partial"},
	[KIND_RAGPULSE] = {"ragpulse-jsonl", "RAGPulse: timestamp (text, s), session_id, lengths"},
	[KIND_VLLM_JSON] = {"vllm-json",
			    "result of vllm bench serve --save-detailed: input_lens, output_lens, "
			    "start_times"},
	[KIND_JSONL] = {"columns-jsonl", "any JSON lines, their fields named by --columns"},
	[KIND_AZURE_CONV] = {"synth:azure-conv", "lengths and gaps fitted to Azure's chat trace of "
						 "2023, 5.53 requests/s"},
	[KIND_POISSON] = {"synth:poisson", "Poisson arrivals, lengths as given"},
	[KIND_GAMMA] = {"synth:gamma",
			"gamma gaps of coefficient of variation cv, lengths as given"},
	[KIND_CONSTANT] = {"synth:constant", "equal gaps, lengths as given"},
	[KIND_WEIBULL] = {"synth:weibull",
			  "Weibull gaps of coefficient of variation cv, lengths as given"},
	[KIND_BURSTS] = {"synth:bursts", "Poisson arrivals, ten times the rate in bursts of 10 s "
					 "once a minute, lengths as given"},
	[KIND_DIURNAL] = {"synth:diurnal", "Poisson arrivals, the rate follows a sine over the "
					   "day, lengths as given"},
	[KIND_AZURE_CODE] = {"synth:azure-code", "lengths and gaps fitted to Azure's code trace of "
						 "2023, 2.57 requests/s in bursts"},
	[KIND_SHAREGPT] = {"synth:sharegpt", "lengths fitted to Sarathi's set of ShareGPT chats"},
	[KIND_ARXIV] = {"synth:arxiv", "lengths fitted to Vidur's set of arXiv summaries"},
	[KIND_MOONCAKE_CONV] = {"synth:mooncake-conv",
				"lengths, slots of 3 s and shared prefixes fitted to Mooncake's "
				"conversations, 3.40 requests/s"},
	[KIND_SERVEGEN_R1] = {"synth:servegen-r1",
			      "twelve clients fitted to ServeGen's figures of DeepSeek-R1"},
};
