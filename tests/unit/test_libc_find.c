/* libc: finds malloc of every release, both widths, in synthetic processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_malloc.h"

static const char *const releases[] = {"2.17", "2.23", "2.24", "2.26", "2.27", "2.30", "2.32",
                                       "2.35", "2.42", "2.43", "2.44"};
enum { NR_RELEASES = sizeof releases / sizeof *releases };

static const struct cf_namespace *only_namespace(const struct fake *fake) {
    assert_int_equal(cf_malloc_nr_namespaces(fake->m), 1);
    return cf_malloc_namespace(fake->m, 0);
}

static void assert_layouts(const struct fake *fake) {
    const struct cf_namespace *ns = only_namespace(fake);
    assert_ptr_equal(cf_malloc_state_layout(fake->m), fake->state);
    assert_ptr_equal(cf_malloc_heap_info_layout(fake->m), fake->heap_info);
    assert_ptr_equal(cf_malloc_tcache_layout(fake->m), fake->tcache);
    assert_int_equal(ns->main_arena, fake->main_arena);
    assert_int_equal(ns->par.addr, fake->mp);
    assert_ptr_equal(ns->par.layout, fake->par);
}

static void every_release_is_told_by_its_bytes(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        fake_build(&fake);
        fake_open(&fake);
        assert_layouts(&fake);
        assert_true(only_namespace(&fake)->used);
        assert_true(only_namespace(&fake)->break_at_top);
        assert_int_equal(cf_malloc_alignment(fake.m), fake.alignment);
        assert_int_equal(cf_malloc_heap_max(fake.m), fake.heap_max);
        assert_int_equal(cf_malloc_header_is_short(fake.m), fake.state->nr_fastbins == 0);
        if (fake.tcache != NULL)
            assert_int_equal(cf_malloc_safe_linking(fake.m), fake.mangled);
        fake_close(&fake);
    }
}

/* Before 2.17 mp_ has the size of a page: nothing is read by the shapes of later releases. */
static void a_malloc_before_2_17_is_refused_by_its_shape(void **unused) {
    (void)unused;
    unsigned nr = 0;
    for (size_t i = 0; i < cf_nr_par_layouts; i++) {
        const struct cf_par_layout *old = &cf_par_layouts[i];
        struct fake fake;
        if (old->pagesize == 0)
            continue;
        fake_init(&fake, old->word_bytes, "2.17");
        fake.par = old;
        fake_build(&fake);
        fake_open(&fake);
        assert_string_equal(cf_malloc_refused(fake.m), "before 2.17");
        assert_int_equal(cf_malloc_nr_namespaces(fake.m), 0);
        assert_int_equal(cf_malloc_nr_arenas(fake.m), 0);
        assert_string_equal(cf_malloc_layout_text(fake.m), "");
        cf_malloc_take_release(fake.m, "2.12");
        assert_string_equal(cf_malloc_refused(fake.m), "2.12");
        fake_close(&fake);
        nr++;
    }
    assert_int_equal(nr, 6);
}

/* A release that is described is not refused for its name, however the name looks. */
static void a_banner_before_2_17_is_refused_and_no_other(void **unused) {
    (void)unused;
    static const char *const fine[] = {"2.17", "2.36", "2.44", "2.45", ""};
    struct fake fake;
    fake_init(&fake, 8, "2.17");
    fake_build(&fake);
    fake_open(&fake);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        cf_malloc_take_release(fake.m, fine[i]);
        assert_null(cf_malloc_refused(fake.m));
        assert_int_equal(cf_malloc_nr_namespaces(fake.m), 1);
    }
    cf_malloc_take_release(fake.m, "2.16");
    assert_string_equal(cf_malloc_refused(fake.m), "2.16");
    assert_int_equal(cf_malloc_nr_namespaces(fake.m), 0);
    fake_close(&fake);
}

/* Every release's shapes are of that release; those of two releases are of none. */
static void shapes_that_no_release_has_are_told(void **unused) {
    (void)unused;
    for (unsigned i = 0; i <= 2 * NR_RELEASES; i++) {
        struct fake fake;
        bool mixed = i == 2 * NR_RELEASES;
        const char *release = mixed ? "2.17" : releases[i % NR_RELEASES];
        fake_init(&fake, i < NR_RELEASES || mixed ? 8 : 4, release);
        for (size_t k = 0; k < cf_nr_par_layouts && mixed; k++)
            if (cf_par_layouts[k].word_bytes == 8 && cf_par_layouts[k].span.first == 35)
                fake.par = &cf_par_layouts[k];
        fake_build(&fake);
        fake_open(&fake);
        struct cf_releases fit = cf_malloc_releases(fake.m);
        unsigned minor = (unsigned)atoi(release + 2);
        assert_int_equal(fit.first <= fit.last, !mixed);
        if (!mixed)
            assert_true(fit.first <= minor && minor <= fit.last);
        fake_close(&fake);
    }
}

static void arenas_stand_in_the_order_of_the_ring(void **unused) {
    (void)unused;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct fake fake;
        fake_init(&fake, word, "2.36");
        fake.nr_arenas = 5;
        fake_build(&fake);
        fake_open(&fake);
        assert_int_equal(cf_malloc_nr_arenas(fake.m), 6);
        assert_int_equal(cf_malloc_arena(fake.m, 0)->addr, fake.main_arena);
        assert_true(cf_malloc_arena(fake.m, 0)->is_main);
        for (unsigned i = 0; i < 5; i++) {
            const struct cf_arena_ref *arena = cf_malloc_arena(fake.m, i + 1);
            assert_int_equal(arena->addr, fake.arenas[i]);
            assert_true(arena->in_ring && !arena->is_main && arena->ns == 0);
        }
        fake_close(&fake);
    }
}

static void heaps_of_every_arena_are_found_sorted(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        fake.heaps_each = 3;
        fake_build(&fake);
        fake_open(&fake);
        assert_int_equal(cf_malloc_nr_heaps(fake.m), 6);
        for (size_t k = 0; k < 6; k++) {
            const struct cf_heap_info *heap = cf_malloc_heap(fake.m, k);
            assert_int_equal(heap->ar_ptr, fake.arenas[k / 3]);
            assert_int_equal(heap->addr, fake.arenas[0] - fake.heap_info->bytes +
                                             k * fake.heap_max);
            assert_int_equal(heap->prev, k % 3 == 0 ? 0 : heap->addr - fake.heap_max);
            assert_int_equal(heap->size, FAKE_HEAP_BYTES);
            assert_int_equal(heap->pagesize, fake.heap_info->pagesize == CF_ABSENT ? 0 : 4096);
        }
        fake_close(&fake);
    }
}

static void each_thread_has_its_arena_and_its_tcache(void **unused) {
    (void)unused;
    static const enum cf_machine machines[] = {CF_MACHINE_X86_64, CF_MACHINE_I386,
                                               CF_MACHINE_AARCH64};
    for (unsigned i = 0; i < 3 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i % 3 == 1 ? 4 : 8, releases[i / 3]);
        fake.machine = machines[i % 3];
        fake_build(&fake);
        fake_open(&fake);
        for (unsigned k = 0; k <= fake.nr_arenas; k++) {
            const struct cf_thread_malloc *thread = cf_malloc_thread(fake.m, k);
            assert_int_equal(thread->thread_arena, k == 0 ? fake.main_arena : fake.arenas[k - 1]);
            assert_int_equal(thread->tcache, fake.tcaches[k]);
        }
        assert_int_equal(cf_malloc_nr_tcaches(fake.m),
                         fake.tcache == NULL ? 0 : fake.nr_arenas + 1);
        fake_close(&fake);
    }
}

static void without_thread_pointers_tcaches_are_found_at_the_heaps_starts(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        fake.no_thread_pointers = true;
        fake_build(&fake);
        fake_open(&fake);
        assert_ptr_equal(cf_malloc_tcache_layout(fake.m), fake.tcache);
        size_t nr = fake.tcache == NULL ? 0 : fake.nr_arenas + 1;
        assert_int_equal(cf_malloc_nr_tcaches(fake.m), nr);
        for (size_t k = 0; k < nr; k++)
            assert_int_equal(cf_malloc_tcache(fake.m, k)->thread, -1);
        if (nr > 0)
            assert_int_equal(cf_malloc_safe_linking(fake.m), fake.mangled);
        fake_close(&fake);
    }
}

static void without_file_rows_all_memory_is_looked_through(void **unused) {
    (void)unused;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct fake fake;
        fake_init(&fake, word, "2.36");
        fake.no_file_rows = true;
        fake_build(&fake);
        fake_open(&fake);
        assert_layouts(&fake);
        assert_int_equal(cf_malloc_nr_arenas(fake.m), 3);
        fake_close(&fake);
    }
}

static void the_layout_text_names_the_four_structs(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.36");
    fake_build(&fake);
    fake_open(&fake);
    assert_string_equal(cf_malloc_layout_text(fake.m),
                        "state 2.27-2.42, mp 2.35-2.42, heap_info 2.35-2.44, tcache 2.30-2.41");
    fake_close(&fake);
}

static void no_malloc_means_no_namespace(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.36");
    fake.uninitialised = true;
    fake.nr_arenas = 0;
    fake_build(&fake);
    fake_open(&fake);
    assert_int_equal(cf_malloc_nr_namespaces(fake.m), 0);
    assert_int_equal(cf_malloc_nr_arenas(fake.m), 0);
    assert_null(cf_malloc_state_layout(fake.m));
    assert_string_equal(cf_malloc_layout_text(fake.m), "");
    fake_close(&fake);
}

static void a_pristine_arena_is_a_namespace_that_is_not_used(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.43");
    fake.pristine = true;
    fake.nr_arenas = 0;
    fake_build(&fake);
    fake_open(&fake);
    assert_false(only_namespace(&fake)->used);
    assert_int_equal(only_namespace(&fake)->main_arena, fake.main_arena);
    fake_close(&fake);
}

static void the_used_of_two_libcs_comes_first(void **unused) {
    (void)unused;
    static const struct {
        bool first_is_pristine;
        bool second_is_pristine;
        bool second_leads;
    } cases[] = {{false, true, false}, {true, false, true}, {false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        fake_init(&fake, 8, "2.36");
        fake.nr_arenas = 0;
        fake.pristine = cases[i].first_is_pristine;
        fake_build(&fake);
        fake_second_libc(&fake, UINT64_C(0x7e8000000000), cases[i].second_is_pristine);
        fake_open(&fake);
        assert_int_equal(cf_malloc_nr_namespaces(fake.m), 2);
        const struct cf_namespace *ns = cf_malloc_namespace(fake.m, 0);
        assert_true(ns->used);
        assert_int_equal(ns->main_arena == fake.main_arena, !cases[i].second_leads);
        assert_int_equal(cf_malloc_arena(fake.m, 0)->addr, ns->main_arena);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(cf_malloc_namespace(fake.m, k)->par.addr,
                             cf_malloc_namespace(fake.m, k)->main_arena - 0x940);
        fake_close(&fake);
    }
}

static void a_core_without_libcs_data_still_has_its_thread_arenas(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        fake.no_libc_data = true;
        fake_build(&fake);
        fake_open(&fake);
        assert_int_equal(only_namespace(&fake)->main_arena, 0);
        assert_true(only_namespace(&fake)->used);
        assert_int_equal(cf_malloc_nr_arenas(fake.m), fake.nr_arenas);
        for (unsigned k = 0; k < fake.nr_arenas; k++) {
            assert_int_equal(cf_malloc_arena(fake.m, k)->addr, fake.arenas[k]);
            assert_false(cf_malloc_arena(fake.m, k)->in_ring);
        }
        assert_int_equal(cf_malloc_nr_heaps(fake.m), fake.nr_arenas);
        assert_ptr_equal(cf_malloc_state_layout(fake.m), fake.state);
        fake_close(&fake);
    }
}

static void huge_pages_make_smaller_heaps(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.36");
    fake.heap_max = UINT64_C(8) << 20;
    fake.heaps_each = 3;
    fake_build(&fake);
    synth_put_word(fake.synth, fake.mp + fake.par->hp_pagesize, UINT64_C(2) << 20);
    synth_put_u32(fake.synth, fake.mp + fake.par->hp_flags, 0x40000);
    fake_open(&fake);
    assert_int_equal(cf_malloc_heap_max(fake.m), fake.heap_max);
    assert_int_equal(cf_malloc_nr_heaps(fake.m), 6);
    assert_int_equal(only_namespace(&fake)->par.hp_flags, 0x40000);
    fake_close(&fake);
}

static void the_fields_of_mp_are_read_by_the_layout(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct fake fake;
        fake_init(&fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        fake_build(&fake);
        unsigned word = fake.word;
        synth_put_word(fake.synth, fake.mp, 600000);
        synth_put_word(fake.synth, fake.mp + word, 8192);
        synth_put_word(fake.synth, fake.mp + 2 * word, 300000);
        synth_put_word(fake.synth, fake.mp + 4 * word, 5);
        synth_put_u32(fake.synth, fake.mp + fake.par->no_dyn_threshold, 1);
        synth_put_u32(fake.synth, fake.mp + fake.par->n_mmaps, 3);
        synth_put_u32(fake.synth, fake.mp + fake.par->max_n_mmaps, 4);
        synth_put_word(fake.synth, fake.mp + fake.par->mmapped_mem, 0x100000);
        synth_put_word(fake.synth, fake.mp + fake.par->max_mmapped_mem, 0x180000);
        fake_open(&fake);
        assert_layouts(&fake);
        const struct cf_par *par = &only_namespace(&fake)->par;
        assert_int_equal(par->trim_threshold, 600000);
        assert_int_equal(par->top_pad, 8192);
        assert_int_equal(par->mmap_threshold, 300000);
        assert_int_equal(par->arena_test, word == 8 ? 8 : 2);
        assert_int_equal(par->arena_max, 5);
        assert_int_equal(par->no_dyn_threshold, 1);
        assert_int_equal(par->n_mmaps, 3);
        assert_int_equal(par->n_mmaps_max, 65536);
        assert_int_equal(par->max_n_mmaps, 4);
        assert_int_equal(par->mmapped_mem, 0x100000);
        assert_int_equal(par->max_mmapped_mem, 0x180000);
        assert_int_equal(par->sbrk_base, fake.sbrk_base);
        assert_int_equal(par->tcache_count, fake.tcache == NULL ? 0 : fake.tcache_count);
        fake_close(&fake);
    }
}

static void the_break_elsewhere_is_not_at_the_top(void **unused) {
    (void)unused;
    struct fake fake;
    fake_init(&fake, 8, "2.36");
    fake_build(&fake);
    synth_put_word(fake.synth, fake.break_word, fake.sbrk_base + FAKE_HEAP_BYTES + 4096);
    fake_open(&fake);
    assert_false(only_namespace(&fake)->break_at_top);
    fake_close(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_release_is_told_by_its_bytes),
        cmocka_unit_test(a_malloc_before_2_17_is_refused_by_its_shape),
        cmocka_unit_test(a_banner_before_2_17_is_refused_and_no_other),
        cmocka_unit_test(shapes_that_no_release_has_are_told),
        cmocka_unit_test(arenas_stand_in_the_order_of_the_ring),
        cmocka_unit_test(heaps_of_every_arena_are_found_sorted),
        cmocka_unit_test(each_thread_has_its_arena_and_its_tcache),
        cmocka_unit_test(without_thread_pointers_tcaches_are_found_at_the_heaps_starts),
        cmocka_unit_test(without_file_rows_all_memory_is_looked_through),
        cmocka_unit_test(the_layout_text_names_the_four_structs),
        cmocka_unit_test(no_malloc_means_no_namespace),
        cmocka_unit_test(a_pristine_arena_is_a_namespace_that_is_not_used),
        cmocka_unit_test(the_used_of_two_libcs_comes_first),
        cmocka_unit_test(a_core_without_libcs_data_still_has_its_thread_arenas),
        cmocka_unit_test(huge_pages_make_smaller_heaps),
        cmocka_unit_test(the_fields_of_mp_are_read_by_the_layout),
        cmocka_unit_test(the_break_elsewhere_is_not_at_the_top),
    };
    return cmocka_run_group_tests_name("libc_find", tests, NULL, NULL);
}
