/* The page: whole and harmless whatever the core calls things, small whatever the heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "markup.h"
#include "report/html.h"
#include "review.h"

enum { PAGE_BYTES = 2000 * 1000 };

static const struct cf_report_options html = {.format = CF_FORMAT_HTML};
static const struct cf_report_options full = {.format = CF_FORMAT_HTML, .full = true};

/* Heaps and pages of the three arenas of the incident. */
#define HEAPS                                                                                      \
    "INSERT INTO heap (heap_id, arena_id, start, first_chunk, end, reserved_end, resident_bytes, " \
    "live_chunks, live_bytes, free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, "      \
    "fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes) "                         \
    "SELECT arena_id, arena_id, 139637972533248 + arena_id * 67108864, 0, "                        \
    "139637972533248 + arena_id * 67108864 + mapped_bytes, 0, resident_bytes, live_chunks, "       \
    "live_bytes, 0, free_bytes, 0, 0, top_bytes, 0, 0, holes, hole_bytes, largest_hole_bytes "     \
    "FROM arena;"                                                                                  \
    "INSERT INTO page_run SELECT heap_id, start, 32, 'mixed', 1, 4000 FROM heap UNION ALL "        \
    "SELECT heap_id, start + 131072, (end - start) / 4096 - 32, 'releasable', 1, 0 FROM heap;"

static void a_page_is_well_formed(void **state) {
    (void)state;
    static const struct {
        const char *core;
        const char *rows;
    } cases[] = {
        {review_complete, review_incident},
        {review_zero_pages, review_incident},
        {review_blind, review_incident},
        {review_cut, review_incident},
        {review_complete, ""},
        {review_cut, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *page = review_report(cases[i].core, cases[i].rows, i % 2 == 0 ? &html : &full);
        markup_check(page);
        free(page);
    }
}

static void a_page_asks_for_nothing_else(void **state) {
    (void)state;
    char *page = review_report(review_complete, review_incident, &html);
    review_says(page, "default-src 'none'");
    review_says(page, "script-src 'sha256-");
    review_does_not_say(page, "unsafe-");
    assert_int_equal(markup_count(page, "https:"), 0);
    assert_int_equal(markup_count(page, "@import"), 0);
    /* The namespace of SVG is the only address, and it is only a name. */
    assert_int_equal(markup_count(page, "http:"), markup_count(page, "http://www.w3.org/2000/svg"));
    free(page);
}

static void each_section_stands_where_a_review_wants_it(void **state) {
    (void)state;
    static const char *const order[] = {
        "<section id=\"verdict\"",  "<section id=\"evidence\"", "<section id=\"waste\"",
        "<section id=\"budget\"",   "<section id=\"arenas\"",   "<section id=\"map\"",
        "<section id=\"pins\"",     "<section id=\"holes\"",    "<section id=\"sizes\"",
        "<section id=\"threads\"",  "<section id=\"whatif\"",   "<section id=\"advice\"",
        "<section id=\"database\"",
    };
    char rows[16384];
    (void)snprintf(rows, sizeof rows, "%s%s%s", review_incident, HEAPS,
                   "INSERT INTO anomaly (source, code, is_corruption, detail) VALUES ('core', "
                   "'cut', 0, 'cut');");
    char *page = review_report(review_complete, rows, &html);
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const char *found = strstr(at, order[i]);
        if (found == NULL)
            fail_msg("%s is missing, or stands too early", order[i]);
        at = found;
    }
    free(page);
}

/* What a program may call itself, its files and its types. */
static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'' onmouseover=alert(1) ",
    "</script><script>alert(1)</script>",
    "</title></style></textarea>--></table><svg onload=alert(1)>",
    "\xe2\x80\xae"
    "fdp.exe",
    "\x1b[2J\x07\x0b",
    "\xff\xc0\xaf\xed\xa0\x80",
    "javascript:alert(1)//&lt;",
    "]]><!--",
};

/* Puts `name` wherever a name can come from; quotes in it are doubled already. */
static char *hostile_rows(const char *name) {
    static const char format[] =
        "%s%sUPDATE budget SET label = '%s', kind = kind || '%s' WHERE kind = 'other anonymous';"
        "UPDATE top_pin SET type = '%s', holder = '%s'; UPDATE page_pin SET type = '%s';"
        "UPDATE tunable SET value = '%s', note = '%s' WHERE name = 'arena_max';"
        "UPDATE thread SET top_frame = '%s';"
        "INSERT INTO anomaly (source, code, is_corruption, detail) VALUES ('heap', '%s', 0, '%s');";
    char *rows = NULL;
    assert_true(asprintf(&rows, format, review_incident, HEAPS, name, name, name, name, name, name,
                         name, name, name, name) > 0);
    return rows;
}

static void names_cannot_become_markup(void **state) {
    (void)state;
    char *plain = review_report(review_complete, review_incident, &html);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        char *rows = hostile_rows(hostile[i]);
        char core[4096];
        (void)snprintf(core, sizeof core, "%sUPDATE meta SET value = '%s' WHERE key IN %s;",
                       review_complete, hostile[i],
                       "('exe', 'core_path', 'libc_path', 'machine', 'core_producer', "
                       "'tool_version', 'libc_build_id', 'malloc_layout', 'located_by')");
        char *page = review_report(core, rows, &html);
        markup_check(page);
        assert_int_equal(markup_count(page, "<script"), markup_count(plain, "<script"));
        assert_int_equal(markup_count(page, "<style"), 1);
        assert_int_equal(markup_count(page, "<img"), 0);
        assert_int_equal(markup_count(page, "\x1b") + markup_count(page, "\xe2\x80\xae"), 0);
        free(page);
        free(rows);
    }
    free(plain);
}

static void names_are_shown_as_they_are(void **state) {
    (void)state;
    char *rows = hostile_rows("a<b>&\"c\"");
    char *page = review_report(review_complete, rows, &html);
    review_says(page, "a&lt;b&gt;&amp;&quot;c&quot;");
    review_says(page, "a\\u003cb\\u003e\\u0026\\u0022c\\u0022"); /* in the map's data */
    free(page);
    free(rows);
}

static void what_is_not_known_is_not_drawn_as_zero(void **state) {
    (void)state;
    char *page = review_report(review_blind, review_incident, &html);
    char *arenas = strstr(page, "<section id=\"arenas\"");
    assert_non_null(arenas);
    *strstr(arenas, "</section>") = '\0';
    review_says(arenas, "unknown");
    review_does_not_say(arenas, "class=occ");
    free(page);
}

static void what_undercounts_is_marked(void **state) {
    (void)state;
    char *page = review_report(review_zero_pages, review_incident, &html);
    review_says(page, "≥&#160;resident");
    free(page);
}

static void exact_bytes_are_at_hand(void **state) {
    (void)state;
    char *page = review_report(review_complete, review_incident, &html);
    review_says(page, "title=\"8,388,608 B\">8.0 MiB");
    free(page);
}

/* ---- size ---- */

/* Two thousand arenas in five thousand heaps, each chequered, with names as long as they get. */
static const char large[] =
    "CREATE TEMP TABLE n (i INTEGER PRIMARY KEY);"
    "WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 4999) "
    "INSERT INTO n SELECT i FROM c;"
    "CREATE TEMP TABLE name AS SELECT printf('%.*c', 4000, '<') AS text;"
    "INSERT INTO arena (arena_id, namespace, address, is_main, in_ring, threads, "
    "attached_threads, system_bytes, max_system_bytes, top_field_bytes, binned_chunks, "
    "binned_bytes, fastbin_chunks, fastbin_bytes, heaps, mapped_bytes, reserved_bytes, "
    "resident_bytes, live_chunks, live_bytes, free_chunks, free_bytes, fast_chunks, fast_bytes, "
    "tcache_chunks, tcache_bytes, top_bytes, fence_bytes, overhead_bytes, holes, hole_bytes, "
    "largest_hole_bytes, releasable_bytes, releasable_top_bytes, self_releasable_bytes, "
    "pinned_bytes) SELECT n.i, 0, n.i * 4096, 0, 1, 1, 1, system_bytes, max_system_bytes, "
    "top_field_bytes, binned_chunks, binned_bytes, fastbin_chunks, fastbin_bytes, heaps, "
    "mapped_bytes, reserved_bytes, resident_bytes + n.i, live_chunks, live_bytes, free_chunks, "
    "free_bytes, fast_chunks, fast_bytes, tcache_chunks, tcache_bytes, top_bytes, fence_bytes, "
    "overhead_bytes, holes, hole_bytes, largest_hole_bytes, releasable_bytes, "
    "releasable_top_bytes, self_releasable_bytes, pinned_bytes FROM arena, n "
    "WHERE arena_id = 1 AND n.i BETWEEN 3 AND 1999;"
    "INSERT INTO waste SELECT n.i, class, class_order, bytes + n.i, 0 FROM waste, n "
    "WHERE arena_id = 1 AND n.i BETWEEN 3 AND 1999;"
    "INSERT INTO heap (heap_id, arena_id, start, first_chunk, end, reserved_end, resident_bytes, "
    "live_chunks, live_bytes, free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, "
    "fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes) "
    "SELECT i, i % 2000, 137438953472 + i * 67108864, 0, 137438953472 + i * 67108864 + 67108864, "
    "0, 60000000, 1, 4000000 + i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n;"
    "INSERT INTO page_run SELECT h.heap_id, h.start + n.i * 1677721 / 4096 * 4096, 1 + n.i % 400, "
    "CASE n.i % 5 WHEN 0 THEN 'live' WHEN 1 THEN 'releasable' WHEN 2 THEN 'mixed' WHEN 3 "
    "THEN 'dead' ELSE 'top' END, n.i % 7 > 0, 1234567 + n.i FROM heap h, n WHERE n.i < 40;"
    "INSERT INTO top_pin (arena_id, rank, heap_id, address, size_bytes, hole_below_bytes, "
    "unlocked_bytes, unlocked_resident_bytes, type, holder) SELECT i % 2000, 1 + i / 2000, i, "
    "137438953472 + i * 67108864 + 40000, "
    "80, 4096, 1000000 + i, 1000000, text, text FROM n, name WHERE i > 2;"
    "INSERT INTO hole (arena_id, heap_id, address, size_bytes, chunks, resident_bytes, "
    "releasable_bytes) SELECT i % 2000, i, 137438953472 + i * 67108864 + 8192, 5000000 + i, 3, "
    "4000000, 3000000 FROM n;"
    "INSERT INTO page_pin (arena_id, size_bytes, type, chunks, live_bytes, pinned_bytes) "
    "SELECT i % 2000, 16 * i + 32, text, 10, 26240, 40960 FROM n, name;"
    "INSERT INTO size_class SELECT i % 2000, 'live', 16 * i + 32, 100 FROM n;"
    "INSERT INTO thread (thread_id, tid, arena_id, stack_pointer, stack_start, stack_end, "
    "stack_resident_bytes, is_crashing, top_frame) SELECT i, i, i % 2000, 0, 0, 8192, 4096, 0, "
    "text FROM n, name WHERE i > 1;"
    "INSERT INTO anomaly (source, code, is_corruption, detail) SELECT 'heap', 'kind-' || i, 0, "
    "text FROM n, name;";

static void a_page_stays_below_two_megabytes(void **state) {
    (void)state;
    char *rows = NULL;
    assert_true(asprintf(&rows, "%s%s", review_incident, large) > 0);
    struct cf_db *db = review_db(review_complete, rows);
    const struct cf_report_options *const options[] = {&html, &full};
    for (size_t i = 0; i < 2; i++) {
        struct cf_doc *doc = review_doc(db, options[i]);
        char *page = review_print(doc, options[i]);
        size_t bytes = strlen(page);
        if (bytes > PAGE_BYTES)
            fail_msg("%zu bytes", bytes);
        markup_check(page);
        /* It is not kept small by leaving heaps out of the map. */
        assert_true(markup_count(page, ",\n[") > 3000);
        review_says(page, "more in the database.");
        free(page);
        cf_doc_free(doc);
    }
    cf_db_free(db);
    free(rows);
}

/* ---- parts ---- */

static char *written(void (*write)(struct cf_html *, const char *), const char *raw) {
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    assert_non_null(stream);
    struct cf_html page = {.sink = stream, .max_rows = 10};
    write(&page, raw);
    assert_int_equal(fclose(stream), 0);
    assert_false(page.failed);
    return text;
}

static void write_short(struct cf_html *page, const char *raw) {
    cf_html_text(page, raw, 8);
}

static void write_json(struct cf_html *page, const char *raw) {
    cf_html_json(page, raw, 40);
}

static void texts_are_escaped_and_cut_between_characters(void **state) {
    (void)state;
    static const struct {
        void (*write)(struct cf_html *, const char *);
        const char *raw;
        const char *expected;
    } cases[] = {
        {write_short, "", ""},
        {write_short, "a<b", "a&lt;b"},
        {write_short, "'\"&", "&#39;&quot;&amp;"},
        {write_short, "12345678", "12345678"},
        {write_short, "123456789", "12345678…"},
        {write_short, "1234567é", "1234567…"},
        {write_short, "\xe2\x80\xae", "\\u{202e}"},
        {cf_html_code, "a\\b < 'c'", "a\\b &lt; &#39;c&#39;"},
        {write_json, "", "\"\""},
        {write_json, "</script>", "\"\\u003c/script\\u003e\""},
        {write_json, "a\"b\n", "\"a\\u0022b\\u005cx0a\""},
        {write_json, "é", "\"é\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = written(cases[i].write, cases[i].raw);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_well_formed),
        cmocka_unit_test(a_page_asks_for_nothing_else),
        cmocka_unit_test(each_section_stands_where_a_review_wants_it),
        cmocka_unit_test(names_cannot_become_markup),
        cmocka_unit_test(names_are_shown_as_they_are),
        cmocka_unit_test(what_is_not_known_is_not_drawn_as_zero),
        cmocka_unit_test(what_undercounts_is_marked),
        cmocka_unit_test(exact_bytes_are_at_hand),
        cmocka_unit_test(a_page_stays_below_two_megabytes),
        cmocka_unit_test(texts_are_escaped_and_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
