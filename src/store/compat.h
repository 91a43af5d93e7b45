/*
 * Whether a database that another build wrote can be read. The schema's version says what scripts
 * may rely on; columns are added within it, and a view stands in the file as it was when that was
 * written. So a database notes the revision of its schema, and one of another revision is held
 * against what this build would ask of it, column by column.
 */
#ifndef CF_STORE_COMPAT_H
#define CF_STORE_COMPAT_H

#include "corefrag.h"
#include "store/db.h"

enum { CF_REVISION_BYTES = 17 };

/* Sixteen digits that stand for all tables and views; what documents them is no part of it. */
void cf_schema_revision(char out[CF_REVISION_BYTES]);

/*
 * Opens a finished database for reading, as cf_db_open_foreign() does. CF_ENOTDB also when it is
 * not one of ours, has a newer schema, or lacks a view or a column; the error says which, and what
 * to do.
 */
int cf_db_open(const char *path, struct cf_db **out, struct cf_err *err);

/*
 * Adds a second finished database under `name` (a word of ours, as SQL's schema name), for reading
 * beside the first. Fails as cf_db_open() does.
 */
int cf_db_attach(struct cf_db *db, const char *path, const char *name, struct cf_err *err);

#endif
