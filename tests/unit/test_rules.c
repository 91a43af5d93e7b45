/* The rules: their SQL runs, their sentences name facts that exist, and one verdict comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "input/smaps.h"
#include "rules/rules.h"
#include "rules/template.h"
#include "store/queries.h"

static struct cf_db *memory_db(void) {
    struct cf_db *db;
    struct cf_err err;
    if (cf_db_open_memory(&db, &err) != CF_OK || cf_db_exec(db, cf_schema_sql(), &err) != CF_OK)
        fail_msg("%s", err.text);
    return db;
}

static void must(struct cf_db *db, const char *sql) {
    struct cf_err err;
    if (cf_db_exec(db, sql, &err) != CF_OK)
        fail_msg("%s: %s", sql, err.text);
}

static int64_t number(struct cf_db *db, const char *sql) {
    struct cf_err err;
    bool found;
    int64_t value = 0;
    if (cf_db_query_i64(db, sql, &found, &value, &err) != CF_OK)
        fail_msg("%s: %s", sql, err.text);
    return found ? value : -1;
}

static void must_fill(const char *text, const struct cf_stmt *facts, const char *code) {
    char out[2048];
    struct cf_err err;
    if (text != NULL && cf_template_fill(text, facts, out, sizeof out, &err) != CF_OK)
        fail_msg("rule %s: %s", code, err.text);
}

static void must_run(struct cf_db *db, const struct cf_rule_table *table) {
    for (size_t i = 0; i < table->nr; i++) {
        const struct cf_rule *rule = &table->rules[i];
        CF_CLEANUP_STMT struct cf_stmt *facts = NULL;
        CF_CLEANUP_STMT struct cf_stmt *behind = NULL;
        struct cf_err err;
        char sql[4096];
        bool row;
        (void)snprintf(sql, sizeof sql, "SELECT *, (%s), (%s), (%s), (%s) FROM v_fact",
                       rule->when, rule->bytes, rule->confidence, rule->exactness);
        if (cf_db_prepare(db, sql, &facts, &err) != CF_OK ||
            cf_stmt_step(facts, &row, &err) != CF_OK || !row)
            fail_msg("rule %s does not run: %s", rule->code, err.text);
        must_fill(rule->title, facts, rule->code);
        must_fill(rule->detail, facts, rule->code);
        must_fill(rule->advice, facts, rule->code);
        if (cf_db_prepare(db, rule->sql, &behind, &err) != CF_OK)
            fail_msg("rule %s, query: %s", rule->code, err.text);
    }
}

static void every_rule_runs_whatever_the_facts(void **state) {
    (void)state;
    CF_CLEANUP_DB struct cf_db *db = memory_db();
    struct cf_err err;
    assert_int_equal(cf_rules_gather(db, &err), CF_OK);
    must_run(db, &cf_verdict_rules);
    must_run(db, &cf_remedy_rules);
    must_run(db, &cf_finding_rules);
    must_run(db, &cf_kernel_rules);
}

static void the_last_verdict_speaks_when_nothing_is_known(void **state) {
    (void)state;
    CF_CLEANUP_DB struct cf_db *db = memory_db();
    struct cf_err err;
    must(db, "INSERT INTO meta (key, value) VALUES ('core_complete', 1)");
    if (cf_rules_judge(db, &err) != CF_OK)
        fail_msg("%s", err.text);
    assert_int_equal(number(db, "SELECT count(*) FROM v_verdict"), 1);
    assert_int_equal(number(db, "SELECT count(*) FROM v_verdict WHERE code = 'outside-malloc'"),
                     1);
}

/* Facts as tables: a heap in MiB, and the verdict that it must get. */
struct judged {
    const char *verdict;
    int arenas;
    int live, releasable, pinned, top;
    int outside;
    int leaked;
};

static void fill_tables(struct cf_db *db, const struct judged *judged) {
    char sql[2048];
    int heap = judged->live + judged->releasable + judged->pinned + judged->top;
    must(db, "INSERT INTO meta (key, value) VALUES ('core_complete', 1), ('outcome', 0),"
             " ('residency_exact', 1), ('residency_source', 'holes'), ('reachability', 1),"
             " ('page_bytes', 4096), ('missing_bytes', 0)");
    for (int i = 0; i < judged->arenas; i++) {
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO arena (arena_id, namespace, address, is_main, in_ring,"
                       " system_bytes, max_system_bytes, top_field_bytes, binned_chunks,"
                       " binned_bytes, fastbin_chunks, fastbin_bytes, heaps, mapped_bytes,"
                       " reserved_bytes, live_chunks, live_bytes, free_chunks, free_bytes,"
                       " fast_chunks, fast_bytes, tcache_chunks, tcache_bytes, top_bytes,"
                       " fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes)"
                       " VALUES (%d, 0, %d, %d, 1, %d, 0, 0, 0, 0, 0, 0, 1, %d, 0, 0, %d, 0, 0, 0,"
                       " 0, 0, 0, 0, 0, 0, 0, 0, 0)",
                       i, i, i == 0, heap * 1048576 / judged->arenas,
                       heap * 1048576 / judged->arenas, judged->live * 1048576 / judged->arenas);
        must(db, sql);
    }
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO waste (arena_id, class, class_order, bytes, tcache_bytes) VALUES"
                   " (NULL, 'live', 1, %d << 20, 0), (NULL, 'releasable', 3, %d << 20, 0),"
                   " (NULL, 'pinned', 4, %d << 20, 0), (NULL, 'top', 5, %d << 20, 0),"
                   " (1, 'top', 5, %d << 20, 0), (NULL, 'overhead', 2, 0, 0),"
                   " (NULL, 'cached', 6, 0, 0), (NULL, 'cache-pinned', 7, 0, 0),"
                   " (NULL, 'edge', 8, 0, 0), (1, 'overhead', 2, 0, 0), (1, 'cached', 6, 0, 0),"
                   " (1, 'cache-pinned', 7, 0, 0), (1, 'edge', 8, 0, 0)",
                   judged->live, judged->releasable, judged->pinned, judged->top, judged->top);
    must(db, sql);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO budget (kind, label, is_anonymous, mappings, mapped_bytes,"
                   " resident_bytes) VALUES ('malloc main heap', '', 1, 1, 0, %d << 20),"
                   " ('other anonymous', '', 1, 1, 0, %d << 20)",
                   heap, judged->outside);
    must(db, sql);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO leak (size_bytes, chunks, bytes, root_chunks) VALUES"
                   " (64, 1, %d << 20, 1)",
                   judged->leaked);
    must(db, sql);
}

static void each_incident_gets_its_verdict(void **state) {
    (void)state;
    static const struct judged cases[] = {
        /* verdict, arenas, live, releasable, pinned, top, outside, leaked */
        {"not-returned", 48, 2, 50, 3, 6, 1, 0},
        {"not-returned", 1, 3, 25, 1, 0, 1, 0},
        {"fragmented", 4, 10, 12, 20, 2, 1, 0},
        {"not-returned", 4, 10, 12, 10, 2, 1, 0}, /* half of it would come back */
        {"fragmented", 1, 3, 9, 2, 17, 1, 0},     /* in tops */
        {"healthy", 1, 3, 4, 1, 7, 1, 0},         /* in tops, but nobody is paged for 7 MiB */
        {"healthy", 1, 3, 1, 1, 1, 1, 0},    /* the same shares, but nobody is paged for 3 MiB */
        {"arena-blowup", 40, 1, 0, 0, 8, 1, 0},
        {"healthy", 8, 1, 0, 0, 8, 1, 0},    /* eight arenas are what glibc makes anyway */
        {"leak", 1, 40, 0, 0, 1, 1, 20},
        {"in-use", 1, 40, 0, 0, 1, 1, 2},    /* a leak that explains nothing */
        {"in-use", 1, 70, 10, 3, 4, 1, 0},
        {"healthy", 1, 7, 1, 1, 1, 1, 0},
        {"outside-malloc", 4, 10, 1, 1, 1, 100, 0},
        {"in-use", 4, 60, 1, 1, 1, 60, 0},   /* half is malloc's: not outside */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CF_CLEANUP_DB struct cf_db *db = memory_db();
        CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
        struct cf_err err;
        bool row;
        fill_tables(db, &cases[i]);
        if (cf_rules_judge(db, &err) != CF_OK ||
            cf_db_prepare(db, "SELECT code, headline FROM v_verdict", &stmt, &err) != CF_OK ||
            cf_stmt_step(stmt, &row, &err) != CF_OK)
            fail_msg("%s", err.text);
        assert_true(row);
        if (strcmp(cf_stmt_text(stmt, 0), cases[i].verdict) != 0)
            fail_msg("case %zu: wanted %s, got %s: %s", i, cases[i].verdict, cf_stmt_text(stmt, 0),
                     cf_stmt_text(stmt, 1));
    }
}

/* Facts as tables, the change, and a finding that must be there or not. */
static const struct worth {
    struct judged judged;
    const char *change;
    const char *wanted; /* rows of v_finding, of which there must be one */
    int rows;
} worths[] = {
    /* a twentieth of the resident heap, or 16 MiB */
    {{NULL, 1, 70, 4, 0, 0, 1, 0}, "", "code = 'what-if-trim'", 1},
    {{NULL, 1, 70, 3, 0, 0, 1, 0}, "", "code = 'what-if-trim'", 0},
    {{NULL, 1, 400, 17, 0, 0, 1, 0}, "", "code = 'what-if-trim'", 1},
    {{NULL, 1, 400, 15, 0, 0, 1, 0}, "", "code = 'what-if-trim'", 0},
    {{NULL, 9, 10, 1, 1, 5, 1, 0}, "", "code = 'what-if-arena-max' AND bytes IS NULL", 1},
    {{NULL, 9, 10, 1, 1, 0, 1, 0}, "", "code = 'what-if-arena-max'", 0},
    /* not where most of what is free stood in large blocks: fewer arenas cost memory then */
    {{NULL, 9, 10, 1, 1, 5, 1, 0}, "INSERT INTO former_block VALUES (131072, 9, 6 << 20, 6 << 20)",
     "code = 'what-if-arena-max'", 0},
    {{NULL, 9, 10, 1, 1, 5, 1, 0}, "INSERT INTO former_block VALUES (131072, 9, 1 << 20, 1 << 20)",
     "code = 'what-if-arena-max'", 1},
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('caches', 'thread caches', 9, 4096, 1 << 20, 3 << 20)",
     "code = 'what-if-tcache' AND exactness = 'estimate'", 0},
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO tcache VALUES (16, 0, 0, 9, 4096);"
     "INSERT INTO trim_if VALUES ('caches', 'thread caches', 9, 4096, 1 << 20, 3 << 20)",
     "code = 'what-if-tcache' AND bytes = 2 << 20 AND exactness = 'estimate'", 1},
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('threshold', 'a grown trim_threshold', 0, 0, 0, 2 << 20)",
     "code = 'what-if-trim-threshold' AND bytes = 2 << 20", 1},
    /* not where large blocks stood: what fixed thresholds give, no core shows */
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('threshold', 'a grown trim_threshold', 0, 0, 0, 2 << 20);"
     "INSERT INTO former_block VALUES (131072, 9, 3 << 20, 3 << 20)",
     "code = 'what-if-trim-threshold'", 0},
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO tunable VALUES ('mmap_threshold', '4198400', 'mp_', '');"
     "INSERT INTO former_block VALUES (131072, 9, 3 << 20, 3 << 20)",
     "code = 'what-if-thresholds' AND bytes IS NULL", 1},
    {{NULL, 1, 10, 1, 1, 2, 1, 0},
     "INSERT INTO tunable VALUES ('mmap_threshold', '4198400', 'mp_', '')",
     "code = 'what-if-thresholds'", 0},
    /* a size is named where it gives back more than the group that is named */
    {{NULL, 1, 10, 1, 9, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('size', 'chunks of 48 bytes', 9, 1 << 20, 1 << 20, 5 << 20)",
     "code = 'what-if-pinners' AND bytes = 4 << 20 AND exactness = 'bound'", 1},
    {{NULL, 1, 10, 1, 9, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('owner', 'table (x)', 9, 1 << 20, 1 << 20, 5 << 20),"
     " ('size', 'chunks of 48 bytes', 9, 1 << 20, 1 << 20, 5 << 20)",
     "code = 'what-if-pinners'", 0},
    /* nor where it is little more than what they are themselves */
    {{NULL, 1, 10, 1, 9, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('size', 'chunks of 48 bytes', 9, 3 << 20, 1 << 20, 5 << 20)",
     "code = 'what-if-pinners'", 0},
    /* a group counts where it gives back at least twice its own bytes */
    {{NULL, 1, 10, 1, 9, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('owner', 'table (x)', 9, 1 << 20, 1 << 20, 5 << 20),"
     " ('type', 'Order', 7, 1 << 20, 1 << 20, 4 << 20)",
     "code = 'what-if-group' AND bytes = 4 << 20 AND title LIKE 'If all that table (x) keeps alive "
     "alone were gone (9 chunks, 1.0 MiB together), %'", 1},
    {{NULL, 1, 10, 1, 9, 2, 1, 0},
     "INSERT INTO trim_if VALUES ('owner', 'table (x)', 9, 3 << 20, 1 << 20, 5 << 20)",
     "code = 'what-if-group'", 0},
    /* caches without a thread are those of the gone only where another one has its thread */
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "INSERT INTO tcache VALUES (16, 0, 0, 0, 0), (32, NULL, 0, 9, 4096)",
     "code = 'dead-caches' AND bytes = 4096", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0}, "INSERT INTO tcache VALUES (32, NULL, 0, 9, 4096)",
     "code = 'dead-caches'", 0},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "INSERT INTO tcache VALUES (16, 0, 0, 7, 560), (32, NULL, 0, 0, 0)",
     "code = 'dead-caches'", 0},
    /* fastbins are no thread's */
    {{NULL, 40, 1, 0, 0, 0, 1, 0},
     "UPDATE waste SET bytes = 4 << 20, tcache_bytes = 1 << 20 WHERE class = 'cached';"
     "UPDATE budget SET resident_bytes = 5 << 20 WHERE kind LIKE 'malloc%';"
     "INSERT INTO tcache VALUES (16, 0, 0, 9, 4000000)",
     "code = 'cached'", 0},
    /* what pins little of what is free is no cause; one chunk that holds down half of it is */
    {{NULL, 1, 3, 50, 10, 0, 1, 0},
     "INSERT INTO page_pin VALUES (0, 80, 'Order', 9, 720, 10 << 20, 16, 'global g_all (x) -> y')",
     "finding_id = 1 AND detail LIKE '%; 10.0 MiB is pinned by 9 live chunks on the same pages, "
     "most of it by those of 80 B (Order), one of which hangs on global g_all (x).'", 1},
    {{NULL, 1, 3, 120, 1, 0, 1, 0},
     "INSERT INTO page_pin VALUES (0, 80, 'Order', 9, 720, 1 << 20, 16, 'global g_all (x) -> y')",
     "finding_id = 1 AND detail NOT LIKE '%pinned%' AND detail NOT LIKE '%Order%'", 1},
    {{NULL, 1, 3, 50, 10, 0, 1, 0},
     "INSERT INTO page_pin VALUES (0, 80, 'Order', 9, 720, 1 << 20, 16, NULL);"
     "INSERT INTO owner (kind, name, chunks, bytes, example_address) VALUES"
     " ('type', 'Order', 9, 90, 16), ('global', 'g_orders (x)', 7, 70, 16);"
     "UPDATE arena SET live_chunks = 10",
     "finding_id = 1 AND detail LIKE '%; 10.0 MiB is pinned by 9 live chunks on the same pages; 7 "
     "of all 10 live chunks hang on global g_orders (x) alone.'", 1},
    {{NULL, 1, 3, 60, 0, 0, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 112, 0, 0, 0, 31 << 20, NULL, 'global g_one (x)');"
     "INSERT INTO meta VALUES ('word_bits', 64)",
     "finding_id = 1 AND detail LIKE '% Below the top stands one live chunk of 112 B (malloc "
     "returned 0x1010, hangs on global g_one (x)): without it free() would give back 31.0 MiB by "
     "itself.'", 1},
    {{NULL, 2, 3, 60, 0, 0, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 112, 0, 0, 0, 20 << 20, NULL, NULL),"
     " (1, 1, 0, 8192, 112, 0, 0, 0, 12 << 20, NULL, NULL);"
     "INSERT INTO meta VALUES ('word_bits', 64)",
     "finding_id = 1 AND detail LIKE '% Without the topmost live chunk of each of 2 arenas free() "
     "would give back 32.0 MiB by itself.' AND detail NOT LIKE '%Below the top%'", 1},
    {{NULL, 1, 3, 60, 0, 0, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 112, 0, 0, 0, 29 << 20, NULL, NULL);"
     "INSERT INTO meta VALUES ('word_bits', 64)",
     "finding_id = 1 AND detail NOT LIKE '%top%'", 1},
    /* caches are no cost of arenas, and a verdict where they hold half of the heap */
    {{NULL, 40, 1, 0, 0, 0, 1, 0},
     "UPDATE waste SET bytes = 4 << 20, tcache_bytes = 4 << 20 WHERE class = 'cached';"
     "UPDATE budget SET resident_bytes = 5 << 20 WHERE kind LIKE 'malloc%';"
     "UPDATE arena SET tcache_bytes = 100000; INSERT INTO tcache VALUES (16, 0, 0, 9, 4000000)",
     "finding_id = 1 AND code = 'cached' AND title LIKE '%4.0 MiB of 5.0 MiB%of 1 thread;%'",
     1},
    {{NULL, 40, 1, 0, 0, 0, 1, 0},
     "UPDATE waste SET bytes = 4 << 20, tcache_bytes = 4 << 20 WHERE class = 'cached';"
     "UPDATE budget SET resident_bytes = 9 << 20 WHERE kind LIKE 'malloc%';"
     "UPDATE arena SET tcache_bytes = 100000; INSERT INTO tcache VALUES (16, 0, 0, 9, 4000000)",
     "code IN ('cached', 'arena-blowup')", 0},
    /* what is free and not in memory costs nothing */
    {{NULL, 1, 70, 4, 0, 0, 1, 0}, "UPDATE arena SET hole_bytes = 24 << 20",
     "code = 'given-back' AND bytes = 20 << 20 AND exactness = 'exact' AND title LIKE '20.0 MiB%'",
     1},
    {{NULL, 1, 70, 4, 0, 0, 1, 0}, "UPDATE arena SET hole_bytes = 5 << 20", "code = 'given-back'",
     0},
    /* one size, or many, and only where they matter */
    {{NULL, 1, 70, 4, 0, 0, 1, 0}, "INSERT INTO size_class VALUES (0, 'live', 16384, 3584),"
     " (0, 'live', 64, 10)",
     "code = 'live-sizes' AND title LIKE 'One size%: 3,584 chunks of 16.0 KiB, 80.0 _'", 1},
    {{NULL, 1, 70, 4, 0, 0, 1, 0}, "INSERT INTO size_class VALUES (0, 'live', 16384, 1792)",
     "code = 'live-sizes' AND title LIKE 'Many sizes are live: no one holds more than 40.0 _ of %'",
     1},
    {{NULL, 1, 3, 67, 0, 0, 1, 0}, "INSERT INTO size_class VALUES (0, 'live', 16384, 100)",
     "code = 'live-sizes'", 0},
    {{NULL, 1, 3, 67, 0, 0, 1, 0}, "UPDATE arena SET hole_bytes = 67 << 20;"
     "INSERT INTO size_class VALUES (0, 'free', 4096, 50), (0, 'tcache', 32, 10)",
     "code = 'dead-sizes' AND title LIKE 'One size%below the tops: 50 chunks of 4.0 KiB, 99.8 _'",
     1},
    /* arenas of threads that are gone: what they hold, and in the verdict where it is much */
    {{NULL, 2, 3, 25, 1, 0, 1, 0},
     "UPDATE arena SET attached_threads = 0, resident_bytes = 9 << 20 WHERE arena_id = 1;"
     "INSERT INTO waste VALUES (1, 'live', 1, 1 << 20, 0)",
     "code = 'idle-arenas' AND bytes = 9 << 20 AND title LIKE '1 of 2 arenas serve no thread; they "
     "hold 9.0 MiB, 8.0 MiB of it free' AND (SELECT detail FROM v_finding WHERE finding_id = 1)"
     " LIKE '%8.0 MiB of what is free stands in arenas whose threads are gone.%'", 1},
    {{NULL, 2, 3, 25, 1, 0, 1, 0},
     "UPDATE arena SET attached_threads = 0, resident_bytes = 2 << 20 WHERE arena_id = 1;"
     "INSERT INTO waste VALUES (1, 'live', 1, 1 << 20, 0)",
     "code = 'idle-arenas' AND NOT EXISTS (SELECT 1 FROM v_finding WHERE detail LIKE"
     " '%threads are gone.%' AND finding_id = 1)", 1},
    /* threads that share arenas have as many as there may be; not where one has each */
    {{NULL, 16, 3, 25, 1, 0, 1, 0},
     "INSERT INTO meta VALUES ('arena_limit_formula', '8 x cores');"
     "UPDATE arena SET attached_threads = 1 + (arena_id = 5)",
     "finding_id = 1 AND EXISTS (SELECT 1 FROM v_fact WHERE arena_limit = 16 AND cpus = 2 AND"
     " limit_reached)", 1},
    {{NULL, 16, 3, 25, 1, 0, 1, 0},
     "INSERT INTO meta VALUES ('arena_limit_formula', '8 x cores');"
     "UPDATE arena SET attached_threads = 1",
     "finding_id = 1 AND EXISTS (SELECT 1 FROM v_fact WHERE arena_limit IS NULL AND cpus IS NULL"
     " AND limit_reached IS NULL)", 1},
    {{NULL, 12, 3, 25, 1, 0, 1, 0},
     "INSERT INTO meta VALUES ('arena_limit_formula', '8 x cores');"
     "UPDATE arena SET attached_threads = 2",
     "finding_id = 1 AND EXISTS (SELECT 1 FROM v_fact WHERE cpus IS NULL)", 1},
    /* a leak counts as far as it is in memory, and gives back no more */
    {{NULL, 1, 10, 0, 0, 1, 1, 40},
     "UPDATE arena SET live_bytes = 40 << 20; UPDATE leak SET resident_bytes = 9 << 20",
     "code = 'leak' AND bytes = 9 << 20 AND title LIKE 'LEAK: nothing points to 9.0 MiB of resident"
     " memory (40.0 MiB of address space) in 1 live chunk, 90.0 % of all%' AND"
     " (SELECT gives_back_bytes FROM v_advice WHERE code = 'leak') = 9 << 20", 1},
    /* where pages full of zeros may be missing, it counts whole, and says so */
    {{NULL, 1, 10, 0, 0, 1, 1, 40},
     "UPDATE arena SET live_bytes = 40 << 20; UPDATE leak SET resident_bytes = 9 << 20;"
     "UPDATE meta SET value = 0 WHERE key = 'residency_exact'",
     "code = 'leak' AND title LIKE 'LEAK: nothing points to 40.0 MiB of address space (at least 9.0"
     " MiB of it resident) in %' AND confidence = 'medium'", 1},
    /* what was never touched costs nothing */
    {{NULL, 1, 10, 0, 0, 1, 1, 200},
     "UPDATE arena SET live_bytes = 210 << 20; UPDATE leak SET resident_bytes = 0",
     "code IN ('leak', 'some-leak')", 0},
    {{NULL, 1, 10, 0, 0, 1, 1, 200},
     "UPDATE arena SET live_bytes = 210 << 20; UPDATE leak SET resident_bytes = 0",
     "finding_id = 1 AND code = 'healthy' AND detail LIKE 'Nothing points to 200.0 MiB of address"
     " space, nothing of it resident: not a memory cost. %'", 1},
    {{NULL, 1, 10, 0, 0, 1, 1, 200},
     "UPDATE arena SET live_bytes = 210 << 20; UPDATE leak SET resident_bytes = 0",
     "code = 'leak-not-resident' AND bytes = 0", 1},
    /* a runtime that may hide pointers, the rings of io_uring */
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO runtime VALUES ('V8', 'x', 1, 'x'); INSERT INTO budget (kind, label,"
     " is_anonymous, mappings,"
     " mapped_bytes, resident_bytes, runtime, area) VALUES ('managed heap', 'V8', 1, 1,"
     " 8192, 8192, 'V8', 'objects')",
     "finding_id = 1 AND code = 'leak' AND confidence = 'medium' AND (SELECT evidence FROM"
     " v_verdict) LIKE '%nobody could look. V8 may keep pointers compressed or tagged, in"
     " 8.0 KiB.'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO segment VALUES (0, 8192, 16384, 'rw-', 'shared', 'anon_inode:[io_uring]', NULL,"
     " 0, 0, NULL)",
     "finding_id = 1 AND code = 'leak' AND confidence <> 'high' AND (SELECT evidence FROM"
     " v_verdict) LIKE '%. 8.0 KiB of writable address space in 1 mapping is not in the core."
     " 8.0 KiB of that is rings of io_uring.'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "INSERT INTO root VALUES ('global', 14, 0, 0, 0)",
     "finding_id = 1 AND code = 'leak' AND confidence = 'high' AND (SELECT evidence FROM"
     " v_verdict) LIKE 'no root is missing (checked: 14 ranges of memory, %'", 1},
    /* what the holes once were is told where there are many of one type, and from 100 on */
    {{NULL, 48, 2, 50, 3, 6, 1, 0}, "INSERT INTO ghost VALUES ('Session', 4347, 100000, 46)",
     "finding_id = 1 AND code = 'not-returned' AND detail LIKE '%Of those that died, 4,347 of"
     " Session still show in free memory; none is alive.'", 1},
    {{NULL, 48, 2, 50, 3, 6, 1, 0}, "INSERT INTO ghost VALUES ('Session', 99, 1000, 4)",
     "finding_id = 1 AND code = 'not-returned' AND detail NOT LIKE '%Session%'", 1},
    /* what leaked is told by what was lost first */
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO leak_group VALUES (1, 'Order', 256, 6000, 9000, 2097152, NULL, 4096),"
     " (2, NULL, 64, 10, 10, 640, 'libx.so', 8192);"
     " INSERT OR REPLACE INTO meta VALUES ('libc_path', '/lib/libc.so.6'), ('word_bits', 64)",
     "finding_id = 1 AND code = 'leak' AND detail LIKE '%2.0 MiB of it was lost with 6,000"
     " Order.%' AND advice LIKE '%uprobe:/lib/libc.so.6:malloc /arg0 > 232 && arg0 <= 248/ {"
     " @[ustack]%'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO leak_group VALUES (1, NULL, 64, 10, 10, 640, 'libx.so', 8192)",
     "finding_id = 1 AND code = 'leak' AND detail LIKE '%640 B of it was lost with 10 chunks of 64"
     " bytes that point to libx.so.%'", 1},
    /* the process's sum is at least where some of its memory is unknown */
    {{NULL, 1, 10, 0, 0, 1, 1, 0},
     "INSERT INTO segment VALUES (0, 8192, 67117056, 'rw-', 'anonymous', NULL, NULL, 0, 0, NULL)",
     "finding_id = 1 AND title LIKE '%malloc holds 11.0 MiB of at least 12.0 MiB resident%'", 1},
    {{NULL, 1, 10, 0, 0, 1, 1, 0}, "",
     "finding_id = 1 AND title LIKE '%malloc holds 11.0 MiB of 12.0 MiB resident%'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "", "code = 'leak' AND title LIKE '%address space%'", 0},
    /* a heap without its bytes was used all the same; a part of one lacks in all figures */
    {{NULL, 1, 9, 0, 0, 0, 1, 0},
     "INSERT INTO heap (heap_id, arena_id, start, first_chunk, end, reserved_end, live_chunks,"
     " live_bytes, free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, fence_bytes,"
     " overhead_bytes, holes, hole_bytes, largest_hole_bytes) VALUES (0, 0, 8192, 8192, 16777216,"
     " 16777216, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);"
     "INSERT INTO segment VALUES (0, 8192, 16777216, 'rw-', 'anonymous', NULL, NULL, 0, 0, NULL)",
     "finding_id = 1 AND code = 'heap-left-out' AND bytes = 16769024", 1},
    {{NULL, 1, 9, 0, 0, 0, 1, 0},
     "INSERT INTO heap (heap_id, arena_id, start, first_chunk, end, reserved_end, live_chunks,"
     " live_bytes, free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, fence_bytes,"
     " overhead_bytes, holes, hole_bytes, largest_hole_bytes) VALUES (0, 0, 8192, 8192, 16777216,"
     " 16777216, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);"
     "INSERT INTO segment VALUES (0, 8192, 16384, 'rw-', 'anonymous', NULL, NULL, 0, 0, NULL)",
     "code = 'heap-partly-left-out' AND bytes = 8192", 1},
    /* valgrind lists no files in its cores: it is told by its manner of writing */
    {{NULL, 0, 0, 0, 0, 0, 4, 0}, "INSERT INTO meta VALUES ('core_producer', 'valgrind')",
     "finding_id = 1 AND code = 'under-valgrind' AND title LIKE 'OTHER ALLOCATOR: valgrind%'", 1},
    {{NULL, 0, 0, 0, 0, 0, 4, 0}, "INSERT INTO meta VALUES ('core_producer', 'gcore')",
     "finding_id = 1 AND code = 'no-glibc-heap'", 1},
    /* what malloc said comes before all else; silence and ignorance are neither */
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "INSERT INTO meta VALUES ('abort_message', 'free(): x')",
     "finding_id = 1 AND title LIKE 'CORRUPT: glibc stopped the program: \"free(): x\"%'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "INSERT INTO meta VALUES ('abort_message', '')",
     "finding_id = 1 AND code = 'leak'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "INSERT INTO meta VALUES ('abort_message', NULL)",
     "finding_id = 1 AND code = 'leak'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO anomaly VALUES (1, 'heap', 'x', 1, 0, 0, 4096, NULL, '', 0, NULL)",
     "finding_id = 1 AND code = 'heap-damaged' AND title LIKE '%the first at 0x1000%' AND"
     " confidence = 'medium'", 1},
    /* two kinds of checks at one place, or the crash in malloc, leave no doubt */
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO anomaly VALUES (1, 'heap', 'x', 1, 0, 0, 4096, NULL, '', 0, NULL),"
     " (2, 'heap', 'y', 1, 0, 0, 4096, NULL, '', 0, NULL)",
     "finding_id = 1 AND code = 'heap-damaged' AND confidence = 'high'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO anomaly VALUES (1, 'heap', 'x', 1, 0, 0, 4096, NULL, '', 0, NULL);"
     "INSERT INTO meta VALUES ('signal', 11);"
     "INSERT INTO thread (thread_id, tid, is_crashing) VALUES (3, 77, 1);"
     "INSERT INTO frame (thread_id, frame, pc, function) VALUES (3, 0, 1, '_int_malloc')",
     "finding_id = 1 AND code = 'heap-damaged' AND confidence = 'high'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO anomaly VALUES (1, 'heap', 'x', 1, 0, 0, 4096, NULL, '', 0, NULL),"
     " (2, 'heap', 'x', 1, 0, 0, 4096, NULL, '', 0, NULL)",
     "finding_id = 1 AND code = 'heap-damaged' AND confidence = 'medium'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20},
     "INSERT INTO anomaly VALUES (1, 'heap', 'x', 0, 0, 0, 4096, NULL, '', 0, NULL)",
     "finding_id = 1 AND code = 'leak'", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "UPDATE waste SET bytes = 65536 WHERE class = 'releasable'", "code = 'what-if-trim'", 0},
    {{NULL, 1, 1, 1, 0, 0, 1, 0},
     "UPDATE waste SET bytes = 131072 WHERE class = 'releasable'", "code = 'what-if-trim'", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 64, 0, 4000000, 4000000, 0, NULL, NULL)",
     "code LIKE 'what-if-top-%'", 0},
    {{NULL, 1, 40, 20, 9, 1, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 64, 0, 4000000, 4000000, 4000000, NULL, NULL),"
     " (0, 9, 0, 2048, 64, 0, 4500000, 4500000, 4500000, NULL, NULL)",
     "code LIKE 'what-if-top-%'", 1},
    {{NULL, 1, 40, 20, 9, 1, 1, 0},
     "INSERT INTO top_pin VALUES (0, 1, 0, 4096, 64, 0, 500000, 500000, 500000, NULL, NULL),"
     " (0, 9, 0, 2048, 64, 0, 4500000, 4500000, 4500000, NULL, NULL)",
     "advice LIKE 'Allocate early what outlives the load: topmost ten %'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "UPDATE leak SET chunks = 5, root_chunks = 5",
     "finding_id = 1 AND detail LIKE 'Free memory that glibc keeps%'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "UPDATE leak SET chunks = 5, root_chunks = 4",
     "finding_id = 1 AND detail LIKE '1 of them is held by others of them alone. %'", 1},
    {{NULL, 1, 40, 0, 0, 1, 1, 20}, "UPDATE leak SET chunks = 5, root_chunks = 1",
     "finding_id = 1 AND detail LIKE '4 of them are held by others of them alone. %'", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0}, "",
     "finding_id = 1 AND detail LIKE '%Nothing is unreachable. Free memory%'", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "INSERT INTO type VALUES (1, 'Hash', 'vtable', 9, 9 << 20, 0, 0, 1, NULL, NULL),"
     " (2, 'memory of Hash', 'owner', 9, 20 << 20, 0, 0, 1, 'Hash', NULL)",
     "finding_id = 1 AND detail LIKE '29.0 MiB of all that is live is of type Hash, or hangs "
     "on such. %'", 1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "INSERT INTO type VALUES (2, 'memory of X (Java)', 'owner', 9, 20 << 20, 0, 0, 1,"
     " 'X (Java)', NULL)",
     "finding_id = 1 AND detail LIKE '20.0 MiB of all that is live is memory of X (Java). %'",
     1},
    {{NULL, 1, 70, 1, 0, 0, 1, 0},
     "UPDATE arena SET live_bytes = live_bytes + (30 << 20)",
     "finding_id = 1 AND detail LIKE 'All live chunks together are 100.0 MiB; 30.0 MiB of that "
     "is not in memory. %'", 1},
    {{NULL, 4, 10, 1, 1, 1, 100, 0}, "UPDATE budget SET mapped_bytes = resident_bytes",
     "finding_id = 1 AND advice LIKE 'Find out who maps it%'", 1},
    {{NULL, 4, 10, 1, 1, 1, 100, 0},
     "UPDATE budget SET kind = 'thread stacks', mapped_bytes = resident_bytes"
     " WHERE kind = 'other anonymous'",
     "finding_id = 1 AND advice LIKE 'Look at the threads first%'", 1},
    {{NULL, 4, 10, 1, 1, 1, 100, 0},
     "UPDATE budget SET kind = 'managed heap', mapped_bytes = resident_bytes"
     " WHERE kind = 'other anonymous'",
     "finding_id = 1 AND advice LIKE 'Look at the runtime''s own heap first%'", 1},
    {{NULL, 4, 10, 1, 1, 1, 100, 0},
     "UPDATE budget SET kind = 'managed heap', label = 'V8 heap (node)', runtime = 'V8',"
     " mapped_bytes = resident_bytes WHERE kind = 'other anonymous';"
     "INSERT INTO runtime VALUES ('V8', 'Look at V8', 1, 'x'), ('Go', 'Look at Go', 0, 'x')",
     "finding_id = 1 AND advice = 'Look at V8'", 1},
    /* who runs a program is told of malloc_trim in its own words */
    {{NULL, 48, 2, 50, 40, 6, 1, 0}, "SELECT 1",
     "code = 'what-if-trim' AND advice LIKE 'When load drops: call malloc_trim(0); where %'", 1},
    {{NULL, 48, 2, 50, 40, 6, 1, 0},
     "UPDATE budget SET runtime = 'V8' WHERE budget_id = (SELECT min(budget_id) FROM budget);"
     "INSERT INTO runtime VALUES ('V8', 'x', 1, 'by an addon'), ('Go', 'x', 0, 'by cgo')",
     "code = 'what-if-trim' AND advice = 'When load drops: by an addon'", 1},
    {{NULL, 48, 2, 50, 40, 6, 1, 0},
     "INSERT INTO module (file, start, \"end\", flags, kind, mapped_bytes, symbols) VALUES"
     " ('/usr/sbin/php-fpm8.2', 1, 2, '', '', 0, ''), ('/opt/libruby/x.so', 3, 4, '', '', 0, '')",
     "code = 'what-if-trim' AND advice LIKE '%: PHP has no call for it: pm.max_requests %'", 1},
    {{NULL, 1, 30, 0, 0, 0, 1, 0},
     "INSERT INTO size_class VALUES (0, 'live', 64, 400000);"
     "INSERT INTO size_type VALUES (64, 'Session', 399999), (64, '(text)', 1)",
     "finding_id = 1 AND title LIKE '%of one size, 64 B (Session), hold 24.4 MiB, %'", 1},
};

static void a_finding_is_worth_its_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof worths / sizeof *worths; i++) {
        CF_CLEANUP_DB struct cf_db *db = memory_db();
        struct cf_err err;
        char sql[512];
        fill_tables(db, &worths[i].judged);
        must(db, worths[i].change);
        if (cf_rules_judge(db, &err) != CF_OK)
            fail_msg("%s", err.text);
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM v_finding WHERE %s",
                       worths[i].wanted);
        if (number(db, sql) != worths[i].rows)
            fail_msg("case %zu: %s", i, worths[i].wanted);
    }
}

static void a_template_says_what_is_not_known(void **state) {
    (void)state;
    CF_CLEANUP_DB struct cf_db *db = memory_db();
    CF_CLEANUP_STMT struct cf_stmt *row = NULL;
    struct cf_err err;
    bool found;
    char out[160], small[8];
    assert_int_equal(cf_db_prepare(db, "SELECT 2048 AS a, NULL AS b, 61204 AS c, 11.46 AS d,"
                                       " 'x' AS e, 0 AS f, 1 AS g, -3145728 AS h", &row, &err),
                     CF_OK);
    assert_int_equal(cf_stmt_step(row, &found, &err), CF_OK);
    assert_int_equal(cf_template_fill("{a:bytes}, {b:bytes}, {c:count}, {d:percent}, {e:text}",
                                      row, out, sizeof out, &err), CF_OK);
    assert_string_equal(out, "2.0 KiB, an unknown amount, 61,204, 11.5 %, x");
    assert_int_equal(cf_template_fill("{f:amount}, {b:amount}, {c:s}, {g:s}, {b:count}", row, out,
                                      sizeof out, &err), CF_OK);
    assert_string_equal(out, "nothing, an unknown amount, s, , an unknown number");
    assert_int_equal(cf_template_fill("a[ b {c:count}][ c {b:bytes}][ d {f:count}][ e {f:amount}]",
                                      row, out, sizeof out, &err), CF_OK);
    assert_string_equal(out, "a b 61,204 e nothing");
    assert_int_equal(cf_template_fill("{c:is} {g:is} {c:was} {g:was}, it {a:change}, {h:change}, "
                                      "{f:change}, {b:change}",
                                      row, out, sizeof out, &err), CF_OK);
    assert_string_equal(out, "are is were was, it grew by 2.0 KiB, shrank by 3.0 MiB, did not "
                             "change, changed by an unknown amount");
    assert_int_equal(cf_template_fill("{a:bytes} and more", row, small, sizeof small, &err), CF_OK);
    assert_string_equal(small, "2.0 KiB");
    assert_int_equal(cf_template_fill("{nobody:bytes}", row, out, sizeof out, &err), CF_EINTERNAL);
    assert_int_equal(cf_template_fill("{a:weight}", row, out, sizeof out, &err), CF_EINTERNAL);
}

/* ZGC's heap is a memfd: nothing anonymous, and no residency in a core. */
static void a_heap_in_shared_memory_is_outside_malloc(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        static const struct judged small = {"healthy", 1, 7, 1, 1, 1, 1, 0};
        CF_CLEANUP_DB struct cf_db *db = memory_db();
        struct cf_err err;
        char sql[512];
        fill_tables(db, &small);
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO budget (kind, label, is_anonymous, mappings, mapped_bytes,"
                       " runtime, area) VALUES ('managed heap', 'Java heap (HotSpot, ZGC)', 0, 3,"
                       " %d << 20, 'HotSpot', 'objects'),"
                       " ('managed heap', 'Java class data', 0, 3, 900 << 20, 'HotSpot',"
                       " 'classes')",
                       i == 0 ? 300 : 20);
        must(db, sql);
        if (cf_rules_judge(db, &err) != CF_OK)
            fail_msg("%s", err.text);
        assert_int_equal(number(db, "SELECT code = 'outside-malloc' AND headline LIKE"
                                    " '%Java heap (HotSpot, ZGC)%' FROM v_verdict"),
                         i == 0);
    }
}

/* ---- the kernel's figures, in words ---- */

static const char *text_of(struct cf_db *db, const char *sql, char *out, size_t bytes) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    struct cf_err err;
    bool row = false;
    if (cf_db_prepare(db, sql, &stmt, &err) != CF_OK || cf_stmt_step(stmt, &row, &err) != CF_OK ||
        !row)
        fail_msg("%s", sql);
    (void)snprintf(out, bytes, "%s", cf_stmt_text(stmt, 0));
    return out;
}

/* Every figure that the readers keep has its words. */
static void no_figure_of_the_kernel_goes_unexplained(void **state) {
    (void)state;
    CF_CLEANUP_DB struct cf_db *db = memory_db();
    struct cf_err err;
    must(db, "INSERT INTO kernel_figure (source, name, bytes) SELECT 'cgroup', value, 1 FROM"
             " json_each('[\"anon\", \"file\", \"kernel\", \"kernel_stack\", \"pagetables\","
             " \"percpu\", \"sock\", \"vmalloc\", \"shmem\", \"zswap\", \"file_mapped\","
             " \"file_dirty\", \"file_writeback\", \"swapcached\", \"anon_thp\","
             " \"slab_reclaimable\", \"slab_unreclaimable\", \"slab\", \"swap\","
             " \"memory.current\", \"memory.peak\", \"memory.max\", \"memory.high\","
             " \"memory.swap.current\", \"memory.swap.max\"]')");
    for (int i = 0; i < 2 * CF_NR_SMAPS_FIGURES; i++) {
        char sql[200];
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO kernel_figure (source, name, bytes) VALUES ('%s', '%s', 1)",
                       i % 2 == 0 ? "smaps" : "smaps_rollup", cf_smaps_figure_name(i / 2));
        must(db, sql);
    }
    assert_int_equal(cf_rules_explain_kernel(db, &err), CF_OK);
    assert_int_equal(number(db, "SELECT count(*) FROM v_kernel"), 25 + 2 * CF_NR_SMAPS_FIGURES);
    assert_int_equal(number(db, "SELECT count(*) FROM v_kernel WHERE length(explanation) >= 20"
                                " AND explanation LIKE '%.'"),
                     25 + 2 * CF_NR_SMAPS_FIGURES - 2); /* Anonymous ends with its figures */
}

static void a_difference_is_explained_by_its_figures(void **state) {
    (void)state;
    static const struct {
        const char *row, *says;
    } cases[] = {
        {"'smaps_rollup', 'Anonymous', 1, 4096, 8192, NULL, 0, 0, NULL",
         "4.0 KiB to 8.0 KiB here. That explains the difference."},
        {"'smaps_rollup', 'Anonymous', 1, 4096, 8192, NULL, 0, 4096, NULL",
         "The kernel counts 4.0 KiB less than that"},
        {"'smaps_rollup', 'Anonymous', 1, 4096, 8192, NULL, 4096, 0, NULL",
         "The kernel counts 4.0 KiB more than that"},
        {"'smaps', 'Anonymous', 1, NULL, NULL, 4096, 0, 0, NULL",
         "4.0 KiB of it is pages of files' private mappings that were written (module data), which "
         "a core does not tell. Nothing else differs."},
        {"'smaps', 'Anonymous', 1, NULL, NULL, 0, 0, 20480, NULL",
         "Beyond that the kernel counts 20.0 KiB less"},
        {"'cgroup', 'anon', 1, NULL, 8192, NULL, NULL, NULL, NULL", "at most 8.0 KiB."},
        {"'cgroup', 'memory.max', 1, NULL, NULL, NULL, NULL, NULL, 65536", "64.0 KiB is left."},
        {"'cgroup', 'memory.max', NULL, NULL, NULL, NULL, NULL, NULL, NULL", "None is set."},
        {"'cgroup', 'memory.max', 1, NULL, NULL, NULL, NULL, NULL, NULL", "ends in an OOM kill."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP_DB struct cf_db *db = memory_db();
        struct cf_err err;
        char sql[512], text[1024];
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO kernel_figure (source, name, bytes, copied_least_bytes,"
                       " copied_most_bytes, copied_bytes, more_bytes, less_bytes, room_bytes)"
                       " VALUES (%s)", cases[i].row);
        must(db, sql);
        assert_int_equal(cf_rules_explain_kernel(db, &err), CF_OK);
        text_of(db, "SELECT explanation FROM v_kernel", text, sizeof text);
        const char *at = strstr(text, cases[i].says);
        if (at == NULL || (cases[i].says[strlen(cases[i].says) - 1] == '.' &&
                           at[strlen(cases[i].says)] != '\0'))
            fail_msg("%s: %s", cases[i].row, text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_runs_whatever_the_facts),
        cmocka_unit_test(no_figure_of_the_kernel_goes_unexplained),
        cmocka_unit_test(a_difference_is_explained_by_its_figures),
        cmocka_unit_test(the_last_verdict_speaks_when_nothing_is_known),
        cmocka_unit_test(each_incident_gets_its_verdict),
        cmocka_unit_test(a_heap_in_shared_memory_is_outside_malloc),
        cmocka_unit_test(a_finding_is_worth_its_line),
        cmocka_unit_test(a_template_says_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
