/*
 * The reading side without memory: the Nth allocation fails, for N = 1, 2, 3 ... until the run
 * succeeds. Each failure is told as such, leaves the output alone and leaks nothing (which the
 * sanitizers judge). The linker puts the functions below before those of libc for our own code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core.h"
#include "input/input.h"
#include "mem/mem.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096, MOST_ALLOCATIONS = 1000 };

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);

/* Allocations until the one that fails; 0: none fails. */
static unsigned left;

static bool fails(void) {
    return left > 0 && --left == 0;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

/* Every table of the reading side grows more than once: segments that overlap, threads, files,
 * flaws, extents and runs. */
static struct synth *core_that_needs_memory(void) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    for (uint32_t i = 0; i < 40; i++) {
        char path[32];
        uint64_t at = 0x1000000 + (uint64_t)i * 0x100000;
        (void)snprintf(path, sizeof path, "/lib/lib%u.so", i);
        synth_thread(synth, 100 + i, 6, 0x7000, 0x8000);
        synth_file(synth, at, at + PAGE, 0, path);
        synth_segment(synth, at, 4 * PAGE, SYNTH_RW);
        synth_segment(synth, at + 3 * PAGE, 4 * PAGE, SYNTH_RW);
        synth_fill(synth, at + 2 * PAGE, 0, PAGE);
        synth_fill(synth, at + 5 * PAGE, 1, PAGE);
    }
    synth_segment(synth, UINT64_MAX - PAGE, 2 * PAGE, SYNTH_RW)->file_bytes = 0;
    return synth;
}

static void reading_a_core_survives_each_failed_allocation(void **state) {
    (void)state;
    struct synth *synth = core_that_needs_memory();
    int fd = synth_fd(synth);
    unsigned nth = 0;
    unsigned failures = 0;
    bool done = false;
    while (!done && ++nth < MOST_ALLOCATIONS) {
        struct cf_core *core = NULL;
        struct cf_mem *mem = NULL;
        struct cf_err err = {.status = CF_OK};
        left = nth;
        int status = cf_core_open(NULL, fd, "synth", NULL, &core, &err);
        assert_int_equal(status == CF_OK, core != NULL);
        if (status == CF_OK)
            status = whole_mem(NULL, core, &mem, &err);
        done = left > 0;
        left = 0;
        assert_int_equal(status == CF_OK, mem != NULL);
        if (status != CF_OK) {
            assert_int_equal(status, CF_ENOMEM);
            assert_int_equal(err.status, CF_ENOMEM);
            assert_non_null(strstr(err.text, "out of memory"));
            failures++;
        }
        cf_mem_free(mem);
        cf_core_free(core);
    }
    assert_true(done);
    assert_in_range(failures, 15, MOST_ALLOCATIONS);
    synth_free(synth);
}

/* libarchive's own memory does not fail here: it is not linked so. */
static int packed_core(void) {
    struct synth *synth = core_that_needs_memory();
    static unsigned char bytes[4 << 20];
    ssize_t len = pread(synth_fd(synth), bytes, sizeof bytes, 0);
    assert_true(len > 0 && (size_t)len < sizeof bytes);
    int fd = memfd_create("packed", MFD_CLOEXEC);
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, "core");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, len);
    assert_int_equal(archive_write_set_format_zip(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_fd(archive, fd), ARCHIVE_OK);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, bytes, (size_t)len), len);
    archive_entry_free(entry);
    assert_int_equal(archive_write_free(archive), ARCHIVE_OK);
    synth_free(synth);
    return fd;
}

static void unpacking_survives_each_failed_allocation(void **state) {
    (void)state;
    int fd = packed_core();
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    unsigned nth = 0;
    bool done = false;
    while (!done && ++nth < MOST_ALLOCATIONS) {
        struct cf_input *input = NULL;
        struct cf_err err = {.status = CF_OK};
        left = nth;
        int status = cf_input_open(NULL, path, &input, &err);
        done = left > 0;
        left = 0;
        assert_int_equal(status, done ? CF_OK : CF_ENOMEM);
        assert_int_equal(err.status, status);
        assert_int_equal(status == CF_OK, input != NULL);
        cf_input_free(input);
    }
    assert_true(done);
    assert_in_range(nth, 4, MOST_ALLOCATIONS);
    (void)close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_a_core_survives_each_failed_allocation),
        cmocka_unit_test(unpacking_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
