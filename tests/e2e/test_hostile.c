/*
 * The core's file changes under an analysis: it is cut at the Nth time that the library tells how
 * far it is, for N = 1, 2, 3 ... until a run is through before that. Each time the library says
 * which file and where, and leaves nothing behind. And a core with holes on a file system of memory
 * is the same before and after, and says the same twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "corefrag.h"

#define SEED "build/seeds/everything"

enum { MOST_STEPS = 10000 };

static char folder[] = "/tmp/corefrag-hostile.XXXXXX";
static char core_path[64], db_path[64];

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(core_path, sizeof core_path, "%s/core", folder);
    (void)snprintf(db_path, sizeof db_path, "%s/a.db", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(core_path);
    return rmdir(folder); /* fails when a run left something behind */
}

/* Copies the seed without its pages of zeros into `out`; its size. */
static off_t copy_seed(int out) {
    static const char zeros[4096];
    char page[sizeof zeros];
    CF_CLEANUP_CLOSE int in = open(SEED, O_RDONLY | O_CLOEXEC);
    assert_true(in >= 0);
    off_t at = 0;
    for (ssize_t got; (got = read(in, page, sizeof page)) > 0; at += got) {
        if (memcmp(page, zeros, (size_t)got) != 0)
            assert_int_equal(pwrite(out, page, (size_t)got, at), got);
    }
    assert_int_equal(ftruncate(out, at), 0);
    return at;
}

static off_t make_core(void) {
    (void)unlink(core_path);
    CF_CLEANUP_CLOSE int out = open(core_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    return copy_seed(out);
}

struct cutter {
    unsigned steps_left;
    off_t to;
    bool did;
};

static int cut(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct cutter *cutter = user;
    (void)stage;
    (void)done;
    (void)total;
    if (cutter->steps_left > 0 && --cutter->steps_left == 0)
        cutter->did = truncate(core_path, cutter->to) == 0;
    return 0;
}

static int analyze(const struct cf_context *ctx, const char *path, struct cf_err *err) {
    const struct cf_options options = {.force = true};
    enum cf_outcome outcome;
    return cf_analyze(ctx, path, db_path, &options, &outcome, err);
}

static void a_core_that_is_cut_at_any_moment_ends_the_analysis(void **state) {
    (void)state;
    static const unsigned percents[] = {0, 40, 95};
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        struct cutter cutter = {.did = true};
        unsigned step = 1;
        for (; step < MOST_STEPS; step++) {
            struct cf_err err = {.text = ""};
            cutter = (struct cutter){.steps_left = step, .to = make_core() / 100 * percents[i]};
            const struct cf_context ctx = {.user = &cutter, .progress = cut};
            int status = analyze(&ctx, core_path, &err);
            if (!cutter.did)
                break;
            if (status == CF_OK) { /* the last steps are behind the reading */
                (void)unlink(db_path);
                continue;
            }
            assert_int_equal(status, CF_EINPUT);
            assert_non_null(strstr(err.text, core_path));
            assert_non_null(strstr(err.text, "at offset"));
            assert_int_not_equal(access(db_path, F_OK), 0);
        }
        assert_true(step > 10 && step < MOST_STEPS);
        (void)unlink(db_path);
    }
}

static void a_check_says_that_the_core_was_cut(void **state) {
    (void)state;
    CF_CLEANUP_FREE char *text = NULL;
    size_t bytes;
    struct cf_err err = {.text = ""};
    enum cf_outcome outcome;
    struct cutter cutter = {.steps_left = 1, .to = make_core() / 2};
    const struct cf_context ctx = {.user = &cutter, .progress = cut};
    FILE *sink = open_memstream(&text, &bytes);
    assert_non_null(sink);
    assert_int_equal(cf_check(&ctx, core_path, NULL, sink, &outcome, &err), CF_EINPUT);
    assert_int_equal(fclose(sink), 0);
    assert_int_equal(bytes, 0);
    assert_non_null(strstr(err.text, "at offset"));
}

static long long number(const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    long long value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return value;
}

static void holes_on_a_file_system_of_memory_stay_holes(void **state) {
    (void)state;
    char path[64];
    CF_CLEANUP_CLOSE int fd = memfd_create("core", 0);
    struct stat before, after;
    long long resident[2], exact[2];
    (void)copy_seed(fd);
    assert_int_equal(fstat(fd, &before), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int time = 0; time < 2; time++) {
        struct cf_err err = {.text = ""};
        if (analyze(NULL, path, &err) != CF_OK)
            fail_msg("%s", err.text);
        resident[time] = number("SELECT resident_bytes FROM v_verdict");
        exact[time] = number("SELECT value FROM meta WHERE key = 'residency_exact'");
        assert_int_equal(fstat(fd, &after), 0);
        assert_int_equal(after.st_blocks, before.st_blocks);
        assert_true(after.st_blocks * 512 < after.st_size);
    }
    assert_int_equal(resident[0], resident[1]);
    assert_int_equal(exact[0], exact[1]);
    (void)unlink(db_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_that_is_cut_at_any_moment_ends_the_analysis),
        cmocka_unit_test(a_check_says_that_the_core_was_cut),
        cmocka_unit_test(holes_on_a_file_system_of_memory_stay_holes),
    };
    return cmocka_run_group_tests_name("hostile", tests, make_folder, remove_folder);
}
