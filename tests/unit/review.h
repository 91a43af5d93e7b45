/*
 * Databases for the tests of the report: the tables of an incident in small, or of no heap at all,
 * judged by the rules as analyze does it.
 */
#ifndef REVIEW_H
#define REVIEW_H

#include "corefrag.h"
#include "report/doc.h"
#include "store/db.h"

/* What is known of the core; each is SQL. */
extern const char review_complete[];   /* nothing is missing, holes tell what was in memory */
extern const char review_zero_pages[]; /* nothing is missing, residency is at least */
extern const char review_blind[];      /* nothing is missing, nothing says what was in memory */
extern const char review_cut[];        /* 117.7 MiB are missing, residency is at least */

/* Three arenas that hold 12 MiB, of which 1 MiB is live; a program of 16 MiB. */
extern const char review_incident[];

/* A judged database that holds `core` and then `rows`; fails the test where they do not run. */
struct cf_db *review_db(const char *core, const char *rows);

/* Its report as a document, and printed; the caller frees. */
struct cf_doc *review_doc(struct cf_db *db, const struct cf_report_options *options);
char *review_print(const struct cf_doc *doc, const struct cf_report_options *options);
char *review_report(const char *core, const char *rows, const struct cf_report_options *options);

void review_says(const char *text, const char *sentence);
void review_does_not_say(const char *text, const char *sentence);

/*
 * Compares `text` with tests/unit/golden/NAME; with UPDATE_GOLDEN in the environment (`make
 * golden`) it writes the file instead.
 */
void review_golden(const char *name, const char *text);

#endif
