/*
 * The sentences of the rules, with the facts in them. A template names facts in braces with how
 * to print them: "{releasable_bytes:bytes} of {arenas:count} arenas ({live_share:percent})", and
 * ":text" for a text; the names are columns of the row that a statement stands on. A fact that is
 * NULL prints as "an unknown amount" (bytes) or "unknown".
 */
#ifndef CF_RULES_TEMPLATE_H
#define CF_RULES_TEMPLATE_H

#include <stddef.h>

#include "corefrag.h"
#include "store/db.h"

/* Fills `out`, cut where it does not fit. CF_EINTERNAL: the template names no such column. */
int cf_template_fill(const char *text, const struct cf_stmt *row, char *out, size_t bytes,
                     struct cf_err *err);

#endif
