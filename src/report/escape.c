#include "report/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t cf_utf8_decode(const char *text, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] == 0)
        return 0;
    if (at[0] < 0x80) {
        *out = at[0];
        return 1;
    }
    size_t bytes = at[0] >= 0xf0 && at[0] < 0xf8 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 0;
    if (bytes == 0 || at[0] >= 0xf8)
        return 0;
    uint32_t point = at[0] & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[bytes] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 0;
    *out = point;
    return bytes;
}

/* Control, format, direction and separator characters; tags and private variations with them. */
static bool is_hostile(uint32_t point) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},   {0x115f, 0x1160},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* Writes one piece of the escaped text and returns how many bytes of `at` it stands for. */
static size_t write_escaped(FILE *sink, const char *at, bool double_backslash) {
    uint32_t point;
    size_t bytes = cf_utf8_decode(at, &point);
    if (bytes == 0) {
        (void)fprintf(sink, "\\x%02x", (unsigned char)*at);
        return 1;
    }
    if (point == '\\' && double_backslash)
        (void)fputs("\\\\", sink);
    else if (!is_hostile(point))
        (void)fwrite(at, 1, bytes, sink);
    else if (point < 0x80)
        (void)fprintf(sink, "\\x%02x", (unsigned)point);
    else
        (void)fprintf(sink, "\\u{%x}", (unsigned)point);
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
    for (const char *at = raw; *at != '\0';) {
        uint32_t point;
        size_t bytes = cf_utf8_decode(at, &point);
        if (bytes == 0 || is_hostile(point))
            return true;
        at += bytes;
    }
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
