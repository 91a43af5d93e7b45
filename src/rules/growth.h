/*
 * The judgement over two cores of one program: what one core alone cannot show. Stands on v_fact
 * of both databases (the newer one is `main`, the older one attached as `old`). The same engine as
 * for one core: the first rule whose condition holds speaks.
 */
#ifndef CF_RULES_GROWTH_H
#define CF_RULES_GROWTH_H

#include "corefrag.h"
#include "store/db.h"

struct cf_growth {
    char code[24]; /* as in v_verdict */
    char headline[768];
    char detail[768];
    char advice[256]; /* or empty */
};

/* CF_EINTERNAL for a rule whose SQL does not run. */
int cf_growth_judge(struct cf_db *db, struct cf_growth *out, struct cf_err *err);

#endif
