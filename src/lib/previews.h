/*
 * --previews: the first words of texts among the chunks that the report shows: those that were
 * asked about (lib/asking.h), and samples of what nothing reaches. Never called without the
 * option; then the table stays empty and the database holds no bytes of the process.
 */
#ifndef CF_LIB_PREVIEWS_H
#define CF_LIB_PREVIEWS_H

#include "corefrag.h"
#include "lib/holding.h"
#include "store/db.h"

enum { CF_PREVIEWED_LEAKS = 200 };

int cf_previews_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err);

#endif
