/* Cells as text: a number by its unit, with the mark of how exact it is before it. */
#include "report/format.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/texts.h"

/* `first` and `second` together, cut where they do not fit. */
static const char *put(char out[CF_FORMAT_MAX], const char *first, const char *second) {
    (void)snprintf(out, CF_FORMAT_MAX, "%s%s", first, second);
    return out;
}

const char *cf_format_bytes(char out[CF_FORMAT_MAX], uint64_t bytes, bool exact) {
    return exact ? cf_number_exact_bytes(out, bytes) : cf_number_bytes(out, bytes);
}

const char *cf_format_count(char out[CF_FORMAT_MAX], int64_t count) {
    return cf_number_count(out, count);
}

const char *cf_format_percent(char out[CF_FORMAT_MAX], double percent) {
    return cf_number_percent(out, percent);
}

const char *cf_format_address(char out[CF_FORMAT_MAX], uint64_t address) {
    (void)snprintf(out, CF_FORMAT_MAX, "0x%" PRIx64, address);
    return out;
}

const char *cf_format_plural(int64_t count) {
    return count == 1 ? "" : "s";
}

const char *cf_format_mark(enum cf_figure_mark mark) {
    switch (mark) {
    case CF_MARK_AT_LEAST:
        return "≥ ";
    case CF_MARK_BOUND:
        return "≤ ";
    case CF_MARK_ABOUT:
        return "≈ ";
    case CF_MARK_EXACT:
        break;
    }
    return "";
}

/* "+1.2 MiB", "-512 B", "0": nothing changed. */
static void format_change(char out[CF_FORMAT_MAX], enum cf_unit unit, int64_t change, bool exact) {
    char number[CF_FORMAT_MAX];
    uint64_t magnitude = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
    if (unit == CF_UNIT_GROWTH && change != 0)
        (void)cf_format_bytes(number, magnitude, exact);
    else
        (void)cf_format_count(number, (int64_t)magnitude);
    (void)snprintf(out, CF_FORMAT_MAX, "%s%.40s", change > 0 ? "+" : change < 0 ? "-" : "", number);
}

static void format_number(char out[CF_FORMAT_MAX], enum cf_unit unit, const struct cf_datum *cell,
                          bool exact) {
    bool is_real = cell->kind == CF_CELL_REAL;
    switch (unit) {
    case CF_UNIT_BYTES:
        (void)cf_format_bytes(out, is_real ? (uint64_t)cell->real : (uint64_t)cell->integer, exact);
        return;
    case CF_UNIT_PERCENT:
        (void)cf_format_percent(out, is_real ? cell->real : (double)cell->integer);
        return;
    case CF_UNIT_ADDRESS:
        (void)cf_format_address(out, (uint64_t)cell->integer);
        return;
    case CF_UNIT_TEXT:
    case CF_UNIT_COUNT:
        if (is_real)
            (void)snprintf(out, CF_FORMAT_MAX, "%.1f", cell->real);
        else
            (void)cf_format_count(out, cell->integer);
        return;
    case CF_UNIT_GROWTH:
    case CF_UNIT_MORE:
        format_change(out, unit, cell->integer, exact);
        return;
    case CF_UNIT_BAR:
        out[0] = '\0';
        return;
    }
}

const char *cf_format_cell(char out[CF_FORMAT_MAX], const struct cf_column *column,
                           const struct cf_datum *cell, bool exact) {
    if (cell->kind == CF_CELL_TEXT)
        return cell->text;
    if (cell->kind == CF_CELL_UNKNOWN)
        return put(out, "unknown", "");
    if (cell->kind == CF_CELL_EMPTY)
        return put(out, "", "");
    char number[CF_FORMAT_MAX];
    format_number(number, column->unit, cell, exact);
    return put(out, cf_format_mark(cell->mark), number);
}
