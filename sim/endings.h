/*
 * endings.h: the signals that end the program where nobody ignores them: SIGINT, SIGTERM, SIGHUP.
 */
#ifndef SIM_ENDINGS_H
#define SIM_ENDINGS_H

#include <signal.h>

enum { N_ENDINGS = 3 };

/* The handler is called once, for those that had none (nohup ignores one): after it the signal ends
 * the program as before. */
void endings_watch(void (*handler)(int signal), struct sigaction before[N_ENDINGS]);
void endings_leave(const struct sigaction before[N_ENDINGS]);
/* Until sigprocmask(SIG_SETMASK, before, NULL). */
void endings_hold(sigset_t *before);

#endif
