/* Tables of a page: figures rounded, with the exact ones in their titles; parts of a row drawn. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/format.h"
#include "report/html.h"

enum { LONG_BYTES = 48 }; /* a longer text may be broken into lines */

static bool is_number(const struct cf_datum *cell) {
    return cell->kind == CF_CELL_INTEGER || cell->kind == CF_CELL_REAL;
}

static bool is_left(enum cf_unit unit) {
    return unit == CF_UNIT_TEXT || unit == CF_UNIT_BAR;
}

/* The mark that all known figures of a column share: it stands once, in the header. */
static enum cf_figure_mark column_mark(const struct cf_table *table, size_t column) {
    enum cf_figure_mark mark = CF_MARK_EXACT;
    bool is_first = true;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        const struct cf_datum *cell = cf_table_cell(table, row, column);
        if (!is_number(cell))
            continue;
        if (!is_first && cell->mark != mark)
            return CF_MARK_EXACT;
        mark = cell->mark;
        is_first = false;
    }
    return mark;
}

/* What a rounded figure is exactly, where that is something else. */
static void put_exact(struct cf_html *html, const struct cf_column *column,
                      const struct cf_datum *cell, const char *shown) {
    char exact[CF_FORMAT_MAX];
    struct cf_datum plain = *cell;
    plain.mark = CF_MARK_EXACT;
    if (column->unit == CF_UNIT_BYTES || column->unit == CF_UNIT_GROWTH)
        (void)cf_format_cell(exact, column, &plain, true);
    else if (column->unit == CF_UNIT_PERCENT && cell->kind == CF_CELL_REAL)
        (void)snprintf(exact, sizeof exact, "%" PRId64 ".%03d %%", (int64_t)cell->real,
                       (int)((cell->real - (double)(int64_t)cell->real) * 1000));
    else
        return;
    if (strcmp(exact, shown) != 0)
        (void)fprintf(html->sink, " title=\"%s\"", exact);
}

static void put_bar(struct cf_html *html, double fraction) {
    (void)fputs("<td class=bar><svg aria-hidden=true><rect height=\"100%\" class=\"k bar\" "
                "width=\"",
                html->sink);
    cf_html_share(html, fraction);
    (void)fputs("\"/></svg>", html->sink);
}

void cf_html_cell(struct cf_html *html, const struct cf_column *column,
                  const struct cf_datum *cell) {
    if (column->unit == CF_UNIT_BAR && cell->kind == CF_CELL_REAL) {
        put_bar(html, cell->real);
        return;
    }
    char buffer[CF_FORMAT_MAX];
    const char *shown = cf_format_cell(buffer, column, cell, html->exact);
    if (cell->kind == CF_CELL_UNKNOWN)
        (void)fputs("<td class=\"n u\"", html->sink);
    else if (!is_left(column->unit))
        (void)fputs("<td class=n", html->sink);
    else
        (void)fputs(strlen(shown) > LONG_BYTES ? "<td class=w" : "<td", html->sink);
    if (is_number(cell))
        put_exact(html, column, cell, shown);
    (void)fputs(">", html->sink);
    cf_html_text(html, shown, CF_HTML_CELL_BYTES);
}

/* ---- growth ---- */

/* The largest change of a column, to either side. */
static double largest_change(const struct cf_table *table, size_t column) {
    double largest = 0;
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        const struct cf_datum *cell = cf_table_cell(table, row, column);
        double change = cell->kind == CF_CELL_INTEGER ? (double)cell->integer : 0;
        change = change < 0 ? -change : change;
        largest = change > largest ? change : largest;
    }
    return largest;
}

/* A bar from the middle: to the right what grew, to the left what shrank. */
static void put_change(struct cf_html *html, const struct cf_datum *cell, double largest) {
    double change = cell->kind == CF_CELL_INTEGER ? (double)cell->integer / largest / 2 : 0;
    (void)fprintf(html->sink,
                  "<td class=change><svg aria-hidden=true><rect height=\"100%%\" class=\"k %s\" "
                  "x=\"",
                  change > 0 ? "pinned" : "live");
    cf_html_share(html, change > 0 ? 0.5 : 0.5 + change);
    (void)fputs("\" width=\"", html->sink);
    cf_html_share(html, change > 0 ? change : -change);
    (void)fputs("\"/><path d=\"M0 0v99\" transform=\"translate(64)\"/></svg>", html->sink);
}

static void put_header(struct cf_html *html, const struct cf_column *column,
                       enum cf_figure_mark mark) {
    (void)fputs(is_left(column->unit) ? "<th scope=col>" : "<th scope=col class=n>", html->sink);
    /* A name may break into lines, but not right after its mark. */
    static const char *const marks[] = {"", "≥&#160;", "≤&#160;", "≈&#160;"};
    (void)fputs(marks[mark], html->sink);
    cf_html_text(html, column->name, CF_HTML_CELL_BYTES);
}

/* ---- the parts of a row ---- */

/* A part: a column and its class. */
struct piece {
    size_t column;
    size_t place;
    char class[32];
};

enum { PARTS_MAX = 12 };

struct pieces {
    size_t nr;
    struct piece items[PARTS_MAX];
};

/* "releasable" of "releasable_bytes". */
static struct piece read_part(const struct cf_table *table, size_t column) {
    struct piece part = {.column = column};
    size_t len = strcspn(table->columns[column].key, "_");
    memcpy(part.class, table->columns[column].key,
           len < sizeof part.class ? len : sizeof part.class - 1);
    part.place = cf_html_place(part.class);
    return part;
}

/* The parts of each row of `table`, in the order of a waterfall. */
static struct pieces read_parts(const struct cf_table *table) {
    struct pieces parts = {0};
    for (size_t c = 0; c < table->nr_columns && parts.nr < PARTS_MAX; c++) {
        if ((table->columns[c].flags & CF_IS_PART) == 0)
            continue;
        struct piece part = read_part(table, c);
        size_t at = parts.nr++;
        for (; at > 0 && parts.items[at - 1].place > part.place; at--)
            parts.items[at] = parts.items[at - 1];
        parts.items[at] = part;
    }
    return parts;
}

static double amount_of(const struct cf_table *table, size_t row, size_t column) {
    const struct cf_datum *cell = cf_table_cell(table, row, column);
    if (!is_number(cell))
        return 0;
    double bytes = cell->kind == CF_CELL_REAL ? cell->real : (double)cell->integer;
    return bytes > 0 ? bytes : 0;
}

static double sum_of_parts(const struct cf_table *table, const struct pieces *parts, size_t row) {
    double sum = 0;
    for (size_t i = 0; i < parts->nr; i++)
        sum += amount_of(table, row, parts->items[i].column);
    return sum;
}

static double largest_sum(const struct cf_table *table, const struct pieces *parts) {
    double largest = 0;
    for (size_t row = 0; parts->nr > 0 && row < cf_table_nr_rows(table); row++) {
        double sum = sum_of_parts(table, parts, row);
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

static void put_part(struct cf_html *html, const char *class, double from, double share) {
    const char *style = cf_html_style(class, 0);
    for (int layer = 0; layer < 2; layer++) {
        (void)fprintf(html->sink, "<rect class=\"%c %s\" height=\"100%%\" x=\"", "kh"[layer],
                      style);
        cf_html_share(html, from);
        (void)fputs("\" width=\"", html->sink);
        cf_html_share(html, share);
        (void)fputs("\"/>", html->sink);
    }
}

/* A strip as long as the row's parts are of the largest row's, its parts side by side. */
static void put_strip(struct cf_html *html, const struct cf_table *table,
                      const struct pieces *parts, size_t row, double largest) {
    double sum = sum_of_parts(table, parts, row);
    (void)fputs("<td class=occ><svg role=img aria-label=\"", html->sink);
    for (size_t i = 0; i < parts->nr; i++) {
        double amount = amount_of(table, row, parts->items[i].column);
        if (amount > 0)
            (void)fprintf(html->sink, "%s %.0f%% ", parts->items[i].class, 100 * amount / sum);
    }
    (void)fputs("\">", html->sink);
    double at = 0;
    for (size_t i = 0; i < parts->nr; i++) {
        double share = amount_of(table, row, parts->items[i].column) / largest;
        if (share >= 0.0005)
            put_part(html, parts->items[i].class, at, share);
        at += share;
    }
    (void)fputs("</svg>", html->sink);
}

static void put_legend(struct cf_html *html, const struct pieces *parts) {
    (void)fputs("<p class=legend>", html->sink);
    for (size_t i = 0; i < parts->nr; i++) {
        (void)fputs("<span>", html->sink);
        cf_html_swatch(html, cf_html_style(parts->items[i].class, 0));
        (void)fprintf(html->sink, " %s</span> ", parts->items[i].class);
    }
    (void)fputs("</p>\n", html->sink);
}

/* ---- the table ---- */

/* The columns of a table that are shown, with the marks that their headers say. */
struct html_grid {
    const struct cf_table *table;
    size_t *shown;
    enum cf_figure_mark *marks;
    double *changes; /* of columns of growth, the largest; else 0 */
    size_t nr_shown;
    struct pieces parts;
    double largest; /* sum of the parts of a row; 0: rows have no parts */
};

static void cleanup_grid(struct html_grid *grid) {
    free(grid->shown);
    free(grid->marks);
    free(grid->changes);
}

static bool fill_grid(struct html_grid *grid) {
    const struct cf_table *table = grid->table;
    grid->shown = calloc(table->nr_columns, sizeof *grid->shown);
    grid->marks = calloc(table->nr_columns, sizeof *grid->marks);
    grid->changes = calloc(table->nr_columns, sizeof *grid->changes);
    if (grid->shown == NULL || grid->marks == NULL || grid->changes == NULL)
        return false;
    grid->parts = read_parts(table);
    grid->largest = largest_sum(table, &grid->parts);
    grid->nr_shown = cf_table_shown_wide(table, grid->shown);
    /* Parts say what a bar does, and more. */
    if (grid->largest > 0 && grid->nr_shown > 0 &&
        table->columns[grid->shown[grid->nr_shown - 1]].unit == CF_UNIT_BAR)
        grid->nr_shown--;
    for (size_t i = 0; i < grid->nr_shown; i++) {
        grid->marks[i] = column_mark(table, grid->shown[i]);
        if (table->columns[grid->shown[i]].unit == CF_UNIT_GROWTH)
            grid->changes[i] = largest_change(table, grid->shown[i]);
    }
    return true;
}

static void put_rows(struct cf_html *html, const struct html_grid *grid) {
    const struct cf_table *table = grid->table;
    for (size_t row = 0; row < cf_table_nr_rows(table) && row < html->max_rows; row++) {
        (void)fputs("<tr>", html->sink);
        for (size_t i = 0; i < grid->nr_shown; i++) {
            struct cf_datum cell = *cf_table_cell(table, row, grid->shown[i]);
            if (cell.mark == grid->marks[i])
                cell.mark = CF_MARK_EXACT; /* the header says it */
            cf_html_cell(html, &table->columns[grid->shown[i]], &cell);
            if (grid->changes[i] > 0)
                put_change(html, &cell, grid->changes[i]);
            if (i == 0 && grid->largest > 0)
                put_strip(html, table, &grid->parts, row, grid->largest);
        }
        (void)fputs("\n", html->sink);
    }
}

static void put_head(struct cf_html *html, const struct html_grid *grid) {
    (void)fputs("<thead><tr>", html->sink);
    for (size_t i = 0; i < grid->nr_shown; i++) {
        put_header(html, &grid->table->columns[grid->shown[i]], grid->marks[i]);
        if (grid->changes[i] > 0)
            (void)fputs("<th scope=col><span class=sr>drawn</span>", html->sink);
        if (i == 0 && grid->largest > 0)
            (void)fputs("<th scope=col>made of", html->sink);
    }
    (void)fputs("</thead>\n<tbody>\n", html->sink);
}

static void put_more(struct cf_html *html, const struct cf_table *table) {
    uint64_t rows = cf_table_nr_rows(table);
    uint64_t more = table->nr_more + (rows > html->max_rows ? rows - html->max_rows : 0);
    char count[CF_FORMAT_MAX];
    if (more > 0)
        (void)fprintf(html->sink, "<p class=more>%s more in the database.</p>\n",
                      cf_format_count(count, (int64_t)more));
}

static void put_caption(struct cf_html *html, const struct cf_table *table) {
    if (table->title == NULL)
        return;
    (void)fputs("<caption>", html->sink);
    cf_html_text(html, table->title, CF_HTML_CELL_BYTES);
    (void)fputs("</caption>", html->sink);
}

static void put_facts(struct cf_html *html, const struct cf_table *table) {
    (void)fputs("<table class=facts>", html->sink);
    put_caption(html, table);
    for (size_t row = 0; row < cf_table_nr_rows(table); row++) {
        const struct cf_datum *name = cf_table_cell(table, row, 0);
        const struct cf_datum *value = cf_table_cell(table, row, 1);
        (void)fputs("<tr><th scope=row>", html->sink);
        cf_html_text(html, name->text == NULL ? "" : name->text, CF_HTML_CELL_BYTES);
        (void)fputs("<td>", html->sink);
        cf_html_text(html, value->text == NULL ? "" : value->text, CF_HTML_PARAGRAPH_BYTES);
        (void)fputs("\n", html->sink);
    }
    (void)fputs("</table>\n", html->sink);
}

static void put_grid(struct cf_html *html, const struct cf_table *table) {
    CF_CLEANUP(cleanup_grid) struct html_grid grid = {.table = table};
    if (!fill_grid(&grid)) {
        html->failed = true;
        return;
    }
    if (grid.nr_shown == 0)
        return;
    if (grid.largest > 0)
        put_legend(html, &grid.parts);
    (void)fputs("<div class=scroll><table class=grid>", html->sink);
    put_caption(html, table);
    put_head(html, &grid);
    put_rows(html, &grid);
    (void)fputs("</tbody></table></div>\n", html->sink);
    put_more(html, table);
}

void cf_html_table(struct cf_html *html, const struct cf_table *table) {
    if (table->chart != CF_CHART_NONE)
        cf_html_chart(html, table);
    else if (table->is_facts)
        put_facts(html, table);
    else
        put_grid(html, table);
    if (table->sql != NULL)
        cf_html_sql(html, table->sql);
}
