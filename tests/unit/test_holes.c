/* Holes, from maps written as words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "mem/mem.h"
#include "retain/holes.h"
#include "synth.h"
#include "toyheap.h"
#include "whole_mem.h"

struct swept {
    struct cf_chunkmap *map;
    struct cf_sizes *sizes;
    struct cf_holes *holes;
};

static void swept_free(struct swept *swept) {
    cf_sizes_free(swept->sizes);
    cf_holes_free(swept->holes);
    cf_chunkmap_free(swept->map);
}

static struct swept sweep(const struct cf_mem *mem, struct cf_chunkmap *map, size_t nr_arenas) {
    struct swept swept = {.map = map};
    struct cf_err err;
    assert_int_equal(cf_sweep(NULL, mem, NULL, map, nr_arenas, &swept.sizes, &swept.holes, &err),
                     0);
    return swept;
}

enum { START = 0x10000, FIRST = 0x10010 };

/* One heap, and the one hole of at least a page that it has, or none (bytes 0). */
static void a_hole_is_bounded_by_what_is_not_dead(void **state) {
    (void)state;
    static const struct {
        const char *chunks;
        uint64_t addr, bytes, chunks_in_it, below, above, holes;
    } cases[] = {
        {"L20 F2000 L30 T100", FIRST + 0x20, 0x2000, 1, FIRST, FIRST + 0x2020, 1},
        {"L20 F800 f20 t20 F800 L30", FIRST + 0x20, 0x1040, 4, FIRST, FIRST + 0x1060, 1},
        {"L20 F2000 T100", FIRST + 0x20, 0x2000, 1, FIRST, 0, 1},
        {"F2000 L20 T100", FIRST, 0x2000, 1, 0, FIRST + 0x2000, 1},
        {"L20 F2000", FIRST + 0x20, 0x2000, 1, FIRST, 0, 1},
        {"L20 F2000 #10 #10", FIRST + 0x20, 0x2000, 1, FIRST, 0, 1},
        {"L20 #10 #10 F2000 L20", FIRST + 0x40, 0x2000, 1, 0, FIRST + 0x2040, 1},
        {"L20 ~100 F2000 ~100 L20", FIRST + 0x120, 0x2000, 1, 0, 0, 1},
        {"L20 F800 ~10 F800 L20", 0, 0, 0, 0, 0, 2},
        {"L20 F800 L20 F800 L20 T100", 0, 0, 0, 0, 0, 2},
        {"L20 T2000", 0, 0, 0, 0, 0, 0},
        {"L20 L2000 T20", 0, 0, 0, 0, 0, 0},
        {"L20 F1000 L20", FIRST + 0x20, 0x1000, 1, FIRST, FIRST + 0x1020, 1},
        {"L20 Fff0 L20", 0, 0, 0, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct toy_heap heap = {0, START, FIRST, cases[i].chunks, 0};
        CF_CLEANUP(swept_free) struct swept swept = sweep(NULL, toy_map(8, &heap, 1), 1);
        assert_int_equal(cf_holes_arena(swept.holes, 0)->holes, cases[i].holes);
        assert_int_equal(cf_holes_nr(swept.holes), cases[i].bytes > 0);
        if (cases[i].bytes == 0)
            continue;
        const struct cf_hole *hole = cf_holes_get(swept.holes, 0);
        assert_int_equal(hole->addr, cases[i].addr);
        assert_int_equal(hole->bytes, cases[i].bytes);
        assert_int_equal(hole->chunks, cases[i].chunks_in_it);
        assert_int_equal(hole->below, cases[i].below);
        assert_int_equal(hole->above, cases[i].above);
        assert_false(hole->resident_known);
    }
}

static void a_hole_does_not_reach_into_the_next_heap(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10010, "L20 F1000", 0},
        {0, 0x11030, 0x11030, "F1000 L20 T100", 0},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(NULL, toy_map(8, heaps, 2), 1);
    assert_int_equal(cf_holes_nr(swept.holes), 2);
    assert_int_equal(cf_holes_get(swept.holes, 0)->heap_id, 0);
    assert_int_equal(cf_holes_get(swept.holes, 0)->above, 0);
    assert_int_equal(cf_holes_get(swept.holes, 1)->heap_id, 1);
    assert_int_equal(cf_holes_get(swept.holes, 1)->below, 0);
    assert_int_equal(cf_holes_heap(swept.holes, 0)->bytes, 0x1000);
    assert_int_equal(cf_holes_arena(swept.holes, 0)->bytes, 0x2000);
}

static void the_histogram_counts_all_holes_by_power_of_two(void **state) {
    (void)state;
    static const struct toy_heap heaps[] = {
        {0, 0x10000, 0x10010, "L20 F20 L20 F30 L20 f20 F20 L20 F1000 L20 F1ff0 L20 F2000 L20", 0},
        {1, 0x80000, 0x80010, "L20 F20 T20", 0},
    };
    CF_CLEANUP(swept_free) struct swept swept = sweep(NULL, toy_map(8, heaps, 2), 2);
    const struct cf_hole_class *classes = cf_holes_classes(swept.holes, 0);
    uint64_t holes = 0, bytes = 0;
    for (int i = 0; i < CF_HOLE_CLASSES; i++) {
        holes += classes[i].holes;
        bytes += classes[i].bytes;
        assert_false(classes[i].resident_known);
    }
    assert_int_equal(holes, 6);
    assert_int_equal(bytes, cf_holes_arena(swept.holes, 0)->bytes);
    assert_int_equal(classes[5].holes, 2);
    assert_int_equal(classes[5].bytes, 0x50);
    assert_int_equal(classes[6].holes, 1);
    assert_int_equal(classes[12].holes, 2);
    assert_int_equal(classes[12].bytes, 0x1000 + 0x1ff0);
    assert_int_equal(classes[13].holes, 1);
    assert_int_equal(cf_holes_arena(swept.holes, 0)->largest, 0x2000);
    assert_int_equal(cf_holes_classes(swept.holes, 1)[5].holes, 1);
}

/* A kernel core of eight pages: data, a page of zeros as data, hole, data, three holes, data. */
struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
};

static void open_space(struct space *space) {
    struct cf_err err;
    space->synth = synth_new(CF_MACHINE_X86_64);
    synth_segment(space->synth, START, 0x8000, SYNTH_RW);
    synth_fill(space->synth, START, 1, 0x1000);
    synth_fill(space->synth, START + 0x1000, 0, 0x1000);
    synth_fill(space->synth, START + 0x3000, 1, 0x1000);
    synth_fill(space->synth, START + 0x7000, 1, 0x1000);
    synth_thread(space->synth, 1, 6, 0, 0);
    synth_psinfo(space->synth, 1, "toy", "toy");
    assert_int_equal(cf_core_open(NULL, synth_fd(space->synth), "toy", NULL, &space->core, &err),
                     0);
    assert_int_equal(whole_mem(NULL, space->core, &space->mem, &err), 0);
}

static void close_space(struct space *space) {
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static void resident_bytes_are_those_of_the_pages(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space;
    open_space(&space);
    assert_int_equal(cf_mem_residency_source(space.mem), CF_RESIDENCY_HOLES);
    static const struct toy_heap heap = {0, START, FIRST,
                                         "L20 F1000 L20 F40 L20 F1f00 L20 F4000 L20 F30 T30", 0};
    CF_CLEANUP(swept_free) struct swept swept = sweep(space.mem, toy_map(8, &heap, 1), 1);
    assert_int_equal(cf_holes_nr(swept.holes), 3);
    uint64_t resident = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct cf_hole *hole = cf_holes_get(swept.holes, i);
        uint64_t expected = 0;
        for (uint64_t at = hole->addr; at < hole->addr + hole->bytes; at += 16)
            expected += cf_mem_page_state(space.mem, at) == CF_PAGE_RESIDENT ? 16 : 0;
        assert_true(hole->resident_known);
        assert_int_equal(hole->resident_bytes, expected);
        resident += expected;
    }
    assert_true(resident > 0 && resident < 0x6f00);
    uint64_t counted = 0;
    for (int i = 0; i < CF_HOLE_CLASSES; i++)
        counted += cf_holes_classes(swept.holes, 0)[i].resident_bytes;
    /* The last hole begins 16 bytes before the last page. */
    assert_int_equal(counted, resident + 0x40 + 0x20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hole_is_bounded_by_what_is_not_dead),
        cmocka_unit_test(a_hole_does_not_reach_into_the_next_heap),
        cmocka_unit_test(the_histogram_counts_all_holes_by_power_of_two),
        cmocka_unit_test(resident_bytes_are_those_of_the_pages),
    };
    return cmocka_run_group_tests_name("holes", tests, NULL, NULL);
}
