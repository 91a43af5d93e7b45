/*
 * Writing into a page: texts escaped for markup or for JSON inside a script, after they were made
 * harmless and cut to a length.
 */
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/text.h"

/* Not more than `max_bytes` of `text`, cut between characters. */
static size_t fitting(const char *text, size_t max_bytes) {
    size_t len = strlen(text);
    if (len <= max_bytes)
        return len;
    len = max_bytes;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static void put_markup(FILE *sink, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '&':
            (void)fputs("&amp;", sink);
            break;
        case '<':
            (void)fputs("&lt;", sink);
            break;
        case '>':
            (void)fputs("&gt;", sink);
            break;
        case '"':
            (void)fputs("&quot;", sink);
            break;
        case '\'':
            (void)fputs("&#39;", sink);
            break;
        default:
            (void)fputc(text[i], sink);
        }
    }
}

/* Takes `escaped`, which is NULL when memory ran out. */
static void put_escaped(struct cf_html *html, char *escaped, size_t max_bytes) {
    CF_CLEANUP_FREE char *text = escaped;
    if (text == NULL) {
        html->failed = true;
        return;
    }
    size_t len = fitting(text, max_bytes);
    put_markup(html->sink, text, len);
    if (text[len] != '\0')
        (void)fputs("…", html->sink);
}

/* Escaped as far as `max_bytes` of it can reach: escaping never shortens, and a character that is
 * cut here stands beyond them. The caller frees; NULL when memory is out. */
static char *escape_head(const char *raw, size_t max_bytes) {
    enum { CHARACTER_BYTES = 4 };
    CF_CLEANUP_FREE char *head = strndup(raw, max_bytes + 2 * CHARACTER_BYTES);
    return head == NULL ? NULL : cf_escape_text(head);
}

void cf_html_text(struct cf_html *html, const char *raw, size_t max_bytes) {
    put_escaped(html, escape_head(raw, max_bytes), max_bytes);
}

void cf_html_code(struct cf_html *html, const char *raw) {
    put_escaped(html, cf_escape_code(raw), CF_HTML_CODE_BYTES);
}

void cf_html_json(struct cf_html *html, const char *raw, size_t max_bytes) {
    CF_CLEANUP_FREE char *text = escape_head(raw, max_bytes);
    if (text == NULL) {
        html->failed = true;
        return;
    }
    size_t len = fitting(text, max_bytes);
    (void)fputc('"', html->sink);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\' || byte == '<' || byte == '>' || byte == '&' || byte < 0x20)
            (void)fprintf(html->sink, "\\u%04x", byte);
        else
            (void)fputc(byte, html->sink);
    }
    (void)fputs(text[len] != '\0' ? "…\"" : "\"", html->sink);
}

void cf_html_share(struct cf_html *html, double fraction) {
    double clamped = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    unsigned parts = (unsigned)(clamped * 10000 + 0.5);
    if (parts % 100 == 0)
        (void)fprintf(html->sink, "%u%%", parts / 100);
    else
        (void)fprintf(html->sink, "%u.%02u%%", parts / 100, parts % 100);
}

/* In the order in which they are drawn. */
static const struct {
    const char *class;
    const char *style;
} known[] = {
    {"live", "live"},
    {"mmapped", "mmapped"},
    {"releasable", "releasable"},
    {"pinned", "pinned"},
    {"mixed", "pinned"},
    {"top", "top"},
    {"cached", "cached"},
    {"tcache", "cached"},
    {"fastbin", "cached"},
    {"cache-pinned", "cached"},
    {"edge", "edge"},
    {"dead", "edge"},
    {"kept", "edge"},
    {"overhead", "overhead"},
    {"saved", "releasable"},
    {"absent", "absent"},
    {"malloc arena heaps", "live"},
    {"malloc main heap", "top"},
    {"malloc mmapped chunks", "mmapped"},
    {"unattributed", "overhead"},
};
enum { NR_KNOWN = sizeof known / sizeof known[0] };

size_t cf_html_place(const char *class) {
    size_t place = 0;
    while (place < NR_KNOWN && strcmp(known[place].class, class) != 0)
        place++;
    return place;
}

const char *cf_html_style(const char *class, size_t nth) {
    static const char *const others[] = {"other0", "other1", "other2",
                                         "other3", "other4", "other5"};
    size_t place = cf_html_place(class);
    return place < NR_KNOWN ? known[place].style : others[nth % (sizeof others / sizeof others[0])];
}

void cf_html_swatch(struct cf_html *html, const char *style) {
    (void)fprintf(html->sink,
                  "<svg class=swatch aria-hidden=true><rect width=\"100%%\" height=\"100%%\" "
                  "class=\"k %s\"/><rect width=\"100%%\" height=\"100%%\" class=\"h %s\"/></svg>",
                  style, style);
}

void cf_html_sql(struct cf_html *html, const char *sql) {
    (void)fputs("<div class=sql><code>", html->sink);
    cf_html_code(html, sql);
    (void)fputs("</code></div>\n", html->sink);
}
