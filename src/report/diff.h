/*
 * What grew between two cores of one program: sections over the views of two databases, the newer
 * one opened as `main`, the older one attached as `old`. The same document and emitters as the
 * report's.
 */
#ifndef CF_REPORT_DIFF_H
#define CF_REPORT_DIFF_H

#include "corefrag.h"
#include "report/doc.h"
#include "store/db.h"

/* CF_EUSAGE: the databases are of different programs, and `any_program` is false. The caller frees
 * the document with cf_doc_free(). */
int cf_diff_build(struct cf_db *db, const char *old_path, const char *new_path,
                  const struct cf_report_options *options, bool any_program, struct cf_doc **out,
                  struct cf_err *err);

#endif
