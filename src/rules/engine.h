/*
 * The engine under both judgements, of one core (judge.c) and of two (growth.c): all rules of a
 * table are asked in one statement over one row of facts. That row is what the sentences of the
 * rules are filled from.
 */
#ifndef CF_RULES_ENGINE_H
#define CF_RULES_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "rules/rules.h"

/* A table of rules, asked. The facts stay to be read until cf_ruling_fini(). */
struct cf_ruling {
    const struct cf_rule *rules;
    size_t nr_rules;
    struct cf_stmt *facts; /* on its one row: the facts by their names, then what rules computed */
};

/* What one rule computes beside its condition. */
enum cf_answer { CF_ANSWER_WHEN, CF_ANSWER_BYTES, CF_ANSWER_CONFIDENCE, CF_ANSWER_EXACTNESS };

/* Asks `rules` over the one row that `facts_sql` returns. CF_EINTERNAL for a rule whose SQL does
 * not run and where there is no row. */
int cf_rules_ask(struct cf_db *db, const char *facts_sql, const struct cf_rule *rules,
                 size_t nr_rules, struct cf_ruling *out, struct cf_err *err);
void cf_ruling_fini(struct cf_ruling *ruling);

/* Whether the condition of rule `i` holds. */
bool cf_ruling_speaks(const struct cf_ruling *ruling, size_t i);
/* The column of `facts` in which an answer of rule `i` stands. */
int cf_ruling_column(const struct cf_ruling *ruling, size_t i, enum cf_answer answer);

/* Fills a sentence of rule `i`; NULL reads as "". */
int cf_ruling_fill(const struct cf_ruling *ruling, size_t i, const char *text, char *out,
                  size_t bytes, struct cf_err *err);

#endif
