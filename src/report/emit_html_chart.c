/* Drawings of a page: a bar of parts side by side, and a row for each of them. */
#include <string.h>

#include "report/format.h"
#include "report/html.h"

enum { LABEL_PERMILLE = 70 }; /* a part narrower than this has no room for its name */

static const char *text_of(const struct cf_table *table, size_t row, size_t column) {
    const struct cf_datum *cell = cf_table_cell(table, row, column);
    return cell->text == NULL ? "" : cell->text;
}

static double share_of(const struct cf_table *table, size_t row) {
    const struct cf_datum *cell = cf_table_cell(table, row, CF_SEGMENT_BAR);
    return cell->kind == CF_CELL_REAL && cell->real > 0 ? cell->real : 0;
}

static const char *style_of(const struct cf_table *table, size_t row) {
    return cf_html_style(text_of(table, row, CF_SEGMENT_CLASS), row);
}

static bool is_sum(const struct cf_table *table, size_t row) {
    return *text_of(table, row, CF_SEGMENT_CLASS) == '\0';
}

static void put_label(struct cf_html *html, const struct cf_table *table, size_t row) {
    cf_html_text(html, text_of(table, row, CF_SEGMENT_LABEL), CF_HTML_CELL_BYTES);
}

/* What the drawing says, for who cannot see it. */
static void put_description(struct cf_html *html, const struct cf_table *table) {
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        char percent[CF_FORMAT_MAX];
        if (is_sum(table, row))
            continue;
        put_label(html, table, row);
        (void)fputc(' ', html->sink);
        cf_html_text(html, cf_format_percent(percent, 100 * share_of(table, row)), sizeof percent);
        (void)fputs("; ", html->sink);
    }
}

/* A part of the bar: its colour, its hatch, its name where there is room. */
static void put_part(struct cf_html *html, const struct cf_table *table, size_t row, double from) {
    double share = share_of(table, row);
    const char *style = style_of(table, row);
    (void)fputs("<svg height=\"100%\" x=\"", html->sink);
    cf_html_share(html, from);
    (void)fputs("\" width=\"", html->sink);
    cf_html_share(html, share);
    (void)fprintf(html->sink,
                  "\"><rect width=\"100%%\" height=\"100%%\" class=\"k %s\"/><rect width=\"100%%\" "
                  "height=\"100%%\" class=\"h %s\"/><title>",
                  style, style);
    put_label(html, table, row);
    (void)fputs("</title>", html->sink);
    if (share * 1000 >= LABEL_PERMILLE) {
        (void)fputs("<text x=\"6\" y=\"50%\" dy=\".35em\">", html->sink);
        put_label(html, table, row);
        (void)fputs("</text>", html->sink);
    }
    (void)fputs("</svg>", html->sink);
}

static void put_stack(struct cf_html *html, const struct cf_table *table) {
    (void)fputs("<svg class=stack role=img aria-label=\"", html->sink);
    put_description(html, table);
    (void)fputs("\">", html->sink);
    double at = 0;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        if (is_sum(table, row))
            continue;
        if (share_of(table, row) > 0)
            put_part(html, table, row, at);
        at += share_of(table, row);
    }
    (void)fputs("</svg>\n", html->sink);
}

/* The bar of one row, where its part stands in the whole. */
static void put_row_bar(struct cf_html *html, const struct cf_table *table, size_t row,
                        double from) {
    const char *style = style_of(table, row);
    (void)fputs("<td class=bar><svg aria-hidden=true>", html->sink);
    for (int layer = 0; layer < 2 && !is_sum(table, row); layer++) {
        (void)fprintf(html->sink, "<rect class=\"%c %s\" height=\"100%%\" x=\"", "kh"[layer],
                      style);
        cf_html_share(html, from);
        (void)fputs("\" width=\"", html->sink);
        cf_html_share(html, share_of(table, row));
        (void)fputs("\"/>", html->sink);
    }
    (void)fputs("</svg>", html->sink);
}

static void put_row(struct cf_html *html, const struct cf_table *table, size_t row, double from) {
    static const size_t figures[] = {CF_SEGMENT_BYTES, CF_SEGMENT_PERCENT};
    (void)fputs(is_sum(table, row) ? "<tr class=sum><th scope=row>" : "<tr><th scope=row>",
                html->sink);
    if (!is_sum(table, row))
        cf_html_swatch(html, style_of(table, row));
    put_label(html, table, row);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        cf_html_cell(html, &table->columns[figures[i]], cf_table_cell(table, row, figures[i]));
    put_row_bar(html, table, row, from);
    (void)fputs("<td class=note>", html->sink);
    cf_html_text(html, text_of(table, row, CF_SEGMENT_NOTE), CF_HTML_PARAGRAPH_BYTES);
    (void)fputs("\n", html->sink);
}

void cf_html_chart(struct cf_html *html, const struct cf_table *table) {
    bool is_whole = table->chart != CF_CHART_BARS;
    (void)fputs("<figure>", html->sink);
    if (table->title != NULL) {
        (void)fputs("<figcaption>", html->sink);
        cf_html_text(html, table->title, CF_HTML_CELL_BYTES);
        (void)fputs("</figcaption>\n", html->sink);
    }
    if (is_whole)
        put_stack(html, table);
    (void)fputs("<table class=segments><tbody>\n", html->sink);
    double at = 0;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        put_row(html, table, row, is_whole ? at : 0);
        at += share_of(table, row);
    }
    (void)fputs("</tbody></table></figure>\n", html->sink);
}
