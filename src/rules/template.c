#include "rules/template.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"

static int column_named(const struct cf_stmt *row, const char *name, size_t length) {
    for (int i = 0; i < cf_stmt_nr_columns(row); i++) {
        const char *column = cf_stmt_column_name(row, i);
        if (strlen(column) == length && strncmp(column, name, length) == 0)
            return i;
    }
    return -1;
}

static bool print_fact(const struct cf_stmt *row, int column, const char *how, char *out,
                       size_t bytes) {
    char number[CF_NUMBER_MAX];
    bool is_null = cf_stmt_is_null(row, column);
    if (strncmp(how, "bytes}", 6) == 0)
        (void)snprintf(out, bytes, "%s",
                       is_null ? "an unknown amount"
                               : cf_number_bytes(number, (uint64_t)cf_stmt_i64(row, column)));
    else if (strncmp(how, "count}", 6) == 0)
        (void)snprintf(out, bytes, "%s",
                       is_null ? "unknown" : cf_number_count(number, cf_stmt_i64(row, column)));
    else if (strncmp(how, "percent}", 8) == 0)
        (void)snprintf(out, bytes, "%s",
                       is_null ? "unknown"
                               : cf_number_percent(number, cf_stmt_double(row, column)));
    else if (strncmp(how, "text}", 5) == 0)
        (void)snprintf(out, bytes, "%s", is_null ? "unknown" : cf_stmt_text(row, column));
    else
        return false;
    return true;
}

static void append(char *out, size_t bytes, size_t *used, const char *text, size_t length) {
    size_t room = bytes - 1 - *used;
    size_t take = length < room ? length : room;
    memcpy(out + *used, text, take);
    *used += take;
    out[*used] = '\0';
}

int cf_template_fill(const char *text, const struct cf_stmt *row, char *out, size_t bytes,
                     struct cf_err *err) {
    size_t used = 0;
    out[0] = '\0';
    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        append(out, bytes, &used, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        size_t name = strcspn(text + 1, ":}");
        char fact[512];
        int column = column_named(row, text + 1, name);
        if (column < 0 || text[1 + name] != ':' ||
            !print_fact(row, column, text + 2 + name, fact, sizeof fact))
            return cf_err_set(err, CF_EINTERNAL, "a rule names a fact that is not there: %.40s",
                              text);
        append(out, bytes, &used, fact, strlen(fact));
        text += strcspn(text, "}") + 1;
    }
    return CF_OK;
}
