#include "review.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/emit.h"
#include "report/report.h"
#include "rules/rules.h"
#include "store/queries.h"

#define META                                                                                       \
    "INSERT INTO meta (key, value) VALUES ('tool_version', '0.1'), ('core_path', '/tmp/core.7'), " \
    "('core_bytes', 4096000), ('core_producer', 'kernel'), ('machine', 'x86_64'), "                \
    "('word_bits', 64), ('page_bytes', 4096), ('pid', 7), ('signal', 6), ('threads', 2), "         \
    "('anomalies', 0), ('exe', '/usr/bin/server'), ('reachability', 1), ('outcome', 0), "          \
    "('libc_path', '/lib/libc.so.6'), ('libc_version', '2.36'), ('located_by', 'pattern'), "       \
    "('malloc_layout', 'state 2.27-2.42'), ('libc_build_id', '93ac61ec'), "                        \
    "('arena_limit_formula', '8 x cores');"
#define WHOLE "INSERT INTO meta (key, value) VALUES ('core_complete', 1), ('missing_bytes', 0);"
#define RESIDENCY(SOURCE, EXACT)                                                                   \
    "INSERT INTO meta (key, value) VALUES ('residency_source', '" SOURCE                           \
    "'), ('residency_exact', " EXACT ");"

const char review_complete[] = META WHOLE RESIDENCY("holes", "1");
const char review_zero_pages[] = META WHOLE RESIDENCY("zero-pages", "0");
const char review_blind[] = META WHOLE RESIDENCY("none", "0")
    "UPDATE waste SET bytes = NULL, tcache_bytes = NULL; UPDATE budget SET resident_bytes = NULL;"
    "UPDATE arena SET resident_bytes = NULL, releasable_bytes = NULL, pinned_bytes = NULL;";
const char review_cut[] =
    META RESIDENCY("zero-pages", "0") "INSERT INTO meta (key, value) VALUES ('core_complete', 0), "
                                      "('missing_bytes', 123456789);";

const char review_incident[] =
    /* id, main, threads, resident, live chunks, live, free, tcache, top, overhead, holes, largest,
     * releasable, pinned; each arena's parts sum to what it maps */
    "CREATE TEMP TABLE a (id, main, threads, resident, chunks, live, free, cached, top, overhead, "
    "holes, largest, releasable, pinned);"
    "INSERT INTO a VALUES"
    " (0, 1, 1, 524288, 100, 262144, 131072, 0, 131072, 0, 2, 98304, 90112, 40960),"
    " (1, 0, 1, 8388608, 4000, 524288, 7340032, 65536, 456704, 2048, 40, 1048576, 6291456, 900000),"
    " (2, 0, 0, 3670016, 2000, 262144, 3145728, 0, 260096, 2048, 20, 524288, 2097152, 800000);"
    "INSERT INTO arena (arena_id, namespace, address, is_main, in_ring, heaps, threads, "
    "system_bytes, max_system_bytes, mapped_bytes, reserved_bytes, resident_bytes, live_chunks, "
    "live_bytes, free_chunks, free_bytes, fast_chunks, fast_bytes, tcache_chunks, tcache_bytes, "
    "top_bytes, fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes, "
    "releasable_bytes, releasable_top_bytes, self_releasable_bytes, pinned_bytes, "
    "top_field_bytes, binned_chunks, binned_bytes, fastbin_chunks, fastbin_bytes) "
    "SELECT id, 0, id * 4096, main, 1, 1, threads, resident, resident, resident, 0, resident, "
    "chunks, live, 20, free, 0, 0, 10, cached, top, 0, overhead, holes, free + cached, largest, "
    "releasable, 0, 0, pinned, top, 20, free, 0, 0 FROM a;"
    "INSERT INTO waste SELECT id, 'live', 1, live, 0 FROM a UNION ALL"
    " SELECT id, 'overhead', 2, overhead, 0 FROM a UNION ALL"
    " SELECT id, 'releasable', 3, releasable, 0 FROM a UNION ALL"
    " SELECT id, 'pinned', 4, pinned, 0 FROM a UNION ALL"
    " SELECT id, 'top', 5, top, 0 FROM a UNION ALL"
    " SELECT id, 'cached', 6, cached, cached FROM a UNION ALL"
    " SELECT id, 'cache-pinned', 7, 0, 0 FROM a UNION ALL"
    " SELECT id, 'edge', 8, free - releasable - pinned, 0 FROM a;"
    "INSERT INTO waste SELECT NULL, class, class_order, sum(bytes), sum(tcache_bytes)"
    " FROM waste GROUP BY class;"
    "INSERT INTO budget (kind, label, is_anonymous, mappings, mapped_bytes, resident_bytes) VALUES"
    " ('malloc main heap', '', 1, 1, 524288, 524288),"
    " ('malloc arena heaps', '', 1, 2, 12058624, 12058624),"
    " ('malloc reserve', '', 1, 2, 122159104, NULL), ('thread stacks', '', 1, 2, 16777216, 98304),"
    " ('module data', '', 0, 3, 98304, NULL), ('modules', '', 0, 9, 2097152, NULL),"
    " ('other anonymous', '0x7f0000000000, above server', 1, 1, 4194304, 4096000),"
    " ('unattributed', '', 1, 0, 0, 0);"
    "INSERT INTO thread VALUES (0, 7, 0, 0, 0, 0, NULL, 1, NULL), (1, 8, 1, 0, 0, 0, NULL, 0, "
    "NULL);"
    "INSERT INTO size_class VALUES (0, 'live', 2624, 100), (1, 'live', 80, 4000), (2, 'live', 80, "
    "2000), (1, 'free', 8192, 100);"
    "INSERT INTO hole_histogram VALUES (1, 65536, 30, 7000000, 7000000, 6200000), (2, 65536, 20, "
    "3145728, 3145728, 2097152), (1, 1024, 10, 405568, 405568, 91456), (0, 32768, 2, 131072, "
    "131072, 90112);"
    "INSERT INTO hole (arena_id, heap_id, address, size_bytes, chunks, resident_bytes, "
    "releasable_bytes, below_address, above_address) VALUES (1, 1, 139637976727552, 1048576, 9, "
    "1048576, 1040384, 139637976727472, NULL), (2, 2, 139637976729000, 524288, 4, 524288, 520192, "
    "4096, 8192);"
    "INSERT INTO top_pin VALUES (1, 1, 1, 139637976727472, 80, 1048576, 1505360, 1500000, "
    "1490944, NULL, NULL), (2, 1, 2, 139637976720000, 80, 4096, 264272, 262144, 258048, NULL, "
    "NULL);"
    "INSERT INTO trim_if SELECT 'size', 'chunks of 80 bytes (Session)', 4500, 360000, "
    "sum(releasable_bytes), sum(releasable_bytes) + 1600000 FROM arena;"
    "INSERT INTO page_pin (arena_id, size_bytes, type, chunks, live_bytes, pinned_bytes, holder)"
    " VALUES (0, 2624, NULL, 10, 26240, 40960, NULL), (1, 80, 'Session', 3000, 240000, 900000,"
    " 'global g_sessions+0x40 (server)'), (2, 80, 'Session', 1500, 120000, 800000, NULL);"
    "INSERT INTO root VALUES ('stack', 2, 8192, 0, 0);"
    "INSERT INTO tunable VALUES ('arena_max', '0', 'default', ''), ('mmap_threshold', '4198400', "
    "'mp_', 'dynamic: has grown from 128 KiB to 4100 KiB'), ('trim_threshold', '8396800', 'mp_', "
    "'dynamic: has grown from 128 KiB to 8200 KiB');";

struct cf_db *review_db(const char *core, const char *rows) {
    struct cf_db *db = NULL;
    struct cf_err err = {0};
    int status = cf_db_open_memory(&db, &err);
    if (status == CF_OK)
        status = cf_db_exec(db, cf_schema_sql(), &err);
    if (status == CF_OK)
        status = cf_db_exec(db, rows, &err);
    if (status == CF_OK)
        status = cf_db_exec(db, core, &err);
    if (status == CF_OK)
        status = cf_rules_judge(db, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
    return db;
}

struct cf_doc *review_doc(struct cf_db *db, const struct cf_report_options *options) {
    struct cf_doc *doc = NULL;
    struct cf_err err = {0};
    if (cf_report_build(db, "core.7.db", options, &doc, &err) != CF_OK)
        fail_msg("%s", err.text);
    return doc;
}

char *review_print(const struct cf_doc *doc, const struct cf_report_options *options) {
    char *text = NULL;
    size_t len = 0;
    struct cf_err err = {0};
    FILE *stream = open_memstream(&text, &len);
    assert_non_null(stream);
    if (cf_emit(doc, options, stream, &err) != CF_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fclose(stream), 0);
    return text;
}

char *review_report(const char *core, const char *rows, const struct cf_report_options *options) {
    struct cf_db *db = review_db(core, rows);
    struct cf_doc *doc = review_doc(db, options);
    char *text = review_print(doc, options);
    cf_doc_free(doc);
    cf_db_free(db);
    return text;
}

void review_says(const char *text, const char *sentence) {
    if (strstr(text, sentence) == NULL) {
        print_message("%s\n", text);
        fail_msg("the report does not say \"%s\"", sentence);
    }
}

void review_does_not_say(const char *text, const char *sentence) {
    if (strstr(text, sentence) != NULL) {
        print_message("%s\n", text);
        fail_msg("the report says \"%s\"", sentence);
    }
}

static void write_golden(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The whole file; the caller frees. */
static char *read_golden(const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s is missing: make golden", path);
    char *text = NULL;
    size_t size = 0;
    ssize_t length = getdelim(&text, &size, '\0', file);
    assert_true(length >= 0);
    (void)fclose(file);
    return text;
}

static size_t first_difference(const char *a, const char *b) {
    size_t line = 1;
    for (; *a != '\0' && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

void review_golden(const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof path, "tests/unit/golden/%s", name);
    if (getenv("UPDATE_GOLDEN") != NULL) {
        write_golden(path, text);
        return;
    }
    char *golden = read_golden(path);
    if (strcmp(golden, text) != 0) {
        print_message("%s\n", text);
        fail_msg("%s differs from line %zu on; if it should, make golden", path,
                 first_difference(golden, text));
    }
    free(golden);
}
