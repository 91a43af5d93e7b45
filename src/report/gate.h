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

struct cf_gate {
    unsigned metric;
    bool is_percent;
    double limit;
    char text[64]; /* as it was given */
};

struct cf_gate_answer {
    bool crossed; /* above the limit, or not known */
    char says[256];
};

/* CF_EUSAGE: no such metric, or no such limit. */
int cf_gate_parse(const char *text, struct cf_gate *out, struct cf_err *err);

int cf_gate_ask(const struct cf_gate *gate, struct cf_db *db, struct cf_gate_answer *out,
                struct cf_err *err);

#endif
