/*
 * libcorefrag in one page: analyzes a core within a time limit, asks the database one question in
 * SQL, and writes the report as Markdown.
 *
 *     cc -o example example.c $(pkg-config --cflags --libs corefrag sqlite3)
 *     ./example CORE DATABASE [SECONDS]
 *
 * Exit status: 0 done, 1 it failed, 2 wrong arguments, 3 the time was over and nothing is written.
 */
#include <corefrag.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Called many times a second: what it returns decides whether the analysis goes on. */
static int keep_time(void *user, const char *stage, uint64_t done, uint64_t total) {
    const time_t *end = user;
    if (total > 0)
        fprintf(stderr, "\r%-32s %3.0f %%", stage, 100.0 * (double)done / (double)total);
    return time(NULL) >= *end;
}

static int analyze(const char *core, const char *db, time_t *end) {
    static const char *const outcomes[] = {
        [CF_OUTCOME_WHOLE] = "the core is whole",
        [CF_OUTCOME_INCOMPLETE] = "the core is incomplete: figures are for what is there",
        [CF_OUTCOME_NO_HEAP] = "there is no glibc malloc heap in it",
        [CF_OUTCOME_CORRUPT] = "the heap is corrupt",
    };
    struct cf_context context = CF_CONTEXT_INIT;
    context.user = end;
    context.progress = keep_time;
    struct cf_options options = CF_OPTIONS_INIT;
    options.force = true;
    enum cf_outcome outcome;
    struct cf_err err;
    int status = cf_analyze(&context, core, db, &options, &outcome, &err);
    fprintf(stderr, "\n%s\n", status == CF_OK ? outcomes[outcome] : err.text);
    return status == CF_OK ? 0 : status == CF_ECANCELLED ? 3 : 1;
}

/* The views are the interface; `corefrag schema` documents them. */
static int ask(const char *path) {
    sqlite3 *db;
    sqlite3_stmt *row;
    int found = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(db, "SELECT code, live_bytes, retained_free_bytes"
                                       " FROM v_verdict", -1, &row, NULL) == SQLITE_OK &&
                sqlite3_step(row) == SQLITE_ROW;
    if (found) {
        printf("%s: %lld bytes are live, %lld are freed and kept.\n\n",
               (const char *)sqlite3_column_text(row, 0),
               (long long)sqlite3_column_int64(row, 1), (long long)sqlite3_column_int64(row, 2));
        sqlite3_finalize(row);
    }
    sqlite3_close(db);
    return found ? 0 : 1;
}

static int report(const char *db) {
    struct cf_report_options options = CF_REPORT_OPTIONS_INIT;
    options.format = CF_FORMAT_MARKDOWN;
    options.top = 5;
    struct cf_err err;
    if (cf_report(NULL, db, &options, stdout, &err) == CF_OK)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "example CORE DATABASE [SECONDS]\n");
        return 2;
    }
    time_t end = time(NULL) + (argc > 3 ? atol(argv[3]) : 3600);
    int code = analyze(argv[1], argv[2], &end);
    if (code == 0)
        code = ask(argv[2]);
    return code == 0 ? report(argv[2]) : code;
}
