#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "rules/rules.h"
#include "rules/template.h"

enum { TEXT_BYTES = 2048 };

/* The facts stand on every other view: they are computed once, beside the database, and not for
 * each rule anew. */
static int compute_facts(struct cf_db *db, struct cf_err *err) {
    return cf_db_exec(db, "CREATE TEMP TABLE judged_fact AS SELECT * FROM v_fact", err);
}

/* The facts, and beside them what the rule computes from them. */
static int open_rule(struct cf_db *db, const struct cf_rule *rule, struct cf_stmt **out,
                     struct cf_err *err) {
    char sql[4096];
    int length = snprintf(sql, sizeof sql,
                          "SELECT *, (%s) AS rule_bytes, (%s) AS rule_confidence,"
                          " (%s) AS rule_exactness FROM temp.judged_fact WHERE %s",
                          rule->bytes, rule->confidence, rule->exactness, rule->when);
    if (length < 0 || (size_t)length >= sizeof sql)
        return cf_err_set(err, CF_EINTERNAL, "rule %s is too long", rule->code);
    int status = cf_db_prepare(db, sql, out, err);
    return status == CF_OK ? CF_OK : cf_err_context(err, "rule %s", rule->code);
}

static int column_of(const struct cf_stmt *row, int from_the_end) {
    return cf_stmt_nr_columns(row) - from_the_end;
}

static int fill(const char *text, const struct cf_stmt *facts, struct cf_stmt *into, int parameter,
                struct cf_err *err) {
    char filled[TEXT_BYTES];
    if (text == NULL) {
        cf_stmt_bind_null(into, parameter);
        return CF_OK;
    }
    int status = cf_template_fill(text, facts, filled, sizeof filled, err);
    if (status == CF_OK)
        cf_stmt_bind_text(into, parameter, filled);
    return status;
}

static int add_finding(const struct cf_rule *rule, const struct cf_stmt *facts,
                       struct cf_stmt *into, struct cf_err *err) {
    cf_stmt_bind_text(into, 1, rule->severity);
    cf_stmt_bind_text(into, 2, rule->code);
    int status = fill(rule->title, facts, into, 3, err);
    if (status == CF_OK)
        status = fill(rule->detail, facts, into, 4, err);
    if (status == CF_OK)
        status = fill(rule->advice, facts, into, 5, err);
    if (status != CF_OK)
        return cf_err_context(err, "rule %s", rule->code);
    if (cf_stmt_is_null(facts, column_of(facts, 3)))
        cf_stmt_bind_null(into, 6);
    else
        cf_stmt_bind_i64(into, 6, cf_stmt_i64(facts, column_of(facts, 3)));
    cf_stmt_bind_text(into, 7, cf_stmt_text(facts, column_of(facts, 2)));
    cf_stmt_bind_text(into, 8, cf_stmt_text(facts, column_of(facts, 1)));
    cf_stmt_bind_text(into, 9, rule->sql);
    return cf_stmt_run(into, err);
}

static int add_verdict(struct cf_db *db, const struct cf_rule *rule, const struct cf_stmt *facts,
                       struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    int status = cf_db_prepare(db, "INSERT INTO verdict (code, headline, confidence)"
                                   " VALUES (?, ?, ?)", &into, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(into, 1, rule->verdict);
    status = fill(rule->title, facts, into, 2, err);
    if (status != CF_OK)
        return cf_err_context(err, "rule %s", rule->code);
    cf_stmt_bind_text(into, 3, cf_stmt_text(facts, column_of(facts, 2)));
    return cf_stmt_run(into, err);
}

static int judge(struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    int status = cf_db_prepare(db,
                               "INSERT INTO finding (severity, code, title, detail, advice, bytes,"
                               " confidence, exactness, sql) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               &into, err);
    bool judged = false;
    for (size_t i = 0; i < cf_nr_rules && status == CF_OK; i++) {
        const struct cf_rule *rule = &cf_rules[i];
        if (rule->verdict != NULL && judged)
            continue;
        CF_CLEANUP_STMT struct cf_stmt *facts = NULL;
        bool speaks = false;
        status = open_rule(db, rule, &facts, err);
        if (status == CF_OK)
            status = cf_stmt_step(facts, &speaks, err);
        if (status != CF_OK || !speaks)
            continue;
        status = add_finding(rule, facts, into, err);
        if (status == CF_OK && rule->verdict != NULL) {
            judged = true;
            status = add_verdict(db, rule, facts, err);
        }
    }
    return status;
}

int cf_rules_judge(struct cf_db *db, struct cf_err *err) {
    int status = compute_facts(db, err);
    if (status == CF_OK)
        status = judge(db, err);
    return status == CF_OK ? cf_db_exec(db, "DROP TABLE temp.judged_fact", err) : status;
}
