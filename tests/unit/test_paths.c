/* Paths to chunks: what is put is what is found, and the end of a path is its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "reach/paths.h"

enum { ALL = 200000 }; /* more than the writers' buffers hold */

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A forest: each position hangs on an earlier one, or every so often on a root. Ranks are odd. */
static struct cf_paths *some_paths(uint32_t *ranks, uint32_t *from) {
    struct cf_paths_writer writer;
    struct cf_paths *paths;
    uint32_t seed = 1, block[100];
    for (uint32_t i = 0; i < ALL; i++)
        ranks[i] = 2 * i + 1;
    for (uint32_t i = ALL - 1; i > 0; i--) {
        uint32_t at = next_random(&seed) % (i + 1), swap = ranks[i];
        ranks[i] = ranks[at];
        ranks[at] = swap;
    }
    assert_int_equal(cf_paths_begin(&writer, true, NULL), CF_OK);
    for (uint32_t i = 0; i < ALL; i++) {
        from[i] = i == 0 || next_random(&seed) % 50 == 0 ? cf_paths_from_root(i % 100)
                                                          : next_random(&seed) % i;
        cf_paths_put(&writer, (struct cf_rank){ranks[i]}, from[i]);
        if (i % 10007 != 5000)
            continue;
        for (uint32_t first = 0; first <= i - 100; first += 1 + i / 7) { /* old ones and new ones */
            cf_paths_copy(&writer, (struct cf_position){first}, block, 100);
            assert_memory_equal(block, ranks + first, sizeof block);
        }
        cf_paths_copy(&writer, (struct cf_position){i}, block, 1);
        assert_int_equal(block[0], ranks[i]);
    }
    assert_int_equal(cf_paths_finish(&writer, &paths, NULL), CF_OK);
    assert_int_equal(paths->nr, ALL);
    return paths;
}

static void what_is_put_is_what_is_found(void **state) {
    (void)state;
    uint32_t *ranks = calloc(ALL, sizeof *ranks), *from = calloc(ALL, sizeof *from);
    assert_true(ranks != NULL && from != NULL);
    struct cf_paths *paths = some_paths(ranks, from);
    assert_memory_equal(paths->order, ranks, ALL * sizeof *ranks);
    assert_memory_equal(paths->from, from, ALL * sizeof *from);
    const struct cf_rank asked[] = {{0}, {1}, {1}, {2}, {777}, {778}, {2 * ALL - 1}, CF_NO_RANK};
    struct cf_position at[8];
    assert_int_equal(cf_paths_find(NULL, paths, asked, 8, at, NULL), CF_OK);
    for (size_t i = 0; i < 8; i++) {
        bool is_there = cf_is_ranked(asked[i]) && asked[i].index % 2 == 1;
        assert_int_equal(cf_is_position(at[i]), is_there);
        if (is_there)
            assert_int_equal(ranks[at[i].index], asked[i].index);
    }
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(cf_paths_before(paths, (struct cf_position){i}).index,
                         from[i] >> 31 ? CF_NO_POSITION.index : from[i]);
    cf_paths_free(paths);
    free(ranks);
    free(from);
}

static void the_end_of_a_way_is_the_same_from_everywhere_on_it(void **state) {
    (void)state;
    enum { LONG = 9040 };
    struct cf_paths_writer writer;
    struct cf_paths *paths;
    assert_int_equal(cf_paths_begin(&writer, true, NULL), CF_OK);
    /* Two long paths, of the even and of the odd positions. */
    for (uint32_t i = 0; i < LONG; i++)
        cf_paths_put(&writer, (struct cf_rank){i}, i < 2 ? cf_paths_from_root(3 + i) : i - 2);
    assert_int_equal(cf_paths_finish(&writer, &paths, NULL), CF_OK);
    for (size_t step = 0; step < 3; step++)
        for (size_t i = step * 61; i < LONG; i += 997 - step) {
            size_t at = step == 1 ? LONG - 1 - i : i;
            const struct cf_position position = {at};
            struct cf_path_end end;
            assert_int_equal(cf_paths_end(NULL, paths, position, &end, NULL), CF_OK);
            assert_int_equal(end.root, 3 + at % 2);
            assert_int_equal(end.first.index, at % 2);
            assert_int_equal(end.nr_chunks, at / 2 + 1);
        }
    cf_paths_free(paths);
}

static void no_room_is_an_error_and_leaves_nothing(void **state) {
    (void)state;
    struct cf_paths_writer writer;
    struct cf_err err = {.status = CF_OK};
    assert_int_equal(setenv("TMPDIR", "/proc/nowhere", 1), 0);
    assert_int_equal(cf_paths_begin(&writer, true, &err), CF_EOUTPUT);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_non_null(strstr(err.text, "/proc/nowhere"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_what_is_found),
        cmocka_unit_test(the_end_of_a_way_is_the_same_from_everywhere_on_it),
        cmocka_unit_test(no_room_is_an_error_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
