/*
 * Parts of a run that no command has to itself, for `make bench`; prints seconds of the wall clock.
 *
 *     bench-pass walk CORE      of the walk over all chunk headers (cf_walk_heaps), and of that
 *                               with bins, caches and mmapped chunks (cf_ptmalloc_walk)
 *     bench-pass query DB SQL   of one query, from its text to its last row, by a connection that
 *                               has read the schema; fails when there is no row
 *
 * The walk is the program's own, with the threads that analyze gives it; the linker puts the clocks
 * around it.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/reading.h"
#include "ptmalloc/state.h"

static double heaps_seconds, walk_seconds;

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int __real_cf_walk_heaps(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                         struct cf_err *err);
int __wrap_cf_walk_heaps(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                         struct cf_err *err);
int __real_cf_ptmalloc_walk(const struct cf_context *ctx, const struct cf_malloc *m,
                            unsigned nr_threads, struct cf_ptmalloc **out, struct cf_err *err);
int __wrap_cf_ptmalloc_walk(const struct cf_context *ctx, const struct cf_malloc *m,
                            unsigned nr_threads, struct cf_ptmalloc **out, struct cf_err *err);

int __wrap_cf_walk_heaps(const struct cf_context *ctx, struct cf_ptmalloc *pt, unsigned nr_threads,
                         struct cf_err *err) {
    double started = now();
    int status = __real_cf_walk_heaps(ctx, pt, nr_threads, err);
    heaps_seconds += now() - started;
    return status;
}

int __wrap_cf_ptmalloc_walk(const struct cf_context *ctx, const struct cf_malloc *m,
                            unsigned nr_threads, struct cf_ptmalloc **out, struct cf_err *err) {
    double started = now();
    int status = __real_cf_ptmalloc_walk(ctx, m, nr_threads, out, err);
    walk_seconds += now() - started;
    return status;
}

static int walk(const char *core) {
    static const struct cf_options options;
    struct cf_reading reading = {0};
    struct cf_err err;
    int status = cf_reading_open(NULL, core, &options, &reading, &err);
    bool has_heap = status == CF_OK && cf_reading_has_heap(&reading);
    if (status != CF_OK)
        fprintf(stderr, "%s\n", err.text);
    cf_reading_fini(&reading);
    if (!has_heap || heaps_seconds == 0)
        return 1;
    printf("%.6f %.6f\n", heaps_seconds, walk_seconds);
    return 0;
}

static int query(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int rows = 0, code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "SELECT * FROM meta", NULL, NULL, NULL);
    double started = now();
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        rows += code == SQLITE_ROW;
    }
    double took = now() - started;
    if (code != SQLITE_DONE || rows == 0)
        fprintf(stderr, "%s: %d rows, %s\n", sql, rows, sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    printf("%.6f\n", took);
    return code != SQLITE_DONE || rows == 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "walk") == 0)
        return walk(argv[2]);
    if (argc == 4 && strcmp(argv[1], "query") == 0)
        return query(argv[2], argv[3]);
    fprintf(stderr, "usage: bench-pass walk CORE | query DB SQL\n");
    return 2;
}
