/* layout: what must hold between the fields of every shape of glibc's structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libc/layout.h"

static void state_fields_stand_at_fixed_distances_from_the_bins(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *l = &cf_state_layouts[i];
        unsigned word = l->word_bytes;
        assert_int_equal(l->top, l->bins - 2 * word);
        assert_int_equal(l->last_remainder, l->bins - word);
        assert_int_equal(l->binmap, l->bins + CF_BIN_WORDS * word);
        assert_int_equal(l->next, l->binmap + 16);
        assert_int_equal(l->next_free, l->next + word);
        assert_int_equal(l->max_system_mem, l->system_mem + word);
        assert_int_equal(l->bytes, l->max_system_mem + word);
    }
}

/* "2.27-2.42 without tcache" is 27 to 42, "2.26" is 26 and no other. */
static void check_span(const char *text, struct cf_releases span) {
    unsigned first = 0, last = 0;
    int nr = sscanf(text, "2.%u-2.%u", &first, &last);
    assert_true(nr >= 1);
    assert_int_equal(span.first, first);
    assert_int_equal(span.last, nr == 2 ? last : first);
}

static void releases_say_the_same_as_text_and_as_numbers(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_state_layouts; i++)
        check_span(cf_state_layouts[i].releases, cf_state_layouts[i].span);
    for (size_t i = 0; i < cf_nr_par_layouts; i++)
        check_span(cf_par_layouts[i].releases, cf_par_layouts[i].span);
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++)
        check_span(cf_heap_info_layouts[i].releases, cf_heap_info_layouts[i].span);
    for (size_t i = 0; i < cf_nr_tcache_layouts; i++)
        check_span(cf_tcache_layouts[i].releases, cf_tcache_layouts[i].span);
}

/* What a release did differently is said by every row of it, and by no row before it. */
static void behaviours_come_with_their_release(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *l = &cf_state_layouts[i];
        assert_int_equal(l->alignment, l->word_bytes == 8 || l->span.first >= 26 ? 16 : 8);
        assert_int_equal(l->heap_trim_asks_threshold, l->span.first >= 23);
        assert_int_equal(l->mmapped_header_is_short, l->span.first >= 43);
        assert_int_equal(l->tcache_is_late, l->span.first >= 43);
        assert_int_equal(l->nr_fastbins == 0, l->span.first >= 43);
        assert_int_equal(l->default_tcache_count,
                         l->span.last < 26 ? 0 : l->span.first >= 43 ? 16 : 7);
    }
    for (size_t i = 0; i < cf_nr_par_layouts; i++) {
        const struct cf_par_layout *l = &cf_par_layouts[i];
        assert_int_equal(l->mmapped_mem_drifts, l->span.first >= 43);
        assert_int_equal(l->thp_mode != CF_ABSENT, l->span.first >= 43);
        assert_int_equal(l->arenas_are_cores, l->span.last >= 44);
    }
}

static void attached_threads_moves_system_mem_by_a_word(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *l = &cf_state_layouts[i];
        unsigned word = l->word_bytes;
        if (l->attached_threads == CF_ABSENT) {
            assert_int_equal(l->system_mem, l->next_free + word);
        } else {
            assert_int_equal(l->attached_threads, l->next_free + word);
            assert_int_equal(l->system_mem, l->attached_threads + word);
        }
    }
}

static void fastbins_end_at_the_top(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_state_layouts; i++) {
        const struct cf_state_layout *l = &cf_state_layouts[i];
        assert_true(l->nr_fastbins <= CF_NR_FASTBINS_MAX);
        if (l->fastbins == CF_ABSENT) {
            assert_int_equal(l->nr_fastbins, 0);
            assert_int_equal(l->top, 8);
        } else {
            assert_int_equal(l->fastbins + l->nr_fastbins * l->word_bytes, l->top);
        }
        if (l->have_fastchunks != CF_ABSENT)
            assert_true(l->have_fastchunks >= 8 && l->have_fastchunks + 4 <= l->fastbins);
    }
}

static void both_widths_have_every_release(void **unused) {
    (void)unused;
    static const struct {
        unsigned word;
        size_t state, par, heap_info, tcache;
    } cases[] = {{8, 4, 11, 2, 3}, {4, 5, 11, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t state = 0;
        size_t par = 0;
        size_t heap_info = 0;
        size_t tcache = 0;
        for (size_t k = 0; k < cf_nr_state_layouts; k++)
            state += cf_state_layouts[k].word_bytes == cases[i].word;
        for (size_t k = 0; k < cf_nr_par_layouts; k++)
            par += cf_par_layouts[k].word_bytes == cases[i].word;
        for (size_t k = 0; k < cf_nr_heap_info_layouts; k++)
            heap_info += cf_heap_info_layouts[k].word_bytes == cases[i].word;
        for (size_t k = 0; k < cf_nr_tcache_layouts; k++)
            tcache += cf_tcache_layouts[k].word_bytes == cases[i].word;
        assert_int_equal(state, cases[i].state);
        assert_int_equal(par, cases[i].par);
        assert_int_equal(heap_info, cases[i].heap_info);
        assert_int_equal(tcache, cases[i].tcache);
    }
}

/* The offsets of a par row in struct order, without the absent ones. */
static size_t list_fields(const struct cf_par_layout *l, uint16_t out[17], bool is_int[17]) {
    const struct {
        uint16_t offset;
        bool is_int;
    } all[] = {
        {l->thp_mode, true},          {l->thp_pagesize, false},
        {l->hp_pagesize, false},      {l->hp_flags, true},
        {l->n_mmaps, true},           {l->n_mmaps_max, true},
        {l->max_n_mmaps, true},       {l->no_dyn_threshold, true},
        {l->pagesize == 0 ? CF_ABSENT : l->pagesize, true},
        {l->mmapped_mem, false},      {l->max_mmapped_mem, false},
        {l->max_total_mem, false},    {l->sbrk_base, false},
        {l->tcache_bins, false},      {l->tcache_max_bytes, false},
        {l->tcache_count, false},     {l->tcache_unsorted_limit, false},
    };
    size_t nr = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].offset == CF_ABSENT)
            continue;
        out[nr] = all[i].offset;
        is_int[nr++] = all[i].is_int;
    }
    return nr;
}

static void par_fields_follow_each_other_as_a_compiler_lays_them_out(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_par_layouts; i++) {
        const struct cf_par_layout *l = &cf_par_layouts[i];
        uint16_t offsets[17];
        bool is_int[17];
        size_t nr = list_fields(l, offsets, is_int);
        unsigned end = (l->has_no_arenas ? 3 : 5) * l->word_bytes;
        for (size_t k = 0; k < nr; k++) {
            unsigned bytes = is_int[k] ? 4 : l->word_bytes;
            assert_int_equal(offsets[k], (end + bytes - 1) / bytes * bytes);
            end = offsets[k] + bytes;
        }
        assert_int_equal(l->bytes, end);
    }
}

static void heap_info_is_as_long_as_alignment_wants(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_heap_info_layouts; i++) {
        const struct cf_heap_info_layout *l = &cf_heap_info_layouts[i];
        unsigned fields = l->pagesize == CF_ABSENT ? 4 : 5;
        assert_true(l->bytes >= fields * l->word_bytes);
        if (l->pagesize != CF_ABSENT)
            assert_int_equal(l->pagesize, 4 * l->word_bytes);
        assert_int_equal(l->bytes % 8, 0);
    }
}

static void tcache_is_its_counts_and_its_entries(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cf_nr_tcache_layouts; i++) {
        const struct cf_tcache_layout *l = &cf_tcache_layouts[i];
        unsigned bins = l->nr_small + l->nr_large;
        assert_int_equal(l->entries, bins * l->count_bytes);
        assert_int_equal(l->bytes, l->entries + bins * l->word_bytes);
        unsigned chunk = (l->bytes + l->word_bytes + 15) / 16 * 16;
        assert_int_equal(l->chunk_bytes, chunk);
        assert_int_equal(l->counts_are_slots, l->nr_large != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_fields_stand_at_fixed_distances_from_the_bins),
        cmocka_unit_test(releases_say_the_same_as_text_and_as_numbers),
        cmocka_unit_test(behaviours_come_with_their_release),
        cmocka_unit_test(attached_threads_moves_system_mem_by_a_word),
        cmocka_unit_test(fastbins_end_at_the_top),
        cmocka_unit_test(both_widths_have_every_release),
        cmocka_unit_test(par_fields_follow_each_other_as_a_compiler_lays_them_out),
        cmocka_unit_test(heap_info_is_as_long_as_alignment_wants),
        cmocka_unit_test(tcache_is_its_counts_and_its_entries),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
