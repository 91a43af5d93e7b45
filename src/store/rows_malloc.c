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

static void insert_malloc_fields(struct cf_insert *in, const struct sources *from,
                                 const struct cf_arena *arena) {
    struct known_sum threads = arena_threads(from, arena);
    cf_insert_u64(in, arena->id);
    cf_insert_u64(in, arena->ns);
    cf_insert_u64_if(in, arena->addr != 0, arena->addr);
    cf_insert_u64(in, arena->is_main);
    cf_insert_u64(in, cf_malloc_arena(from->found, arena->id)->in_ring);
    cf_insert_u64_if(in, threads.known, threads.bytes);
    cf_insert_u64_if(in, arena->attached_threads >= 0, (uint64_t)arena->attached_threads);
    bool has_state = arena->addr != 0;
    cf_insert_u64_if(in, has_state, arena->system_mem);
    cf_insert_u64_if(in, has_state, arena->max_system_mem);
    cf_insert_u64_if(in, has_state, arena->top_bytes);
    cf_insert_u64_if(in, has_state, arena->nr_binned);
    cf_insert_u64_if(in, has_state, arena->binned_bytes);
    cf_insert_u64_if(in, has_state, arena->nr_fast);
    cf_insert_u64_if(in, has_state, arena->fast_bytes);
}

static void insert_hole_sums(struct cf_insert *in, const struct cf_hole_sums *holes) {
    cf_insert_u64(in, holes->holes);
    cf_insert_u64(in, holes->bytes);
    cf_insert_u64(in, holes->largest);
}

static void insert_resident(struct cf_insert *in, struct cf_resident_bytes figure) {
    cf_insert_u64_if(in, figure.known, figure.bytes);
}

static void insert_kept(struct cf_insert *in, const struct cf_kept *kept, size_t id) {
    const struct cf_waste_sum *waste = &kept->waste.arenas[id];
    insert_resident(in, kept->trim.arenas[id].resident);
    insert_resident(in, kept->trim.arenas[id].top_resident);
    insert_resident(in, kept->freeing.arenas[id].resident);
    cf_insert_u64_if(in, waste->resident.known, waste->bytes[CF_WASTE_PINNED]);
}

static int insert_arena(struct cf_insert *in, const struct sources *from, size_t id,
                        struct cf_err *err) {
    const struct cf_size_sums *sums = cf_sizes_arena(from->sizes, id);
    struct known_sum resident = arena_resident(from, (uint32_t)id);
    insert_malloc_fields(in, from, cf_ptmalloc_arena(from->pt, id));
    cf_insert_u64(in, sums->heaps);
    cf_insert_u64(in, sums->mapped_bytes);
    cf_insert_u64(in, sums->reserved_bytes);
    cf_insert_u64_if(in, resident.known, resident.bytes);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_LIVE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_LIVE]);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_FREE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FREE]);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_FAST]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FAST]);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_TCACHE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_TCACHE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_TOP]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FENCE]);
    cf_insert_u64(in, sums->overhead_bytes);
    insert_hole_sums(in, cf_holes_arena(from->holes, id));
    insert_kept(in, from->kept, id);
    return cf_insert_row(in, err);
}

static int insert_arenas(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(
        &in, from->db, "arena",
        "arena_id, namespace, address, is_main, in_ring, threads, attached_threads, system_bytes,"
        " max_system_bytes, top_field_bytes, binned_chunks, binned_bytes, fastbin_chunks,"
        " fastbin_bytes, heaps, mapped_bytes, reserved_bytes, resident_bytes, live_chunks,"
        " live_bytes, free_chunks, free_bytes, fast_chunks, fast_bytes, tcache_chunks,"
        " tcache_bytes, top_bytes, fence_bytes, overhead_bytes, holes, hole_bytes,"
        " largest_hole_bytes, releasable_bytes, releasable_top_bytes, self_releasable_bytes,"
        " pinned_bytes",
        err);
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_arenas(from->pt); i++)
        status = insert_arena(&in, from, i, err);
    return status;
}

static int insert_heap(struct cf_insert *in, const struct sources *from, size_t id,
                       struct cf_err *err) {
    const struct cf_heap *heap = cf_chunkmap_heap(from->map, id);
    const struct cf_size_sums *sums = cf_sizes_heap(from->sizes, id);
    struct known_sum resident = heap_resident(from, heap);
    cf_insert_u64(in, heap->id);
    cf_insert_u64(in, heap->arena_id);
    cf_insert_u64(in, heap->start);
    cf_insert_u64(in, heap->first_chunk);
    cf_insert_u64(in, heap->end);
    cf_insert_u64(in, heap->reserved_end);
    cf_insert_u64_if(in, resident.known, resident.bytes);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_LIVE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_LIVE]);
    cf_insert_u64(in, sums->chunks[CF_CHUNK_FREE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FREE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FAST]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_TCACHE]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_TOP]);
    cf_insert_u64(in, sums->bytes[CF_CHUNK_FENCE]);
    cf_insert_u64(in, sums->overhead_bytes);
    insert_hole_sums(in, cf_holes_heap(from->holes, id));
    cf_insert_u64_if(in, sums->last_live != 0, sums->last_live);
    return cf_insert_row(in, err);
}

static int insert_heaps(const struct sources *from, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(
        &in, from->db, "heap",
        "heap_id, arena_id, start, first_chunk, end, reserved_end, resident_bytes, live_chunks,"
        " live_bytes, free_chunks, free_bytes, fast_bytes, tcache_bytes, top_bytes, fence_bytes,"
        " overhead_bytes, holes, hole_bytes, largest_hole_bytes, top_pin_address",
        err);
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
