/*
 * All conditions, figures and confidences of a table of rules become columns of one SELECT over the
 * row of facts: SQLite evaluates the rules, this file only knows in which column an answer stands.
 */
#include "rules/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "rules/template.h"

enum { NR_ANSWERS = CF_ANSWER_EXACTNESS + 1 };

static const char *or_null(const char *sql) {
    return sql == NULL ? "NULL" : sql;
}

/* The caller frees the text; NULL: out of memory. */
static char *write_query(const char *facts_sql, const struct cf_rule *rules, size_t nr_rules) {
    char *sql = NULL;
    size_t length;
    FILE *out = open_memstream(&sql, &length);
    if (out == NULL)
        return NULL;
    (void)fputs("SELECT *", out);
    for (size_t i = 0; i < nr_rules; i++)
        (void)fprintf(out, ", (%s), (%s), (%s), (%s)", rules[i].when, or_null(rules[i].bytes),
                      or_null(rules[i].confidence), or_null(rules[i].exactness));
    (void)fprintf(out, " FROM (%s)", facts_sql);
    if (fclose(out) == 0)
        return sql;
    free(sql);
    return NULL;
}

int cf_rules_ask(struct cf_db *db, const char *facts_sql, const struct cf_rule *rules,
                 size_t nr_rules, struct cf_ruling *out, struct cf_err *err) {
    CF_CLEANUP_FREE char *sql = write_query(facts_sql, rules, nr_rules);
    CF_CLEANUP_STMT struct cf_stmt *facts = NULL;
    bool row = false;
    if (sql == NULL)
        return cf_err_nomem(err, 0, "the rules");
    int status = cf_db_prepare(db, sql, &facts, err);
    if (status == CF_OK)
        status = cf_stmt_step(facts, &row, err);
    if (status != CF_OK)
        return cf_err_context(err, "rules");
    if (!row)
        return cf_err_set(err, CF_EINTERNAL, "there are no facts to judge");
    *out = (struct cf_ruling){.rules = rules, .nr_rules = nr_rules, .facts = cf_take(&facts)};
    return CF_OK;
}

void cf_ruling_fini(struct cf_ruling *ruling) {
    cf_stmt_freep(&ruling->facts);
}

int cf_ruling_column(const struct cf_ruling *ruling, size_t i, enum cf_answer answer) {
    return cf_stmt_nr_columns(ruling->facts) - (int)((ruling->nr_rules - i) * NR_ANSWERS) +
           (int)answer;
}

bool cf_ruling_speaks(const struct cf_ruling *ruling, size_t i) {
    return cf_stmt_double(ruling->facts, cf_ruling_column(ruling, i, CF_ANSWER_WHEN)) != 0;
}

int cf_ruling_fill(const struct cf_ruling *ruling, size_t i, const char *text, char *out,
                  size_t bytes, struct cf_err *err) {
    out[0] = '\0';
    if (text == NULL)
        return CF_OK;
    int status = cf_template_fill(text, ruling->facts, out, bytes, err);
    return status == CF_OK ? CF_OK : cf_err_context(err, "rule %s", ruling->rules[i].code);
}
