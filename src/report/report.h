/*
 * The report: sections over the views of one database, in a fixed order. It never sees a core; what
 * it knows stands in the database. Each section is a function that adds to the document
 * (section_*.c); a figure that the database does not have (NULL) reads "unknown".
 *
 * And the comparison, what grew between two cores of one program: sections over the views of two
 * databases, the newer one opened as `main`, the older one attached as `old`.
 */
#ifndef CF_REPORT_REPORT_H
#define CF_REPORT_REPORT_H

#include "corefrag.h"
#include "report/doc.h"
#include "store/db.h"

/* Builds the report of `db`, which was opened from `db_path`. The caller frees the document with
 * cf_doc_free(). */
int cf_report_build(struct cf_db *db, const char *db_path, const struct cf_report_options *options,
                    struct cf_doc **out, struct cf_err *err);

/* CF_EUSAGE: the databases are of different programs, and `any_program` is false. The caller frees
 * the document with cf_doc_free(). */
int cf_diff_build(struct cf_db *db, const char *old_path, const char *new_path,
                  const struct cf_report_options *options, bool any_program, struct cf_doc **out,
                  struct cf_err *err);

#endif
