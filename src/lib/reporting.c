/* cf_report(): a database in, a report out; cf_gate_measure(): one figure of it. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/emit.h"
#include "report/gate.h"
#include "report/report.h"
#include "store/db.h"

static int check_sink(FILE *sink, struct cf_err *err) {
    if (fflush(sink) == 0 && !ferror(sink))
        return CF_OK;
    return cf_err_errno(err, CF_EOUTPUT, errno, "the report cannot be written");
}

int cf_report(const struct cf_context *ctx, const char *db_path,
              const struct cf_report_options *options, FILE *sink, struct cf_err *err) {
    (void)ctx;
    static const struct cf_report_options defaults;
    const struct cf_report_options *wanted = options == NULL ? &defaults : options;
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = cf_db_open(db_path, &db, err);
    if (status != CF_OK)
        return status;
    struct cf_doc *doc = NULL;
    status = cf_report_build(db, db_path, wanted, &doc, err);
    if (status == CF_OK)
        status = cf_emit(doc, wanted, sink, err);
    cf_doc_free(doc);
    return status == CF_OK ? check_sink(sink, err) : status;
}

int cf_gate_measure(const char *db_path, const struct cf_gate *gate, bool *crossed, char says[256],
                    struct cf_err *err) {
    CF_CLEANUP_DB struct cf_db *db = NULL;
    int status = cf_db_open(db_path, &db, err);
    return status == CF_OK ? cf_gate_check(db, gate, crossed, says, 256, err) : status;
}
