/* Top pins, chains of heaps, and what free() returns by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retain/freeing.h"
#include "retain/toppin.h"
#include "retain/trim.h"
#include "toyheap.h"

static const struct toy_residency all_resident = {.page_bytes = 4096};

enum { MAIN = 0x100000, OLD = 0x4000000, MIDDLE = 0x8000000, NEW = 0xc000000 };

/* A main arena's heap, or a thread arena's heaps from the oldest to the newest. */
struct pin_case {
    const char *name;
    const char *heaps[3];
    uint64_t heap_max; /* 0: 64 MiB */
    const char *pins;  /* "ADDR hole unlocked, ..." in hex */
};

static const struct pin_case cases[] = {
    {"main's pins unlock down to the next live chunk", {"L40 F1000 L20 F80 L30 f20 t40 T1000"}, 0,
     "1010f0 80 110, 101050 1000 1130, 100010 0 1170"},
    {"main's list ends at a fence", {"L40 F40 #10 #10 L20 T1000"}, 0, "1000b0 0 20"},
    {"main's list ends at a gap", {"L40 F40 ~100 F40 L20 T1000"}, 0, "1001d0 40 60"},
    {"a top with nothing below has no pin", {"T1000"}, 0, ""},
    {"an emptied heap is dropped whole, and its neighbour's tail joins",
     {"L100 F200 L50 F100 #10 #10", "L40 F100 T1000"}, 0,
     "c000030 0 1290, 4000330 200 14e0, 4000030 0 15e0"},
    {"without room for a top below the emptied heap stays",
     {"L100 F200 L50 F100 #10 #10", "L40 F100 T1000"}, 0x21020 + 0x380 - 1,
     "c000030 0 140, 4000330 200 14e0, 4000030 0 15e0"},
    {"with just enough room below it goes", {"L100 F200 L50 F100 #10 #10", "L40 F100 T1000"},
     0x21020 + 0x380, "c000030 0 1290, 4000330 200 14e0, 4000030 0 15e0"},
    {"heaps that are empty between go too",
     {"L40 F20 #10 #10", "F1000 #10 #10", "T1000"}, 0, "4000030 0 2100"},
    {"a tail that is all fences joins", {"L40 #10 #10", "L20 T100"}, 0,
     "c000030 0 170, 4000030 0 1b0"},
};

static size_t nr_heaps(const struct pin_case *c) {
    return c->heaps[2] != NULL ? 3 : c->heaps[1] != NULL ? 2 : 1;
}

static struct cf_chunkmap *build(const char *const *chunks, size_t nr, struct cf_trim_rule *rule) {
    struct toy_heap heaps[3] = {0};
    static const uint64_t starts[] = {OLD, MIDDLE, NEW};
    for (size_t i = 0; i < nr; i++) {
        uint64_t start = nr == 1 ? MAIN : i + 1 == nr ? NEW : starts[i];
        heaps[i] = (struct toy_heap){.arena_id = nr > 1, .start = start, .chunks = chunks[i],
                                     .first_chunk = start + (nr == 1 ? 0x10 : 0x30)};
    }
    struct cf_chunkmap *map = toy_map(8, heaps, nr);
    *rule = toy_rule(8, map, 2);
    for (size_t i = 1; i < nr; i++)
        rule->heaps[i].prev = (uint32_t)(i - 1);
    return map;
}

static void one_case(const struct pin_case *c) {
    struct cf_trim_rule rule;
    struct cf_residency residency = toy_residency(&all_resident);
    struct cf_chunkmap *map = build(c->heaps, nr_heaps(c), &rule);
    if (c->heap_max != 0)
        rule.heap_max_bytes = c->heap_max;
    struct cf_top_pins pins;
    assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
    char text[256] = "";
    for (size_t i = 0; i < pins.pins.len; i++) {
        const struct cf_top_pin *pin = &pins.pins.items[i];
        assert_int_equal(pin->rank, i + 1);
        assert_int_equal(pin->unlocked_resident.bytes, pin->unlocked_bytes);
        sprintf(text + strlen(text), "%s%llx %llx %llx", i > 0 ? ", " : "",
                (unsigned long long)pin->addr, (unsigned long long)pin->hole_below_bytes,
                (unsigned long long)pin->unlocked_bytes);
    }
    if (strcmp(text, c->pins) != 0)
        fail_msg("%s: %s", c->name, text);
    cf_top_pins_fini(&pins);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

static void pins_unlock_what_their_end_would_give(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        one_case(&cases[i]);
}

static void an_arena_has_a_hundred_pins_at_most(void **state) {
    (void)state;
    char text[150 * 8 + 8] = "";
    for (int i = 0; i < 150; i++)
        strcat(text, "L20 F40 ");
    strcat(text, "T20");
    const char *chunks[] = {text};
    struct cf_trim_rule rule;
    struct cf_residency residency = toy_residency(&all_resident);
    struct cf_chunkmap *map = build(chunks, 1, &rule);
    struct cf_top_pins pins;
    assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
    assert_int_equal(pins.pins.len, CF_TOP_PINS_MAX);
    assert_int_equal(pins.pins.items[99].unlocked_bytes, 0x40 + 100 * 0x60);
    cf_top_pins_fini(&pins);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

static void resident_bytes_are_counted_where_they_are_unlocked(void **state) {
    (void)state;
    static const char *const two[] = {"L40 F2f70 #10 #10", "L20 F1fb0 T1000"};
    static const char *const one[] = {"L40 F2fb0 L20 T1000"};
    static const struct {
        const char *const *chunks;
        size_t nr;
        struct toy_residency pages;
        bool known;
        uint64_t wanted[2]; /* by rank */
    } rows[] = {
        {two, 2, {OLD, 4096, "RNR"}, true, {0x3000 + 0xf90 + 0x1000, 0x3000 + 0xfd0 + 0x1000}},
        {two, 2, {OLD, 4096, "NNN"}, true, {0x3000, 0x3000}},
        {one, 1, {MAIN, 4096, "RNRR"}, true, {0xfb0 + 0x1020, 0xff0 + 0x1020}},
        {one, 1, {MAIN, 4096, "N?NN"}, true, {0, 0}},
        {one, 1, {MAIN, 4096, "????"}, false, {0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cf_trim_rule rule;
        struct cf_chunkmap *map = build(rows[i].chunks, rows[i].nr, &rule);
        struct cf_residency residency = toy_residency(&rows[i].pages);
        struct cf_top_pins pins;
        assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
        assert_int_equal(pins.pins.len, 2);
        for (size_t rank = 0; rank < 2; rank++) {
            struct cf_resident_bytes got = pins.pins.items[rank].unlocked_resident;
            assert_int_equal(got.known, rows[i].known);
            assert_int_equal(got.bytes, rows[i].wanted[rank]);
        }
        cf_top_pins_fini(&pins);
        cf_trim_rule_fini(&rule);
        cf_chunkmap_free(map);
    }
}

/* By rank, in hex; top_pad is 0x20000, as trim_threshold is where a case says nothing. */
static const struct {
    const char *name;
    const char *heaps[3];
    uint64_t trim_threshold;
    const char *returned;
} return_cases[] = {
    {"a top below the threshold goes nowhere", {"L40 F10000 L20 T1000"}, 0, "0 0"},
    {"main's top goes but for top_pad and a page", {"L40 F50000 L20 T1000"}, 0, "30000 31000"},
    {"what free() gives back anyway is not counted", {"L40 F10000 L20 T50000"}, 0, "10000 11000"},
    {"a grown threshold keeps it", {"L40 F50000 L20 T1000"}, 0x80000, "0 0"},
    {"a cached chunk stays where it is", {"L40 F90000 t20 F50000 L20 T1000"}, 0, "30000 30000"},
    {"and one at the top keeps all", {"L40 F90000 L20 t20 T1000"}, 0, "0 0"},
    {"an emptied heap goes whole", {"L100 F200 L50 F100 #10 #10", "L40 F100 T1000"}, 0,
     "1170 1170 1170"},
    {"also when main's kind of top is far from its threshold",
     {"L100 F200 L50 F100 #10 #10", "L40 F100 T1000"}, 0x80000, "1170 1170 1170"},
};

static void pins_return_what_free_gives_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof return_cases / sizeof *return_cases; i++) {
        size_t nr = return_cases[i].heaps[1] != NULL ? 2 : 1;
        struct cf_trim_rule rule;
        struct cf_residency residency = toy_residency(&all_resident);
        struct cf_chunkmap *map = build(return_cases[i].heaps, nr, &rule);
        if (return_cases[i].trim_threshold != 0)
            rule.trim_threshold = return_cases[i].trim_threshold;
        struct cf_top_pins pins;
        assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
        char text[256] = "";
        for (size_t k = 0; k < pins.pins.len; k++)
            sprintf(text + strlen(text), "%s%llx", k > 0 ? " " : "",
                    (unsigned long long)pins.pins.items[k].returned.bytes);
        if (strcmp(text, return_cases[i].returned) != 0)
            fail_msg("%s: %s", return_cases[i].name, text);
        cf_top_pins_fini(&pins);
        cf_trim_rule_fini(&rule);
        cf_chunkmap_free(map);
    }
}

static void a_ring_of_heaps_ends(void **state) {
    (void)state;
    struct cf_residency residency = toy_residency(&all_resident);
    static const char *const chunks[] = {"L40 #10 #10", "L40 #10 #10", "L20 T1000"};
    struct cf_trim_rule rule;
    struct cf_chunkmap *map = build(chunks, 3, &rule);
    rule.heaps[0].prev = 2;
    struct cf_top_pins pins;
    assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
    assert_int_equal(pins.pins.len, 3);
    rule.heaps[0].prev = 1;
    cf_top_pins_fini(&pins);
    assert_int_equal(cf_top_pins_find(map, &rule, &residency, &pins, NULL), CF_OK);
    assert_int_equal(pins.pins.len, 3);
    cf_top_pins_fini(&pins);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

/* ---- free() by itself; top_pad and trim_threshold are 0x20000 ---- */

struct free_case {
    const char *name;
    const char *heaps[3];
    bool before_2_23;
    uint64_t dropped_heaps;
    uint64_t bytes;
};

static const struct free_case free_cases[] = {
    {"main below the threshold keeps its top", {"Lff0 T1f000"}, false, 0, 0},
    {"main at the threshold keeps top_pad, MINSIZE and a page's rest", {"Lff0 T30000"}, false, 0,
     0xf000},
    {"a fast chunk below lifts main's top to the threshold", {"Lff0 f10000 T20000"}, false, 0,
     0xf000},
    {"a free chunk below does not", {"Lff0 F10000 L20 T1ffe0"}, false, 0, 0},
    {"a thread's heap that is all top is dropped", {"L40 F20 #10 #10", "T1000"}, false, 1, 0x1030},
    {"a tcache chunk keeps the heap", {"L40 F20 #10 #10", "t20 T1000"}, false, 0, 0},
    {"the tail below is judged as the new top", {"L40 F40000 #10 #10", "T1000"}, false, 1,
     0x1030 + 0x1f000},
    {"since 2.23 a thread's top waits for the threshold",
     {"L40 #10 #10", "L40 T1f000"}, false, 0, 0},
    {"a thread's top shrinks to top_pad", {"L40 #10 #10", "L40 T30000"}, false, 0, 0xf000},
};

static void one_free_case(const struct free_case *c) {
    struct cf_trim_rule rule;
    struct pin_case shape = {.heaps = {c->heaps[0], c->heaps[1], c->heaps[2]}};
    struct cf_chunkmap *map = build(c->heaps, nr_heaps(&shape), &rule);
    rule.heap_has_threshold = !c->before_2_23;
    struct cf_residency residency = toy_residency(&all_resident);
    struct cf_trim trim;
    struct cf_freeing freeing;
    assert_int_equal(cf_trim_simulate(map, &rule, &residency, &trim, NULL), CF_OK);
    assert_int_equal(cf_freeing_find(map, &rule, &residency, &trim, &freeing, NULL), CF_OK);
    if (freeing.all.bytes != c->bytes || freeing.all.dropped_heaps != c->dropped_heaps)
        fail_msg("%s: %llu heaps, 0x%llx", c->name,
                 (unsigned long long)freeing.all.dropped_heaps,
                 (unsigned long long)freeing.all.bytes);
    assert_int_equal(freeing.all.resident.bytes, c->bytes);
    cf_freeing_fini(&freeing);
    cf_trim_fini(&trim);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

static void free_returns_what_its_thresholds_allow(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof free_cases / sizeof *free_cases; i++)
        one_free_case(&free_cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_unlock_what_their_end_would_give),
        cmocka_unit_test(an_arena_has_a_hundred_pins_at_most),
        cmocka_unit_test(resident_bytes_are_counted_where_they_are_unlocked),
        cmocka_unit_test(pins_return_what_free_gives_back),
        cmocka_unit_test(a_ring_of_heaps_ends),
        cmocka_unit_test(free_returns_what_its_thresholds_allow),
    };
    return cmocka_run_group_tests_name("toppin", tests, NULL, NULL);
}
