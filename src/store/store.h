/*
 * The database while it is being made. It is written to a temporary file beside its final name
 * (mode 0600, nobody else's file is ever opened) and gets that name only when it is complete: a
 * run that fails or is killed leaves no half database behind. cf_store_free() without a commit
 * removes the file; for signals, whose handlers belong to the program and not to a library,
 * struct cf_context's `temporary` is told its name.
 *
 * Everything is written in one transaction through cf_store_db(): row writers (rows.h), then
 * the rules, all in the same file.
 */
#ifndef CF_STORE_STORE_H
#define CF_STORE_STORE_H

#include <stdbool.h>

#include "corefrag.h"
#include "store/chunk_source.h"
#include "store/db.h"

struct cf_store;

/*
 * Creates the temporary file and the empty schema in it. CF_EOUTPUT when `path` exists and
 * `force` is not set, is not a plain file, or its folder cannot be written to.
 */
int cf_store_create(const struct cf_context *ctx, const char *path, bool force,
                    struct cf_store **out, struct cf_err *err);

/* Borrowed until the commit or cf_store_free(). */
struct cf_db *cf_store_db(struct cf_store *store);

/*
 * Fills the table `chunk` from `source`, after everything that needs no chunks, by writing the
 * table's pages (btree.h), for which the database is closed and opened again: statements and a
 * borrowed cf_store_db() end with this call. `total` rows are expected, for the progress only.
 * Pages are made by `nr_threads` threads; 0: one a processor.
 */
int cf_store_chunks(struct cf_store *store, struct cf_chunk_source *source, uint64_t total,
                    unsigned nr_threads, struct cf_err *err);

/*
 * Ends the transaction, syncs the file and gives it its final name; without `force` a file that
 * appeared there meanwhile is not replaced (CF_EOUTPUT). The store is then only good for
 * cf_store_free(), whether this succeeds or not.
 */
int cf_store_commit(struct cf_store *store, struct cf_err *err);

/* Removes the temporary file unless it was committed. */
void cf_store_free(struct cf_store *store);
void cf_store_freep(struct cf_store **store);
#define CF_CLEANUP_STORE CF_CLEANUP(cf_store_freep)

#endif
