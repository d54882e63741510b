/* shortest.h: a policy that is not in the registry, to prove that one can be added. */
#ifndef TESTS_SHORTEST_H
#define TESTS_SHORTEST_H

#include "sim/policy.h"

extern const struct policy_ops policy_shortest;

#endif
