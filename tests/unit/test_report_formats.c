/* Markdown and JSON: what an incident looks like in them, and what a hostile name cannot do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/emit.h"
#include "review.h"

static const struct cf_report_options markdown = {.format = CF_FORMAT_MARKDOWN};
static const struct cf_report_options json = {.format = CF_FORMAT_JSON};

static void an_incident_reads_as_its_golden_markdown(void **state) {
    (void)state;
    char *text = review_report(review_zero_pages, review_incident, &markdown);
    review_golden("incident.md", text);
    free(text);
}

static void an_incident_reads_as_its_golden_json(void **state) {
    (void)state;
    char *text = review_report(review_zero_pages, review_incident, &json);
    review_golden("incident.json", text);
    free(text);
}

static void there_is_no_emitter_for_an_unknown_format(void **state) {
    (void)state;
    struct cf_doc *doc = cf_doc_new();
    struct cf_err err;
    const struct cf_report_options options = {.format = (enum cf_format)99};
    assert_int_equal(cf_emit(doc, &options, stderr, &err), CF_EUSAGE);
    cf_doc_free(doc);
}

/* A document in which everything that comes from a core is `name`. */
static struct cf_doc *document_of(const char *name) {
    static const struct cf_column columns[] = {
        {"file", "file", CF_UNIT_TEXT, 0},
        {"size", "size_bytes", CF_UNIT_BYTES, 0},
    };
    struct cf_doc *doc = cf_doc_new();
    assert_non_null(doc);
    cf_doc_title(doc, "%s", name);
    struct cf_section *section = cf_doc_section(doc, "names", name);
    cf_section_text(section, CF_TONE_PLAIN, "%s", name);
    cf_section_code(section, "%s", name);
    struct cf_table *table = cf_section_table(section, name, name, columns, 2);
    cf_table_text(table, name);
    cf_table_integer(table, 1, CF_MARK_EXACT);
    cf_table_fact(cf_section_facts(section), name, "%s", name);
    return doc;
}

static char *print_name(const char *name, const struct cf_report_options *options) {
    struct cf_doc *doc = document_of(name);
    char *text = review_print(doc, options);
    cf_doc_free(doc);
    return text;
}

static void a_name_shows_as_it_is_in_markdown(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *paragraph;
        const char *cell;
    } cases[] = {
        {"/usr/bin/python3", "/usr/bin/python3", "| /usr/bin/python3 |"},
        {"a|b", "a\\|b", "| a\\|b |"},
        {"`rm`", "\\`rm\\`", "| \\`rm\\` |"},
        {"*bold* _it_ ~~no~~", "\\*bold\\* \\_it\\_ \\~\\~no\\~\\~", "| \\*bold\\*"},
        {"arena_max", "arena_max", "| arena_max |"},
        {"[x](y)", "\\[x\\](y)", "| \\[x\\](y) |"},
        {"# title", "\\# title", "| \\# title |"},
        {"- item", "\\- item", "| \\- item |"},
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "| &lt;script&gt;"},
        {"a & b", "a &amp; b", "| a &amp; b |"},
        {"@team", "`@team`", "| `@team` |"},
        {"closes #12", "`closes #12`", "| `closes #12` |"},
        {"http://x.y/|", "`http://x.y/\\|`", "| `http://x.y/\\|` |"},
        {"@a``b", "``` @a``b ```", "| ``` @a``b ``` |"},
        {"red\033[31m", "red\\\\x1b\\[31m", "| red\\\\x1b\\[31m |"},
        {"two\nlines", "two\\\\x0alines", "| two\\\\x0alines |"},
        {"\342\200\256txt.exe", "\\\\u{202e}txt.exe", "| \\\\u{202e}txt.exe |"},
        {"bad \377", "bad \\\\xff", "| bad \\\\xff |"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = print_name(cases[i].name, &markdown);
        char line[128];
        (void)snprintf(line, sizeof line, "\n\n%s\n\n", cases[i].paragraph);
        review_says(text, line);
        review_says(text, cases[i].cell);
        assert_null(strpbrk(text, "\033\377"));
        free(text);
    }
}

/* Every row of a table has the same cells, whatever stands in them. */
static void a_row_of_markdown_is_one_line_with_its_cells(void **state) {
    (void)state;
    static const char *const names[] = {"a|b", "`|`", "@|`|", "\\|", "x\r\n| y | z |", "|"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *text = print_name(names[i], &markdown);
        size_t rows = 0;
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            size_t pipes = 0, backslashes = 0;
            for (const char *at = line; *at != '\0'; at++) {
                pipes += *at == '|' && backslashes % 2 == 0;
                backslashes = *at == '\\' ? backslashes + 1 : 0;
            }
            if (*line != '|')
                continue;
            assert_int_equal(pipes, 3);
            rows++;
        }
        assert_int_equal(rows, 3);
        free(text);
    }
}

static void a_name_comes_back_from_json(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *back;
    } cases[] = {
        {"/usr/bin/python3", NULL},
        {"\"quoted\" \\ back", NULL},
        {"<script>|`", NULL},
        {"esc \033[2J \r\n", NULL},
        {"gr\303\266\303\237e", NULL},
        {"\342\200\256txt.exe", NULL},
        {"bad \377\376", "bad \\xff\\xfe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = print_name(cases[i].name, &json);
        for (const char *at = text; *at != '\0'; at++)
            assert_true((*at >= 0x20 && *at < 0x7f) || *at == '\n');
        json_t *root = json_loads(text, 0, NULL);
        assert_non_null(root);
        json_t *section = json_array_get(json_object_get(root, "sections"), 0);
        json_t *table = json_array_get(json_object_get(section, "blocks"), 2);
        json_t *row = json_array_get(json_object_get(table, "rows"), 0);
        const char *back = cases[i].back == NULL ? cases[i].name : cases[i].back;
        assert_string_equal(json_string_value(json_object_get(root, "title")), back);
        assert_string_equal(json_string_value(json_object_get(row, "file")), back);
        json_decref(root);
        free(text);
    }
}

static void json_tells_unknown_from_what_does_not_apply(void **state) {
    (void)state;
    static const struct cf_column columns[] = {
        {"a", "a", CF_UNIT_BYTES, 0},   {"b", "b", CF_UNIT_BYTES, 0},
        {"c", "c", CF_UNIT_ADDRESS, 0}, {"d", "d", CF_UNIT_PERCENT, 0},
        {"e", "e", CF_UNIT_BYTES, 0},
    };
    struct cf_doc *doc = cf_doc_new();
    struct cf_table *table =
        cf_section_table(cf_doc_section(doc, "one", NULL), NULL, NULL, columns, 5);
    cf_table_unknown(table);
    cf_table_empty(table);
    cf_table_integer(table, -4096, CF_MARK_EXACT);
    cf_table_real(table, 0.0 / 0.0, CF_MARK_EXACT);
    cf_table_integer(table, INT64_MAX, CF_MARK_BOUND);
    char *text = review_print(doc, &json);
    review_says(text, "\"a\": null");
    review_does_not_say(text, "\"b\":");
    review_says(text, "\"c\": \"0xfffffffffffff000\"");
    review_says(text, "\"d\": null");
    review_says(text, "\"e\": 9223372036854775807");
    review_says(text, "\"exactness\": \"bound\"");
    free(text);
    cf_doc_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incident_reads_as_its_golden_markdown),
        cmocka_unit_test(an_incident_reads_as_its_golden_json),
        cmocka_unit_test(there_is_no_emitter_for_an_unknown_format),
        cmocka_unit_test(a_name_shows_as_it_is_in_markdown),
        cmocka_unit_test(a_row_of_markdown_is_one_line_with_its_cells),
        cmocka_unit_test(a_name_comes_back_from_json),
        cmocka_unit_test(json_tells_unknown_from_what_does_not_apply),
    };
    return cmocka_run_group_tests_name("report/formats", tests, NULL, NULL);
}
