#include "report/format.h"

#include <inttypes.h>
#include <stdio.h>

enum { CF_DIGITS_MAX = 32 }; /* 20 digits, 6 separators, a sign */

/* `first` and `second` together, cut where they do not fit. */
static const char *put(char out[CF_FORMAT_MAX], const char *first, const char *second) {
    (void)snprintf(out, CF_FORMAT_MAX, "%s%s", first, second);
    return out;
}

/* The digits of `value` in groups of three. */
static void group_digits(char out[CF_DIGITS_MAX], uint64_t value, bool negative) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;
    if (negative)
        *to++ = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
}

/* Half up in whole numbers: the nearest multiple of 1/scale of `unit`, times `scale`. */
static uint64_t round_to(uint64_t bytes, unsigned shift, unsigned scale) {
    uint64_t whole = bytes >> shift;
    uint64_t rest = bytes & ((UINT64_C(1) << shift) - 1);
    /* The rest's upper 32 bits are enough for two decimals, and the product cannot wrap. */
    unsigned drop = shift > 32 ? shift - 32 : 0;
    uint64_t part = (rest >> drop) * scale;
    unsigned left = shift - drop;
    return whole * scale + (part >> left) + ((part >> (left - 1)) & 1);
}

const char *cf_format_bytes(char out[CF_FORMAT_MAX], uint64_t bytes, bool exact) {
    static const struct {
        const char *name;
        unsigned shift;
        unsigned scale;
    } units[] = {{"KiB", 10, 10},  {"MiB", 20, 10},  {"GiB", 30, 100},
                 {"TiB", 40, 100}, {"PiB", 50, 100}, {"EiB", 60, 100}};
    enum { NR_UNITS = sizeof units / sizeof units[0] };
    if (exact || bytes < 1024) {
        char digits[CF_DIGITS_MAX];
        group_digits(digits, bytes, false);
        return put(out, digits, " B");
    }
    size_t i = 0;
    while (i + 1 < NR_UNITS &&
           round_to(bytes, units[i].shift, units[i].scale) >= 1024 * units[i].scale)
        i++;
    uint64_t rounded = round_to(bytes, units[i].shift, units[i].scale);
    (void)snprintf(out, CF_FORMAT_MAX, "%" PRIu64 ".%0*" PRIu64 " %s", rounded / units[i].scale,
                   units[i].scale == 10 ? 1 : 2, rounded % units[i].scale, units[i].name);
    return out;
}

const char *cf_format_count(char out[CF_FORMAT_MAX], int64_t count) {
    uint64_t magnitude = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    group_digits(out, magnitude, count < 0);
    return out;
}

const char *cf_format_percent(char out[CF_FORMAT_MAX], double percent) {
    if (percent > 0 && percent < 0.05)
        return put(out, "< 0.1 %", "");
    if (percent < 100 && percent >= 99.95)
        return put(out, "> 99.9 %", "");
    if (!(percent > -1e12 && percent < 1e12))
        return put(out, "unknown", "");
    (void)snprintf(out, CF_FORMAT_MAX, "%.1f %%", percent);
    return out;
}

const char *cf_format_address(char out[CF_FORMAT_MAX], uint64_t address) {
    (void)snprintf(out, CF_FORMAT_MAX, "0x%" PRIx64, address);
    return out;
}

const char *cf_format_plural(int64_t count) {
    return count == 1 ? "" : "s";
}

const char *cf_format_mark(enum cf_mark mark) {
    switch (mark) {
    case CF_MARK_AT_LEAST:
        return "≥ ";
    case CF_MARK_BOUND:
        return "≤ ";
    case CF_MARK_EXACT:
        break;
    }
    return "";
}

static void format_number(char out[CF_FORMAT_MAX], enum cf_unit unit, const struct cf_cell *cell,
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
    case CF_UNIT_BAR:
        out[0] = '\0';
        return;
    }
}

const char *cf_format_cell(char out[CF_FORMAT_MAX], const struct cf_column *column,
                           const struct cf_cell *cell, bool exact) {
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
