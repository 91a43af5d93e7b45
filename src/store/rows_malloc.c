/*
 * The heap's structure (arenas, heaps, bins, caches) and what does not add up in it or in the file.
 */
#include "store/insert.h"
#include "store/rows.h"

/* What the writers of this file read. */
struct sources {
    struct cf_db *db;
    const struct cf_ptmalloc *pt;
    const struct cf_malloc *found;
    const struct cf_mem *mem;
    const struct cf_chunkmap *map;
    const struct cf_sizes *sizes;
    const struct cf_holes *holes;
    const struct cf_kept *kept;
};

/* A figure that may be known of no part, of some or of all. */
struct known_sum {
    uint64_t bytes;
    bool known;
};

static int insert_namespaces(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, from->db, "namespace",
                                 "namespace, main_arena, mp_address, mmapped_chunks,"
                                 " mmapped_bytes, max_total_bytes",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_malloc_nr_namespaces(from->found); i++) {
        const struct cf_namespace *ns = cf_malloc_namespace(from->found, i);
        cf_insert_u64(&in, i);
        cf_insert_u64(&in, ns->main_arena);
        cf_insert_u64_if(&in, ns->par.addr != 0, ns->par.addr);
        cf_insert_u64(&in, ns->par.n_mmaps);
        cf_insert_u64(&in, ns->par.mmapped_mem);
        cf_insert_u64(&in, ns->par.max_total_mem);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static struct known_sum heap_resident(const struct sources *from, const struct cf_heap *heap) {
    struct known_sum resident = {0};
    resident.known = cf_mem_resident_bytes(from->mem, heap->start, heap->end, &resident.bytes);
    return resident;
}

static struct known_sum arena_resident(const struct sources *from, uint32_t arena_id) {
    struct known_sum sum = {0};
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(from->map); i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(from->map, i);
        if (heap->arena_id != arena_id)
            continue;
        struct known_sum resident = heap_resident(from, heap);
        sum.known |= resident.known;
        sum.bytes += resident.known ? resident.bytes : 0;
    }
    return sum;
}

/* Threads that allocate from the arena; known as soon as any thread's arena is. */
static struct known_sum arena_threads(const struct sources *from, const struct cf_arena *arena) {
    struct known_sum sum = {0};
    size_t nr_threads = cf_core_nr_threads(cf_mem_core(from->mem));
    for (size_t i = 0; i < nr_threads; i++) {
        uint64_t addr = cf_malloc_thread(from->found, i)->thread_arena;
        sum.known |= addr != 0;
        sum.bytes += addr != 0 && addr == arena->addr;
    }
    return sum;
}

static int insert_arena(struct cf_insert *in, const struct sources *from, size_t id,
                        struct cf_err *err) {
    const struct cf_arena *arena = cf_ptmalloc_arena(from->pt, id);
    const struct cf_size_sums *sums = cf_sizes_arena(from->sizes, id);
    const struct cf_hole_sums *holes = cf_holes_arena(from->holes, id);
    const struct cf_waste_sum *waste = &from->kept->waste.arenas[id];
    const struct cf_resident_bytes trim = from->kept->trim.arenas[id].resident;
    const struct cf_resident_bytes top = from->kept->trim.arenas[id].top_resident;
    const struct cf_resident_bytes freeing = from->kept->freeing.arenas[id].resident;
    struct known_sum resident = arena_resident(from, (uint32_t)id);
    struct known_sum threads = arena_threads(from, arena);
    bool has_state = arena->addr != 0;
    const struct cf_field fields[] = {
        {"arena_id", true, arena->id},
        {"namespace", true, arena->ns},
        {"address", has_state, arena->addr},
        {"is_main", true, arena->is_main},
        {"in_ring", true, cf_malloc_arena(from->found, arena->id)->in_ring},
        {"threads", threads.known, threads.bytes},
        {"attached_threads", arena->attached_threads >= 0, (uint64_t)arena->attached_threads},
        {"system_bytes", has_state, arena->system_mem},
        {"max_system_bytes", has_state, arena->max_system_mem},
        {"top_field_bytes", has_state, arena->top_bytes},
        {"binned_chunks", has_state, arena->nr_binned},
        {"binned_bytes", has_state, arena->binned_bytes},
        {"fastbin_chunks", has_state, arena->nr_fast},
        {"fastbin_bytes", has_state, arena->fast_bytes},
        {"heaps", true, sums->heaps},
        {"mapped_bytes", true, sums->mapped_bytes},
        {"reserved_bytes", true, sums->reserved_bytes},
        {"resident_bytes", resident.known, resident.bytes},
        {"live_chunks", true, sums->chunks[CF_CHUNK_LIVE]},
        {"live_bytes", true, sums->bytes[CF_CHUNK_LIVE]},
        {"free_chunks", true, sums->chunks[CF_CHUNK_FREE]},
        {"free_bytes", true, sums->bytes[CF_CHUNK_FREE]},
        {"fast_chunks", true, sums->chunks[CF_CHUNK_FAST]},
        {"fast_bytes", true, sums->bytes[CF_CHUNK_FAST]},
        {"tcache_chunks", true, sums->chunks[CF_CHUNK_TCACHE]},
        {"tcache_bytes", true, sums->bytes[CF_CHUNK_TCACHE]},
        {"top_bytes", true, sums->bytes[CF_CHUNK_TOP]},
        {"fence_bytes", true, sums->bytes[CF_CHUNK_FENCE]},
        {"overhead_bytes", true, sums->overhead_bytes},
        {"holes", true, holes->holes},
        {"hole_bytes", true, holes->bytes},
        {"largest_hole_bytes", true, holes->largest},
        {"releasable_bytes", trim.known, trim.bytes},
        {"releasable_top_bytes", top.known, top.bytes},
        {"self_releasable_bytes", freeing.known, freeing.bytes},
        {"pinned_bytes", waste->resident.known, waste->bytes[CF_WASTE_PINNED]},
    };
    return cf_insert_fields(in, from->db, "arena", fields, sizeof fields / sizeof *fields, err);
}

static int insert_arenas(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_arenas(from->pt); i++)
        status = insert_arena(&in, from, i, err);
    return status;
}

static int insert_heap(struct cf_insert *in, const struct sources *from, size_t id,
                       struct cf_err *err) {
    const struct cf_heap *heap = cf_chunkmap_heap(from->map, id);
    const struct cf_size_sums *sums = cf_sizes_heap(from->sizes, id);
    const struct cf_hole_sums *holes = cf_holes_heap(from->holes, id);
    struct known_sum resident = heap_resident(from, heap);
    const struct cf_field fields[] = {
        {"heap_id", true, heap->id},
        {"arena_id", true, heap->arena_id},
        {"start", true, heap->start},
        {"first_chunk", true, heap->first_chunk},
        {"end", true, heap->end},
        {"reserved_end", true, heap->reserved_end},
        {"resident_bytes", resident.known, resident.bytes},
        {"live_chunks", true, sums->chunks[CF_CHUNK_LIVE]},
        {"live_bytes", true, sums->bytes[CF_CHUNK_LIVE]},
        {"free_chunks", true, sums->chunks[CF_CHUNK_FREE]},
        {"free_bytes", true, sums->bytes[CF_CHUNK_FREE]},
        {"fast_bytes", true, sums->bytes[CF_CHUNK_FAST]},
        {"tcache_bytes", true, sums->bytes[CF_CHUNK_TCACHE]},
        {"top_bytes", true, sums->bytes[CF_CHUNK_TOP]},
        {"fence_bytes", true, sums->bytes[CF_CHUNK_FENCE]},
        {"overhead_bytes", true, sums->overhead_bytes},
        {"holes", true, holes->holes},
        {"hole_bytes", true, holes->bytes},
        {"largest_hole_bytes", true, holes->largest},
        {"top_pin_address", sums->last_live != 0, sums->last_live},
    };
    return cf_insert_fields(in, from->db, "heap", fields, sizeof fields / sizeof *fields, err);
}

static int insert_heaps(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < cf_chunkmap_nr_heaps(from->map); i++)
        status = insert_heap(&in, from, i, err);
    return status;
}

static const char *bin_kind_name(enum cf_bin_kind kind) {
    static const char *const names[] = {"fast", "unsorted", "small", "large"};
    return names[kind];
}

static int insert_bins(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status =
        cf_insert_begin(&in, from->db, "bin", "arena_id, kind, bin_index, chunks, bytes", err);
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_bins(from->pt); i++) {
        const struct cf_bin *bin = cf_ptmalloc_bin(from->pt, i);
        cf_insert_u64(&in, bin->arena_id);
        cf_insert_text(&in, bin_kind_name(bin->kind));
        cf_insert_u64(&in, bin->index);
        cf_insert_u64(&in, bin->chunks);
        cf_insert_u64(&in, bin->bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

static int insert_tcaches(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, from->db, "tcache",
                                 "address, thread_id, arena_id, chunks, bytes", err);
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_tcaches(from->pt); i++) {
        const struct cf_tcache *tcache = cf_ptmalloc_tcache(from->pt, i);
        cf_insert_u64(&in, tcache->addr);
        cf_insert_u64_if(&in, tcache->thread >= 0, (uint64_t)tcache->thread);
        cf_insert_id(&in, tcache->arena_id);
        cf_insert_u64(&in, tcache->chunks);
        cf_insert_u64(&in, tcache->bytes);
        status = cf_insert_row(&in, err);
    }
    return status;
}

int cf_rows_malloc(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_sizes *sizes,
                   const struct cf_holes *holes, const struct cf_kept *kept, struct cf_err *err) {
    const struct cf_malloc *found = cf_ptmalloc_malloc(pt);
    struct sources from = {
        .db = db,
        .pt = pt,
        .found = found,
        .mem = cf_malloc_mem(found),
        .map = cf_ptmalloc_map(pt),
        .sizes = sizes,
        .holes = holes,
        .kept = kept,
    };
    int status = insert_namespaces(&from, err);
    if (status == CF_OK)
        status = insert_arenas(&from, err);
    if (status == CF_OK)
        status = insert_heaps(&from, err);
    if (status == CF_OK)
        status = insert_bins(&from, err);
    if (status == CF_OK)
        status = insert_tcaches(&from, err);
    if (status == CF_OK)
        status = cf_db_exec(db,
                            "INSERT INTO arena_span SELECT arena_id, min(start), max(end)"
                            " FROM heap GROUP BY arena_id",
                            err);
    return status;
}

/* A flaw of the file; of an address space, `offset` still is that of the segment in the file. */
static int insert_flaw(struct cf_insert *in, const char *source, const struct cf_core_flaw *flaw,
                       struct cf_err *err) {
    cf_insert_text(in, source);
    cf_insert_text(in, flaw->code);
    cf_insert_u64(in, false);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_u64(in, flaw->offset);
    cf_insert_text(in, flaw->detail);
    cf_insert_u64(in, false);
    cf_insert_null(in);
    return cf_insert_row(in, err);
}

static int insert_anomaly(struct cf_insert *in, const struct cf_anomaly *anomaly, bool vouched,
                          struct cf_err *err) {
    cf_insert_text(in, "heap");
    cf_insert_text(in, anomaly->code);
    cf_insert_u64(in, anomaly->in_complete && vouched);
    cf_insert_id(in, anomaly->arena_id);
    cf_insert_id(in, anomaly->heap_id);
    cf_insert_u64_if(in, anomaly->addr != 0, anomaly->addr);
    cf_insert_null(in);
    cf_insert_text(in, anomaly->detail);
    cf_insert_u64(in, anomaly->in_flux);
    cf_insert_u64_if(in, anomaly->in_flux, (uint64_t)anomaly->thread);
    return cf_insert_row(in, err);
}

static int insert_contradiction(struct cf_insert *in, const struct cf_contradiction *row,
                                struct cf_err *err) {
    cf_insert_text(in, "symbols");
    cf_insert_text(in, "witness-disagrees");
    cf_insert_u64(in, false);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_u64_if(in, row->addr != 0, row->addr);
    cf_insert_null(in);
    cf_insert_text(in, row->detail);
    cf_insert_u64(in, false);
    cf_insert_null(in);
    return cf_insert_row(in, err);
}

/* Shapes of no one release: said, since nothing tells which of them is wrong. */
static int insert_shapes(struct cf_insert *in, const struct cf_malloc *found, struct cf_err *err) {
    struct cf_releases fit = cf_malloc_releases(found);
    if (fit.first <= fit.last)
        return CF_OK;
    cf_insert_text(in, "heap");
    cf_insert_text(in, "shapes-disagree");
    cf_insert_u64(in, false);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_text(in, cf_malloc_layout_text(found));
    cf_insert_u64(in, false);
    cf_insert_null(in);
    return cf_insert_row(in, err);
}

int cf_rows_anomaly(struct cf_db *db, const struct cf_ptmalloc *pt,
                    const struct cf_witness *witness, struct cf_err *err) {
    const struct cf_mem *mem = cf_malloc_mem(cf_ptmalloc_malloc(pt));
    const struct cf_core *core = cf_mem_core(mem);
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "anomaly",
                                 "source, code, is_corruption, arena_id, heap_id, address,"
                                 " file_offset, detail, in_flux, thread_id",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_core_nr_flaws(core); i++)
        status = insert_flaw(&in, "core", cf_core_flaw(core, i), err);
    for (size_t i = 0; status == CF_OK && i < cf_mem_nr_flaws(mem); i++)
        status = insert_flaw(&in, "memory", cf_mem_flaw(mem, i), err);
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_anomalies(pt); i++)
        status = insert_anomaly(&in, cf_ptmalloc_anomaly(pt, i), cf_core_vouches(core), err);
    if (status == CF_OK)
        status = insert_shapes(&in, cf_ptmalloc_malloc(pt), err);
    for (size_t i = 0; status == CF_OK && i < witness->nr_contradictions; i++)
        status = insert_contradiction(&in, &witness->contradictions[i], err);
    return status;
}

int cf_rows_damage(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_damage *damage,
                   struct cf_types *types, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    const struct cf_chunk *below = &damage->below;
    bool has_type = types != NULL && damage->has_below && below->state == CF_CHUNK_LIVE;
    if (damage->kind == CF_DAMAGE_NONE || !cf_core_vouches(cf_mem_core(cf_malloc_mem(
                                              cf_ptmalloc_malloc(pt)))))
        return CF_OK;
    int status = cf_insert_begin(&in, db, "damage",
                                 "kind, address, suspect_address, suspect_size, suspect_state,"
                                 " suspect_type, overrun_bytes",
                                 err);
    if (status != CF_OK)
        return status;
    cf_insert_text(&in, cf_damage_kind_name(damage->kind));
    cf_insert_u64_if(&in, damage->addr != 0, damage->addr);
    cf_insert_u64_if(&in, damage->has_below, below->addr);
    cf_insert_u64_if(&in, damage->has_below, below->bytes);
    cf_insert_text(&in, damage->has_below ? cf_chunk_state_name(below->state) : NULL);
    cf_insert_text(&in, has_type ? cf_types_name(types, cf_types_at(types, below->addr)) : NULL);
    cf_insert_u64_if(&in, damage->overrun_bytes > 0, damage->overrun_bytes);
    return cf_insert_row(&in, err);
}
