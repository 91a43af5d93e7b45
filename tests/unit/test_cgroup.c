/* Figures of a cgroup: both versions, one file or a folder, and files that are something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "input/cgroup.h"

static char folder[64];
static char path[128];

static int make_folder(void **state) {
    (void)state;
    (void)strcpy(folder, "/tmp/corefrag-test-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void drop(const char *name) {
    assert_int_equal(unlink(path_of(name)), 0);
}

static uint64_t bytes_of(const struct cf_cgroup *cgroup, const char *name) {
    const struct cf_cgroup_figure *figure = cf_cgroup_find(cgroup, name);
    if (figure == NULL)
        fail_msg("%s is missing", name);
    return figure->bytes;
}

static void a_folder_of_version_2(void **state) {
    (void)state;
    CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 0};
    struct cf_err err;
    put("memory.stat", "anon 4096\nfile 8192\nsock 12288\nslab 1\nswap 7\npgfault 99\nnew_row 3\n");
    put("memory.current", "20480\n");
    put("memory.max", "max\n");
    put("memory.high", "1048576\n");
    put("memory.events", "low 0\noom 3\noom_kill 2\n");
    assert_int_equal(cf_cgroup_read(&cgroup, folder, &err), CF_OK);
    assert_int_equal(cgroup.version, 2);
    assert_int_equal(cgroup.figures.len, 9);
    assert_int_equal(bytes_of(&cgroup, "oom_kill"), 2);
    assert_true(cf_cgroup_find(&cgroup, "oom_kill")->is_count);
    assert_int_equal(bytes_of(&cgroup, "anon"), 4096);
    assert_int_equal(bytes_of(&cgroup, "sock"), 12288);
    assert_int_equal(bytes_of(&cgroup, "memory.current"), 20480);
    assert_true(cf_cgroup_find(&cgroup, "memory.max")->is_unlimited);
    assert_false(cf_cgroup_find(&cgroup, "memory.high")->is_unlimited);
    assert_null(cf_cgroup_find(&cgroup, "pgfault"));
    drop("memory.stat");
    drop("memory.current");
    drop("memory.max");
    drop("memory.high");
    drop("memory.events");
}

static void version_1_has_the_names_of_version_2(void **state) {
    (void)state;
    CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 0};
    struct cf_err err;
    put("memory.stat", "cache 1\nrss 2\nshmem 3\nswap 4\nhierarchical_memory_limit 5\n"
                       "total_cache 100\ntotal_rss 200\ntotal_shmem 300\ntotal_swap 400\n");
    put("memory.usage_in_bytes", "1000\n");
    put("memory.limit_in_bytes", "9223372036854771712\n");
    put("memory.kmem.usage_in_bytes", "17\n");
    put("memory.kmem.tcp.usage_in_bytes", "18\n");
    put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    assert_int_equal(cf_cgroup_read(&cgroup, folder, &err), CF_OK);
    assert_int_equal(cgroup.version, 1);
    assert_int_equal(bytes_of(&cgroup, "anon"), 200);
    assert_int_equal(bytes_of(&cgroup, "file"), 100);
    assert_int_equal(bytes_of(&cgroup, "shmem"), 300);
    assert_int_equal(bytes_of(&cgroup, "swap"), 400);
    assert_int_equal(bytes_of(&cgroup, "memory.current"), 1000);
    assert_int_equal(bytes_of(&cgroup, "kernel"), 17);
    assert_int_equal(bytes_of(&cgroup, "sock"), 18);
    assert_int_equal(bytes_of(&cgroup, "oom_kill"), 3);
    assert_true(cf_cgroup_find(&cgroup, "memory.max")->is_unlimited);
    drop("memory.stat");
    drop("memory.usage_in_bytes");
    drop("memory.limit_in_bytes");
    drop("memory.kmem.usage_in_bytes");
    drop("memory.kmem.tcp.usage_in_bytes");
    drop("memory.oom_control");
}

static void one_file_is_enough(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *figure;
        uint64_t bytes;
        int version;
    } cases[] = {
        {"memory.max", "4096\n", "memory.max", 4096, 0},
        {"memory.current", "0", "memory.current", 0, 0},
        {"memory.limit_in_bytes", "4096\n", "memory.max", 4096, 1},
        {"memory.stat", "anon 77\n", "anon", 77, 2},
        {"memory.events", "oom 9\noom_kill 4\n", "oom_kill", 4, 0},
        {"stat-of-tuesday.txt", "anon 77\r\nfile 1\r\n", "anon", 77, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 0};
        struct cf_err err = {.text = ""};
        put(cases[i].name, cases[i].text);
        if (cf_cgroup_read(&cgroup, path, &err) != CF_OK)
            fail_msg("%s: %s", cases[i].name, err.text);
        assert_int_equal(bytes_of(&cgroup, cases[i].figure), cases[i].bytes);
        assert_int_equal(cgroup.version, cases[i].version);
        drop(cases[i].name);
    }
}

static void what_is_no_file_of_the_controller_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } cases[] = {
        {"memory.max", "", ":1: '' is no number of bytes"},
        {"memory.max", "lots\n", ":1: 'lots' is no number"},
        {"memory.max", "4096 kB\n", ":1: '4096 kB' is no number"},
        {"memory.max", "-1\n", ":1:"},
        {"memory.current", "max\n", ":1: 'max' is no number"}, /* only a limit can be unset */
        {"memory.current", "99999999999999999999\n", ":1:"},
        {"memory.stat", "", ":1: the file is empty"},
        {"memory.stat", "anon 1\nfile\n", ":2: 'file' is no row"},
        {"memory.stat", "anon 1\nfile 2 3\n", ":2: 'file 2 3' is no row"},
        {"memory.stat", "anon x\n", ":1: 'anon x' is no row"},
        {"memory.stat", "pgfault 3\n", "no size of the memory controller"},
        {"something", "Rss: 4 kB\n", ":1: 'Rss: 4 kB' is no row"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 0};
        struct cf_err err = {.text = ""};
        put(cases[i].name, cases[i].text);
        int status = cf_cgroup_read(&cgroup, path, &err);
        if (status != CF_EINPUT || strstr(err.text, cases[i].says) == NULL ||
            strncmp(err.text, path, strlen(path)) != 0)
            fail_msg("'%s' gives %d: %s", cases[i].text, status, err.text);
        drop(cases[i].name);
    }
}

static void what_is_not_there_is_named(void **state) {
    (void)state;
    CF_CLEANUP(cf_cgroup_fini) struct cf_cgroup cgroup = {.version = 0};
    struct cf_err err;
    assert_int_equal(cf_cgroup_read(&cgroup, "/nowhere/memory.max", &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "/nowhere/memory.max"));
    assert_int_equal(cf_cgroup_read(&cgroup, folder, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "holds no file of the memory controller"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_version_2),
        cmocka_unit_test(version_1_has_the_names_of_version_2),
        cmocka_unit_test(one_file_is_enough),
        cmocka_unit_test(what_is_no_file_of_the_controller_is_refused),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
