/* The map of the heaps: it grows coarser, and loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/map.h"

enum { PAGES = 100000, MARGIN = 8 };

struct sums {
    uint64_t counts[CF_MAP_NR_COUNTS];
    uint64_t live;
};

/* A chequered heap of PAGES pages; returns what was put in. */
static struct sums add_heap(struct cf_map *map, int64_t id) {
    struct sums put = {0};
    cf_map_heap(map, &(struct cf_map_heap){.heap_id = id, .pages = PAGES});
    cf_map_window(map, 60000 - MARGIN, 60000 + MARGIN);
    cf_map_window(map, 500, 500 + MARGIN);
    uint64_t state = 7, pages;
    for (uint64_t at = 0; at < PAGES; at += pages) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        pages = 1 + (state >> 40) % 5;
        pages = pages < PAGES - at ? pages : PAGES - at;
        size_t class = (state >> 50) % CF_MAP_NR_CLASSES;
        bool is_resident = (state >> 60) != 0;
        uint64_t live = class <= CF_MAP_MIXED ? (state >> 20) % (pages * 4096) : 0;
        cf_map_run(map, pages, (enum cf_map_class) class, is_resident, live);
        put.counts[class + (is_resident ? 0 : CF_MAP_NR_CLASSES)] += pages;
        put.live += live;
    }
    return put;
}

static struct sums sums_of(const struct cf_map *map, size_t heap) {
    struct sums sums = {0};
    uint64_t page = 0;
    for (size_t i = 0; i < map->heaps.items[heap].nr_cells; i++) {
        const struct cf_map_cell *cell = &map->cells.items[map->heaps.items[heap].first_cell + i];
        assert_int_equal(cell->page, page);
        uint64_t pages = 0;
        for (size_t k = 0; k < CF_MAP_NR_COUNTS; k++) {
            sums.counts[k] += cell->counts[k];
            pages += cell->counts[k];
        }
        assert_int_equal(pages, cell->pages);
        sums.live += cell->live_bytes;
        page += pages;
    }
    assert_int_equal(page, PAGES);
    return sums;
}

static void assert_same(const struct sums *a, const struct sums *b) {
    assert_memory_equal(a, b, sizeof *a);
}

static void a_map_with_room_keeps_each_run(void **state) {
    (void)state;
    struct cf_map *map = cf_map_new(4096, 200000);
    struct sums put = add_heap(map, 1);
    struct sums got = sums_of(map, 0);
    assert_same(&put, &got);
    assert_int_equal(map->grain, 1);
    for (size_t i = 0; i < map->cells.len; i++)
        assert_true(map->cells.items[i].pages <= 5);
    cf_map_free(map);
}

static void a_map_without_room_grows_coarser_and_loses_nothing(void **state) {
    (void)state;
    enum { HEAPS = 20, ROOM = 5000 };
    struct cf_map *map = cf_map_new(4096, ROOM);
    struct sums put[HEAPS];
    for (size_t i = 0; i < HEAPS; i++)
        put[i] = add_heap(map, (int64_t)i);
    assert_true(map->cells.len <= ROOM);
    assert_true(map->cells.len > ROOM / 8); /* no coarser than it has to be */
    for (size_t i = 0; i < HEAPS; i++) {
        struct sums got = sums_of(map, i);
        assert_same(&put[i], &got);
    }
    cf_map_free(map);
}

static void windows_stay_fine(void **state) {
    (void)state;
    struct cf_map *map = cf_map_new(4096, 2000);
    (void)add_heap(map, 1);
    size_t fine = 0;
    for (size_t i = 0; i < map->cells.len; i++) {
        const struct cf_map_cell *cell = &map->cells.items[i];
        bool in_window = cell->page >= 60000 - MARGIN && cell->page < 60000 + MARGIN;
        if (!in_window)
            continue;
        fine++;
        assert_true(cell->is_fine && cell->pages <= 5);
    }
    assert_true(map->grain > 1 && fine >= 2 * MARGIN / 5);
    cf_map_free(map);
}

static void windows_are_given_up_at_last(void **state) {
    (void)state;
    struct cf_map *map = cf_map_new(4096, 100000);
    struct sums put = add_heap(map, 1);
    while (cf_map_coarsen(map, map->grain >= 1 << 16))
        continue;
    assert_int_equal(map->cells.len, 1);
    struct sums got = sums_of(map, 0);
    assert_same(&put, &got);
    cf_map_free(map);
}

static void runs_beyond_the_heap_are_left_out(void **state) {
    (void)state;
    struct cf_map *map = cf_map_new(4096, 100);
    cf_map_heap(map, &(struct cf_map_heap){.heap_id = 1, .pages = 10});
    cf_map_run(map, 8, CF_MAP_LIVE, true, 8 * 4096);
    cf_map_run(map, UINT64_MAX, CF_MAP_TOP, true, UINT64_MAX);
    cf_map_run(map, 5, CF_MAP_LIVE, true, 1);
    assert_int_equal(map->cells.len, 2);
    assert_int_equal(map->cells.items[1].pages, 2);
    cf_map_free(map);
}

static void a_long_run_stays_one_cell(void **state) {
    (void)state;
    struct cf_map *map = cf_map_new(4096, 64);
    cf_map_heap(map, &(struct cf_map_heap){.heap_id = 1, .pages = 1 << 20});
    for (int i = 0; i < 500; i++)
        cf_map_run(map, 1, i % 2 == 0 ? CF_MAP_LIVE : CF_MAP_MIXED, true, 100);
    assert_true(map->grain > 1);
    size_t before = map->cells.len;
    cf_map_run(map, (1 << 20) - 500, CF_MAP_RELEASABLE, true, 0);
    assert_true(map->cells.len <= before + 2);
    cf_map_free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_with_room_keeps_each_run),
        cmocka_unit_test(a_map_without_room_grows_coarser_and_loses_nothing),
        cmocka_unit_test(windows_stay_fine),
        cmocka_unit_test(windows_are_given_up_at_last),
        cmocka_unit_test(runs_beyond_the_heap_are_left_out),
        cmocka_unit_test(a_long_run_stays_one_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
