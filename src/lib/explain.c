/* cf_explain(): what stands at an address, from a database and perhaps the core. */
#include "lib/explain.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/door.h"
#include "report/emit.h"
#include "store/compat.h"

/* The core has to be the one that the database was made of. */
static int check_core(struct cf_db *db, const struct cf_reading *reading, const char *core_path,
                      struct cf_err *err) {
    bool has_bytes, has_pid;
    int64_t bytes = 0, pid = 0;
    int status = cf_db_query_i64(db, "SELECT value FROM meta WHERE key = 'core_bytes'", &has_bytes,
                                 &bytes, err);
    if (status == CF_OK)
        status =
            cf_db_query_i64(db, "SELECT value FROM meta WHERE key = 'pid'", &has_pid, &pid, err);
    if (status != CF_OK)
        return status;
    if ((has_bytes && (uint64_t)bytes != cf_core_file_bytes(reading->core)) ||
        (has_pid && pid != cf_core_pid(reading->core)))
        return cf_err_set(err, CF_EUSAGE,
                          "%s is not the core of this database: that has %" PRId64
                          " bytes, of process %" PRId64,
                          core_path, bytes, pid);
    return CF_OK;
}

static int add_core(const struct cf_context *ctx, struct cf_explain *explain, const char *core_path,
                    const struct cf_options *options, struct cf_err *err) {
    CF_CLEANUP(cf_reading_fini) struct cf_reading reading = {0};
    int status = cf_reading_open_memory(ctx, core_path, options, &reading, err);
    if (status == CF_OK)
        status = check_core(explain->db, &reading, core_path, err);
    if (status != CF_OK)
        return status;
    cf_explain_core(explain, &reading);
    status = explain->status == CF_OK ? cf_symbols_status(reading.symbols, err) : explain->status;
    return cf_reading_settle(&reading, status, err);
}

static int word_bytes(struct cf_db *db, int64_t *out, struct cf_err *err) {
    bool found;
    int64_t bits = 64;
    int status =
        cf_db_query_i64(db, "SELECT value FROM meta WHERE key = 'word_bits'", &found, &bits, err);
    *out = bits == 32 ? 4 : 8;
    return status;
}

static int build(const struct cf_context *ctx, struct cf_explain *explain, const char *core_path,
                 const struct cf_options *options, struct cf_err *err) {
    int status = word_bytes(explain->db, &explain->word_bytes, err);
    if (status != CF_OK)
        return status;
    cf_explain_db(explain);
    if (explain->status != CF_OK || core_path == NULL)
        return explain->status;
    return add_core(ctx, explain, core_path, options, err);
}

static int print(const struct cf_doc *doc, FILE *sink, struct cf_err *err) {
    static const struct cf_report_options options;
    int status = cf_doc_status(doc, err);
    if (status == CF_OK)
        status = cf_emit_text(doc, &options, sink, err);
    return status == CF_OK ? cf_door_close_sink(sink, "the explanation", err) : status;
}

static int explain(const struct cf_context *ctx, struct cf_explain *explain, const char *db_path,
                   const char *core_path, const struct cf_options *options, FILE *sink) {
    struct cf_err *err = explain->err;
    CF_CLEANUP(cf_doc_freep) struct cf_doc *doc = cf_doc_new();
    if (doc == NULL)
        return cf_err_nomem(err, sizeof *doc, "the explanation");
    cf_db_watch(explain->db, ctx);
    cf_doc_title(doc, "corefrag %s  0x%" PRIx64 " in %s", cf_version(), (uint64_t)explain->address,
                 db_path);
    explain->section = cf_doc_section(doc, "explain", NULL);
    int status = cf_doc_status(doc, err);
    if (status == CF_OK)
        status = build(ctx, explain, core_path, options, err);
    return status == CF_OK ? print(doc, sink, err) : status;
}

int cf_explain(const struct cf_context *ctx, const char *db_path, uint64_t address,
               const char *core_path, const struct cf_options *options, FILE *sink,
               struct cf_err *err) {
    struct cf_guard guard;
    struct cf_options wanted;
    int status = cf_door_path(db_path, "the database", err);
    if (status == CF_OK && core_path != NULL)
        status = cf_door_path(core_path, "the core", err);
    if (status == CF_OK)
        status = cf_door_pointer(sink, "the sink", err);
    if (status == CF_OK)
        status = cf_door_options(options, &wanted, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    CF_CLEANUP_DB struct cf_db *db = NULL;
    if (status == CF_OK)
        status = cf_db_open(db_path, &db, err);
    if (status != CF_OK)
        return status;
    struct cf_explain about = {.db = db, .address = (int64_t)address, .err = err};
    return explain(&guard.context, &about, db_path, core_path, &wanted, sink);
}
