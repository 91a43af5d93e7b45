/*
 * A template is copied piece by piece; each fact is a column of the row, printed by one of the ways
 * in `hows`. A bracket notes where its text began, and takes it back at its end if a fact in it had
 * nothing to say.
 */
#include "rules/template.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"

/* A sentence as it grows; what does not fit is cut. */
struct sentence {
    char *text;
    size_t bytes;
    size_t used;
};

static int column_named(const struct cf_stmt *row, const char *name, size_t length) {
    for (int i = 0; i < cf_stmt_nr_columns(row); i++) {
        const char *column = cf_stmt_column_name(row, i);
        if (strlen(column) == length && strncmp(column, name, length) == 0)
            return i;
    }
    return -1;
}

static const char *bytes_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    return cf_number_bytes(number, (uint64_t)cf_stmt_i64(row, column));
}

static const char *amount_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    return cf_stmt_i64(row, column) == 0 ? "nothing" : bytes_text(number, row, column);
}

static const char *first_amount_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row,
                                     int column) {
    return cf_stmt_i64(row, column) == 0 ? "Nothing" : bytes_text(number, row, column);
}

static const char *count_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    return cf_number_count(number, cf_stmt_i64(row, column));
}

static const char *percent_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    return cf_number_percent(number, cf_stmt_double(row, column));
}

static const char *plain_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    (void)number;
    return cf_stmt_text(row, column);
}

static const char *plural_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    (void)number;
    return cf_stmt_i64(row, column) == 1 ? "" : "s";
}

static const char *change_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    static const char *const verbs[] = {"shrank by ", "grew by "};
    int64_t change = cf_stmt_i64(row, column);
    if (change == 0)
        return "did not change";
    const char *verb = verbs[change > 0];
    size_t length = strlen(verb);
    char bytes[CF_NUMBER_MAX];
    (void)snprintf(number, CF_NUMBER_MAX, "%s%.*s", verb, (int)(CF_NUMBER_MAX - length - 1),
                   cf_number_bytes(bytes, change < 0 ? 0 - (uint64_t)change : (uint64_t)change));
    return number;
}

static const char *is_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    (void)number;
    return cf_stmt_i64(row, column) == 1 ? "is" : "are";
}

static const char *was_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    (void)number;
    return cf_stmt_i64(row, column) == 1 ? "was" : "were";
}

static const char *no_text(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column) {
    (void)number, (void)row, (void)column;
    return "";
}

static const struct how {
    const char *name;
    const char *unknown; /* what a NULL reads */
    bool zero_counts;    /* a 0 is worth its brackets */
    const char *(*text)(char number[CF_NUMBER_MAX], const struct cf_stmt *row, int column);
} hows[] = {
    {"bytes", "an unknown amount", false, bytes_text}, {"amount", "an unknown amount", true,
                                                        amount_text},
    {"Amount", "An unknown amount", true, first_amount_text},
    {"count", "an unknown number", false, count_text}, {"percent", "an unknown part", true,
                                                        percent_text},
    {"text", "unknown", true, plain_text},             {"s", "s", true, plural_text},
    {"is", "are", true, is_text},                      {"was", "were", true, was_text},
    {"when", "", false, no_text},
    {"change", "changed by an unknown amount", true, change_text},
};

static const struct how *how_named(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++)
        if (strlen(hows[i].name) == length && strncmp(hows[i].name, name, length) == 0)
            return &hows[i];
    return NULL;
}

static void append(struct sentence *out, const char *text, size_t length) {
    size_t room = out->bytes - 1 - out->used;
    size_t take = length < room ? length : room;
    memcpy(out->text + out->used, text, take);
    out->used += take;
    out->text[out->used] = '\0';
}

/* The fact in braces at `text`; `*said` turns false where there is nothing to say. */
static int append_fact(struct sentence *out, const char *text, const struct cf_stmt *row,
                       bool *said, struct cf_err *err) {
    size_t name = strcspn(text + 1, ":}");
    int column = column_named(row, text + 1, name);
    const char *kind = text + 1 + name + (text[1 + name] == ':');
    const struct how *how = how_named(kind, strcspn(kind, "}"));
    if (column < 0 || how == NULL)
        return cf_err_set(err, CF_EINTERNAL, "a rule names a fact that is not there: %.40s", text);
    char number[CF_NUMBER_MAX];
    bool is_null = cf_stmt_is_null(row, column);
    if (is_null || (!how->zero_counts && cf_stmt_i64(row, column) == 0))
        *said = false;
    const char *fact = is_null ? how->unknown : how->text(number, row, column);
    append(out, fact, strlen(fact));
    return CF_OK;
}

int cf_template_fill(const char *text, const struct cf_stmt *row, char *out, size_t bytes,
                     struct cf_err *err) {
    struct sentence sentence = {.text = out, .bytes = bytes};
    size_t opened = 0;
    bool said = true;
    out[0] = '\0';
    while (*text != '\0') {
        size_t plain = strcspn(text, "{[]");
        append(&sentence, text, plain);
        text += plain;
        int status = *text == '{' ? append_fact(&sentence, text, row, &said, err) : CF_OK;
        if (status != CF_OK)
            return status;
        if (*text == '[') {
            opened = sentence.used;
            said = true;
        }
        if (*text == ']' && !said)
            out[sentence.used = opened] = '\0';
        text += *text == '{' ? strcspn(text, "}") : 0;
        text += *text != '\0';
    }
    return CF_OK;
}
