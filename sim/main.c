/* main.c: finds the subcommand. Each lives in its own cmd_*.c with its own option table. */
#include "sim/options.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "replay a trace under policies, print latency and goodput, store them", cmd_run},
	{"compare", "print runs of a results database beside each other", cmd_compare},
	{"plot", "draw runs of a results database: latency, distributions, time, memory", cmd_plot},
	{"timeline", "write the steps of a run as a trace for Perfetto or chrome://tracing",
	 cmd_timeline},
	{"calibrate", "time kernels, or read tables of their times, into a profile of a device",
	 cmd_calibrate},
	{"capacity", "print the memory budget: KV blocks, tokens, users", cmd_capacity},
	{"validate", "hold forecasts against what was measured, and print how far they are off",
	 cmd_validate},
	{"trace", "look at, convert or generate a trace", cmd_trace},
	{"list", "list policies, presets, routers, executors, models, devices, traces", cmd_list},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *out)
{
	fputs("usage: omnibus COMMAND ... (omnibus COMMAND --help says more)\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fputs("\n  --version, --help\n", out);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("omnibus " OMNIBUS_VERSION);
		return 0;
	}
	bool help =
		!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help");

	if (help && argc == 2) {
		print_usage(stdout);
		return 0;
	}
	if (help) { /* omnibus help run = omnibus run --help */
		argv[1] = argv[2];
		static char option[] = "--help";

		argv[2] = option;
	}
	const char *names[N_COMMANDS];
	for (size_t i = 0; i < N_COMMANDS; i++) {
		names[i] = commands[i].name;
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	struct err e;
	err_unknown(&e, "command", argv[1], names, N_COMMANDS);
	fprintf(stderr, "omnibus: %s\n", e.text);
	return EXIT_USAGE;
}

/*
 * A standard stream that is closed must not become the next file that is opened. In its place comes
 * one that fails when it is used, as the closed one would.
 */
static void hold_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
			_exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	hold_standard_streams();
	signal(SIGXFSZ,
	       SIG_IGN); /* a file size limit is then an error of write(), as a full disk is */
	int code = dispatch(argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (code == 0)
			fputs("omnibus: cannot write to the standard output\n", stderr);
		code = code ? code : EXIT_FAILED;
	}
	return code;
}
