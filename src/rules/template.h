/*
 * The sentences of the rules, with the facts in them. A template names facts in braces with how
 * to print them; the names are columns of the row that a statement stands on:
 *
 *     {pinned_bytes:bytes}     "1.2 MiB"; NULL: "an unknown amount"
 *     {leak_bytes:amount}      the same, but a 0 reads "nothing"; {leak_bytes:Amount}: "Nothing"
 *     {arenas:count}           "61,204"; NULL: "an unknown number"
 *     {arenas:s}               "s", or "" where it is 1; {arenas:is}, {arenas:was}: "is", "were"
 *     {live_growth:change}     "grew by 1.2 MiB", "shrank by 8 B", "did not change"
 *     {heap_percent:percent}   "11.5 %"; NULL: "an unknown part"
 *     {outsider_name:text}     as it stands; NULL: "unknown"
 *     {is_equal:when}          nothing: a condition for the brackets around it
 *
 * What stands in [brackets], which do not nest, is left out where a fact in it is NULL, or is 0
 * bytes or a count of 0.
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
