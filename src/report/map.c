/*
 * Page runs become cells of at most `grain` pages that keep a count for each class. When there are
 * more cells than the picture may have, the grain doubles and neighbours join; since a round costs
 * as much as there are cells, rounds go on until a quarter of the room is free. Cells inside a
 * window stay as fine as pages, as long as that is possible.
 */
#include "report/map.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN_BITS_MAX = 40 };

static const char *const class_names[CF_MAP_NR_CLASSES] = {
    [CF_MAP_LIVE] = "live", [CF_MAP_MIXED] = "mixed",
    [CF_MAP_DEAD] = "dead", [CF_MAP_RELEASABLE] = "releasable",
    [CF_MAP_TOP] = "top",   [CF_MAP_OVERHEAD] = "overhead",
};

bool cf_map_class_named(const char *name, enum cf_map_class *out) {
    for (size_t i = 0; i < CF_MAP_NR_CLASSES; i++) {
        if (strcmp(class_names[i], name) != 0)
            continue;
        *out = (enum cf_map_class)i;
        return true;
    }
    return false;
}

const char *cf_map_class_name(enum cf_map_class class) {
    return class_names[class];
}

struct cf_map *cf_map_new(uint64_t page_bytes, size_t max_cells) {
    struct cf_map *map = calloc(1, sizeof *map);
    if (map == NULL)
        return NULL;
    map->page_bytes = page_bytes;
    map->grain = 1;
    map->max_cells = max_cells;
    return map;
}

void cf_map_free(struct cf_map *map) {
    if (map == NULL)
        return;
    for (size_t i = 0; i < map->marks.len; i++)
        free(map->marks.items[i].text);
    cf_array_free(&map->marks);
    cf_array_free(&map->heaps);
    cf_array_free(&map->cells);
    cf_array_free(&map->windows);
    free(map);
}

void cf_map_heap(struct cf_map *map, const struct cf_map_heap *heap) {
    struct cf_map_heap *added = cf_array_push(&map->heaps);
    map->windows.len = 0;
    if (added == NULL) {
        map->failed = true;
        return;
    }
    *added = *heap;
    added->first_cell = map->cells.len;
    added->nr_cells = 0;
}

void cf_map_window(struct cf_map *map, uint64_t from, uint64_t to) {
    if (cf_array_push(&map->windows) == NULL) {
        map->failed = true;
        return;
    }
    size_t at = map->windows.len - 1;
    for (; at > 0 && map->windows.items[at - 1].from > from; at--)
        map->windows.items[at] = map->windows.items[at - 1];
    map->windows.items[at] = (struct cf_map_window){from, to};
}

void cf_map_mark(struct cf_map *map, const struct cf_map_mark *mark) {
    struct cf_map_mark *added = cf_array_push(&map->marks);
    if (added == NULL) {
        map->failed = true;
        return;
    }
    *added = *mark;
    if (mark->text == NULL)
        return;
    added->text = strdup(mark->text);
    if (added->text == NULL)
        map->failed = true;
}

/* The count that has all the cell's pages, or CF_MAP_NR_COUNTS. */
static size_t only_count(const struct cf_map_cell *cell) {
    for (size_t i = 0; i < CF_MAP_NR_COUNTS; i++)
        if (cell->counts[i] == cell->pages)
            return i;
    return CF_MAP_NR_COUNTS;
}

/* May `next` become part of `last`, right below it? */
static bool can_join(const struct cf_map *map, const struct cf_map_cell *last,
                     const struct cf_map_cell *next) {
    if (last->is_fine || next->is_fine)
        return false;
    if (last->page / map->grain == (next->page + next->pages - 1) / map->grain)
        return true;
    size_t only = only_count(next);
    return map->grain > 1 && only < CF_MAP_NR_COUNTS && only_count(last) == only;
}

static void join(struct cf_map_cell *last, const struct cf_map_cell *next) {
    last->pages += next->pages;
    last->live_bytes += next->live_bytes;
    for (size_t i = 0; i < CF_MAP_NR_COUNTS; i++)
        last->counts[i] += next->counts[i];
}

/* Moves the cells of `heap` down to index `to`, joining what the grain allows; returns the index
 * after them. */
static size_t squeeze_heap(struct cf_map *map, struct cf_map_heap *heap, size_t to,
                           bool drop_windows) {
    size_t first = to;
    for (size_t i = heap->first_cell; i < heap->first_cell + heap->nr_cells; i++) {
        struct cf_map_cell cell = map->cells.items[i];
        if (drop_windows)
            cell.is_fine = false;
        if (to > first && can_join(map, &map->cells.items[to - 1], &cell))
            join(&map->cells.items[to - 1], &cell);
        else
            map->cells.items[to++] = cell;
    }
    heap->first_cell = first;
    heap->nr_cells = to - first;
    return to;
}

bool cf_map_coarsen(struct cf_map *map, bool windows) {
    if (map->grain >> GRAIN_BITS_MAX != 0)
        return false;
    map->grain *= 2;
    size_t to = 0;
    for (size_t i = 0; i < map->heaps.len; i++)
        to = squeeze_heap(map, &map->heaps.items[i], to, windows);
    map->cells.len = to;
    return true;
}

/* Makes room. Each round joins what it can and costs as much as there are cells, so it goes on
 * until a quarter is free: then rounds stay rare. */
static void make_room(struct cf_map *map) {
    while (map->cells.len >= map->max_cells - map->max_cells / 4)
        if (!cf_map_coarsen(map, map->grain >= UINT64_C(1) << 16)) {
            map->max_cells *= 2; /* a cell a heap, and there are that many heaps */
            return;
        }
}

static void put_cell(struct cf_map *map, const struct cf_map_cell *cell) {
    if (map->cells.len >= map->max_cells)
        make_room(map);
    struct cf_map_heap *heap = &map->heaps.items[map->heaps.len - 1];
    if (heap->nr_cells > 0) {
        struct cf_map_cell *last = &map->cells.items[map->cells.len - 1];
        if (map->grain > 1 && can_join(map, last, cell)) {
            join(last, cell);
            return;
        }
    }
    struct cf_map_cell *added = cf_array_push(&map->cells);
    if (added == NULL) {
        map->failed = true;
        return;
    }
    *added = *cell;
    heap->nr_cells++;
}

/* The first page after the last cell. */
static uint64_t next_page(const struct cf_map *map) {
    const struct cf_map_heap *heap = &map->heaps.items[map->heaps.len - 1];
    if (heap->nr_cells == 0)
        return 0;
    const struct cf_map_cell *last = &map->cells.items[map->cells.len - 1];
    return last->page + last->pages;
}

/* Up to where pages from `page` on are alike for the grain: inside one window, or up to the next
 * one, and whole cells or a part of one. `*is_fine` tells which. */
static uint64_t stretch_end(const struct cf_map *map, uint64_t page, uint64_t end, bool *is_fine) {
    uint64_t grain = map->grain;
    *is_fine = false;
    for (size_t i = 0; i < map->windows.len; i++) {
        const struct cf_map_window *window = &map->windows.items[i];
        if (window->to <= page)
            continue;
        *is_fine = window->from <= page;
        uint64_t edge = *is_fine ? window->to : window->from;
        end = edge < end ? edge : end;
        break;
    }
    if (*is_fine || grain == 1)
        return end;
    uint64_t boundary = (page / grain + 1) * grain;
    if (page % grain != 0)
        return boundary < end ? boundary : end;
    return end - page >= grain ? end - end % grain : end;
}

/* `part` of `whole`, of `bytes`. */
static uint64_t share(uint64_t bytes, uint64_t part, uint64_t whole) {
    return (uint64_t)((unsigned __int128)bytes * part / whole);
}

void cf_map_run(struct cf_map *map, uint64_t pages, enum cf_map_class class, bool is_resident,
                uint64_t live_bytes) {
    if (map->heaps.len == 0 || map->failed)
        return;
    uint64_t page = next_page(map);
    uint64_t left = map->heaps.items[map->heaps.len - 1].pages - page;
    uint64_t end = page + (pages < left ? pages : left);
    live_bytes = pages == 0 ? 0 : share(live_bytes, end - page, pages);
    while (page < end && !map->failed) {
        struct cf_map_cell cell = {.page = page};
        uint64_t stop = stretch_end(map, page, end, &cell.is_fine);
        cell.pages = stop - page;
        cell.live_bytes = share(live_bytes, cell.pages, end - page);
        cell.counts[(size_t) class + (is_resident ? 0 : CF_MAP_NR_CLASSES)] = cell.pages;
        put_cell(map, &cell);
        live_bytes -= cell.live_bytes;
        page = stop;
    }
}

static size_t nr_digits(uint64_t value) {
    size_t nr = 1;
    for (; value > 9; value /= 10)
        nr++;
    return nr;
}

size_t cf_map_text_bytes(const struct cf_map *map) {
    size_t bytes = 0;
    for (size_t i = 0; i < map->cells.len; i++) {
        const struct cf_map_cell *cell = &map->cells.items[i];
        bytes += only_count(cell) < CF_MAP_NR_COUNTS ? 0 : 2;
        for (size_t k = 0; k < CF_MAP_NR_COUNTS; k++)
            bytes += cell->counts[k] == 0 ? 0 : 1 + nr_digits(cell->counts[k]);
        bytes += cell->live_bytes == 0 ? 0 : 1 + nr_digits(cell->live_bytes);
    }
    return bytes;
}
