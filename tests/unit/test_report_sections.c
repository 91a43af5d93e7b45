/* The report of a database: what its sections say, and how they degrade. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/text.h"
#include "review.h"
#include "rules/rules.h"

static const struct cf_report_options plain;

static void an_incident_reads_as_its_golden_text(void **state) {
    (void)state;
    char *text = review_report(review_complete, review_incident, &plain);
    review_golden("incident.txt", text);
    free(text);
}

static void all_of_an_incident_reads_as_its_golden_text(void **state) {
    (void)state;
    char *text =
        review_report(review_complete, review_incident, &(struct cf_report_options){.full = true});
    review_golden("incident-full.txt", text);
    free(text);
}

static void the_verdict_has_the_numbers_that_matter(void **state) {
    (void)state;
    char *text = review_report(review_complete, review_incident, &plain);
    review_says(text, "FREED BUT NOT RETURNED: 11.0 MiB of 12.0 MiB resident heap");
    review_says(text, "It is not a leak: nothing is unreachable.");
    review_says(text, "malloc_trim(0) would return 8.1 MiB now");
    review_says(text, "by 4,510 live chunks on the same pages, most of it by those of 80 B (Se");
    review_says(text, "global g_sessions+0x40 (server).");
    review_says(text, "1 arena serves no thread");
    review_says(text, "residency exact");
    review_says(text, "SIGABRT");
    free(text);
}

/* Tenths are rounded together: 1.0 + 11.0 + 0.1 + 3.9 are what stands in front. */
static void what_is_resident_stands_in_one_line(void **state) {
    (void)state;
    char *text = review_report(review_complete, review_incident, &plain);
    review_says(text, "RSS \u2265 16.0 MiB = 1.0 live + 11.0 freed + 0.1 stacks + 3.9 of unknown "
                      "use + ? of 2.1 MiB mapped files\n");
    free(text);
    text = review_report(review_blind, review_incident, &plain);
    review_says(text, "RSS unknown: nothing in this core says which pages were in memory.");
    free(text);
}

static void a_process_whose_files_are_counted_has_its_whole_rss(void **state) {
    (void)state;
    static const char counted[] =
        "UPDATE budget SET resident_bytes = 0 WHERE kind = 'modules';"
        "UPDATE budget SET resident_bytes = 40960 WHERE kind = 'module data';"
        "INSERT INTO budget (kind, label, is_anonymous, mappings, mapped_bytes, resident_bytes)"
        " VALUES ('huge pages', '', 0, 1, 2097152, 2097152);";
    char rows[16384];
    (void)snprintf(rows, sizeof rows, "%s%s", review_incident, counted);
    char *text = review_report(review_complete, rows, &plain);
    review_says(text, "RSS 16.0 MiB = 1.0 live + 11.0 freed + 0.1 stacks + 3.9 of unknown use; "
                      "beside it 2.0 MiB in huge\npages\n");
    free(text);
}

static void what_is_not_known_is_not_zero(void **state) {
    (void)state;
    char *text = review_report(review_blind, review_incident, &plain);
    review_says(text, "Where the resident heap goes: unknown");
    review_says(text, "releasable    unknown");
    review_says(text, "UNKNOWN: ");
    review_says(text, "residency unknown");
    review_says(text, "What was in memory");
    free(text);
}

static void what_undercounts_is_marked(void **state) {
    (void)state;
    char *text = review_report(review_zero_pages, review_incident, &plain);
    review_says(text, "Where the resident heap goes (at least)");
    review_says(text, "≥ resident");
    review_says(text, "≥ 8.1 MiB  at least");
    review_says(text, "residency at least");
    review_says(text, "Confidence: medium");
    free(text);
}

static void a_bound_is_marked(void **state) {
    (void)state;
    char *text = review_report(review_complete, review_incident, &plain);
    review_says(text, "8.1 MiB  exact");
    review_says(text, "≤ 1.5 MiB  bound");
    free(text);
}

static void an_incomplete_core_says_what_is_missing(void **state) {
    (void)state;
    char *text = review_report(review_cut, review_incident, &plain);
    review_says(text, "INCOMPLETE, ");
    review_says(text, "INCOMPLETE CORE: 117.7 MiB is missing");
    review_says(text, "Confidence: low; the core is incomplete");
    review_does_not_say(text, "serves no thread");
    free(text);
}

static void leaks_not_looked_for_are_not_denied(void **state) {
    (void)state;
    struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_err err;
    assert_int_equal(cf_db_exec(db,
                                "UPDATE meta SET value = 0 WHERE key = 'reachability';"
                                "DELETE FROM verdict; DELETE FROM finding;",
                                &err), CF_OK);
    assert_int_equal(cf_rules_judge(db, &err), CF_OK);
    struct cf_doc *doc = review_doc(db, &plain);
    char *text = review_print(doc, &plain);
    review_says(text, "leaks      not examined");
    review_does_not_say(text, "not a leak");
    free(text);
    cf_doc_free(doc);
    cf_db_free(db);
}

static void a_core_without_a_heap_reads_well(void **state) {
    (void)state;
    static const struct {
        const char *core;
        const char *rows;
        const char *sentence;
    } cases[] = {
        {review_complete, "", "OUTSIDE MALLOC: this core has no heap of glibc's malloc"},
        {review_cut, "", "UNKNOWN: the core is cut off before malloc's data; 117.7 MiB of it"},
        {review_complete, "INSERT INTO meta VALUES ('anonymous_dumped', 0);",
         "UNKNOWN: private anonymous memory was left out of this core"},
        {review_complete, "INSERT INTO meta VALUES ('other_allocator', 'jemalloc'), "
                          "('other_allocator_evidence', '/lib/libjemalloc.so.2');",
         "there is jemalloc: /lib/libjemalloc.so.2"},
        {"", "", "this core has no heap of glibc's malloc."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = review_report(cases[i].core, cases[i].rows, &plain);
        review_says(text, cases[i].sentence);
        review_does_not_say(text, "Arenas");
        review_does_not_say(text, "Holes");
        review_says(text, "sqlite3 core.7.db");
        free(text);
    }
}

static void anomalies_are_grouped(void **state) {
    (void)state;
    static const char more[] =
        "INSERT INTO anomaly (source, code, is_corruption, detail) VALUES ('heap', 'bad-size', 1, "
        "'size 0'), ('heap', 'bad-size', 1, 'size 1'), ('core', 'cut', 0, 'evil' || char(27) || "
        "'[2J');";
    char *text = review_report(review_complete, more, &plain);
    review_says(text, "bad-size      2");
    review_says(text, "evil\\x1b[2J");
    review_says(text, "CORRUPT: malloc's heap is damaged in 2 places");
    review_does_not_say(text, "\033");
    free(text);
}

static void silent(const char *text, const char *sentence) {
    if (strstr(text, sentence) != NULL)
        fail_msg("\"%s\" is in:\n%s", sentence, text);
}

/* Little is live in the incident: its sizes are for those who ask. */
static void a_page_of_text_leaves_out_what_explains_nothing(void **state) {
    (void)state;
    static const struct {
        const char *change;
        const char *said[3];
        const char *not_said[3];
    } cases[] = {
        {"",
         {"What pins it", "Holes between live chunks"},
         {"Live chunks by size", "The largest:", "What the live chunks are"}},
        {"UPDATE waste SET bytes = bytes * 100 WHERE class = 'live';"
         "UPDATE budget SET resident_bytes = 120000000 WHERE kind = 'malloc arena heaps';"
         "INSERT INTO type VALUES (1, 'Session', 'vtable', 6000, 480000, 0, 0, 4096, NULL, NULL);",
         {"What the live chunks are", "Session  "},
         {"Live chunks by size", "What pins it", "Holes between"}},
        {"UPDATE waste SET bytes = bytes * 100 WHERE class = 'live';"
         "UPDATE budget SET resident_bytes = 120000000 WHERE kind = 'malloc arena heaps';"
         "INSERT INTO type VALUES (0, NULL, 'size', 6000, 480000, 0, 0, 4096, NULL, NULL);",
         {"Live chunks by size", "(only its size is known)"},
         {"What pins it", "Holes between"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *rows = NULL;
        assert_true(asprintf(&rows, "%s%s", review_incident, cases[i].change) > 0);
        char *text = review_report(review_complete, rows, &plain);
        char *full = review_report(review_complete, rows,
                                   &(struct cf_report_options){.full = true});
        for (size_t j = 0; j < 3 && cases[i].said[j] != NULL; j++)
            review_says(text, cases[i].said[j]);
        for (size_t j = 0; j < 3 && cases[i].not_said[j] != NULL; j++)
            silent(text, cases[i].not_said[j]);
        review_says(full, "Live chunks by size");
        review_says(full, "What pins it");
        review_says(full, "The largest:");
        free(full);
        free(text);
        free(rows);
    }
}

static void a_confidence_has_its_reason(void **state) {
    (void)state;
    static const struct {
        const char *change;
        const char *reason;
    } cases[] = {
        {"UPDATE verdict SET code = 'leak', confidence = 'high'",
         "Confidence: high; no root is missing (checked: "},
        {"UPDATE verdict SET code = 'leak', confidence = 'low';"
         "UPDATE root SET missing_places = 1",
         "Confidence: low; pointers may stand where nobody could look. 1 stack"},
        {"UPDATE verdict SET code = 'leak', confidence = 'low';"
         "UPDATE root SET missing_places = 3",
         "Confidence: low; pointers may stand where nobody could look. 3 stacks"},
        {"UPDATE verdict SET code = 'retention', confidence = 'low'",
         "Confidence: low; one core cannot show growth."},
        {"UPDATE verdict SET code = 'outside-malloc', confidence = 'low'",
         "Confidence: low; a core does not tell how much of shared memory is resident."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_db *db = review_db(review_complete, review_incident);
        struct cf_err err;
        assert_int_equal(cf_db_exec(db, cases[i].change, &err), CF_OK);
        assert_int_equal(cf_rules_gather(db, &err), CF_OK);
        assert_int_equal(cf_rules_explain_confidence(db, &err), CF_OK);
        struct cf_doc *doc = review_doc(db, &plain);
        char *text = review_print(doc, &plain);
        review_says(text, cases[i].reason);
        free(text);
        cf_doc_free(doc);
        cf_db_free(db);
    }
}

static void rows_are_limited_and_counted(void **state) {
    (void)state;
    static const struct {
        struct cf_report_options options;
        const char *says;
    } cases[] = {
        {{.top = 2}, "... 50 more"},
        {{.top = 20}, "... 32 more"},
        {{.full = true}, "0x64000"},
        {{.full = true}, "4,096 B"},
    };
    struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_err err;
    assert_int_equal(cf_db_exec(db,
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                "WHERE i < 50) INSERT INTO hole (arena_id, heap_id, address, "
                                "size_bytes, chunks) SELECT 0, 0, i * 8192, 4096, 1 FROM n;",
                                &err), CF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_doc *doc = review_doc(db, &cases[i].options);
        char *text = review_print(doc, &cases[i].options);
        review_says(text, cases[i].says);
        free(text);
        cf_doc_free(doc);
    }
    cf_db_free(db);
}

/* Each query that the report prints runs as it stands. */
static void the_sql_that_it_prints_runs(void **state) {
    (void)state;
    struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_doc *doc = review_doc(db, &plain);
    struct cf_err err = {0};
    size_t ran = 0;
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct cf_section *section = doc->sections.items[i];
        for (size_t j = 0; j < section->blocks.len; j++) {
            const struct cf_block *block = &section->blocks.items[j];
            if (block->kind != CF_BLOCK_TABLE || block->table->sql == NULL)
                continue;
            if (cf_db_exec(db, block->table->sql, &err) != CF_OK)
                fail_msg("%s: %s", block->table->sql, err.text);
            ran++;
        }
    }
    assert_in_range(ran, 11, 100);
    cf_doc_free(doc);
    cf_db_free(db);
}

/* Whoever draws a chart relies on it. */
static void the_segments_of_the_waterfall_sum_to_its_last_row(void **state) {
    (void)state;
    struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_doc *doc = review_doc(db, &plain);
    const struct cf_table *chart = NULL;
    for (size_t i = 0; i < doc->sections.len; i++)
        if (strcmp(doc->sections.items[i]->id, "waste") == 0)
            chart = doc->sections.items[i]->blocks.items[0].table;
    assert_non_null(chart);
    assert_int_equal(chart->chart, CF_CHART_WATERFALL);
    size_t last = cf_table_nr_rows(chart) - 1;
    int64_t sum = 0;
    for (size_t row = 0; row < last; row++)
        sum += cf_table_cell(chart, row, CF_SEGMENT_BYTES)->integer;
    assert_int_equal(sum, cf_table_cell(chart, last, CF_SEGMENT_BYTES)->integer);
    assert_string_equal(cf_table_cell(chart, last, CF_SEGMENT_CLASS)->text, "");
    cf_doc_free(doc);
    cf_db_free(db);
}

static void no_two_sections_have_the_same_anchor(void **state) {
    (void)state;
    struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_doc *doc = review_doc(db, &(struct cf_report_options){.full = true});
    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(doc->sections.items[i]->id, doc->sections.items[j]->id);
    cf_doc_free(doc);
    cf_db_free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incident_reads_as_its_golden_text),
        cmocka_unit_test(all_of_an_incident_reads_as_its_golden_text),
        cmocka_unit_test(the_verdict_has_the_numbers_that_matter),
        cmocka_unit_test(what_is_resident_stands_in_one_line),
        cmocka_unit_test(a_process_whose_files_are_counted_has_its_whole_rss),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(what_undercounts_is_marked),
        cmocka_unit_test(a_bound_is_marked),
        cmocka_unit_test(an_incomplete_core_says_what_is_missing),
        cmocka_unit_test(leaks_not_looked_for_are_not_denied),
        cmocka_unit_test(a_core_without_a_heap_reads_well),
        cmocka_unit_test(anomalies_are_grouped),
        cmocka_unit_test(a_page_of_text_leaves_out_what_explains_nothing),
        cmocka_unit_test(a_confidence_has_its_reason),
        cmocka_unit_test(rows_are_limited_and_counted),
        cmocka_unit_test(the_sql_that_it_prints_runs),
        cmocka_unit_test(the_segments_of_the_waterfall_sum_to_its_last_row),
        cmocka_unit_test(no_two_sections_have_the_same_anchor),
    };
    return cmocka_run_group_tests_name("report/sections", tests, NULL, NULL);
}
