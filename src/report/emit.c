/* One emitter for each format. */
#include "report/emit.h"

#include "base/err.h"

int cf_emit(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
            struct cf_err *err) {
    switch (options->format) {
    case CF_FORMAT_TEXT:
        return cf_emit_text(doc, options, sink, err);
    case CF_FORMAT_MARKDOWN:
        return cf_emit_markdown(doc, options, sink, err);
    case CF_FORMAT_JSON:
        return cf_emit_json(doc, options, sink, err);
    case CF_FORMAT_HTML:
        return cf_emit_html(doc, options, sink, err);
    }
    return cf_err_set(err, CF_EUSAGE, "this version of corefrag does not write that format");
}
