/*
 * options.h: command-line options of a subcommand, from one table that parses, checks and documents
 * them (--help). Built on getopt_long; long options take "--name value" and "--name=value".
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct option_list { /* an OPTION_LIST: every value in order; `items` is heap memory of the list */
	const char **items;
	size_t n;
};

enum option_kind {
	OPTION_FLAG, /* bool */
	OPTION_TEXT, /* const char *; points into argv */
	OPTION_INT,  /* int64_t, checked against min and max */
	OPTION_REAL, /* double, checked against min and max */
	OPTION_LIST, /* struct option_list; may be given several times */
};

struct option_row {
	const char *name;
	char letter; /* short form, or 0 */
	enum option_kind kind;
	void *value;
	const char *arg, *help; /* arg: as printed in --help */
	double min, max;	/* both 0: no limits */
	bool *given;		/* set when the option was there; may be NULL */
};

struct option_usage {
	const char *command;	       /* "run" */
	const char *synopsis;	       /* "omnibus run TRACE -p POLICY ..." */
	const char *about;	       /* a few lines */
	const struct option_row *rows; /* ends with a NULL name */
	int min_args, max_args;	       /* positional; max_args -1: any */
};

/*
 * Parses argv (argv[0] is the subcommand). Returns the index of the first positional argument (argv
 * is permuted), 0 when --help was printed to stdout, -1 and a sentence for wrong usage (exit 2); an
 * unknown option names the nearest one. Names are taken in full only; an option given twice is
 * wrong, lists and flags aside. Resets getopt's own state: one thread at a time.
 */
int options_parse(const struct option_usage *u, int argc, char **argv, struct err *e);
void options_release(const struct option_usage *u); /* frees lists */

/* Strict numbers: the whole text, finite, in range; `what` is named in the sentence. */
int parse_int(const char *text, const char *what, int64_t min, int64_t max, int64_t *out,
	      struct err *e);
int parse_real(const char *text, const char *what, double min, double max, double *out,
	       struct err *e);

/* Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 a forecast outside its tolerance. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_OUTSIDE = 3 };

/* Subcommands. Each prints its result on stdout, a sentence on stderr, and returns the exit code.
 */
int cmd_run(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_capacity(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_validate(int argc, char **argv);

#endif
