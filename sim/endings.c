#include "sim/endings.h"
#include <stddef.h>

static const int endings[N_ENDINGS] = {SIGINT, SIGTERM, SIGHUP};

void endings_watch(void (*handler)(int signal), struct sigaction before[N_ENDINGS])
{
	struct sigaction ours = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&ours.sa_mask);
	for (int i = 0; i < N_ENDINGS; i++) {
		sigaction(endings[i], NULL, &before[i]);
		if (before[i].sa_handler == SIG_DFL)
			sigaction(endings[i], &ours, NULL);
	}
}

void endings_leave(const struct sigaction before[N_ENDINGS])
{
	for (int i = 0; i < N_ENDINGS; i++)
		sigaction(endings[i], &before[i], NULL);
}

void endings_hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < N_ENDINGS; i++)
		sigaddset(&set, endings[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}
