/* The text emitter: what a document looks like on a terminal. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "report/emit.h"
#include "report/text.h"

static const struct cf_column columns[] = {
    {"arena", "arena", CF_UNIT_TEXT, 0},
    {"resident", "resident_bytes", CF_UNIT_BYTES, CF_IS_RESIDENCY},
    {"live", "live_percent", CF_UNIT_PERCENT, 0},
    {"share", "share", CF_UNIT_BAR, 0},
    {"address", "address", CF_UNIT_ADDRESS, 0},
};
enum { NR_COLUMNS = sizeof columns / sizeof columns[0] };

/* The document as text; the caller frees. */
static char *print(const struct cf_doc *doc, const struct cf_report_options *options) {
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    assert_non_null(stream);
    struct cf_err err;
    assert_int_equal(cf_emit_text(doc, options, stream, &err), CF_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void add_row(struct cf_table *table, const char *arena, int64_t resident, double live) {
    cf_table_text(table, arena);
    cf_table_integer(table, resident, CF_MARK_AT_LEAST);
    cf_table_real(table, live, CF_MARK_EXACT);
    cf_table_real(table, live / 100, CF_MARK_EXACT);
    cf_table_integer(table, 0x7f0000001000, CF_MARK_EXACT);
}

static struct cf_doc *small_document(void) {
    struct cf_doc *doc = cf_doc_new();
    assert_non_null(doc);
    cf_doc_title(doc, "corefrag %s", "0.1");
    struct cf_section *section = cf_doc_section(doc, "arenas", "Arenas");
    cf_section_text(section, CF_TONE_PLAIN, "%d arenas", 2);
    struct cf_table *table =
        cf_section_table(section, NULL, "SELECT * FROM v_arena", columns, NR_COLUMNS);
    add_row(table, "main", 117859942, 50);
    cf_table_text(table, "17");
    cf_table_unknown(table);
    cf_table_unknown(table);
    cf_table_empty(table);
    cf_table_integer(table, 0x1000, CF_MARK_EXACT);
    table->nr_more = 63;
    cf_table_fact(cf_section_facts(cf_doc_section(doc, "core", NULL)), "core", "%s", "core.1");
    assert_int_equal(cf_doc_status(doc, NULL), CF_OK);
    return doc;
}

/* The heading has six columns, the query twenty-one. */
#define QUERY_AT_THE_RIGHT                                                                         \
    "                                                                         "                  \
    "SELECT * FROM v_arena\n"

static void a_document_reads_as_text(void **state) {
    (void)state;
    struct cf_doc *doc = small_document();
    char *text = print(doc, &(struct cf_report_options){0});
    assert_string_equal(text, "corefrag 0.1\n"
                              "\n"
                              "Arenas" QUERY_AT_THE_RIGHT
                              "2 arenas\n"
                              "  arena  ≥ resident     live  share                 address\n"
                              "  main    112.4 MiB   50.0 %  █████████████  0x7f0000001000\n"
                              "  17        unknown  unknown                         0x1000\n"
                              "  ... 63 more (--full shows all)\n"
                              "\n"
                              "  core  core.1\n");
    free(text);
    cf_doc_free(doc);
}

static void full_shows_bytes_unrounded(void **state) {
    (void)state;
    struct cf_doc *doc = small_document();
    char *text = print(doc, &(struct cf_report_options){.full = true});
    assert_non_null(strstr(text, "117,859,942 B"));
    free(text);
    cf_doc_free(doc);
}

static void colour_comes_only_when_asked_for(void **state) {
    (void)state;
    struct cf_doc *doc = small_document();
    char *plain = print(doc, &(struct cf_report_options){0});
    char *coloured = print(doc, &(struct cf_report_options){.color = true});
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[1mArenas\033[0m"));
    free(plain);
    free(coloured);
    cf_doc_free(doc);
}

/* Columns of the widest line. */
static size_t widest_line(char *text) {
    size_t widest = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t width = cf_text_width(line);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static struct cf_doc *wide_document(const char *name) {
    struct cf_doc *doc = cf_doc_new();
    assert_non_null(doc);
    cf_doc_title(doc, "%s %s", name, name);
    struct cf_section *section = cf_doc_section(doc, "wide", name);
    cf_section_text(section, CF_TONE_LEAD, "%s", name);
    cf_section_code(section, "SELECT '%s'", name);
    struct cf_table *table = cf_section_table(section, name, name, columns, NR_COLUMNS);
    add_row(table, name, INT64_MAX, 99.99);
    cf_table_fact(cf_section_facts(section), "name", "%s", name);
    return doc;
}

static void no_line_is_wider_than_asked(void **state) {
    (void)state;
    static const char *const names[] = {
        "a plain sentence that is quite a bit longer than a hundred columns, so that it has to be "
        "broken somewhere between two of its words",
        "/a/path/without/any/space/that/is/longer/than/a/line/of/a/hundred/columns/and/has/to/be/"
        "broken/in/the/middle/of/a/name",
        "日本語の名前日本語の名前日本語の名前日本語の名前日本語の名前日本語の名前日本語の名前日本語"
        "の名前",
        "\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033\033",
    };
    static const unsigned widths[] = {80, 100, 132};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t j = 0; j < sizeof widths / sizeof widths[0]; j++) {
            struct cf_doc *doc = wide_document(names[i]);
            char *text = print(doc, &(struct cf_report_options){.width = widths[j]});
            assert_in_range(widest_line(text), 20, widths[j]);
            free(text);
            cf_doc_free(doc);
        }
    }
}

static void lines_break_where_a_reader_would(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t width;
        const char *lines;
    } cases[] = {
        {"", 5, "\n"},
        {"one", 5, "one\n"},
        {"one two three", 7, "one two\nthree\n"},
        {"one   two", 4, "one\ntwo\n"},
        {"/usr/lib/libc.so.6", 12, "/usr/lib/\nlibc.so.6\n"},
        {"abcdefghij", 4, "abcd\nefgh\nij\n"},
        {"日本語", 4, "日本\n語\n"},
        {"日本", 1, "日\n本\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = NULL;
        size_t len = 0;
        FILE *stream = open_memstream(&text, &len);
        assert_non_null(stream);
        cf_text_wrap(stream, cases[i].text, cases[i].width, "", "");
        assert_int_equal(fclose(stream), 0);
        assert_string_equal(text, cases[i].lines);
        free(text);
    }
}

static void a_hostile_name_cannot_draw(void **state) {
    (void)state;
    struct cf_doc *doc = wide_document("evil\033]0;title\007\nSQL: DROP\r");
    char *text = print(doc, &(struct cf_report_options){.width = 200});
    assert_null(strpbrk(text, "\033\007\r"));
    assert_null(strstr(text, "\nSQL: DROP"));
    assert_non_null(strstr(text, "evil\\x1b]0;title\\x07\\x0aSQL: DROP\\x0d"));
    free(text);
    cf_doc_free(doc);
}

static void the_callers_locale_stays(void **state) {
    (void)state;
    locale_t before = uselocale((locale_t)0);
    struct cf_doc *doc = small_document();
    char *text = print(doc, &(struct cf_report_options){0});
    assert_ptr_equal(uselocale((locale_t)0), before);
    free(text);
    cf_doc_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_reads_as_text),
        cmocka_unit_test(full_shows_bytes_unrounded),
        cmocka_unit_test(colour_comes_only_when_asked_for),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(lines_break_where_a_reader_would),
        cmocka_unit_test(a_hostile_name_cannot_draw),
        cmocka_unit_test(the_callers_locale_stays),
    };
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        return 1;
    return cmocka_run_group_tests_name("report/text", tests, NULL, NULL);
}
