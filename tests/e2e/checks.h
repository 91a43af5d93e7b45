/*
 * The tables of checks; each ends with a NULL name. checks_truth: our database says what the
 * process said. checks_sums: it agrees with itself, whatever the core.
 */
#ifndef CHECKS_H
#define CHECKS_H

#include "e2e.h"

extern const struct e2e_check checks_truth[];
extern const struct e2e_check checks_sums[];

#endif
