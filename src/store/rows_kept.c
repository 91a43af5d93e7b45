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
        status = cf_insert_row(in, err);
    }
    return status;
}

static int insert_waste(struct cf_db *db, const struct cf_waste *waste, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "waste", "arena_id, class, class_order, bytes", err);
    if (status == CF_OK)
        status = insert_waste_of(&in, UINT32_MAX, &waste->all, err);
    for (size_t i = 0; status == CF_OK && i < waste->nr_arenas; i++)
        status = insert_waste_of(&in, (uint32_t)i, &waste->arenas[i], err);
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
                                 " unlocked_bytes, unlocked_resident_bytes, type",
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

int cf_rows_kept(struct cf_db *db, const struct cf_kept *kept, struct cf_err *err) {
    int status = insert_ranges(db, &kept->trim, err);
    if (status == CF_OK)
        status = insert_waste(db, &kept->waste, err);
    if (status == CF_OK)
        status = insert_page_runs(db, &kept->runs, err);
    if (status == CF_OK)
        status = insert_top_pins(db, &kept->top_pins, kept->types, err);
    if (status == CF_OK)
        status = insert_page_pins(db, kept->page_pins, kept->types, err);
    return status;
}
