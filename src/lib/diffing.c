/* cf_diff(): two databases in, what grew between them out. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/diff.h"
#include "report/emit.h"
#include "store/db.h"

int cf_diff(const struct cf_context *ctx, const char *old_path, const char *new_path,
            const struct cf_report_options *options, bool any_program, FILE *sink,
            struct cf_err *err) {
    (void)ctx;
    static const struct cf_report_options defaults;
    const struct cf_report_options *wanted = options == NULL ? &defaults : options;
    CF_CLEANUP_DB struct cf_db *db = NULL;
    struct cf_doc *doc = NULL;
    int status = cf_db_open(new_path, &db, err);
    if (status == CF_OK)
        status = cf_db_attach(db, old_path, "old", err);
    if (status == CF_OK)
        status = cf_diff_build(db, old_path, new_path, wanted, any_program, &doc, err);
    if (status == CF_OK)
        status = cf_emit(doc, wanted, sink, err);
    cf_doc_free(doc);
    if (status == CF_OK && (fflush(sink) != 0 || ferror(sink)))
        return cf_err_errno(err, CF_EOUTPUT, errno, "the report cannot be written");
    return status;
}
