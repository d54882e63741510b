/*
 * cpu_facts.h: what this machine is, by /proc and by trying: the peaks are no data sheet's, they
 * are the best rates seen here, of reading a large buffer (and one of `model_bytes`, which a cache
 * may hold) and of a product of large matrices.
 */
#ifndef CALIBRATE_CPU_FACTS_H
#define CALIBRATE_CPU_FACTS_H

#include "calibrate/backend.h"
#include "calibrate/cpu_ops.h"

/* Takes some tenths of a second. */
void cpu_facts(const struct cpu_ops *o, int64_t model_bytes, struct backend_facts *f);

/* Its name, at once. */
void cpu_name(char *name, size_t size);

/* ns of a monotonic clock */
double cpu_now_ns(void);

/* Bytes that can be had; a line of /proc/meminfo, or what sysconf() says. */
int64_t cpu_memory_free(void);

#endif
