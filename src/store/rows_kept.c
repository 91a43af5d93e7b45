/*
 * Why freed memory stays: ranges of malloc_trim, the waterfall, page runs and pins, holes and size
 * classes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "store/insert.h"
#include "store/rows.h"

static int insert_ranges(struct cf_db *db, const struct cf_trim *trim, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "trim_range",
                                 "address, arena_id, length_bytes, resident_bytes, how", err);
    for (size_t i = 0; status == CF_OK && i < trim->ranges.len; i++) {
        const struct cf_trim_range *range = &trim->ranges.items[i];
        cf_insert_u64(&in, range->addr);
        cf_insert_u64(&in, range->arena_id);
        cf_insert_u64(&in, range->bytes);
        cf_insert_u64_if(&in, range->resident.known, range->resident.bytes);
        cf_insert_text(&in, cf_trim_how_name(range->how));
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_waste_of(struct cf_insert *in, uint32_t arena_id,
                           const struct cf_waste_sum *sum, struct cf_err *err) {
    int status = CF_OK;
    for (int i = 0; status == CF_OK && i < CF_NR_WASTE_CLASSES; i++) {
        cf_insert_id(in, arena_id);
        cf_insert_text(in, cf_waste_class_name(i));
        cf_insert_i64(in, i + 1);
        cf_insert_u64_if(in, sum->resident.known, sum->bytes[i]);
        cf_insert_u64_if(in, sum->resident.known,
                         i == CF_WASTE_CACHED ? sum->tcache_bytes : 0);
        status = cf_insert_row(in, err);
    }
    return status;
}

static int insert_waste(struct cf_db *db, const struct cf_waste *waste, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "waste",
                                 "arena_id, class, class_order, bytes, tcache_bytes", err);
    if (status == CF_OK)
        status = insert_waste_of(&in, UINT32_MAX, &waste->all, err);
    for (size_t i = 0; status == CF_OK && i < waste->nr_arenas; i++)
        status = insert_waste_of(&in, (uint32_t)i, &waste->arenas[i], err);
    return status;
}

static int insert_keepers_of(struct cf_insert *in, uint32_t arena_id,
                             const struct cf_waste_sum *sum, struct cf_err *err) {
    int status = CF_OK;
    for (unsigned i = 0; status == CF_OK && i < CF_NR_KEEPERS; i++) {
        if (sum->keepers[i].pages == 0)
            continue;
        cf_insert_id(in, arena_id);
        cf_insert_text(in, cf_keeper_name(i));
        cf_insert_u64(in, sum->keepers[i].pages);
        cf_insert_u64(in, sum->keepers[i].dead_bytes);
        status = cf_insert_row(in, err);
    }
    return status;
}

static int insert_keepers(struct cf_db *db, const struct cf_waste *waste, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "page_keeper", "arena_id, keeper, pages, dead_bytes",
                                 err);
    if (status == CF_OK)
        status = insert_keepers_of(&in, UINT32_MAX, &waste->all, err);
    for (size_t i = 0; status == CF_OK && i < waste->nr_arenas; i++)
        status = insert_keepers_of(&in, (uint32_t)i, &waste->arenas[i], err);
    return status;
}

static int insert_page_runs(struct cf_db *db, const struct cf_page_runs *runs,
                            struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "page_run",
                                 "heap_id, start, pages, class, resident, live_bytes", err);
    for (size_t i = 0; status == CF_OK && i < runs->runs.len; i++) {
        const struct cf_page_run *run = &runs->runs.items[i];
        cf_insert_u64(&in, run->heap_id);
        cf_insert_u64(&in, run->start);
        cf_insert_u64(&in, run->pages);
        cf_insert_text(&in, cf_page_class_name(run->page_class));
        cf_insert_u64_if(&in, run->resident != CF_RESIDENT_UNKNOWN,
                         run->resident == CF_RESIDENT_YES);
        cf_insert_u64(&in, run->live_bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_top_pins(struct cf_db *db, const struct cf_top_pins *pins,
                           struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "top_pin",
                                 "arena_id, rank, heap_id, address, size_bytes, hole_below_bytes,"
                                 " unlocked_bytes, unlocked_resident_bytes, returned_bytes, type",
                                 err);
    for (size_t i = 0; status == CF_OK && i < pins->pins.len; i++) {
        const struct cf_top_pin *pin = &pins->pins.items[i];
        cf_insert_u64(&in, pin->arena_id);
        cf_insert_u64(&in, pin->rank);
        cf_insert_u64(&in, pin->heap_id);
        cf_insert_u64(&in, pin->addr);
        cf_insert_u64(&in, pin->bytes);
        cf_insert_u64(&in, pin->hole_below_bytes);
        cf_insert_u64(&in, pin->unlocked_bytes);
        cf_insert_u64_if(&in, pin->unlocked_resident.known, pin->unlocked_resident.bytes);
        cf_insert_u64_if(&in, pin->returned.known, pin->returned.bytes);
        cf_insert_text(&in, types == NULL
                                ? NULL
                                : cf_types_own_name(types, cf_types_at(types, pin->addr)));
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_page_pins(struct cf_db *db, const struct cf_page_pins *pins,
                            const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "page_pin",
                                 "arena_id, size_bytes, type, chunks, live_bytes, pinned_bytes,"
                                 " sample_address",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_page_pins_nr(pins); i++) {
        const struct cf_page_pin *pin = cf_page_pins_row(pins, i);
        cf_insert_u64(&in, pin->arena_id);
        cf_insert_u64(&in, pin->size_bytes);
        cf_insert_text(&in, pin->type == CF_NO_TYPE
                                ? NULL
                                : cf_types_name(types, (uint32_t)pin->type));
        cf_insert_u64(&in, pin->chunks);
        cf_insert_u64(&in, pin->live_bytes);
        cf_insert_u64(&in, pin->pinned_bytes);
        cf_insert_u64(&in, pin->sample);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_trim_if(struct cf_insert *in, const char *kind, const char *without,
                          const struct cf_trim_if *change, struct cf_err *err) {
    cf_insert_text(in, kind);
    cf_insert_text(in, without);
    cf_insert_u64(in, change->chunks);
    cf_insert_u64(in, change->bytes);
    cf_insert_u64_if(in, change->now.known, change->now.bytes);
    cf_insert_u64_if(in, change->then.known, change->then.bytes);
    return cf_insert_row(in, err);
}

static int insert_trim_ifs(struct cf_db *db, const struct cf_kept *kept, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    const struct cf_trim_if threshold = {
        .now = kept->freeing.all.resident, .then = kept->threshold_then,
    };
    int status = cf_insert_begin(&in, db, "trim_if",
                                 "kind, without, chunks, bytes, now_bytes, then_bytes", err);
    if (status == CF_OK && kept->without_caches.chunks > 0)
        status = insert_trim_if(&in, "caches", "thread caches", &kept->without_caches, err);
    if (status == CF_OK && kept->rule.trim_threshold > CF_TRIM_THRESHOLD_DEFAULT)
        status = insert_trim_if(&in, "threshold", "a grown trim_threshold", &threshold, err);
    return status;
}

static int insert_former(struct cf_db *db, const struct cf_former_blocks *former,
                         struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    if (former->blocks == 0)
        return CF_OK;
    int status = cf_insert_begin(&in, db, "former_block",
                                 "least_bytes, blocks, bytes, resident_bytes", err);
    if (status != CF_OK)
        return status;
    cf_insert_u64(&in, CF_MMAP_THRESHOLD_DEFAULT);
    cf_insert_u64(&in, former->blocks);
    cf_insert_u64(&in, former->bytes);
    cf_insert_u64_if(&in, former->resident.known, former->resident.bytes);
    return cf_insert_row(&in, err);
}

int cf_rows_groups(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "trim_if",
                                 "kind, without, chunks, bytes, now_bytes, then_bytes", err);
    for (size_t i = 0; status == CF_OK && i < holding->groups.rows.len; i++) {
        const struct cf_group *group = &holding->groups.rows.items[i];
        char label[CF_LABEL_BYTES];
        if (group->gone.chunks == 0)
            continue;
        const char *type =
            group->type == 0 ? NULL : cf_types_name(holding->labels.types, group->type);
        if (group->owner != NULL)
            cf_owner_label(&holding->owning, group->owner, label, sizeof label);
        else
            snprintf(label, sizeof label, "chunks of %" PRIu64 " bytes%s%.200s%s",
                     group->size_bytes, type != NULL ? " (" : "", type != NULL ? type : "",
                     type != NULL ? ")" : "");
        bool is_type = group->owner == NULL && group->size_bytes == 0;
        status = insert_trim_if(&in, group->owner != NULL ? "owner" : is_type ? "type" : "size",
                                is_type ? type : label, &group->gone, err);
    }
    return status;
}

int cf_rows_kept(struct cf_db *db, const struct cf_kept *kept, struct cf_err *err) {
    int status = insert_ranges(db, &kept->trim, err);
    if (status == CF_OK)
        status = insert_trim_ifs(db, kept, err);
    if (status == CF_OK)
        status = insert_former(db, &kept->former, err);
    if (status == CF_OK)
        status = insert_waste(db, &kept->waste, err);
    if (status == CF_OK)
        status = insert_keepers(db, &kept->waste, err);
    if (status == CF_OK)
        status = insert_page_runs(db, &kept->runs, err);
    if (status == CF_OK)
        status = insert_top_pins(db, &kept->top_pins, kept->types, err);
    if (status == CF_OK)
        status = insert_page_pins(db, kept->page_pins, kept->types, err);
    return status;
}

static int insert_classes(struct cf_db *db, const struct cf_sizes *sizes, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "size_class", "arena_id, state, size_bytes, chunks", err);
    for (size_t i = 0; status == CF_OK && i < cf_sizes_nr_classes(sizes); i++) {
        const struct cf_size_class *class = cf_sizes_class(sizes, i);
        cf_insert_id(&in, class->arena_id);
        cf_insert_text(&in, cf_chunk_state_name(class->state));
        cf_insert_u64(&in, class->size_bytes);
        cf_insert_u64(&in, class->chunks);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_holes(struct cf_db *db, const struct cf_holes *holes, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "hole",
                                 "hole_id, arena_id, heap_id, address, size_bytes, chunks,"
                                 " resident_bytes, releasable_bytes, below_address, above_address",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_holes_nr(holes); i++) {
        const struct cf_hole *hole = cf_holes_get(holes, i);
        cf_insert_u64(&in, i + 1);
        cf_insert_u64(&in, hole->arena_id);
        cf_insert_u64(&in, hole->heap_id);
        cf_insert_u64(&in, hole->addr);
        cf_insert_u64(&in, hole->bytes);
        cf_insert_u64(&in, hole->chunks);
        cf_insert_u64_if(&in, hole->resident_known, hole->resident_bytes);
        cf_insert_u64_if(&in, hole->releasable.known, hole->releasable.bytes);
        cf_insert_u64_if(&in, hole->below != 0, hole->below);
        cf_insert_u64_if(&in, hole->above != 0, hole->above);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_histogram(struct cf_db *db, const struct cf_holes *holes, size_t nr_arenas,
                            struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "hole_histogram",
                                 "arena_id, from_bytes, holes, bytes, resident_bytes,"
                                 " releasable_bytes",
                                 err);
    for (size_t i = 0; i < nr_arenas * CF_HOLE_CLASSES && status == CF_OK; i++) {
        size_t arena_id = i / CF_HOLE_CLASSES, power = i % CF_HOLE_CLASSES;
        const struct cf_hole_class *class = &cf_holes_classes(holes, arena_id)[power];
        if (class->holes == 0)
            continue;
        cf_insert_u64(&in, arena_id);
        cf_insert_u64(&in, 1ull << power);
        cf_insert_u64(&in, class->holes);
        cf_insert_u64(&in, class->bytes);
        cf_insert_u64_if(&in, class->resident_known, class->resident_bytes);
        cf_insert_u64_if(&in, class->releasable.known, class->releasable.bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_holes(struct cf_db *db, const struct cf_sizes *sizes, const struct cf_holes *holes,
                  size_t nr_arenas, struct cf_err *err) {
    int status = insert_classes(db, sizes, err);
    if (status == CF_OK)
        status = insert_holes(db, holes, err);
    if (status == CF_OK)
        status = insert_histogram(db, holes, nr_arenas, err);
    return status;
}
