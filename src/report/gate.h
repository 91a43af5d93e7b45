/*
 * Limits for soak tests: one figure of the database against a number. Parsing is apart from
 * measuring, so that a wrong limit is told before an analysis begins. A value that the database
 * does not know is not under any limit.
 */
#ifndef CF_REPORT_GATE_H
#define CF_REPORT_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "corefrag.h"
#include "store/db.h"

/* As cf_gate_measure(), on an open database; `says` is cut where it does not fit. */
int cf_gate_check(struct cf_db *db, const struct cf_gate *gate, bool *crossed, char *says,
                  size_t bytes, struct cf_err *err);

#endif
