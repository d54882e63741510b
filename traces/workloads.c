/* workloads.c: see workloads.h. How the figures were made: README.md. */
#include "traces/workloads.h"
#include <string.h>

/* Azure's chat trace of November 2023: 19,366 rows in 58 minutes. */
static const struct quantile azure_conv[] = {
	{0, 2, 7},	    {0.001, 8, 12},	  {0.002, 10, 12},	{0.005, 17, 14},
	{0.01, 29, 16},	    {0.02, 91, 24},	  {0.03, 161, 32},	{0.05, 181, 41},
	{0.075, 200, 48},   {0.1, 207, 54},	  {0.15, 372, 67},	{0.2, 387, 77},
	{0.25, 396, 85},    {0.3, 403, 91},	  {0.35, 414, 96},	{0.4, 703, 103},
	{0.45, 984, 113},   {0.5, 1020, 129},	  {0.55, 1045, 151},	{0.6, 1071, 177},
	{0.65, 1097, 217},  {0.7, 1130, 384},	  {0.75, 1189, 395},	{0.8, 1315, 400},
	{0.85, 1876, 411},  {0.875, 2309, 416},	  {0.9, 2734.5, 424},	{0.925, 4075, 430},
	{0.95, 4083, 451},  {0.96, 4086, 468},	  {0.97, 4090, 509},	{0.98, 4098, 540},
	{0.985, 4110, 571}, {0.99, 4142, 601},	  {0.993, 4240.5, 621}, {0.995, 4831, 643},
	{0.997, 5277, 675}, {0.998, 5652, 916.5}, {0.999, 6179, 954},	{1, 14050, 1000},
};

static const struct workload workloads[] = {
	{
		.kind = KIND_AZURE_CONV,
		.init = "arrivals=gamma,rate=5.53014,cv=1.094,corr=0.0728",
		.quantiles = {azure_conv, sizeof(azure_conv) / sizeof(azure_conv[0])},
	},
	{.kind = KIND_POISSON, .init = "arrivals=poisson"},
	{.kind = KIND_GAMMA, .init = "arrivals=gamma,cv=2"},
	{.kind = KIND_CONSTANT, .init = "arrivals=constant"},
	{.kind = KIND_WEIBULL, .init = "arrivals=weibull,cv=2"},
	{.kind = KIND_BURSTS, .init = "burst=10"},
	{.kind = KIND_DIURNAL, .init = "swing=0.8"},
};
enum { N_WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

const struct workload *workload_find(const char *name, struct err *e)
{
	const char *names[N_WORKLOADS];
	for (size_t i = 0; i < N_WORKLOADS; i++) {
		names[i] = strchr(trace_kinds[workloads[i].kind].name, ':') + 1;
		if (strcmp(names[i], name) == 0)
			return &workloads[i];
	}
	err_unknown(e, "generator", name, names, N_WORKLOADS);
	return NULL;
}
