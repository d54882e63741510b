/*
 * fuzz_trace.c: any bytes as a trace: read as the format they look like, sorted, and with columns
 * named; what is accepted keeps what trace.h promises, and comes back the same from every format it
 * is written in. Built by -DOMNIBUS_FUZZ=ON, run by libFuzzer on the files of tests/corpus/trace.
 */
#include "tests/resave.h"
#include "traces/number.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file without a name in the file system, and a path that opens it. */
static const char *open_file(int which, int *fd)
{
	static char paths[2][32];
	static int fds[2] = {-1, -1};
	if (fds[which] < 0) {
		char name[] = "/tmp/fuzz-trace-XXXXXX";
		fds[which] = mkstemp(name);
		CHECK(fds[which] >= 0 && unlink(name) == 0, "no file for the fuzzer");
		snprintf(paths[which], sizeof(paths[which]), "/dev/fd/%d", fds[which]);
	}
	*fd = fds[which];
	return paths[which];
}

static void check_row(const struct trace_row *row, int64_t last_ns)
{
	CHECK(row->arrive_ns >= last_ns && row->arrive_ns <= NUMBER_NS_MAX, "arrives at %lld",
	      (long long)row->arrive_ns);
	CHECK(row->prompt_tok >= 1 && row->prompt_tok <= NUMBER_TOK_MAX, "prompt");
	CHECK(row->output_tok >= 1 && row->output_tok <= NUMBER_TOK_MAX, "output");
	CHECK(row->max_tok >= 0 && row->line >= 1 && row->service_ns >= 0, "row");
	CHECK(row->session == 0 || row->think_ns >= -1, "think time");
	uint64_t sum = 0;
	for (int64_t i = 0; i < row->n_hash_ids; i++)
		sum += row->hash_ids[i];
	CHECK(row->hash_ids || sum == 0, "ids");
}

static void read_all(const struct trace_spec *spec)
{
	struct err e = {""};
	struct trace *t = trace_open(spec, &e);
	struct trace_row row;
	int64_t last_ns = 0, n = 0;
	int more = t ? 1 : -1;
	for (; more > 0 && n < ROWS; n++) {
		more = trace_next(t, &row, &e);
		if (more <= 0)
			break;
		check_row(&row, last_ns);
		last_ns = row.arrive_ns;
		CHECK(*trace_client_name(t, row.client) || row.client == 0, "client without name");
	}
	CHECK(more >= 0 || (e.text[0] && !strchr(e.text, '\n')), "no sentence: %s", e.text);
	CHECK(more != 0 || n > 0, "an end without rows");
	trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd, other_fd;
	const char *path = open_file(0, &fd), *other = open_file(1, &other_fd);
	CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "file");
	const struct trace_spec specs[] = {
		{.source = path},
		{.source = path, .sort = true, .zero = TRACE_ZERO_CLAMP},
		{.source = path,
		 .columns = "arrival=1,prompt=2,output=3,session=4,service=5,priority=6"},
		{.source = path,
		 .columns = "arrival=timestamp,prompt=input_length,output=output_length,"
			    "session=chat_id,client=type,hash_ids=hash_ids",
		 .hash_block = 16},
	};
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		read_all(&specs[i]);
	for (size_t i = 0; writers[i]; i++) {
		struct writer w;
		char text[RESAVE_TEXT];
		int result = resave(&specs[0], ROWS, writers[i], other, &w, text);
		CHECK(result >= 0, "%s", text);
		if (result > 0 && i == 0)
			break; /* no trace, or nothing that can be written */
	}
	return 0;
}
