/*
 * What the files of store share about SQLite itself; nobody else may include it.
 */
#ifndef CF_STORE_DB_INTERNAL_H
#define CF_STORE_DB_INTERNAL_H

#include <sqlite3.h>

#include "store/db.h"

struct cf_db {
    sqlite3 *handle;
};

/* The status that fits an SQLite result code. */
int cf_db_status(int code);

#endif
