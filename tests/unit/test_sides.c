/* Which files go with a core, by their names; and that nothing but a plain file is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "input/sides.h"

static int null_file(void) {
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void the_name_says_whose_it_is(void **state) {
    (void)state;
    static const struct {
        const char *core;
        const char *name;
        int rank; /* -1: it does not go with the core */
        enum cf_side_kind kind;
    } cases[] = {
        {"core", "smaps", 2, CF_SIDE_SMAPS},
        {"core", "proc/77/smaps", 2, CF_SIDE_SMAPS},
        {"core", "core.smaps", 0, CF_SIDE_SMAPS},
        {"core", "77.smaps", 1, CF_SIDE_SMAPS},
        {"core", "78.smaps", -1, 0},
        {"core", "other.smaps", -1, 0},
        {"core", "core.77.smaps", -1, 0},
        {"a/core.77.zst", "b/core.77.smaps_rollup", 0, CF_SIDE_ROLLUP},
        {"core.77.zst", "core.smaps", 0, CF_SIDE_SMAPS},
        {"core.77.zst", "core.77.zst.smaps", 0, CF_SIDE_SMAPS},
        {"core.77.zst", "core.7.smaps", -1, 0},
        {"core", "memory.max", 2, CF_SIDE_CGROUP},
        {"core", "core.memory.swap.max", 0, CF_SIDE_CGROUP},
        {"core", "77.memory.limit_in_bytes", 1, CF_SIDE_CGROUP},
        {"core", "swap.max", -1, 0},
        {"core", "xsmaps", -1, 0},
        {"core", ".smaps", -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(cf_sides_fini) struct cf_sides sides = {0};
        struct cf_tempfile file = {.fd = null_file()};
        assert_int_equal(cf_sides_take(&sides, cases[i].name, &file, NULL), CF_OK);
        cf_sides_choose(&sides, cases[i].core, 77);
        if (file.fd >= 0)
            close(file.fd);
        print_message("%s with %s\n", cases[i].name, cases[i].core);
        assert_int_equal(sides.items.len, cases[i].rank >= 0);
        if (cases[i].rank < 0)
            continue;
        assert_int_equal(sides.items.items[0].rank, cases[i].rank);
        assert_int_equal(sides.items.items[0].kind, cases[i].kind);
    }
}

static void an_archive_of_side_files_has_an_end(void **state) {
    (void)state;
    CF_CLEANUP(cf_sides_fini) struct cf_sides sides = {0};
    for (int i = 0; i < CF_SIDES_MAX + 10; i++) {
        struct cf_tempfile file = {.fd = null_file()};
        assert_int_equal(cf_sides_take(&sides, "smaps", &file, NULL), CF_OK);
        if (file.fd >= 0)
            close(file.fd);
    }
    assert_int_equal(sides.items.len, CF_SIDES_MAX);
    assert_int_equal(cf_sides_room(&sides), CF_SIDE_BYTES_MAX);
}

/* All of them together, since their room is that of the core's copy too. */
static void an_archive_of_large_side_files_has_an_end(void **state) {
    (void)state;
    CF_CLEANUP(cf_sides_fini) struct cf_sides sides = {0};
    for (int i = 0; i < 3; i++) {
        struct cf_tempfile file = {.fd = null_file(), .end = CF_SIDE_BYTES_MAX / 2};
        assert_int_equal(cf_sides_room(&sides), i == 0   ? CF_SIDE_BYTES_MAX
                                                : i == 1 ? CF_SIDE_BYTES_MAX / 2
                                                         : 0);
        assert_int_equal(cf_sides_take(&sides, "smaps", &file, NULL), CF_OK);
    }
    assert_int_equal(cf_sides_room(&sides), 0);
}

static void put(const char *folder, const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Returns at once, or the test does not end. */
static void only_plain_files_beside_the_core_are_opened(void **state) {
    (void)state;
    char folder[] = "/tmp/corefrag-test-XXXXXX", path[256], command[256];
    assert_non_null(mkdtemp(folder));
    CF_CLEANUP(cf_sides_fini) struct cf_sides sides = {0};
    (void)snprintf(path, sizeof path, "%s/core.17", folder);
    put(folder, "memory.current", "4096\n");
    put(folder, "memory.events", ""); /* nothing in it */
    put(folder, "outside", "4096\n");
    (void)snprintf(command, sizeof command,
                   "cd %s && mkfifo smaps && ln -s outside memory.max && mkdir core.smaps cgroup &&"
                   " cp outside cgroup/memory.peak && ln -s outside cgroup/memory.max", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(cf_sides_look(&sides, path, 17, NULL), CF_OK);
    assert_int_equal(sides.items.len, 2);
    (void)snprintf(path, sizeof path, "%s/cgroup/memory.peak", folder);
    assert_string_equal(sides.items.items[0].name, path);
    (void)snprintf(path, sizeof path, "%s/memory.current", folder);
    assert_string_equal(sides.items.items[1].name, path);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_says_whose_it_is),
        cmocka_unit_test(an_archive_of_side_files_has_an_end),
        cmocka_unit_test(an_archive_of_large_side_files_has_an_end),
        cmocka_unit_test(only_plain_files_beside_the_core_are_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
