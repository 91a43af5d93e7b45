/* The map of the heaps: what each page of them is, those of the most wasteful arenas first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/section.h"

enum {
    HEAPS_MAX = 4000,
    CELLS_MAX = 60000,
    TEXT_BYTES_MAX = 800 * 1000, /* of all cells, in the page */
    GRAIN_OF_ALL = 1 << 16, /* pages; a cell as long as a heap: then windows are given up too */
    WINDOW_PAGES = 16,      /* on either side of a top pin, and of the ends of a hole */
};

static const char map_sql[] =
    "SELECT heap_id, start_hex, pages, class, resident, live_bytes FROM v_page_run";

static const char heaps_sql[] =
    "SELECT heap_id, arena_id, start, mapped_bytes, resident_bytes, live_bytes FROM v_heap "
    "ORDER BY sum(coalesce(resident_bytes, mapped_bytes) - live_bytes) "
    "OVER (PARTITION BY arena_id) DESC, arena_id, start";

static const char pins_sql[] =
    "SELECT heap_id, address, size_bytes, unlocked_bytes, rank, "
    "nullif(coalesce(type, '') || iif(holder IS NULL, '', ', held by ' || holder), '') "
    "FROM v_top_pin WHERE rank <= 3 ORDER BY unlocked_bytes DESC, arena_id, rank LIMIT 600";

static const char holes_sql[] =
    "SELECT heap_id, address, size_bytes, releasable_bytes, 0, NULL FROM v_hole "
    "ORDER BY size_bytes DESC, address LIMIT 300";

static void add_mark(struct cf_report *report, void *target, const struct cf_stmt *row) {
    (void)report;
    const char *text = cf_stmt_text(row, 5);
    cf_map_mark(target, &(struct cf_map_mark){
                            .heap_id = cf_stmt_i64(row, 0),
                            .address = (uint64_t)cf_stmt_i64(row, 1),
                            .bytes = cf_stmt_i64(row, 2),
                            .unlocked = cf_stmt_i64(row, 3),
                            .rank = cf_stmt_i64(row, 4),
                            .text = *text == '\0' ? NULL : (char *)text,
                        });
}

/* Keeps the pages around `address` fine. */
static void add_window(struct cf_map *map, const struct cf_map_heap *heap, uint64_t address) {
    if (address < heap->start)
        return;
    uint64_t page = (address - heap->start) / map->page_bytes;
    if (page < heap->pages)
        cf_map_window(map, page < WINDOW_PAGES ? 0 : page - WINDOW_PAGES, page + WINDOW_PAGES);
}

static void add_windows(struct cf_map *map, const struct cf_map_heap *heap) {
    for (size_t i = 0; i < map->marks.len; i++) {
        const struct cf_map_mark *mark = &map->marks.items[i];
        if (mark->heap_id != heap->heap_id)
            continue;
        add_window(map, heap, mark->address);
        if (mark->rank == 0)
            add_window(map, heap, mark->address + (uint64_t)mark->bytes);
    }
}

static void add_run(struct cf_map *map, const struct cf_stmt *row) {
    enum cf_map_class class;
    int64_t pages = cf_stmt_i64(row, 0);
    if (pages <= 0 || !cf_map_class_named(cf_stmt_text(row, 1), &class))
        return;
    bool is_absent = !cf_stmt_is_null(row, 2) && cf_stmt_i64(row, 2) == 0;
    int64_t live = cf_stmt_i64(row, 3);
    cf_map_run(map, (uint64_t)pages, class, !is_absent, live < 0 ? 0 : (uint64_t)live);
}

static int add_runs(struct cf_stmt *runs, struct cf_map *map, int64_t heap_id, struct cf_err *err) {
    bool row = true;
    int status = CF_OK;
    cf_stmt_bind_i64(runs, 1, heap_id);
    while (status == CF_OK && row) {
        status = cf_stmt_step(runs, &row, err);
        if (status == CF_OK && row)
            add_run(map, runs);
    }
    cf_stmt_reset(runs);
    return status;
}

static struct cf_map_heap read_heap(const struct cf_map *map, const struct cf_stmt *row) {
    uint64_t start = (uint64_t)cf_stmt_i64(row, 2);
    uint64_t lead = start % map->page_bytes;
    int64_t mapped = cf_stmt_i64(row, 3);
    uint64_t bytes = mapped < 0 || mapped >> 56 != 0 ? 0 : (uint64_t)mapped + lead;
    return (struct cf_map_heap){
        .heap_id = cf_stmt_i64(row, 0),
        .arena_id = cf_stmt_i64(row, 1),
        .start = start - lead,
        .pages = bytes / map->page_bytes + (bytes % map->page_bytes != 0),
        .resident_bytes = cf_stmt_is_null(row, 4) ? -1 : cf_stmt_i64(row, 4),
        .live_bytes = cf_stmt_i64(row, 5),
    };
}

static int add_heaps(struct cf_report *report, struct cf_map *map, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *heaps = NULL;
    CF_CLEANUP_STMT struct cf_stmt *runs = NULL;
    bool row = true;
    int status = cf_db_prepare(report->db, heaps_sql, &heaps, err);
    if (status == CF_OK)
        status = cf_db_prepare(report->db,
                               "SELECT pages, class, resident, live_bytes FROM v_page_run WHERE "
                               "heap_id = ?1 ORDER BY start",
                               &runs, err);
    while (status == CF_OK) {
        status = cf_stmt_step(heaps, &row, err);
        if (status != CF_OK || !row)
            break;
        if (map->heaps.len == HEAPS_MAX) {
            map->nr_more++;
            continue;
        }
        struct cf_map_heap heap = read_heap(map, heaps);
        cf_map_heap(map, &heap);
        add_windows(map, &heap);
        status = add_runs(runs, map, heap.heap_id, err);
    }
    return status;
}

int cf_report_map(struct cf_report *report, struct cf_err *err) {
    int64_t page_bytes = cf_report_meta_i64(report, "page_bytes");
    const char *chunks = cf_report_meta(report, "chunks");
    if (!cf_report_has_heap(report) || page_bytes <= 0)
        return CF_OK;
    struct cf_section *section = cf_doc_section(report->doc, "map", "The heaps, page by page");
    struct cf_map *map = cf_section_map(section, map_sql, (uint64_t)page_bytes, CELLS_MAX);
    if (map == NULL)
        return CF_OK;
    map->has_chunks = strcmp(chunks, "all") == 0;
    int status = cf_report_each(report, pins_sql, add_mark, map, err);
    if (status == CF_OK)
        status = cf_report_each(report, holes_sql, add_mark, map, err);
    if (status == CF_OK)
        status = add_heaps(report, map, err);
    while (status == CF_OK && cf_map_text_bytes(map) > TEXT_BYTES_MAX)
        if (!cf_map_coarsen(map, map->grain >= GRAIN_OF_ALL))
            break;
    return status;
}
