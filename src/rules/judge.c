/*
 * One core judged: the facts are gathered, all rules asked at once, the first verdict and every
 * finding that speaks written down.
 */
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "rules/engine.h"
#include "store/queries.h"

enum { SENTENCE_BYTES = 2048 };

static int bind_sentence(const struct cf_ruling *ruling, size_t i, const char *text,
                         struct cf_stmt *into, int parameter, struct cf_err *err) {
    char filled[SENTENCE_BYTES];
    int status = cf_ruling_fill(ruling, i, text, filled, sizeof filled, err);
    if (status == CF_OK)
        cf_stmt_bind_text(into, parameter, text == NULL ? NULL : filled);
    return status;
}

static int add_finding(const struct cf_ruling *ruling, size_t i, struct cf_stmt *into,
                       struct cf_err *err) {
    const struct cf_rule *rule = &ruling->rules[i];
    int bytes = cf_ruling_column(ruling, i, CF_ANSWER_BYTES);
    cf_stmt_bind_text(into, 1, rule->severity);
    cf_stmt_bind_text(into, 2, rule->code);
    int status = bind_sentence(ruling, i, rule->title, into, 3, err);
    if (status == CF_OK)
        status = bind_sentence(ruling, i, rule->detail, into, 4, err);
    if (status == CF_OK)
        status = bind_sentence(ruling, i, rule->advice, into, 5, err);
    if (status != CF_OK)
        return status;
    if (cf_stmt_is_null(ruling->facts, bytes))
        cf_stmt_bind_null(into, 6);
    else
        cf_stmt_bind_i64(into, 6, cf_stmt_i64(ruling->facts, bytes));
    cf_stmt_bind_text(into, 7, cf_stmt_text(ruling->facts,
                                            cf_ruling_column(ruling, i, CF_ANSWER_CONFIDENCE)));
    cf_stmt_bind_text(into, 8, cf_stmt_text(ruling->facts,
                                            cf_ruling_column(ruling, i, CF_ANSWER_EXACTNESS)));
    cf_stmt_bind_text(into, 9, rule->sql);
    return cf_stmt_run(into, err);
}

static int add_verdict(struct cf_db *db, const struct cf_ruling *ruling, size_t i,
                       struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    int status = cf_db_prepare(db, "INSERT INTO verdict (code, headline, confidence)"
                                   " VALUES (?, ?, ?)", &into, err);
    if (status == CF_OK)
        status = bind_sentence(ruling, i, ruling->rules[i].title, into, 2, err);
    if (status != CF_OK)
        return status;
    cf_stmt_bind_text(into, 1, ruling->rules[i].verdict);
    cf_stmt_bind_text(into, 3, cf_stmt_text(ruling->facts,
                                            cf_ruling_column(ruling, i, CF_ANSWER_CONFIDENCE)));
    return cf_stmt_run(into, err);
}

static int judge(struct cf_db *db, const struct cf_ruling *ruling, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    int status = cf_db_prepare(db,
                               "INSERT INTO finding (severity, code, title, detail, advice, bytes,"
                               " confidence, exactness, sql) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               &into, err);
    bool judged = false;
    for (size_t i = 0; i < ruling->nr_rules && status == CF_OK; i++) {
        bool is_verdict = ruling->rules[i].verdict != NULL;
        if ((is_verdict && judged) || !cf_ruling_speaks(ruling, i))
            continue;
        status = add_finding(ruling, i, into, err);
        if (status == CF_OK && is_verdict) {
            judged = true;
            status = add_verdict(db, ruling, i, err);
        }
    }
    return status;
}

int cf_rules_gather(struct cf_db *db, struct cf_err *err) {
    int status = cf_db_exec(db, cf_sql_facts, err);
    return status == CF_OK ? CF_OK : cf_err_context(err, "the facts");
}

static int judge_by(struct cf_db *db, const struct cf_rule_table *table, struct cf_err *err) {
    CF_CLEANUP(cf_ruling_fini) struct cf_ruling ruling = {0};
    int status = cf_rules_ask(db, "SELECT * FROM fact", table->rules, table->nr, &ruling, err);
    return status == CF_OK ? judge(db, &ruling, err) : status;
}

int cf_rules_judge(struct cf_db *db, struct cf_err *err) {
    static const struct cf_rule_table *const tables[] = {&cf_verdict_rules, &cf_remedy_rules,
                                                         &cf_finding_rules, &cf_kernel_rules};
    int status = cf_rules_gather(db, err);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == CF_OK; i++)
        status = judge_by(db, tables[i], err);
    if (status == CF_OK)
        status = cf_db_exec(db, cf_sql_headline, err);
    if (status == CF_OK)
        status = cf_rules_explain_confidence(db, err);
    return status == CF_OK ? cf_rules_explain_kernel(db, err) : status;
}
