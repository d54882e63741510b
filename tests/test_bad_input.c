/*
 * Wrong use of the program, from the outside: each is one sentence on stderr, an exit code, nothing
 * on stdout, and no trace of it in the results file.
 */
#include "tests/rows.h"
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define OURS	   "arrive_s,prompt_tok,output_tok\n"
#define AZURE	   "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define MOON(rest) "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 5" rest "}\n"
#define NINE	   OURS "0,1,2\n1,1,2\n2,1,2\n3,1,2\n4,1,2\n5,1,2\n6,1,2\n7,1,2\n8,1,2\n"
/* all that a run needs but the trace, and all that it needs */
#define SETUP	 "-p paged -m llama-3-8b -d h200"
#define RUN	 "run " SETUP " good.csv "
#define RUN_FILE "run " SETUP " file "

/* In the folder of the test: good.csv, and `file` with the content given here. */
struct bad {
	const char *args;
	int code;
	const char *part; /* of the sentence */
	const char *file;
};

static const struct bad traces[] = {
	{RUN_FILE, 1, "file: is empty", ""},
	{RUN_FILE, 1, "file: is empty", "\n\n"},
	{RUN_FILE, 1, "file: no rows: 0 read", OURS},
	{RUN_FILE, 1, "file: no rows: 2 read, 1 of them without output", OURS "0,5,0\n1,0,5\n"},
	{RUN_FILE, 1, "file:1: column 1: 'a,b,c' is no header", "a,b,c\n1,2,3\n"},
	{RUN_FILE, 1, "file:1: column 1: '?ELF?", "\x7f\x45LF\x02\x01\n"},
	{RUN_FILE, 1, "file:2: column 3: the row has 2 columns", AZURE "2023-11-16 18:17:03,9\n"},
	{RUN_FILE, 1, "file:2: column 4: the row has 4", AZURE "2023-11-16 18:17:03,9,9,9\n"},
	{RUN_FILE, 1, "file:3: column 2 (ContextTokens): '-1' is negative",
	 AZURE "2023-11-16 18:17:03,9,9\n2023-11-16 18:17:04,-1,9\n"},
	{RUN_FILE, 1, "file:2: column 1 (TIMESTAMP): '17:03' is not a timestamp",
	 AZURE "17:03,1,2\n"},
	{RUN_FILE, 1, "file:2: column 1 (TIMESTAMP): '2023-13-01 00:00:00'",
	 AZURE "2023-13-01 00:00:00,1,2\n"},
	{RUN_FILE, 1, "file:2: column 3 (GeneratedTokens): 'many' is not a number",
	 AZURE "2023-11-16 18:17:03,9,many\n"},
	{RUN_FILE, 1, "file:4: arrives 1 s before the row of line 3",
	 AZURE "2023-11-16 18:17:03,9,9\n2023-11-16 18:17:05,9,9\n2023-11-16 18:17:04,9,9\n"},
	{RUN_FILE, 1, "file: has lengths and no arrivals",
	 "num_prefill_tokens,num_decode_tokens\n9,9\n"},
	{RUN_FILE " --zero error", 1, "file:3: output tokens are 0", OURS "0,9,9\n1,9,0\n"},
	{RUN_FILE, 1, "file:1: field output_lens: is missing", "{\"input_lens\": [1]}"},
	{RUN_FILE, 1,
	 "file:2: column 4 (session): ", "arrive_s,prompt_tok,output_tok,session\n0,9,9,\xff\n"},
	{RUN_FILE, 1, "unknown column of ", "arrive_s,prompt_tok,output_tok,user\n0,9,9,1\n"},
	{RUN_FILE, 1, "file:2: a quote that is opened here is never closed", OURS "0,\"1,2\n"},
	{RUN_FILE, 1, "file:2: column 2 (prompt_tok): '99999999999999999999' is too large",
	 OURS "0,99999999999999999999,1\n"},
	{RUN_FILE, 1, "file:2: column 2 (prompt_tok): '1.5' is not whole", OURS "0,1.5,1\n"},
	{RUN_FILE, 1, "file:2: column 1 (arrive_s): '1e400' is too large", OURS "1e400,1,1\n"},
	{RUN_FILE, 1, "file:2: column 1 (arrive_s): 'nan' is not a number", OURS "nan,1,1\n"},
	{RUN_FILE, 1, "file:2: column 1 (arrive_s): is empty", OURS ",1,1\n"},
	{RUN_FILE, 1, "file:2: field input_length: is missing", MOON("") "{\"timestamp\": 1}\n"},
	{RUN_FILE, 1, "file:1: column 1", "{\"timestamp\": 0,\n"},
	{RUN_FILE, 1, "file:1: field hash_ids: 3 ids for 1000 prompt tokens: expected 2",
	 MOON(", \"hash_ids\": [1, 2, 3]")},
	{RUN_FILE, 1, "file:1: field hash_ids: expected an array of whole numbers",
	 MOON(", \"hash_ids\": [1, \"x\"]")},
	{RUN_FILE, 1, "file:1: field extra: is not part of this format", MOON(", \"extra\": 1")},
	{RUN_FILE "--columns arrival=1,prompt=2,output=9", 1, "file:1: --columns names column 9",
	 "0,1,2\n"},
	{RUN_FILE "--columns arrival=a,prompt=b,output=x", 1, "unknown column of file:1 'x'",
	 "a,b,c\n0,1,2\n"},
	{RUN_FILE "--columns arrival=1,prompt=2,output=3,unit=ms", 1,
	 "file:2: column 1: 'x' is not a number", "0,1,2\nx,1,2\n"},
	{RUN_FILE "--columns arrival=1", 2, "--columns: prompt is missing", OURS "0,1,2\n"},
	{RUN_FILE "--columns arrival=t,prompt=p,output=o", 1,
	 "1: the header has 'p' in columns 2 and 4: --columns takes the number",
	 "t,p,o,p\n0,1,2,3\n"},
	{RUN_FILE "--columns arrival=1,prompt=2,output=3,unit=min", 2, "'min'", OURS "0,1,2\n"},
	{RUN_FILE "--rate 2", 1, "a rate needs at least two rows", OURS "5,1,2\n5,1,2\n"},
	{RUN_FILE "-p static --jobs 2", 1, "file:3: column 3 (output_tok): 'x'",
	 OURS "0,1,2\n1,2,x\n"},
	{RUN_FILE "--rate 1 --rate 2", 1, "file:3: column 3 (output_tok): 'x'",
	 OURS "0,1,2\n1,2,x\n"},
	/* the last of several runs: nothing of the first */
	{RUN_FILE "-p paged:prefix=on --block 100", 1,
	 "hash ids are of 512 tokens, and KV blocks of 100", MOON(", \"hash_ids\": [1, 2]")},
	{RUN_FILE "--rate 1e9,1e-9", 1, "its 9 rows arrive over more than 200 years", NINE},
	{RUN_FILE "--rate inf,1e-9", 1, "its 9 rows arrive over more than 200 years", NINE},
	{RUN_FILE "--arrivals constant --rate 1e9,1e-9", 1, "more than 200 years", NINE},
	{"run " SETUP " - < file", 1, "standard input:2: column 3 (output_tok): 'x'",
	 OURS "0,1,x\n"},
	{"run " SETUP " - < /dev/null", 1, "standard input: is empty", NULL},
	{"run " SETUP " .", 1, ". is a directory", NULL},
	{"run " SETUP " ''", 1, "no trace is given", NULL},
	{"run " SETUP " missing.csv", 1, "missing.csv: No such file or directory", NULL},
	{"run " SETUP " cut.gz", 1, "cut.gz: the gzip data end too early", NULL},
	{"run " SETUP " cut.zst", 1, "cut.zst: the Zstandard data end too early", NULL},
	{"run " SETUP " nul.csv", 1, "nul.csv:2: byte 3 is NUL", NULL},
	{"run " SETUP " synth:poison", 2, "nearest is 'poisson'", NULL},
	{"run " SETUP " synth:poisson,n=0", 2, "'0' is not a whole number", NULL},
	{"run " SETUP " synth:poisson,lenght=3", 2, "nearest is 'lengths'", NULL},
	{"run " SETUP " synth:poisson,cv=2", 2, "cv needs arrivals=gamma", NULL},
	{"run " SETUP " synth:poisson,lengths=missing.csv", 1, "missing.csv: No such file", NULL},
	{"run " SETUP " synth:poisson,lengths=.", 1, ". is a directory", NULL},
	{"run " SETUP " synth:poisson,lengths=file", 1, "file:1: expected the header p,", "a,b\n"},
	{"trace info synth:poisson,lengths=file", 1, "file:1: expected the header p,", "a,b\n"},
	{"trace generate poisson,lengths=missing.csv", 1, "missing.csv: No such file", NULL},
	{RUN "--hash-block 16", 1, "good.csv: --hash-block says what hash ids stand for", NULL},
	{RUN "--hash-rule floor", 1, "rows of csv have none that do", NULL},
	{"trace info file", 1, "file:2: column 2 (prompt_tok): 'x'", OURS "0,x,1\n"},
	{"trace convert file", 1, "file:2: column 2 (prompt_tok): 'x'", OURS "0,x,1\n"},
	{"trace convert good.csv -O no-such-folder/out.csv", 1, "no-such-folder", NULL},
	{"trace generate poisson,rate=-1", 2, "'-1' is not a number", NULL},
};

#define SIZES(layers, heads, kv_heads)                                                             \
	"\"hidden_size\": 4096, \"intermediate_size\": 14336, \"num_hidden_layers\": " layers ","  \
	" \"num_attention_heads\": " heads ", \"num_key_value_heads\": " kv_heads ","              \
	" \"vocab_size\": 32000, \"max_position_embeddings\": 32768"
#define CONFIG "run good.csv -p paged -d h200 -m ./file "

static const struct bad configs[] = {
	{CONFIG, 1, "./file:1:0: not valid JSON", ""},
	{CONFIG, 1, "not valid JSON", "model_type: llama\n"},
	{CONFIG, 1, "./file: the file holds an array", "[]"},
	{CONFIG, 1, "./file: model_type is missing", "{}"},
	{CONFIG, 1, "unknown model_type 'lama', nearest is 'llama'", "{\"model_type\": \"lama\"}"},
	{CONFIG, 1, "./file: num_hidden_layers is missing", "{\"model_type\": \"llama\"}"},
	{CONFIG, 1, "num_hidden_layers is a string",
	 "{\"model_type\": \"llama\"," SIZES("\"32\"", "32", "8") "}"},
	{CONFIG, 1, "num_hidden_layers is 999999999999",
	 "{\"model_type\": \"llama\"," SIZES("999999999999", "32", "8") "}"},
	{CONFIG, 1, "not valid JSON",
	 "{\"model_type\": \"llama\"," SIZES("99999999999999999999", "32", "8") "}"},
	{CONFIG, 1, "num_attention_heads, 32, is no multiple of num_key_value_heads, 5",
	 "{\"model_type\": \"llama\"," SIZES("32", "32", "5") "}"},
	{CONFIG, 1, "no multiple of num_attention_heads, 30",
	 "{\"model_type\": \"llama\"," SIZES("32", "30", "10") "}"},
	{CONFIG, 1, "layer_types has 1 entries",
	 "{\"model_type\": \"mistral\", \"layer_types\": [\"full_attention\"]," SIZES("32", "32",
										      "8") "}"},
	{"run good.csv -p paged -m llama-3-8b -d ./file", 1, "memory_bytes is missing",
	 "{\"peak_flops\": 1e14}"},
	{"run good.csv -p paged -m llama-3-8b -d ./file", 1, "unknown field 'flops'",
	 "{\"flops\": 1e14}"},
	{"run good.csv -p paged -d h200 -m no-such-folder/config.json", 1,
	 "no-such-folder/config.json", NULL},
	{"run good.csv -p paged -d h200 -m .", 2, "unknown model '.'", NULL},
	{"run good.csv -p paged -d h200 -m ./", 1, "config.json", NULL},
	{"capacity -d h200 -m ./file", 1, "./file: model_type is missing", "{}"},
};

static const struct bad names[] = {
	{"runn", 2, "unknown command 'runn', nearest is 'run'", NULL},
	{RUN "--jbos 2", 2, "'--jbos', nearest is '--jobs'", NULL},
	{RUN "--job 2", 2, "'--job', nearest is '--jobs'", NULL},
	{RUN "-q", 2, "'-q'", NULL},
	{RUN "-p pagd", 2, "unknown policy 'pagd', nearest is 'paged'", NULL},
	{RUN "-p vllm-v2", 2, "nearest is 'vllm-v0'", NULL},
	{RUN "-p paged:chnk=8", 2, "unknown parameter of paged 'chnk', nearest is 'chunk'", NULL},
	{RUN "-p sarathi:max_seq=8", 2, "nearest is 'max_seqs'", NULL},
	{RUN "-p disaggregated:decod=2", 2, "nearest is 'decode'", NULL},
	{RUN "-p disaggregated:policy=page", 2, "unknown policy 'page', nearest is 'paged'", NULL},
	{RUN "-p disaggregated:policy=vllm-v1", 2,
	 "policy=vllm-v1: a preset cannot stand here, its parameters can "
	 "(paged:chunk=8192,max_seqs=1024); expected one of static, continuous, paged",
	 NULL},
	{RUN "-p disaggregated:policy=disaggregated", 2, "are not apart again; expected one of",
	 NULL},
	{RUN "-p paged:preempt=swop", 2, "nearest is 'swap'", NULL},
	{RUN "--router random", 2, "unknown router 'random'", NULL},
	{RUN "-x fixd:step_ns=1", 2, "nearest is 'fixed'", NULL},
	{RUN "-x fixed:step=1", 2, "nearest is 'step_ns'", NULL},
	{RUN "-o xml", 2, "'xml'", NULL},
	{"run good.csv -p paged -m lama-3-8b -d h200", 2, "nearest is 'llama-3-8b'", NULL},
	{"run good.csv -p paged -m llama-3-8b -d h-200", 2, "nearest is 'h200'", NULL},
	{"run good.csv -p paged -m good.csv -d h200", 2,
	 "; the file or folder of that name here is ./good.csv", NULL},
	{"run good.csv -p paged -m llama-3-8b -d good.csv", 2, "here is ./good.csv", NULL},
	{"capacity -m lama-3-8b -d h200", 2, "nearest is 'llama-3-8b'", NULL},
	{"list model", 2, "nearest is 'models'", NULL},
	{"trace informations", 2, "nearest is 'info'", NULL},
	{"trace convert good.csv -f azure", 2, "nearest is 'azure-csv'", NULL},
	{"compare --db x.db -o xml", 2, "unknown format 'xml'", NULL},
};

static const struct bad values[] = {
	{"run " SETUP, 2, "usage: omnibus run TRACE", NULL},
	{"run good.csv -m llama-3-8b -d h200", 2, "-p POLICY", NULL},
	{"run good.csv -p paged -d h200", 2, "-m MODEL", NULL},
	{RUN "another.csv", 2, "'another.csv' is one argument too many", NULL},
	{RUN "-m phi-4", 2, "--model is given twice", NULL},
	{"run good.csv -p", 2, "--policy needs a value", NULL},
	{RUN "-p ''", 2, "unknown policy ''", NULL},
	{RUN "-p paged:chunk", 2, "'chunk' is not of the form name=value", NULL},
	{RUN "-p paged:chunk=", 2, "chunk: ''", NULL},
	{RUN "-p paged:chunk=4k", 2, "'4k' is not a whole number from 0", NULL},
	{RUN "-p paged:chunk=-1", 2, "'-1' is not a whole number from 0", NULL},
	{RUN "-p paged:chunk=9223372036854775808", 2, "'9223372036854775808'", NULL},
	{RUN "-p paged:chunk=512,chunk=256", 2, "chunk is given twice", NULL},
	{RUN "-p paged:chunk=64,max_seqs=128", 2, "chunk=64 is less than max_seqs=128", NULL},
	{RUN "-p paged:watermark=inf", 2, "'inf' is not a number from 0 to 1", NULL},
	{RUN "-p paged:watermark=1.1", 2, "'1.1' is not a number from 0 to 1", NULL},
	{RUN "-p static:size=0", 2, "size: '0'", NULL},
	{RUN "-p static:wait=-1", 2, "wait: '-1'", NULL},
	{RUN "-p disaggregated --instances 2", 2, "--instances is not for disaggregated", NULL},
	{RUN "-p disaggregated:prefill=0", 2, "prefill: '0'", NULL},
	{RUN "-p disaggregated:bandwidth=0", 2, "bandwidth: '0'", NULL},
	{RUN "-p disaggregated:link=wifi", 2, "link 'wifi'", NULL},
	{RUN "-p disaggregated:link=pcie,bandwidth=9", 2, "bandwidth= is for link=given", NULL},
	{RUN "-p disaggregated:ttft=both", 2, "ttft 'both'", NULL},
	{RUN "-p disaggregated:decode_pp=33", 2, "33", NULL},
	{RUN "-p paged:order=lifo", 2, "order 'lifo'", NULL},
	{RUN "-p paged:predict_error=2", 2, "'2' is not a number from 0 to 1", NULL},
	{RUN "-p paged:chunk=512,mixed=on", 2, "mixed=on and max_paddings are for whole ones",
	 NULL},
	{RUN "-p vllm-v1:max_paddings=9", 2, "mixed=on and max_paddings are for whole ones", NULL},
	{RUN "--queue-limit 0", 2, "--queue-limit: '0'", NULL},
	{RUN "--timeout 0", 2, "--timeout: '0'", NULL},
	{RUN "--timeout -1", 2, "--timeout: '-1'", NULL},
	{RUN "-p disaggregated:decode_tp=3", 2, "tp 3 does not divide", NULL},
	{RUN "--tp 3", 2, "tp 3 does not divide the attention heads", NULL},
	{RUN "--tp 1.0", 2, "--tp: '1.0'", NULL},
	{RUN "--tp ''", 2, "--tp: ''", NULL},
	{RUN "--instances 0", 2, "--instances: '0'", NULL},
	{RUN "-x predict:a=1", 2, "predict takes no parameters", NULL},
	{RUN "-x fixed", 2, "every step would take no time", NULL},
	{RUN "-x fixed:step_ns=-1", 2, "'-1' is not a number from 0", NULL},
	{RUN "-x fixed:step_ns=1e99", 2, "'1e99' is not a number", NULL},
	{RUN "--rate 0", 2, "--rate: '0'", NULL},
	{RUN "--rate nan", 2, "--rate: 'nan'", NULL},
	{RUN "--rate 1,,2", 2, "--rate: ''", NULL},
	{RUN "--rate ''", 2, "--rate", NULL},
	{RUN "--rate 2 --speed 2", 2, "give one of them", NULL},
	{RUN "--rate 2 --closed-loop 3", 2, "give one of them", NULL},
	{RUN "--speed 0", 2, "--speed: '0'", NULL},
	{RUN "--closed-loop 0", 2, "--closed-loop: '0'", NULL},
	{RUN "--skip 2", 1, "good.csv: no rows: 2 read", NULL},
	{RUN "--limit 0", 2, "--limit: '0'", NULL},
	{RUN "--limit 10x", 2, "--limit: '10x'", NULL},
	{RUN "--limit ' 1'", 2, "--limit: ' 1'", NULL},
	{RUN "--window 9:3", 2, "--window 9:3: is empty", NULL},
	{RUN "--window 9", 2, "expected FROM:TO", NULL},
	{RUN "--window 100:200", 1, "good.csv: no rows", NULL},
	{RUN "--seed -1", 2, "--seed: '-1'", NULL},
	{RUN "--horizon -1", 2, "--horizon: '-1'", NULL},
	{RUN "--max-model-len 0", 2, "--max-model-len: '0'", NULL},
	{RUN "--too-long drop", 2, "neither reject nor truncate", NULL},
	{RUN "--max-tokens 0", 2, "--max-tokens '0'", NULL},
	{RUN "--kv-blocks 0", 2, "--kv-blocks: '0'", NULL},
	{RUN "--kv-tokens 15", 2, "less than one block of 16 tokens", NULL},
	{RUN "--kv-tokens 99 --kv-blocks 3", 2, "give one", NULL},
	{RUN "--pp 0", 2, "--pp", NULL},
	{RUN "--pp 33", 2, "has 32 layers", NULL},
	{RUN "--pp 2 -p paged:async=1", 2, "async=1 plans one step ahead", NULL},
	{RUN "--memory 0", 2, "--memory is 0 GiB", NULL},
	{RUN "--memory 12", 1, "no room for a KV cache", NULL},
	{RUN "--memory 1e-6", 1,
	 "on h200, its memory as --memory says, leaves -16.65 GiB of 0.00 usable, after 14.96 of "
	 "weights and 1.69 of reserve; what would do: no --memory (h200 has 140.40 GiB)",
	 NULL},
	{RUN "--kv-bits 3", 2, "16, 8, 4 or 2", NULL},
	{RUN "--utilization 0", 2, "--utilization is 0", NULL},
	{RUN "--utilization 90", 2, "--utilization: '90' is not a number from 0 to 1", NULL},
	{RUN "--utilization 0.05", 1, "no room for a KV cache", NULL},
	{RUN "--reserve nan", 2, "--reserve: 'nan'", NULL},
	{RUN "--reserve 140", 1, "no room for a KV cache", NULL},
	{RUN "--block 0", 2, "--block: '0'", NULL},
	{RUN "--slo fast", 2, "--slo: 'fast' is not of the form name=value", NULL},
	{RUN "--slo ttf=1", 2, "nearest is 'ttft'", NULL},
	{RUN "--slo ttft=1s", 2, "ttft: '1s'", NULL},
	{RUN "--slo ttft=1,ttft=2", 2, "ttft is given twice", NULL},
	{RUN "--slo ''", 2, "--slo has no target", NULL},
	{RUN "--requests some", 2, "neither all nor none", NULL},
	{RUN "--jobs 0", 2, "--jobs: '0'", NULL},
	{RUN "--no-fast-forward=yes", 2, "--no-fast-forward takes no value", NULL},
	{"run good.csv -p paged -m llama-3-70b -d h200", 1, "what would do: --tp 2", NULL},
	/* the second of two cannot run, and so the first does not */
	{"run good.csv -p paged -p disaggregated:decode_tp=1 -m llama-3-70b -d h200 --tp 2", 1,
	 "no room for a KV cache: llama-3-70b at tp 1", NULL},
	{"run good.csv -p disaggregated -x fixed:step_ns=1", 2, "needs -m MODEL", NULL},
	{"capacity -m llama-3-8b", 2, "-d DEVICE is missing", NULL},
	{"capacity -m llama-3-8b -d h200 --kv-bits 5", 2, "5", NULL},
	{"capacity -m llama-3-8b -d h200 --memory 0", 2, "--memory is 0 GiB", NULL},
};

/* With files of results of their own. */
static const struct bad files[] = {
	{RUN "--db ''", 2, "--db is empty", NULL},
	{RUN "--db .", 1, ".: cannot be opened: Is a directory", NULL},
	{RUN "--db no-such-folder/x.db", 1, "no-such-folder", NULL},
	{RUN "--db /dev/null", 1, "/dev/null: cannot be written: it is no regular file", NULL},
	{RUN "--db good.csv", 1, "good.csv: cannot be read: it is not a SQLite database", NULL},
	{RUN "--db foreign.db", 1, "foreign.db: a database of another program", NULL},
	{RUN "--db cut.db", 1, "cut.db: ", NULL},
	{"compare", 2, "--db FILE is missing", NULL},
	{"compare --db missing.db", 1, "missing.db: cannot be opened: No such file", NULL},
	{"compare --db .", 1, ".: cannot be opened: Is a directory", NULL},
	{"compare --db good.csv", 1, "it is not a SQLite database", NULL},
	{"compare --db foreign.db", 1, "a database of another program", NULL},
	{"compare --db stored.db 7", 1, "stored.db: there is no run 7", NULL},
	{"compare --db stored.db 1 x", 2, "'x' is not a whole number", NULL},
	{"compare --db stored.db 0", 2, "'0' is not a whole number", NULL},
	{"compare --db stored.db -1", 2, "'-1'", NULL},
};

/* The bytes of a file; NULL where there is none. */
static char *read_bytes(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	*size = 0;
	if (!f)
		return NULL;
	char *bytes = xmalloc(1 << 20);
	*size = fread(bytes, 1, 1 << 20, f);
	assert_true(*size < 1 << 20);
	fclose(f);
	return bytes;
}

static void copy_file(const char *from, const char *to, size_t cut)
{
	size_t size;
	char *bytes = read_bytes(from, &size);
	assert_non_null(bytes);
	write_bytes(to, bytes, size - cut);
	free(bytes);
}

static bool is_sentence(const char *text)
{
	const char *end = strchr(text, '\n');
	return strncmp(text, "omnibus", 7) == 0 && end && end[1] == '\0' && end - text > 20;
}

/* All that is wrong is printed before the test fails. */
static int n_wrong;

static void refuse(const struct bad *b, const char *more)
{
	struct run_output o = testing_run("%s%s", b->args, more);
	if (o.code != b->code || o.out[0] || !is_sentence(o.err) || !strstr(o.err, b->part)) {
		print_error("omnibus %s%s\nexit %d, expected %d and '%s'\nstdout: '%s'\nstderr: "
			    "'%s'\n",
			    b->args, more, o.code, b->code, b->part, o.out, o.err);
		n_wrong++;
	}
	testing_run_free(&o);
}

static void assert_absent(const char *path, const struct bad *b)
{
	if (access(path, F_OK) == 0) {
		print_error("omnibus %s left %s\n", b->args, path);
		n_wrong++;
	}
}

static void assert_unchanged(const char *path, const char *was, const struct bad *b)
{
	size_t size, was_size;
	char *bytes = read_bytes(path, &size), *was_bytes = read_bytes(was, &was_size);
	if (size != was_size || memcmp(bytes, was_bytes, size) != 0) {
		print_error("omnibus %s changed %s\n", b->args, path);
		n_wrong++;
	}
	free(bytes);
	free(was_bytes);
}

/* A file of results does not come into being; one that is there stays as it is. */
static void refuse_all(const struct bad *table, size_t n)
{
	n_wrong = 0;
	for (const struct bad *b = table; b < table + n; b++) {
		if (b->file)
			write_bytes("file", b->file, strlen(b->file));
		/* "good.csv < x --db y" is fine for the shell too */
		bool stores = strstr(b->args, SETUP) || strstr(b->args, CONFIG);
		refuse(b, stores ? " --db results.db" : "");
		assert_absent("results.db", b);
		unlink("results.db");
		if (!stores)
			continue;
		copy_file("stored.db", "results.db", 0);
		refuse(b, " --db results.db");
		assert_unchanged("results.db", "stored.db", b);
		assert_int_equal(unlink("results.db"), 0);
		assert_absent("results.db-wal", b);
		assert_absent("results.db-shm", b);
	}
	assert_i64(n_wrong, 0);
}

static void test_traces(void **state)
{
	(void)state;
	refuse_all(traces, sizeof(traces) / sizeof(*traces));
}

static void test_configs(void **state)
{
	(void)state;
	refuse_all(configs, sizeof(configs) / sizeof(*configs));
}

static void test_names(void **state)
{
	(void)state;
	refuse_all(names, sizeof(names) / sizeof(*names));
}

static void test_values(void **state)
{
	(void)state;
	refuse_all(values, sizeof(values) / sizeof(*values));
}

static void test_files_of_results(void **state)
{
	(void)state;
	static const char *const kept[] = {"good.csv", "foreign.db", "cut.db", "stored.db"};
	enum { N_KEPT = sizeof(kept) / sizeof(*kept) };
	for (size_t i = 0; i < N_KEPT; i++) {
		char was[64];
		snprintf(was, sizeof(was), "%s.was", kept[i]);
		copy_file(kept[i], was, 0);
	}
	n_wrong = 0;
	for (const struct bad *b = files; b < files + sizeof(files) / sizeof(*files); b++) {
		refuse(b, "");
		assert_absent("missing.db", b);
		assert_absent("no-such-folder", b);
		for (size_t i = 0; i < N_KEPT; i++) {
			char was[64];
			snprintf(was, sizeof(was), "%s.was", kept[i]);
			assert_unchanged(kept[i], was, b);
		}
	}
	assert_i64(n_wrong, 0);
}

static void make_packed(void)
{
	static const char text[] = OURS "0,1,2\n1,3,4\n2,5,6\n3,7,8\n";
	unsigned char packed[1024];
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = sizeof(text) - 1};
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	write_bytes("cut.gz", packed, sizeof(packed) - z.avail_out - 9);
	deflateEnd(&z);
	size_t n = ZSTD_compress(packed, sizeof(packed), text, sizeof(text) - 1, 3);
	assert_false(ZSTD_isError(n));
	write_bytes("cut.zst", packed, n - 9);
}

static void make_foreign(void)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open("foreign.db", &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "CREATE TABLE t(a); INSERT INTO t VALUES (1)", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

/* Everything happens in the folder of the test, with short names; nothing runs for long. */
static int set_up(void **state)
{
	(void)state;
	static const char nul[] = OURS "0,\0,2\n";
	struct rlimit seconds = {60, 60};
	char folder[512];
	const char *path = testing_file("good.csv", OURS "0,100,5\n1,200,8\n");
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (chdir(folder) || setrlimit(RLIMIT_CPU, &seconds))
		return -1;
	write_bytes("nul.csv", nul, sizeof(nul) - 1);
	make_packed();
	make_foreign();
	struct run_output o = testing_run(RUN "--db stored.db");
	assert_exit(o, 0);
	testing_run_free(&o);
	copy_file("stored.db", "cut.db", 4096 + 100);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_files_of_results),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
