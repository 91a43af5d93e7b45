/* base: checked sums, errors, arrays, cleanup, the context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/thread_pool.h"

#define U64_MAX UINT64_MAX

static void sums_that_do_not_fit_leave_the_output_alone(void **state) {
    (void)state;
    static const struct {
        uint64_t a, b;
        bool sum_fits, product_fits;
    } cases[] = {
        {0, 0, true, true},
        {1, U64_MAX - 1, true, true},
        {1, U64_MAX, false, true},
        {U64_MAX, U64_MAX, false, false},
        {1ull << 32, 1ull << 32, true, false},
        {1ull << 32, (1ull << 32) - 1, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t out = 77;
        assert_int_equal(cf_add_u64(cases[i].a, cases[i].b, &out), cases[i].sum_fits);
        assert_int_equal(out, cases[i].sum_fits ? cases[i].a + cases[i].b : 77);
        out = 77;
        assert_int_equal(cf_mul_u64(cases[i].a, cases[i].b, &out), cases[i].product_fits);
        assert_int_equal(out, cases[i].product_fits ? cases[i].a * cases[i].b : 77);
    }
}

static void aligning_up_fails_at_the_end_of_the_address_space(void **state) {
    (void)state;
    uint64_t out = 77;
    assert_true(cf_align_up(1, 4096, &out));
    assert_int_equal(out, 4096);
    assert_true(cf_align_up(4096, 4096, &out));
    assert_int_equal(out, 4096);
    assert_true(cf_align_up(U64_MAX - 4095, 4096, &out));
    assert_int_equal(out, U64_MAX - 4095);
    assert_false(cf_align_up(U64_MAX - 4094, 4096, &out));
    assert_int_equal(out, U64_MAX - 4095);
    assert_int_equal(cf_align_down(U64_MAX, 4096), U64_MAX - 4095);
}

static void zero_is_no_power_of_two(void **state) {
    (void)state;
    assert_false(cf_is_power_of_two(0));
    assert_true(cf_is_power_of_two(1));
    assert_false(cf_is_power_of_two(3));
    assert_true(cf_is_power_of_two(1ull << 63));
}

static void overlap_is_the_shared_bytes_of_half_open_ranges(void **state) {
    (void)state;
    static const struct {
        uint64_t a_start, a_end, b_start, b_end, shared;
    } cases[] = {
        {0, 10, 10, 20, 0}, {0, 10, 9, 20, 1},  {0, 10, 2, 4, 2}, {2, 4, 0, 10, 2},
        {5, 5, 0, 10, 0},   {30, 40, 0, 10, 0}, {0, U64_MAX, U64_MAX - 1, U64_MAX, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cf_overlap(cases[i].a_start, cases[i].a_end, cases[i].b_start,
                                    cases[i].b_end),
                         cases[i].shared);
}

static void an_array_keeps_its_items_while_it_grows(void **state) {
    (void)state;
    CF_ARRAY(uint64_t) numbers = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t *slot = cf_array_push(&numbers);
        assert_non_null(slot);
        assert_int_equal(*slot, 0);
        *slot = i * i;
    }
    assert_int_equal(numbers.len, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(numbers.items[i], i * i);
    cf_array_free(&numbers);
    assert_null(numbers.items);
    assert_int_equal(numbers.len, 0);
}

static void an_array_that_cannot_grow_stays_as_it_is(void **state) {
    (void)state;
    void *items = NULL;
    size_t cap = 0;
    assert_false(cf_array_grow(&items, 0, &cap, SIZE_MAX / 2));
    assert_null(items);
    assert_int_equal(cap, 0);
}

static void an_error_carries_status_and_text(void **state) {
    (void)state;
    struct cf_err err;
    assert_int_equal(cf_err_set(&err, CF_EINPUT, "at offset %d", 52), CF_EINPUT);
    assert_int_equal(err.status, CF_EINPUT);
    assert_string_equal(err.text, "at offset 52");
    assert_int_equal(cf_err_errno(&err, CF_EOUTPUT, ENOENT, "opening %s", "x"), CF_EOUTPUT);
    assert_string_equal(err.text, "opening x: No such file or directory");
    assert_int_equal(cf_err_nomem(&err, 12, "the planes"), CF_ENOMEM);
    assert_string_equal(err.text, "out of memory (12 bytes for the planes)");
}

static void context_stands_before_the_cause(void **state) {
    (void)state;
    struct cf_err err;
    (void)cf_err_set(&err, CF_EINPUT, "no notes");
    assert_int_equal(cf_err_context(&err, "reading %s", "core.1"), CF_EINPUT);
    assert_string_equal(err.text, "reading core.1: no notes");
}

static void texts_that_are_too_long_are_cut_and_closed(void **state) {
    (void)state;
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct cf_err err;
    (void)cf_err_set(&err, CF_EINPUT, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    (void)cf_err_context(&err, "%s", longer);
    assert_true(strlen(err.text) < sizeof err.text);
    (void)cf_err_errno(&err, CF_EINPUT, ENOENT, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void nobody_has_to_want_the_error(void **state) {
    (void)state;
    assert_int_equal(cf_err_set(NULL, CF_EINPUT, "x"), CF_EINPUT);
    assert_int_equal(cf_err_errno(NULL, CF_EOUTPUT, ENOENT, "x"), CF_EOUTPUT);
    assert_int_equal(cf_err_context(NULL, "x"), CF_EINTERNAL);
    assert_int_equal(cf_err_nomem(NULL, 1, "x"), CF_ENOMEM);
}

static void keep_text(void *user, const char *text) {
    (void)snprintf(user, 64, "%s", text);
}

static void the_log_goes_to_the_caller_or_nowhere(void **state) {
    (void)state;
    char heard[64] = "";
    struct cf_context ctx = {.user = heard, .log = keep_text};
    cf_log(&ctx, "%d threads", 3);
    assert_string_equal(heard, "3 threads");
    struct cf_context deaf = {.user = heard};
    cf_log(&deaf, "lost");
    cf_log(NULL, "lost");
    cf_progress(&deaf, "walk", 1, 2);
    cf_progress(NULL, "walk", 1, 2);
    assert_string_equal(heard, "3 threads");
}

static void a_taken_pointer_is_not_freed(void **state) {
    (void)state;
    char *kept;
    {
        CF_CLEANUP_FREE char *owned = strdup("kept");
        kept = cf_take(&owned);
        assert_null(owned);
    }
    assert_string_equal(kept, "kept");
    free(kept);
}

enum { JOBS = 100 };

static void count_job(void *user, size_t index) {
    ((unsigned char *)user)[index]++;
}

static void a_pool_does_each_job_once(void **state) {
    (void)state;
    for (unsigned threads = 0; threads < 2 * CF_THREAD_POOL_MOST; threads += 3) {
        unsigned char done[JOBS + 1] = {0}, expected[JOBS + 1];
        memset(expected, 1, JOBS);
        expected[JOBS] = 0;
        cf_thread_pool_run(threads, JOBS, count_job, done);
        assert_memory_equal(done, expected, sizeof done);
    }
    cf_thread_pool_run(4, 0, count_job, NULL);
    assert_in_range(cf_thread_pool_size(0), 1, CF_THREAD_POOL_MOST);
    assert_int_equal(cf_thread_pool_size(1), 1);
    assert_int_equal(cf_thread_pool_size(1000), CF_THREAD_POOL_MOST);
}

/* Against a walk from the first item on, for every length and every value around the items. */
static void a_bound_is_the_first_index_that_says_yes(void **state) {
    (void)state;
    static const int items[] = {2, 4, 4, 4, 6, 8};
    for (size_t nr = 0; nr <= sizeof items / sizeof *items; nr++) {
        for (int value = 1; value < 10; value++) {
            size_t lower = 0, upper = 0;
            while (lower < nr && items[lower] < value)
                lower++;
            while (upper < nr && items[upper] <= value)
                upper++;
            assert_int_equal(cf_bound(nr, i, items[i] >= value), lower);
            assert_int_equal(cf_bound(nr, i, items[i] > value), upper);
        }
    }
}

enum { HASH_ROWS = 5000 };

/* The hash is cut to `bits`, so that many keys share one, and all of them share a slot with 0. */
static void check_table(unsigned bits) {
    static uint64_t keys[HASH_ROWS];
    struct cf_hash table = {0};
    size_t nr = 0;
    for (uint64_t draw = 0; draw < 2 * HASH_ROWS; draw++) {
        uint64_t key = draw % HASH_ROWS * 0x10001;
        uint64_t hash = bits == 0 ? 0 : cf_hash_mix(key) >> (64 - bits);
        uint32_t row = cf_hash_find(&table, hash, i, keys[i] == key);
        assert_int_equal(row, draw < HASH_ROWS ? CF_HASH_NONE : draw % HASH_ROWS);
        if (row != CF_HASH_NONE)
            continue;
        keys[nr] = key;
        assert_true(cf_hash_add(&table, hash, nr++));
        assert_true(table.nr_rows * 2 <= table.nr_slots + 2);
    }
    assert_int_equal(table.nr_rows, HASH_ROWS);
    cf_hash_fini(&table);
    assert_null(table.slots);
}

static void a_table_finds_each_key_once_however_badly_they_are_mixed(void **state) {
    (void)state;
    check_table(64);
    check_table(5);
    check_table(0);
}

static void an_empty_table_knows_nothing_and_takes_no_row_past_its_numbers(void **state) {
    (void)state;
    struct cf_hash table = {0};
    assert_int_equal(cf_hash_find(&table, 7, i, i == 0), CF_HASH_NONE);
    assert_false(cf_hash_add(&table, 7, CF_HASH_NONE));
    assert_int_equal(table.nr_rows, 0);
    cf_hash_fini(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_do_not_fit_leave_the_output_alone),
        cmocka_unit_test(aligning_up_fails_at_the_end_of_the_address_space),
        cmocka_unit_test(zero_is_no_power_of_two),
        cmocka_unit_test(overlap_is_the_shared_bytes_of_half_open_ranges),
        cmocka_unit_test(an_array_keeps_its_items_while_it_grows),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_is),
        cmocka_unit_test(an_error_carries_status_and_text),
        cmocka_unit_test(context_stands_before_the_cause),
        cmocka_unit_test(texts_that_are_too_long_are_cut_and_closed),
        cmocka_unit_test(nobody_has_to_want_the_error),
        cmocka_unit_test(the_log_goes_to_the_caller_or_nowhere),
        cmocka_unit_test(a_taken_pointer_is_not_freed),
        cmocka_unit_test(a_pool_does_each_job_once),
        cmocka_unit_test(a_bound_is_the_first_index_that_says_yes),
        cmocka_unit_test(a_table_finds_each_key_once_however_badly_they_are_mixed),
        cmocka_unit_test(an_empty_table_knows_nothing_and_takes_no_row_past_its_numbers),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
