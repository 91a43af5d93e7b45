/* The page: its frame, its sections in the order of a review, what leads to them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "html_assets.h"
#include "report/emit.h"
#include "report/html.h"

enum { PAGE_BYTES_MAX = 2000 * 1000 };

/* The order of a page, and the words that lead to a section. Sections that are not named here
 * stand before the last one. */
static const struct html_place {
    const char *id;
    const char *word;
} places[] = {
    {"verdict", "Verdict"},     {"figures", "Figures"},   {"evidence", "Evidence"},
    {"waste", "Where it goes"}, {"budget", "Process"},    {"mappings", "Mappings"},
    {"arenas", "Arenas"},       {"map", "Heap map"},      {"pins", "Pins"},
    {"leaks", "Leaks"},         {"holes", "Holes"},       {"sizes", "Sizes"},
    {"types", "Types"},         {"threads", "Threads"},   {"tunables", "Settings"},
    {"whatif", "What if"},      {"advice", "Advice"},     {"anomalies", "Anomalies"},
    {"limits", "Limits"},       {"database", "Database"},
};
enum { NR_PLACES = sizeof places / sizeof places[0] };

static size_t place_of(const struct cf_section *section) {
    for (size_t i = 0; i < NR_PLACES; i++)
        if (strcmp(places[i].id, section->id) == 0)
            return i;
    return NR_PLACES;
}

/* The title's parts stand two spaces or more from each other. */
static void put_title(struct cf_html *html, const char *title) {
    CF_CLEANUP_FREE char *copy = strdup(title);
    if (copy == NULL) {
        html->failed = true;
        return;
    }
    for (char *at = copy; *at != '\0';) {
        char *gap = strstr(at, "  ");
        if (gap != NULL)
            *gap = '\0';
        (void)fputs("<span>", html->sink);
        cf_html_text(html, at, CF_HTML_CELL_BYTES);
        (void)fputs("</span> ", html->sink);
        if (gap == NULL)
            return;
        at = gap + 1 + strspn(gap + 1, " ");
    }
}

static void put_head(struct cf_html *html, const char *title) {
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'sha256-" CF_HTML_CSS_SHA256 "'; script-src 'sha256-" CF_HTML_JS_SHA256
                "'; base-uri 'none'; form-action 'none'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"referrer\" content=\"no-referrer\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                html->sink);
    cf_html_text(html, title, CF_HTML_CELL_BYTES);
    (void)fprintf(html->sink, "</title>\n<style>%s</style>\n</head>\n", html_css);
}

/* Hatches for drawings, so that colour is not all that tells classes apart. */
static void put_hatches(struct cf_html *html) {
    static const struct {
        const char *id;
        const char *path;
    } hatches[] = {
        {"h-releasable", "M-1 7L7-1M3 11L11 3"},
        {"h-pinned", "M0 4h8M4 0v8"},
        {"h-top", "M0 4h8"},
        {"h-cached", "M4 0v8"},
        {"h-edge", "M-1 1L7 9M3-3L11 5"},
        {"h-mmapped", "M3 4h2"},
        {"h-absent", "M0 8L8 0"},
    };
    (void)fputs("<svg class=defs aria-hidden=true><defs>", html->sink);
    for (size_t i = 0; i < sizeof hatches / sizeof hatches[0]; i++)
        (void)fprintf(html->sink,
                      "<pattern id=\"%s\" width=\"8\" height=\"8\" "
                      "patternUnits=\"userSpaceOnUse\"><path d=\"%s\"/></pattern>",
                      hatches[i].id, hatches[i].path);
    (void)fputs("</defs></svg>\n", html->sink);
}

static void put_block(struct cf_html *html, const struct cf_block *block) {
    static const char *const tones[] = {[CF_TONE_PLAIN] = "plain",
                                        [CF_TONE_LEAD] = "lead",
                                        [CF_TONE_WARNING] = "warning",
                                        [CF_TONE_FAINT] = "faint"};
    switch (block->kind) {
    case CF_BLOCK_TEXT:
        (void)fprintf(html->sink, "<p class=%s>", tones[block->tone]);
        cf_html_text(html, block->text, CF_HTML_PARAGRAPH_BYTES);
        (void)fputs("</p>\n", html->sink);
        return;
    case CF_BLOCK_CODE:
        cf_html_sql(html, block->text);
        return;
    case CF_BLOCK_TABLE:
        cf_html_table(html, block->table);
        return;
    case CF_BLOCK_MAP:
        if (block->map != NULL)
            cf_html_map(html, block->map);
        if (block->text != NULL)
            cf_html_sql(html, block->text);
        return;
    }
}

static void put_section(struct cf_html *html, const struct cf_section *section, size_t place) {
    (void)fprintf(html->sink, "<section id=\"%s\"", section->id);
    if (section->title == NULL && place < NR_PLACES)
        (void)fprintf(html->sink, " aria-label=\"%s\"", places[place].word);
    (void)fputs(">\n", html->sink);
    if (section->title != NULL) {
        (void)fputs("<h2>", html->sink);
        cf_html_text(html, section->title, CF_HTML_CELL_BYTES);
        (void)fputs("</h2>\n", html->sink);
    }
    for (size_t i = 0; i < section->blocks.len; i++)
        put_block(html, &section->blocks.items[i]);
    (void)fputs("</section>\n", html->sink);
}

static void put_link(struct cf_html *html, const struct cf_section *section, size_t place) {
    (void)fprintf(html->sink, "<li><a href=\"#%s\">", section->id);
    if (place < NR_PLACES)
        (void)fputs(places[place].word, html->sink);
    else
        cf_html_text(html, section->title == NULL ? section->id : section->title, 40);
    (void)fputs("</a>\n", html->sink);
}

/* Calls `put` for each section in the page's order. */
static void each_section(struct cf_html *html, const struct cf_doc *doc,
                         void (*put)(struct cf_html *, const struct cf_section *, size_t)) {
    for (size_t at = 0; at <= NR_PLACES; at++) {
        /* The database is the last; before it what has no place. */
        size_t place = at == NR_PLACES ? NR_PLACES - 1 : at == NR_PLACES - 1 ? NR_PLACES : at;
        for (size_t i = 0; i < doc->sections.len; i++)
            if (place_of(doc->sections.items[i]) == place)
                put(html, doc->sections.items[i], place);
    }
}

static void put_page(struct cf_html *html, const struct cf_doc *doc) {
    const char *title = doc->title == NULL ? "corefrag" : doc->title;
    put_head(html, title);
    (void)fputs("<body>\n<a class=skip href=\"#main\">To the report</a>\n", html->sink);
    put_hatches(html);
    (void)fputs("<header><h1>", html->sink);
    put_title(html, title);
    (void)fputs("</h1><div id=tools></div></header>\n<nav aria-label=\"Sections\"><ul>\n",
                html->sink);
    each_section(html, doc, put_link);
    (void)fputs("</ul></nav>\n<main id=main tabindex=\"-1\">\n", html->sink);
    each_section(html, doc, put_section);
    (void)fprintf(html->sink, "</main>\n<script>%s</script>\n</body>\n</html>\n", html_js);
}

/* The page with at most `max_rows` rows in a table; NULL when memory is out. The caller frees. */
static char *render(const struct cf_doc *doc, const struct cf_report_options *options,
                    size_t max_rows, size_t *len) {
    char *page = NULL;
    FILE *stream = open_memstream(&page, len);
    if (stream == NULL)
        return NULL;
    struct cf_html html = {.sink = stream, .exact = options->full, .max_rows = max_rows};
    put_page(&html, doc);
    bool failed = html.failed || ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return page;
    free(page);
    return NULL;
}

int cf_emit_html(const struct cf_doc *doc, const struct cf_report_options *options, FILE *sink,
                 struct cf_err *err) {
    /* A page that is too large is written again with fewer rows: there is always an end to it. */
    static const size_t limits[] = {1000, 300, 100, 30, 10};
    CF_CLEANUP_FREE char *page = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        free(page);
        page = render(doc, options, limits[i], &len);
        if (page == NULL)
            return cf_err_nomem(err, 0, "the page of the report");
        if (len <= PAGE_BYTES_MAX)
            break;
    }
    (void)fwrite(page, 1, len, sink);
    return CF_OK;
}
