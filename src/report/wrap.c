#include "report/wrap.h"

#include <string.h>
#include <wchar.h>

#include "base/harmless.h"

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

size_t cf_text_line(const char *text, size_t width, const char **next) {
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
        size_t len = cf_text_line(text, width > taken ? width - taken : 1, &next);
        (void)fprintf(sink, "%s%.*s\n", margin, (int)len, text);
        text = next;
        margin = rest;
    } while (*text != '\0');
}
