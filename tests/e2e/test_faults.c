/*
 * The Nth allocation fails, for N = 1, 2, 3 ... until the run succeeds: a whole analysis and a
 * whole report must each time say that memory is out, and leave nothing behind. The linker
 * puts the functions below before those of libc for our own code (--wrap), not for the libraries
 * that it calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "corefrag.h"

#define CORE "build/seeds/everything"

enum { MOST_ALLOCATIONS = 100000 };

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
int __real_vasprintf(char **out, const char *format, va_list args);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **out, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Allocations until the one that fails; 0: none fails. All threads of the library count. */
static long left;

static bool fails(void) {
    return left > 0 && __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) == 0;
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

int __wrap_vasprintf(char **out, const char *format, va_list args) {
    return fails() ? -1 : __real_vasprintf(out, format, args);
}

static char folder[] = "/tmp/corefrag-faults.XXXXXX";
static char db_path[64];

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(db_path, sizeof db_path, "%s/a.db", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(db_path);
    return rmdir(folder); /* fails when a run left something behind */
}

static int analyze(struct cf_err *err) {
    struct cf_options options = {.force = true};
    enum cf_outcome outcome;
    return cf_analyze(NULL, CORE, db_path, &options, &outcome, err);
}

static int report(struct cf_err *err) {
    FILE *sink = fopen("/dev/null", "w");
    assert_non_null(sink);
    struct cf_report_options options = {0};
    int status = cf_report(NULL, db_path, &options, sink, err);
    (void)fclose(sink);
    return status;
}

/* Runs `work` until it succeeds; how many allocations that took. */
static long fail_each_allocation(int (*work)(struct cf_err *err), bool leaves_file) {
    for (long n = 1; n < MOST_ALLOCATIONS; n++) {
        struct cf_err err = {0};
        left = n;
        int status = work(&err);
        bool unused = left > 0;
        left = 0;
        if (status == CF_OK && unused)
            return n - 1;
        if (status == CF_OK) {
            if (!leaves_file)
                (void)unlink(db_path);
            continue; /* it could do without */
        }
        if (status != CF_ENOMEM)
            fail_msg("allocation %ld failed: status %d: %s", n, status, err.text);
        assert_int_not_equal(err.text[0], '\0');
        assert_int_equal(access(db_path, F_OK) == 0, leaves_file);
    }
    fail_msg("still failing after %d allocations", MOST_ALLOCATIONS);
    return 0;
}

static void an_analysis_survives_each_allocation_that_fails(void **state) {
    (void)state;
    (void)unlink(db_path);
    assert_true(fail_each_allocation(analyze, false) > 20);
}

static void a_report_survives_each_allocation_that_fails(void **state) {
    (void)state;
    struct cf_err err;
    assert_int_equal(analyze(&err), CF_OK);
    assert_true(fail_each_allocation(report, true) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_analysis_survives_each_allocation_that_fails),
        cmocka_unit_test(a_report_survives_each_allocation_that_fails),
    };
    return cmocka_run_group_tests_name("faults", tests, make_folder, remove_folder);
}
