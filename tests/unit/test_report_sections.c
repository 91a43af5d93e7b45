/* The report of a database: what its sections say, and how they degrade. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/emit.h"
#include "report/report.h"
#include "report/wrap.h"
#include "store/db.h"
#include "store/schema.h"

#define META                                                                                       \
    "INSERT INTO meta (key, value) VALUES ('tool_version', '0.1'), ('core_path', '/tmp/core.7'), " \
    "('core_bytes', 4096000), ('core_producer', 'kernel'), ('missing_bytes', 0), "                 \
    "('machine', 'x86_64'), ('word_bits', 64), ('page_bytes', 4096), ('pid', 7), "                 \
    "('signal', 6), ('threads', 3), ('anomalies', 0), ('exe', '/usr/bin/server');"
#define COMPLETE "INSERT INTO meta (key, value) VALUES ('core_complete', 1);"
#define CUT                                                                                        \
    "INSERT INTO meta (key, value) VALUES ('core_complete', 0);"                                   \
    "UPDATE meta SET value = 123456789 WHERE key = 'missing_bytes';"
#define EXACT                                                                                      \
    "INSERT INTO meta (key, value) VALUES ('residency_source', 'holes'), ('residency_exact', 1);"
#define ZERO_PAGES                                                                                 \
    "INSERT INTO meta (key, value) VALUES ('residency_source', 'zero-pages'), "                    \
    "('residency_exact', 0);"
#define NO_RESIDENCY                                                                               \
    "INSERT INTO meta (key, value) VALUES ('residency_source', 'none'), ('residency_exact', 0);"

/* One arena of 8 MiB; `RESIDENT` is its resident_bytes. */
#define ARENA(RESIDENT)                                                                            \
    "INSERT INTO arena (arena_id, namespace, address, is_main, in_ring, heaps, threads, "          \
    "system_bytes, max_system_bytes, mapped_bytes, reserved_bytes, resident_bytes, live_chunks, "  \
    "live_bytes, free_chunks, free_bytes, fast_chunks, fast_bytes, tcache_chunks, tcache_bytes, "  \
    "top_bytes, fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes, "              \
    "top_field_bytes, binned_chunks, binned_bytes, fastbin_chunks, fastbin_bytes) VALUES "         \
    "(0, 0, 4096, 1, 1, 1, 3, 8388608, 8388608, 8388608, 0, " RESIDENT ", 1000, 1048576, 20, "     \
    "4194304, 0, 0, 10, 1048576, 2095104, 0, 2048, 15, 5242880, 3145728, 2095104, 20, 4194304, "   \
    "0, 0);"

static struct cf_db *open_with(const char *rows) {
    struct cf_db *db = NULL;
    struct cf_err err = {0};
    int status = cf_db_open_memory(&db, &err);
    if (status == CF_OK)
        status = cf_db_exec(db, cf_schema_sql(), &err);
    if (status == CF_OK)
        status = cf_db_exec(db, rows, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
    return db;
}

/* The report of a database that holds `rows`; the caller frees. */
static char *report_of(const char *rows, const struct cf_report_options *options) {
    struct cf_db *db = open_with(rows);
    struct cf_doc *doc = NULL;
    struct cf_err err = {0};
    if (cf_report_build(db, "core.7.db", options, &doc, &err) != CF_OK)
        fail_msg("%s", err.text);
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    assert_non_null(stream);
    assert_int_equal(cf_emit_text(doc, options, stream, &err), CF_OK);
    assert_int_equal(fclose(stream), 0);
    cf_doc_free(doc);
    cf_db_free(db);
    return text;
}

static void assert_says(const char *text, const char *sentence) {
    if (strstr(text, sentence) == NULL)
        fail_msg("the report does not say \"%s\":\n%s", sentence, text);
}

static void assert_does_not_say(const char *text, const char *sentence) {
    if (strstr(text, sentence) != NULL)
        fail_msg("the report says \"%s\":\n%s", sentence, text);
}

static void the_headline_has_the_numbers_that_matter(void **state) {
    (void)state;
    char *text = report_of(META COMPLETE EXACT ARENA("6291456"), &(struct cf_report_options){0});
    assert_says(text, "of the 8.0 MiB in malloc's 1 arena, 7.0 MiB (87.5 %)");
    assert_says(text, ": 6.0 MiB of the arenas");
    assert_says(text, "15 holes, the largest 3.0 MiB");
    assert_says(text, "residency exact");
    assert_says(text, "SIGABRT");
    free(text);
}

static void what_is_not_known_is_not_zero(void **state) {
    (void)state;
    char *text =
        report_of(META COMPLETE NO_RESIDENCY ARENA("NULL"), &(struct cf_report_options){0});
    assert_says(text, ": unknown of the arenas");
    assert_says(text, "residency unknown");
    assert_does_not_say(text, " 0 B");
    free(text);
}

static void what_undercounts_is_marked(void **state) {
    (void)state;
    char *text =
        report_of(META COMPLETE ZERO_PAGES ARENA("6291456"), &(struct cf_report_options){0});
    assert_says(text, ": ≥ 6.0 MiB of the arenas");
    assert_says(text, "≥ resident");
    assert_says(text, "residency at least");
    free(text);
}

static void an_incomplete_core_says_what_is_missing(void **state) {
    (void)state;
    char *text = report_of(META CUT EXACT ARENA("6291456"), &(struct cf_report_options){0});
    assert_says(text, "incomplete");
    assert_says(text, "INCOMPLETE CORE: 117.7 MiB are missing");
    assert_says(text, "117.7 MiB that its headers promise are not in the file");
    free(text);
}

static void a_core_without_a_heap_reads_well(void **state) {
    (void)state;
    static const struct {
        const char *rows;
        const char *sentence;
    } cases[] = {
        {META COMPLETE EXACT, "NO GLIBC MALLOC HEAP"},
        {META CUT NO_RESIDENCY, "NO HEAP FOUND: the core is incomplete"},
        {META COMPLETE NO_RESIDENCY "INSERT INTO segment VALUES (0, 4096, 8192, 'rw-', "
                                    "'anonymous', NULL, NULL, 0, 0, NULL);",
         "NO HEAP IN THIS CORE: the process's own memory was not dumped."},
        {META COMPLETE EXACT "INSERT INTO module VALUES (0, 4096, 8192, 'r-x', "
                             "'/lib/libjemalloc.so.2', NULL, 'elf', 4096, NULL);",
         "/lib/libjemalloc.so.2"},
        {"", "NO HEAP FOUND"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = report_of(cases[i].rows, &(struct cf_report_options){0});
        assert_says(text, cases[i].sentence);
        assert_does_not_say(text, "Arenas");
        assert_does_not_say(text, "Holes");
        assert_says(text, "sqlite3 core.7.db");
        free(text);
    }
}

static void anomalies_are_grouped(void **state) {
    (void)state;
    char *text = report_of(
        META COMPLETE EXACT ARENA(
            "6291456") "INSERT INTO anomaly (source, code, is_corruption, detail) VALUES "
                       "('heap', 'bad-size', 1, 'size 0'), ('heap', 'bad-size', 1, 'size 1'), "
                       "('core', 'cut', 0, 'evil' || char(27) || '[2J');",
        &(struct cf_report_options){0});
    assert_says(text, "bad-size");
    assert_says(text, "evil\\x1b[2J");
    assert_does_not_say(text, "\033");
    free(text);
}

static void rows_are_limited_and_counted(void **state) {
    (void)state;
    static const char holes[] =
        META COMPLETE EXACT ARENA("6291456") "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
                                             "+ 1 FROM n WHERE i < 50) INSERT "
                                             "INTO hole (arena_id, heap_id, address, size_bytes, "
                                             "chunks) SELECT 0, 0, i * 8192, "
                                             "4096, 1 FROM n;";
    static const struct {
        struct cf_report_options options;
        const char *says;
    } cases[] = {
        {{0}, "... 42 more"},
        {{.top = 20}, "... 30 more"},
        {{.full = true}, "0x64000"},
        {{.full = true}, "4,096 B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = report_of(holes, &cases[i].options);
        assert_says(text, cases[i].says);
        free(text);
    }
}

/* Each query that the report prints runs as it stands. */
static void the_sql_that_it_prints_runs(void **state) {
    (void)state;
    static const char rows[] = META COMPLETE EXACT ARENA(
        "6291456") "INSERT INTO size_class VALUES (0, 'live', 32, 7), (0, 'free', 64, 3);"
                   "INSERT INTO hole_histogram VALUES (0, 4096, 3, 20480, NULL, NULL);"
                   "INSERT INTO hole (arena_id, heap_id, address, size_bytes, chunks) VALUES (0, "
                   "0, 1, 2, 3);"
                   "INSERT INTO anomaly (source, code, is_corruption, detail) VALUES ('core', 'c', "
                   "0, 'd');";
    struct cf_db *db = open_with(rows);
    struct cf_doc *doc = NULL;
    struct cf_err err = {0};
    assert_int_equal(cf_report_build(db, "x.db", &(struct cf_report_options){0}, &doc, &err),
                     CF_OK);
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
    assert_in_range(ran, 8, 100);
    cf_doc_free(doc);
    cf_db_free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_headline_has_the_numbers_that_matter),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(what_undercounts_is_marked),
        cmocka_unit_test(an_incomplete_core_says_what_is_missing),
        cmocka_unit_test(a_core_without_a_heap_reads_well),
        cmocka_unit_test(anomalies_are_grouped),
        cmocka_unit_test(rows_are_limited_and_counted),
        cmocka_unit_test(the_sql_that_it_prints_runs),
    };
    return cmocka_run_group_tests_name("report/sections", tests, NULL, NULL);
}
