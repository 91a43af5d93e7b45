/*
 * Holders: which chunks are worth asking about, the search for who holds them, and what a person
 * calls each hop. Asked are the topmost pin of each arena, the sample of each of the costliest
 * groups of page pins, and the largest live chunks; CF_ASKED_MAX together.
 */
#ifndef CF_LIB_HOLDING_H
#define CF_LIB_HOLDING_H

#include "analysis/holders.h"
#include "analysis/kept.h"
#include "analysis/reach.h"
#include "analysis/types.h"
#include "lib/naming.h"
#include "lib/reading.h"
#include "store/db.h"

enum { CF_ASKED_PINS = 200, CF_ASKED_GROUPS = 40, CF_ASKED_LARGEST = 20 };

struct cf_holding {
    struct cf_holders holders;
    const struct cf_reach *reach;
    struct cf_types *types;
    const struct cf_naming *naming;
};

/* After the mark, types and pins. `holding` is all zero; borrows all of them. Where there is no
 * room for the search's file, holders stay unknown and the reason is logged. */
int cf_holding_find(struct cf_holding *holding, const struct cf_context *ctx,
                    const struct cf_reading *reading, const struct cf_reach *reach,
                    struct cf_types *types, const struct cf_kept *kept,
                    const struct cf_naming *naming, struct cf_err *err);
int cf_holding_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err);
void cf_holding_fini(struct cf_holding *holding);

#endif
