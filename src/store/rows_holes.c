#include "store/insert.h"
#include "store/rows.h"

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
