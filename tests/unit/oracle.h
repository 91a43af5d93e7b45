/*
 * Reachability by its definition, to judge the search by: from the roots' words, one word and one
 * chunk after the other, in the core itself.
 */
#ifndef CF_TESTS_UNIT_ORACLE_H
#define CF_TESTS_UNIT_ORACLE_H

#include <stdbool.h>

#include "reach/reach.h"

/* For each rank of `reach`, which is prepared, whether its chunk is reached. Caller frees it. */
bool *oracle_reached(const struct cf_reach *reach);

#endif
