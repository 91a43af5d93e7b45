/*
 * What stands on databases alone: cf_report(), cf_diff() and the limits. Statements tell the
 * caller's progress() that they are at work, so that it can cancel them.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "lib/door.h"
#include "report/report.h"
#include "report/emit.h"
#include "report/gate.h"
#include "store/compat.h"
#include "store/db.h"

static int open_watched(const struct cf_context *ctx, const char *path, struct cf_db **out,
                        struct cf_err *err) {
    if (cf_progress(ctx, "reading the database", 0, 0))
        return cf_err_cancelled(err);
    int status = cf_db_open(path, out, err);
    if (status == CF_OK)
        cf_db_watch(*out, ctx);
    return status;
}

static int report(const struct cf_context *ctx, const char *db_path,
                  const struct cf_report_options *options, FILE *sink, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    CF_CLEANUP(cf_doc_freep) struct cf_doc *doc = NULL;
    int status = open_watched(ctx, db_path, &db, err);
    if (status == CF_OK)
        status = cf_report_build(db, db_path, options, &doc, err);
    if (status == CF_OK)
        status = cf_emit(doc, options, sink, err);
    return status == CF_OK ? cf_door_close_sink(sink, "the report", err) : status;
}

int cf_report(const struct cf_context *ctx, const char *db_path,
              const struct cf_report_options *options, FILE *sink, struct cf_err *err) {
    struct cf_guard guard;
    struct cf_report_options wanted;
    int status = cf_door_path(db_path, "the database", err);
    if (status == CF_OK)
        status = cf_door_pointer(sink, "the sink", err);
    if (status == CF_OK)
        status = cf_door_report_options(options, &wanted, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    return status == CF_OK ? report(&guard.context, db_path, &wanted, sink, err) : status;
}

struct pair {
    const char *old_path, *new_path;
    bool any_program;
};

static int diff(const struct cf_context *ctx, const struct pair *pair,
                const struct cf_report_options *options, FILE *sink, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    CF_CLEANUP(cf_doc_freep) struct cf_doc *doc = NULL;
    int status = open_watched(ctx, pair->new_path, &db, err);
    if (status == CF_OK)
        status = cf_db_attach(db, pair->old_path, "old", err);
    if (status == CF_OK)
        status = cf_diff_build(db, pair->old_path, pair->new_path, options, pair->any_program,
                               &doc, err);
    if (status == CF_OK)
        status = cf_emit(doc, options, sink, err);
    return status == CF_OK ? cf_door_close_sink(sink, "the comparison", err) : status;
}

int cf_diff(const struct cf_context *ctx, const char *old_path, const char *new_path,
            const struct cf_report_options *options, bool any_program, FILE *sink,
            struct cf_err *err) {
    const struct pair pair = {old_path, new_path, any_program};
    struct cf_guard guard;
    struct cf_report_options wanted;
    int status = cf_door_path(old_path, "the older database", err);
    if (status == CF_OK)
        status = cf_door_path(new_path, "the newer database", err);
    if (status == CF_OK)
        status = cf_door_pointer(sink, "the sink", err);
    if (status == CF_OK)
        status = cf_door_report_options(options, &wanted, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    return status == CF_OK ? diff(&guard.context, &pair, &wanted, sink, err) : status;
}

int cf_gate_check(const char *limit, struct cf_err *err) {
    struct cf_gate gate;
    int status = cf_door_pointer(limit, "the limit", err);
    return status == CF_OK ? cf_gate_parse(limit, &gate, err) : status;
}

static int measure(const struct cf_context *ctx, const char *db_path, const struct cf_gate *gate,
                   struct cf_gate_answer *out, struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = open_watched(ctx, db_path, &db, err);
    return status == CF_OK ? cf_gate_ask(gate, db, out, err) : status;
}

int cf_gate_measure(const struct cf_context *ctx, const char *db_path, const char *limit,
                    bool *crossed, char *says, size_t says_bytes, struct cf_err *err) {
    struct cf_guard guard;
    struct cf_gate gate;
    struct cf_gate_answer answer;
    int status = cf_door_path(db_path, "the database", err);
    if (status == CF_OK)
        status = cf_door_pointer(limit, "the limit", err);
    if (status == CF_OK)
        status = cf_door_pointer(crossed, "crossed", err);
    if (status == CF_OK && says_bytes > 0)
        status = cf_door_pointer(says, "says", err);
    if (status == CF_OK)
        status = cf_gate_parse(limit, &gate, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    if (status == CF_OK)
        status = measure(&guard.context, db_path, &gate, &answer, err);
    if (status != CF_OK)
        return status;
    *crossed = answer.crossed;
    if (says_bytes > 0)
        (void)snprintf(says, says_bytes, "%s", answer.says);
    return CF_OK;
}
