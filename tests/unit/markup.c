#include "markup.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH_MAX = 64, NAME_BYTES = 32 };

struct reader {
    const char *page;
    const char *at;
    size_t depth;
    char open[DEPTH_MAX][NAME_BYTES];
};

size_t markup_count(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        count++;
    return count;
}

__attribute__((noreturn)) static void fault(const struct reader *reader, const char *what) {
    size_t before = (size_t)(reader->at - reader->page);
    fail_msg("%s near: %.80s", what, reader->at - (before < 20 ? before : 20));
    __builtin_unreachable();
}

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void read_name(struct reader *reader, char out[NAME_BYTES]) {
    size_t len = 0;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '-') {
        if (len + 1 == NAME_BYTES)
            fault(reader, "a name too long");
        out[len++] = *reader->at++;
    }
    if (len == 0)
        fault(reader, "no name");
    out[len] = '\0';
}

static void read_value(struct reader *reader) {
    if (*reader->at == '"') {
        const char *end = strchr(reader->at + 1, '"');
        if (end == NULL)
            fault(reader, "a quote that does not end");
        if (memchr(reader->at, '<', (size_t)(end - reader->at)) != NULL)
            fault(reader, "an angle in a value");
        reader->at = end + 1;
        return;
    }
    if (!isalnum((unsigned char)*reader->at) && *reader->at != '-')
        fault(reader, "a value that needs quotes");
    while (isalnum((unsigned char)*reader->at) || *reader->at == '-')
        reader->at++;
}

/* Attributes that could run or load something, or that the page's policy forbids. */
static void check_attribute(const struct reader *reader, const char *name) {
    static const char *const forbidden[] = {"style", "src",  "srcset", "action", "formaction",
                                            "data",  "code", "poster", NULL};
    if (strncmp(name, "on", 2) == 0 || is_one_of(name, forbidden))
        fault(reader, "an attribute that a page of ours does not have");
    if (strcmp(name, "href") == 0 && strncmp(reader->at, "\"#", 2) != 0 && *reader->at != '#')
        fault(reader, "a link that leads out of the page");
}

static void read_attributes(struct reader *reader) {
    for (;;) {
        while (isspace((unsigned char)*reader->at))
            reader->at++;
        if (*reader->at == '>' || strncmp(reader->at, "/>", 2) == 0)
            return;
        char name[NAME_BYTES];
        read_name(reader, name);
        if (*reader->at != '=')
            continue;
        reader->at++;
        check_attribute(reader, name);
        if (*reader->at == '#') /* href=#main */
            reader->at++;
        read_value(reader);
    }
}

/* Ends elements that another one ends by HTML's rules. */
static void end_open(struct reader *reader, const char *const *names) {
    while (reader->depth > 0 && is_one_of(reader->open[reader->depth - 1], names))
        reader->depth--;
}

static void open_element(struct reader *reader, const char *name) {
    static const char *const cells[] = {"td", "th", NULL};
    static const char *const rows[] = {"td", "th", "tr", NULL};
    static const char *const items[] = {"li", NULL};
    if (is_one_of(name, cells))
        end_open(reader, cells);
    else if (strcmp(name, "tr") == 0 || strcmp(name, "tbody") == 0)
        end_open(reader, rows);
    else if (strcmp(name, "li") == 0)
        end_open(reader, items);
    if (reader->depth == DEPTH_MAX)
        fault(reader, "too deep");
    (void)strcpy(reader->open[reader->depth++], name);
}

static void close_element(struct reader *reader, const char *name) {
    static const char *const optional[] = {"td", "th", "tr", "li", NULL};
    if (!is_one_of(name, optional))
        end_open(reader, optional);
    if (reader->depth == 0 || strcmp(reader->open[reader->depth - 1], name) != 0)
        fault(reader, "an element ends that is not the last one open");
    reader->depth--;
}

/* Scripts and styles: up to their own end, whatever stands in them. */
static void skip_raw(struct reader *reader, const char *name) {
    char end[NAME_BYTES + 4] = "</";
    (void)strcat(strcat(end, name), ">");
    const char *at = strstr(reader->at, end);
    if (at == NULL)
        fault(reader, "a script or style without an end");
    reader->at = at;
}

static void read_tag(struct reader *reader) {
    static const char *const voids[] = {"meta", "br", NULL};
    char name[NAME_BYTES];
    bool is_end = *reader->at == '/';
    reader->at += is_end;
    read_name(reader, name);
    if (!is_end)
        read_attributes(reader);
    bool is_empty = strncmp(reader->at, "/>", 2) == 0;
    reader->at += is_empty;
    if (*reader->at != '>')
        fault(reader, "a tag that does not end");
    reader->at++;
    if (is_end) {
        close_element(reader, name);
    } else if (!is_empty && !is_one_of(name, voids)) {
        open_element(reader, name);
        if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)
            skip_raw(reader, name);
    }
}

void markup_check(const char *page) {
    static const char doctype[] = "<!DOCTYPE html>";
    struct reader reader = {.page = page, .at = page};
    assert_int_equal(strncmp(page, doctype, sizeof doctype - 1), 0);
    reader.at += sizeof doctype - 1;
    while (*reader.at != '\0') {
        if (*reader.at == '>')
            fault(&reader, "an angle that ends nothing");
        if (*reader.at++ == '<')
            read_tag(&reader);
    }
    if (reader.depth != 0)
        fault(&reader, reader.open[reader.depth - 1]);
}
