/*
 * Two jobs of all emitters: names from the core made harmless (bytes that a terminal acts upon
 * become visible escapes; base/harmless.h decides which), and lines broken by display width.
 */
#include "report/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/texts.h"

/* Writes one piece of the escaped text and returns how many bytes of `at` it stands for. */
static size_t write_escaped(FILE *sink, const char *at, bool double_backslash) {
    char piece[CF_HARMLESS_PIECE];
    size_t bytes = cf_harmless_piece(at, piece);
    (void)fputs(*at == '\\' && double_backslash ? "\\\\" : piece, sink);
    return bytes;
}

/* Ends a memory stream; NULL, and nothing left behind, when one of its writes failed. */
static char *stream_text(FILE *stream, char **text) {
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

static char *escape(const char *raw, bool double_backslash) {
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream == NULL)
        return NULL;
    for (const char *at = raw; *at != '\0';)
        at += write_escaped(stream, at, double_backslash);
    return stream_text(stream, &text);
}

char *cf_escape_text(const char *raw) {
    return escape(raw, true);
}

char *cf_escape_code(const char *raw) {
    return escape(raw, false);
}

static bool is_plain_word(const char *raw) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    return *raw != '\0' && *raw != '-' && raw[strspn(raw, plain)] == '\0';
}

/* True where single quotes would let something through that a terminal acts upon. */
static bool needs_ansi_quotes(const char *raw) {
    uint32_t point;
    for (const char *at = raw; *at != '\0'; at += cf_utf8_decode(at, &point))
        if (cf_is_hostile(at))
            return true;
    return false;
}

static void write_ansi_quoted(FILE *stream, const char *raw) {
    (void)fputs("$'", stream);
    for (const unsigned char *at = (const unsigned char *)raw; *at != '\0'; at++) {
        if (*at == '\'' || *at == '\\')
            (void)fprintf(stream, "\\%c", *at);
        else if (*at < 0x20 || *at >= 0x7f)
            (void)fprintf(stream, "\\x%02x", *at);
        else
            (void)fputc(*at, stream);
    }
    (void)fputc('\'', stream);
}

static void write_quoted(FILE *stream, const char *raw) {
    (void)fputc('\'', stream);
    for (const char *at = raw; *at != '\0'; at++) {
        if (*at == '\'')
            (void)fputs("'\\''", stream);
        else
            (void)fputc(*at, stream);
    }
    (void)fputc('\'', stream);
}

char *cf_escape_shell(const char *raw) {
    if (is_plain_word(raw))
        return strdup(raw);
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    if (stream == NULL)
        return NULL;
    if (*raw == '-')
        (void)fputs("./", stream);
    if (needs_ansi_quotes(raw))
        write_ansi_quoted(stream, raw);
    else
        write_quoted(stream, raw);
    return stream_text(stream, &text);
}

/* Bytes and columns of the character at `text`. */
static size_t next_character(const char *text, size_t *columns) {
    uint32_t point;
    size_t bytes = cf_utf8_decode(text, &point);
    int width = bytes == 0 ? 1 : wcwidth((wchar_t)point);
    *columns = width < 0 ? 1 : (size_t)width;
    return bytes == 0 ? 1 : bytes;
}

size_t cf_text_width(const char *text) {
    size_t width = 0;
    while (*text != '\0') {
        size_t columns;
        text += next_character(text, &columns);
        width += columns;
    }
    return width;
}

/* The first line of `text` that fits into `width` columns: its bytes, broken at a space where there
 * is one, else after a slash, else anywhere between characters; at least one character. `*next` is
 * where the following line begins, with the spaces between left out. */
static size_t take_line(const char *text, size_t width, const char **next) {
    const char *at = text;
    const char *space = NULL; /* the last one that could end the line */
    const char *slash = NULL; /* after the last slash of a path */
    size_t used = 0;
    while (*at != '\0') {
        size_t columns;
        size_t bytes = next_character(at, &columns);
        if (*at == ' ' && at != text && at[-1] != ' ')
            space = at;
        if (used + columns > width && at != text)
            break;
        used += columns;
        at += bytes;
        if (at[-1] == '/')
            slash = at;
    }
    const char *end = *at == '\0' ? at : space != NULL ? space : slash != NULL ? slash : at;
    *next = end + strspn(end, " ");
    return (size_t)(end - text);
}

void cf_text_wrap(FILE *sink, const char *text, size_t width, const char *first, const char *rest) {
    const char *margin = first;
    do {
        size_t taken = cf_text_width(margin);
        const char *next;
        size_t len = take_line(text, width > taken ? width - taken : 1, &next);
        (void)fprintf(sink, "%s%.*s\n", margin, (int)len, text);
        text = next;
        margin = rest;
    } while (*text != '\0');
}
