/* smaps: files as kernels write them, and files that are something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "input/smaps.h"

#define FIRST "55d0a000-55d0b000 r--p 00000000 fe:00 1117    /usr/bin/some program\n"
#define SECOND "55d0b000-55d0d000 rw-p 00000000 00:00 0 \n"
#define LAST "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n"

/* A file that lives as long as the process. */
static const char *file_of(const char *text, size_t bytes) {
    static char path[64];
    int fd = memfd_create("smaps", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void close_file(const char *path) {
    (void)close(atoi(path + strlen("/proc/self/fd/")));
}

static void figures_are_summed_over_the_mappings(void **state) {
    (void)state;
    static const char text[] = FIRST "Size:                  4 kB\n"
                                     "Rss:                   4 kB\n"
                                     "Anonymous:             0 kB\n"
                                     "VmFlags: rd mr mw me sd \n"
                               SECOND "Rss:                   8 kB\n"
                                      "Shared_Dirty:          4 kB\n"
                                      "Anonymous:             4 kB\n"
                                      "Swap:                 16 kB\n"
                                      "THPeligible:    0\n"
                                      "SomethingNew:          5 furlongs\n"
                               LAST "Rss: 0 kB\n";
    CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
    struct cf_err err;
    const char *path = file_of(text, strlen(text));
    assert_int_equal(cf_smaps_read(&smaps, path, &err), CF_OK);
    close_file(path);
    assert_false(smaps.is_rollup);
    assert_int_equal(smaps.rows.len, 3);
    assert_int_equal(smaps.rows.items[1].start, 0x55d0b000);
    assert_int_equal(smaps.rows.items[1].end, 0x55d0d000);
    assert_int_equal(smaps.rows.items[1].bytes[CF_SMAPS_ANONYMOUS], 4096);
    assert_int_equal(smaps.rows.items[1].bytes[CF_SMAPS_SHARED_DIRTY], 4096);
    assert_false(smaps.rows.items[1].is_shared);
    assert_ptr_equal(cf_smaps_find(&smaps, 0x55d0cfff), &smaps.rows.items[1]);
    assert_ptr_equal(cf_smaps_find(&smaps, 0x55d0b000), &smaps.rows.items[1]);
    assert_null(cf_smaps_find(&smaps, 0x55d0d000));
    assert_null(cf_smaps_find(&smaps, 0x55d09fff));
    assert_null(cf_smaps_find(&smaps, UINT64_MAX));
    assert_int_equal(smaps.sum.bytes[CF_SMAPS_RSS], 12288);
    assert_int_equal(smaps.sum.bytes[CF_SMAPS_ANONYMOUS], 4096);
    assert_int_equal(smaps.sum.bytes[CF_SMAPS_SWAP], 16384);
    assert_int_equal(smaps.sum.known,
                     1u << CF_SMAPS_RSS | 1u << CF_SMAPS_ANONYMOUS | 1u << CF_SMAPS_SWAP |
                         1u << CF_SMAPS_SHARED_DIRTY);
}

static void a_rollup_is_one_row(void **state) {
    (void)state;
    static const char text[] = "1000-7ffd000 ---p 00000000 00:00 0                    [rollup]\r\n"
                               "Rss:  12 kB\r\nAnonymous: 8 kB\r\n";
    CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
    struct cf_err err;
    const char *path = file_of(text, strlen(text));
    assert_int_equal(cf_smaps_read(&smaps, path, &err), CF_OK);
    close_file(path);
    assert_true(smaps.is_rollup);
    assert_int_equal(smaps.sum.bytes[CF_SMAPS_ANONYMOUS], 8192);
}

static void our_own_is_read(void **state) {
    (void)state;
    static const char *const paths[] = {"/proc/self/smaps", "/proc/self/smaps_rollup"};
    for (size_t i = 0; i < 2; i++) {
        CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
        struct cf_err err;
        assert_int_equal(cf_smaps_read(&smaps, paths[i], &err), CF_OK);
        assert_true(smaps.sum.bytes[CF_SMAPS_ANONYMOUS] > 0);
        assert_true(smaps.sum.bytes[CF_SMAPS_RSS] >= smaps.sum.bytes[CF_SMAPS_ANONYMOUS]);
    }
}

#define FIGURE "Rss: 4 kB\n"

static const struct {
    const char *text;
    const char *says; /* in the error */
} bad[] = {
    {"", ":1: the file is empty"},
    {"hello\n", ":1: 'hello' is no mapping"},
    {"Rss: 4 kB\n", ":1: 'Rss: 4 kB' is no mapping"},
    {"\x7f" "ELF\x02\x01\x01\n", ":1:"},
    {FIRST, "maps and not smaps"},
    {FIRST SECOND, ":2: the mapping before has no figures"},
    {FIRST FIGURE SECOND, "the last mapping has no figures"},
    {FIRST "Rss: four kB\n", ":2: 'Rss: four kB' has no size"},
    {FIRST "Rss: 4\n", ":2: 'Rss: 4' has no size"},
    {FIRST "Rss: -4 kB\n", ":2:"},
    {FIRST "Rss: 99999999999999999999 kB\n", ":2:"},
    {FIRST "Rss: 18014398509481984 kB\n", ":2:"}, /* 2^64 bytes */
    {FIRST FIGURE FIGURE, ":3: Rss stands twice"},
    {FIRST FIGURE "nonsense\n", ":3: 'nonsense' is no line"},
    {SECOND FIGURE FIRST FIGURE, ":3: the mapping overlaps"},
    {FIRST FIGURE FIRST FIGURE, ":3: the mapping overlaps"},
    {"2000-1000 rw-p 00000000 00:00 0 \n" FIGURE, ":1: '2000-1000 rw-p"},
    {"1000-2000 ---p 00000000 00:00 0   [rollup]\n" FIGURE SECOND FIGURE, ":3: smaps_rollup has"},
    {FIRST FIGURE "1000-2000 ---p 00000000 00:00 0   [rollup]\n" FIGURE, ":3: smaps_rollup has"},
};

static void what_is_no_smaps_is_refused_by_file_and_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
        struct cf_err err = {.text = ""};
        const char *path = file_of(bad[i].text, strlen(bad[i].text));
        int status = cf_smaps_read(&smaps, path, &err);
        if (status != CF_EINPUT)
            fail_msg("'%s' gives %d", bad[i].text, status);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("'%s' says: %s", bad[i].text, err.text);
        if (strncmp(err.text, path, strlen(path)) != 0)
            fail_msg("the file is not named: %s", err.text);
        close_file(path);
    }
}

static void bytes_that_are_no_text_are_refused(void **state) {
    (void)state;
    static const char zeros[] = FIRST "Rss: 4\0 kB\n";
    static char long_line[20000];
    memset(long_line, 'x', sizeof long_line);
    struct cf_err err;
    CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
    const char *path = file_of(zeros, sizeof zeros - 1);
    assert_int_equal(cf_smaps_read(&smaps, path, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, ":2: this is no text"));
    close_file(path);
    path = file_of(long_line, sizeof long_line);
    assert_int_equal(cf_smaps_read(&smaps, path, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, ":1: the line is too long"));
    close_file(path);
}

static void what_cannot_be_opened_is_named(void **state) {
    (void)state;
    static const char *const paths[] = {"/nowhere/smaps", "/proc"};
    for (size_t i = 0; i < 2; i++) {
        CF_CLEANUP(cf_smaps_fini) struct cf_smaps smaps = {.rows = {0}};
        struct cf_err err;
        assert_int_equal(cf_smaps_read(&smaps, paths[i], &err), CF_EINPUT);
        assert_non_null(strstr(err.text, paths[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_summed_over_the_mappings),
        cmocka_unit_test(a_rollup_is_one_row),
        cmocka_unit_test(our_own_is_read),
        cmocka_unit_test(what_is_no_smaps_is_refused_by_file_and_line),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(what_cannot_be_opened_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
