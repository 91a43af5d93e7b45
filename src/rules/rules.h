/*
 * The judgement: a table of rules over the facts (view v_fact, one row), run after the load
 * inside the same temporary database. A rule is data: a condition in SQL over v_fact, sentences
 * with the facts in them, the bytes it is about, how far it can be trusted, and the query behind
 * the number. Rules with a verdict are tried in the order of the table and the first whose
 * condition holds gives the verdict's row; every rule whose condition holds gives a finding.
 */
#ifndef CF_RULES_RULES_H
#define CF_RULES_RULES_H

#include <stddef.h>

#include "corefrag.h"
#include "store/db.h"

/* The rules over two cores (growth.c) have a code, a condition and sentences alone. */
struct cf_rule {
    const char *code;       /* of the finding */
    const char *verdict;    /* code of v_verdict, or NULL: a finding only */
    const char *severity;   /* critical, warning, info, what-if, limit */
    const char *when;       /* SQL over the facts, true when the rule speaks */
    const char *bytes;      /* SQL over the facts: what it is about */
    const char *confidence; /* SQL over the facts: 'high', 'medium' or 'low' */
    const char *exactness;  /* SQL over the facts: 'exact', 'at-least', 'bound' or 'estimate' */
    const char *title;      /* templates */
    const char *detail;
    const char *advice;     /* NULL: nothing to do */
    const char *sql;        /* the query behind the number, as the reader may run it */
};

struct cf_rule_table {
    const struct cf_rule *rules;
    size_t nr;
};

/* In the order in which they are asked: what it is; what would help; what else is true, and what
 * limits the evidence; what the kernel's own count adds. All but the first are findings only. */
extern const struct cf_rule_table cf_verdict_rules, cf_remedy_rules, cf_finding_rules,
    cf_kernel_rules;

/* Fills the facts: table fact, which v_fact shows. */
int cf_rules_gather(struct cf_db *db, struct cf_err *err);

/* Says of each of the kernel's figures what it counts, and why it differs from ours. */
int cf_rules_explain_kernel(struct cf_db *db, struct cf_err *err);

/* Says of the verdict, once it stands, why its confidence is what it is. */
int cf_rules_explain_confidence(struct cf_db *db, struct cf_err *err);

/* Gathers the facts, fills the tables verdict and finding, and explains the kernel's figures.
 * CF_EINTERNAL for a rule whose SQL does not run. */
int cf_rules_judge(struct cf_db *db, struct cf_err *err);

/*
 * The judgement over two cores of one program: what one core alone cannot show. Stands on v_fact
 * of both databases (the newer one is `main`, the older one attached as `old`). The same engine as
 * for one core: the first rule whose condition holds speaks.
 */
struct cf_growth {
    char code[24]; /* as in v_verdict */
    char headline[768];
    char detail[768];
    char advice[256]; /* or empty */
};

/* CF_EINTERNAL for a rule whose SQL does not run. */
int cf_growth_judge(struct cf_db *db, struct cf_growth *out, struct cf_err *err);

#endif
