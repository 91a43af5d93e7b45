/*
 * Emitters: a document in, one format out. They know nothing of databases or cores. Each escapes
 * every text for its own format. A failed write is left in the sink's error flag for the caller;
 * what they return is a lack of memory.
 */
#ifndef CF_REPORT_EMIT_H
#define CF_REPORT_EMIT_H

#include <stdbool.h>
#include <stdio.h>

#include "corefrag.h"
#include "report/doc.h"

/* In options->format. CF_EUSAGE: there is no emitter for it. */
int cf_emit(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
            struct cf_err *err);

/* Plain text in options->width columns (0: 100); `full` shows exact bytes. */
int cf_emit_text(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err);

/* Markdown that can be pasted anywhere, one page unless `full`. */
int cf_emit_markdown(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                     struct cf_err *err);

/* JSON, as schema/report.schema.json has it. */
int cf_emit_json(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err);

/* One HTML file that asks for nothing else, below 2 MB. */
int cf_emit_html(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err);

#endif
