/* What nothing reaches, from which roots the search began, and the types of the live chunks. */
#include "store/insert.h"
#include "store/rows.h"

static int insert_leaks(struct cf_db *db, const struct cf_leaks *leaks,
                        const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status =
        cf_insert_begin(&in, db, "leak",
                        "size_bytes, type, chunks, bytes, root_chunks, resident_bytes", err);
    for (size_t i = 0; status == CF_OK && i < leaks->rows.len; i++) {
        const struct cf_leak *leak = &leaks->rows.items[i];
        cf_insert_u64(&in, leak->size_bytes);
        cf_insert_text(&in, cf_types_name(types, leak->type));
        cf_insert_u64(&in, leak->chunks);
        cf_insert_u64(&in, leak->bytes);
        cf_insert_u64(&in, leak->root_chunks);
        cf_insert_u64_if(&in, leak->resident_known, leak->resident_bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static struct cf_leak_sum arena_sum(const struct cf_leaks *leaks, const struct cf_chunkmap *map,
                                    uint32_t arena_id) {
    struct cf_leak_sum sum = {0};
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        if (cf_chunkmap_heap(map, i)->arena_id != arena_id)
            continue;
        sum.chunks += leaks->heaps[i].chunks;
        sum.bytes += leaks->heaps[i].bytes;
    }
    return sum;
}

static int insert_arenas(struct cf_db *db, const struct cf_leaks *leaks,
                         const struct cf_ptmalloc *pt, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "leak_arena", "arena_id, chunks, bytes", err);
    size_t nr_arenas = cf_ptmalloc_nr_arenas(pt);
    for (size_t i = 0; status == CF_OK && i <= nr_arenas; i++) {
        bool mmapped = i == nr_arenas;
        struct cf_leak_sum sum =
            mmapped ? leaks->mmapped : arena_sum(leaks, cf_ptmalloc_map(pt), (uint32_t)i);
        if (sum.chunks == 0)
            continue;
        cf_insert_id(&in, mmapped ? UINT32_MAX : (uint32_t)i);
        cf_insert_u64(&in, sum.chunks);
        cf_insert_u64(&in, sum.bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_roots(struct cf_db *db, const struct cf_roots *roots, struct cf_err *err) {
    uint64_t ranges[CF_NR_ROOT_KINDS] = {0};
    for (size_t i = 0; i < roots->rows.len; i++)
        ranges[roots->rows.items[i].kind]++;
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "root",
                                 "kind, ranges, bytes, missing_places, missing_bytes", err);
    for (int kind = 0; status == CF_OK && kind < CF_NR_ROOT_KINDS; kind++) {
        cf_insert_text(&in, cf_root_kind_name((enum cf_root_kind)kind));
        cf_insert_u64(&in, ranges[kind]);
        cf_insert_u64(&in, roots->bytes[kind]);
        cf_insert_u64(&in, roots->missing[kind].places);
        cf_insert_u64(&in, roots->missing[kind].bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

/* Blocks of threads that are gone have no frames: nothing of them is in use. */
static int insert_stacks(struct cf_db *db, const struct cf_stacks *stacks,
                         const struct cf_mem *mem, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "stack",
                                 "thread_id, start, end, used_bytes, resident_bytes", err);
    for (size_t i = 0; status == CF_OK && i < stacks->rows.len; i++) {
        const struct cf_stack *stack = &stacks->rows.items[i];
        uint64_t resident;
        bool known = cf_mem_resident_bytes(mem, stack->start, stack->end, &resident);
        uint64_t used = stack->tcb > stack->live ? stack->tcb - stack->live : 0;
        cf_insert_u64_if(&in, stack->thread >= 0, (uint64_t)(int64_t)stack->thread);
        cf_insert_u64(&in, stack->start);
        cf_insert_u64(&in, stack->end);
        cf_insert_u64_if(&in, stack->readable, stack->thread >= 0 ? used : 0);
        cf_insert_u64_if(&in, known, resident);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_reach(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_reach *reach,
                  const struct cf_leaks *leaks, const struct cf_types *types,
                  struct cf_err *err) {
    int status = insert_leaks(db, leaks, types, err);
    if (status == CF_OK)
        status = insert_arenas(db, leaks, pt, err);
    if (status == CF_OK)
        status = insert_roots(db, &reach->roots, err);
    if (status == CF_OK)
        status = insert_stacks(db, &reach->stacks, cf_malloc_mem(cf_ptmalloc_malloc(pt)), err);
    return status;
}

int cf_rows_not_computed(struct cf_db *db, const char *what, const char *reason,
                         struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "not_computed", "what, reason", err);
    if (status != CF_OK)
        return status;
    cf_insert_text(&in, what);
    cf_insert_text(&in, reason);
    return cf_insert_row(&in, err);
}

int cf_rows_ghosts(struct cf_db *db, const struct cf_ghosts *ghosts, const struct cf_types *types,
                   struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "ghost", "type, ghosts, ghost_bytes, arenas", err);
    for (size_t i = 0; i < ghosts->rows.len && status == CF_OK; i++) {
        const struct cf_ghost *ghost = &ghosts->rows.items[i];
        if (ghost->ghosts == 0)
            continue;
        cf_insert_text(&in, cf_types_name(types, (uint32_t)i));
        cf_insert_u64(&in, ghost->ghosts);
        cf_insert_u64(&in, ghost->bytes);
        cf_insert_u64(&in, ghost->arenas);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_types(struct cf_db *db, const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "type",
                                 "type_id, type, evidence, chunks, bytes, unreachable_chunks,"
                                 " unreachable_bytes, sample_address, memory_of",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_types_nr(types); i++) {
        const struct cf_type *type = cf_types_get(types, (uint32_t)i);
        if (type->chunks == 0)
            continue;
        cf_insert_u64(&in, i);
        cf_insert_text(&in, cf_types_name(types, (uint32_t)i));
        cf_insert_text(&in, cf_type_evidence_name(type->evidence));
        cf_insert_u64(&in, type->chunks);
        cf_insert_u64(&in, type->bytes);
        cf_insert_u64(&in, type->unreachable_chunks);
        cf_insert_u64(&in, type->unreachable_bytes);
        cf_insert_u64_if(&in, type->sample != 0, type->sample);
        cf_insert_text(&in, cf_types_name(types, type->memory_of));
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_size_types(struct cf_db *db, const struct cf_size_types *sizes,
                       const struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "size_type", "size_bytes, type, chunks", err);
    for (size_t i = 0; status == CF_OK && i < sizes->nr; i++) {
        cf_insert_u64(&in, sizes->rows[i].bytes);
        cf_insert_text(&in, cf_types_name(types, sizes->rows[i].type));
        cf_insert_u64(&in, sizes->rows[i].chunks);
        status = cf_insert_row(&in, err);
    }
    return status;
}
