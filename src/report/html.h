/*
 * What the parts of the HTML emitter share. A page is written to a stream that does not fail (it
 * is in memory); a lack of memory is noted in `failed` and told at the end, so that callers write
 * in a straight line.
 *
 * Every text goes through cf_html_text() or cf_html_json(), which make it harmless; what else is
 * written is ours. The page's policy forbids inline styles and handlers, so that widths and places
 * are attributes of SVG, and what is not ours could not run even if it got through.
 */
#ifndef CF_REPORT_HTML_H
#define CF_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/doc.h"
#include "report/map.h"

struct cf_html {
    FILE *sink;
    bool exact;      /* all bytes unrounded */
    bool failed;     /* memory ran out */
    size_t max_rows; /* of one table */
};

enum { CF_HTML_PARAGRAPH_BYTES = 4000, CF_HTML_CELL_BYTES = 300, CF_HTML_CODE_BYTES = 8000 };

/* A text that may be hostile, at most about `max_bytes` of it; in an element or an attribute that
 * stands in double quotes. */
void cf_html_text(struct cf_html *html, const char *raw, size_t max_bytes);
/* The same for SQL and commands, which are copied: the backslash stays single. */
void cf_html_code(struct cf_html *html, const char *raw);
/* A JSON string with its quotes, harmless inside <script>. */
void cf_html_json(struct cf_html *html, const char *raw, size_t max_bytes);

/* `fraction` of 1 as "12.34%", whatever the locale; what is beyond 0 and 1 is cut. */
void cf_html_share(struct cf_html *html, double fraction);

/* The class of style for a class of memory ("live", "releasable"); one that has none of its own
 * gets the `nth` of those that mean nothing. Static. */
const char *cf_html_style(const char *class, size_t nth);
/* Where a class stands among its neighbours in a drawing, as in the waterfall. */
size_t cf_html_place(const char *class);
/* A small square in the colours of `style`. */
void cf_html_swatch(struct cf_html *html, const char *style);

/* Cells of one row of a table, without the row's own tags; figures have their exact value in the
 * title, which is what they are sorted by. */
void cf_html_cell(struct cf_html *html, const struct cf_column *column,
                  const struct cf_datum *cell);
void cf_html_table(struct cf_html *html, const struct cf_table *table);
void cf_html_chart(struct cf_html *html, const struct cf_table *table);
void cf_html_sql(struct cf_html *html, const char *sql);
void cf_html_map(struct cf_html *html, const struct cf_map *map);

#endif
