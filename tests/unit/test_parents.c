/* Parents of chunks: what is set is what is got, and the end of a way is its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/parents.h"

enum { ALL = 9040 };

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A forest: the i-th chunk hangs on an earlier one, or every so often on a root; a few on none. */
static void what_is_set_is_what_is_got(void **state) {
    (void)state;
    struct cf_parents *parents;
    size_t *of = calloc(ALL, sizeof *of); /* SIZE_MAX: none; ALL + r: root r; else an index */
    uint32_t seed = 1;
    assert_non_null(of);
    assert_int_equal(cf_parents_new(ALL, 100, &parents, NULL), CF_OK);
    for (size_t i = 0; i < ALL; i++) {
        uint32_t r = next_random(&seed);
        of[i] = i == 0 || r % 50 == 0 ? ALL + r % 100 : r % 51 == 0 ? SIZE_MAX : r % i;
        if (of[i] != SIZE_MAX)
            cf_parents_set(parents, i,
                           of[i] >= ALL ? cf_parents_from_root(of[i] - ALL)
                                        : cf_parents_from_chunk(of[i]));
    }
    for (size_t i = 0; i < ALL; i++) {
        size_t root, from;
        assert_int_equal(cf_parents_get(parents, i, &root, &from), of[i] != SIZE_MAX);
        if (of[i] == SIZE_MAX)
            continue;
        assert_int_equal(root, of[i] >= ALL ? of[i] - ALL : SIZE_MAX);
        assert_int_equal(from, of[i] >= ALL ? SIZE_MAX : of[i]);
    }
    cf_parents_free(parents);
    free(of);
}

static void the_end_of_a_way_is_the_same_from_everywhere_on_it(void **state) {
    (void)state;
    struct cf_parents *parents;
    assert_int_equal(cf_parents_new(ALL, 9, &parents, NULL), CF_OK);
    /* Two long ways, of the even and of the odd chunks. */
    for (size_t i = 0; i < ALL; i++)
        cf_parents_set(parents, i,
                       i < 2 ? cf_parents_from_root(3 + i)
                             : cf_parents_from_chunk(i - 2));
    for (size_t step = 0; step < 3; step++)
        for (size_t i = step * 61; i < ALL; i += 997 - step) {
            size_t at = step == 1 ? ALL - 1 - i : i;
            struct cf_way_end end;
            assert_true(cf_parents_end(parents, at, &end));
            assert_int_equal(end.root, 3 + at % 2);
            assert_int_equal(end.first, at % 2);
            assert_int_equal(end.nr_chunks, at / 2 + 1);
        }
    cf_parents_free(parents);
}

static void a_chunk_that_nothing_led_to_has_no_end(void **state) {
    (void)state;
    struct cf_parents *parents;
    struct cf_way_end end;
    size_t root, from;
    assert_int_equal(cf_parents_new(ALL, 1, &parents, NULL), CF_OK);
    assert_false(cf_parents_end(parents, 7, &end));
    assert_false(cf_parents_get(parents, 7, &root, &from));
    cf_parents_free(parents);
}

static void too_many_roots_are_refused(void **state) {
    (void)state;
    struct cf_parents *parents = NULL;
    assert_int_equal(cf_parents_new(ALL, SIZE_MAX, &parents, NULL), CF_EUSAGE);
    assert_null(parents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_what_is_got),
        cmocka_unit_test(the_end_of_a_way_is_the_same_from_everywhere_on_it),
        cmocka_unit_test(a_chunk_that_nothing_led_to_has_no_end),
        cmocka_unit_test(too_many_roots_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
