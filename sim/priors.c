#include "sim/priors.h"
#include "sim/err.h"

struct prior_list *priors_of(struct priors *p, int32_t instance)
{
	if (instance >= p->n) {
		p->list = xrealloc(p->list, (size_t)(instance + 1) * sizeof(*p->list));
		while (p->n <= instance)
			p->list[p->n++] = (struct prior_list){0};
	}
	return &p->list[instance];
}

void prior_list_add(struct prior_list *l, int64_t prior)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->at = xrealloc(l->at, (size_t)l->room * sizeof(*l->at));
	}
	l->at[l->n++] = prior;
}

void priors_release(struct priors *p)
{
	for (int32_t i = 0; i < p->n; i++)
		free(p->list[i].at);
	free(p->list);
	*p = (struct priors){0};
}
