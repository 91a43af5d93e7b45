/*
 * Small chunks are counted in a dense table by state and units, which fits the cache: an
 * addition each. Bytes and sums are made from the counts when a heap ends.
 */
#include "retain/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

/*
 * Small chunks are summed up in a dense table for each arena, the others in rows that are found by
 * (arena, state, size).
 */
struct dense {
    uint64_t chunks[CF_COUNTED_STATES * CF_COUNTED_UNITS];
};

struct cf_sizes {
    const struct cf_chunkmap *map;
    unsigned unit_shift;
    size_t nr_arenas;
    size_t nr_heaps;
    struct cf_size_sums *heaps;
    struct cf_size_sums *arenas;
    struct dense **dense;        /* by arena, made when first needed */
    struct cf_hash sparse;       /* over the classes, as long as no dense ones are among them */
    CF_ARRAY(struct cf_size_class) classes;
};

int cf_sizes_new(const struct cf_chunkmap *map, size_t nr_arenas, struct cf_sizes **out,
                 struct cf_err *err) {
    struct cf_sizes *sizes = calloc(1, sizeof *sizes);
    if (sizes == NULL)
        return cf_err_nomem(err, sizeof *sizes, "the size classes");
    sizes->map = map;
    sizes->unit_shift = (unsigned)__builtin_ctz(cf_chunkmap_unit_bytes(map));
    sizes->nr_arenas = nr_arenas;
    sizes->nr_heaps = cf_chunkmap_nr_heaps(map);
    sizes->heaps = calloc(sizes->nr_heaps + 1, sizeof *sizes->heaps);
    sizes->arenas = calloc(nr_arenas + 1, sizeof *sizes->arenas);
    sizes->dense = calloc(nr_arenas + 1, sizeof *sizes->dense);
    if (sizes->heaps == NULL || sizes->arenas == NULL || sizes->dense == NULL) {
        size_t bytes = sizes->nr_heaps * sizeof *sizes->heaps + nr_arenas * sizeof *sizes->arenas;
        cf_sizes_free(sizes);
        return cf_err_nomem(err, bytes, "the size classes");
    }
    *out = sizes;
    return CF_OK;
}

void cf_sizes_free(struct cf_sizes *sizes) {
    if (sizes == NULL)
        return;
    for (size_t i = 0; sizes->dense != NULL && i < sizes->nr_arenas; i++)
        free(sizes->dense[i]);
    free(sizes->dense);
    free(sizes->heaps);
    free(sizes->arenas);
    cf_hash_fini(&sizes->sparse);
    cf_array_free(&sizes->classes);
    free(sizes);
}

void cf_sizes_freep(struct cf_sizes **sizes) {
    cf_sizes_free(*sizes);
}

static bool is_class(const struct cf_size_class *row, uint32_t arena_id, enum cf_chunk_state state,
                     uint64_t size_bytes) {
    return row->size_bytes == size_bytes && row->state == state && row->arena_id == arena_id;
}

static bool count_sparse(struct cf_sizes *sizes, uint32_t arena_id, enum cf_chunk_state state,
                         uint64_t size_bytes) {
    uint64_t hash = cf_hash_mix(size_bytes ^ (uint64_t)arena_id << 40 ^ (uint64_t)state << 36);
    uint32_t found = cf_hash_find(&sizes->sparse, hash, i,
                                  is_class(&sizes->classes.items[i], arena_id, state, size_bytes));
    if (found != CF_HASH_NONE) {
        sizes->classes.items[found].chunks++;
        return true;
    }
    struct cf_size_class *row = cf_array_push(&sizes->classes);
    if (row == NULL)
        return false;
    *row = (struct cf_size_class){arena_id, state, size_bytes, 1};
    return cf_hash_add(&sizes->sparse, hash, sizes->classes.len - 1);
}

void cf_size_counts_init(struct cf_size_counts *counts, const struct cf_chunkmap *map) {
    memset(counts, 0, sizeof *counts);
    counts->unit_shift = (unsigned)__builtin_ctz(cf_chunkmap_unit_bytes(map));
}

bool cf_sizes_add_other(struct cf_sizes *sizes, const struct cf_heap *heap,
                        const struct cf_chunk *chunk) {
    struct cf_size_sums *sums = &sizes->heaps[heap->id];
    sums->bytes[chunk->state] += chunk->bytes;
    if (chunk->state == CF_CHUNK_GAP)
        return true;
    sums->chunks[chunk->state]++;
    return count_sparse(sizes, heap->arena_id, chunk->state, chunk->bytes);
}

/* The arena's table, made when it is needed first. */
static struct dense *dense_of(struct cf_sizes *sizes, uint32_t arena_id) {
    if (sizes->dense[arena_id] == NULL)
        sizes->dense[arena_id] = calloc(1, sizeof *sizes->dense[arena_id]);
    return sizes->dense[arena_id];
}

bool cf_sizes_end_heap(struct cf_sizes *sizes, const struct cf_heap *heap,
                       struct cf_size_counts *counts) {
    struct cf_size_sums *sums = &sizes->heaps[heap->id];
    bool in_arena = heap->arena_id < sizes->nr_arenas;
    struct dense *dense = in_arena ? dense_of(sizes, heap->arena_id) : NULL;
    if (in_arena && dense == NULL)
        return false;
    for (size_t i = 0; i < CF_COUNTED_STATES * CF_COUNTED_UNITS; i++) {
        uint64_t chunks = counts->chunks[i], size = i % CF_COUNTED_UNITS << counts->unit_shift;
        enum cf_chunk_state state = (enum cf_chunk_state)(i / CF_COUNTED_UNITS);
        sums->chunks[state] += chunks;
        sums->bytes[state] += chunks * size;
        if (dense != NULL)
            dense->chunks[i] += chunks;
        counts->chunks[i] = 0;
    }
    sums->last_live = counts->last_live;
    counts->last_live = 0;
    return true;
}

static void add_sums(struct cf_size_sums *to, const struct cf_size_sums *from) {
    for (int state = 0; state < CF_NR_CHUNK_STATES; state++) {
        to->chunks[state] += from->chunks[state];
        to->bytes[state] += from->bytes[state];
    }
    to->mapped_bytes += from->mapped_bytes;
    to->reserved_bytes += from->reserved_bytes;
    to->overhead_bytes += from->overhead_bytes;
    to->heaps += from->heaps;
}

static void close_heap(struct cf_sizes *sizes, const struct cf_heap *heap) {
    struct cf_size_sums *sums = &sizes->heaps[heap->id];
    const uint64_t *bytes = sums->bytes;
    sums->heaps = 1;
    sums->mapped_bytes = heap->end - heap->start;
    sums->reserved_bytes = heap->reserved_end > heap->end ? heap->reserved_end - heap->end : 0;
    sums->overhead_bytes = sums->mapped_bytes - bytes[CF_CHUNK_LIVE] - bytes[CF_CHUNK_FREE] -
                           bytes[CF_CHUNK_FAST] - bytes[CF_CHUNK_TCACHE] - bytes[CF_CHUNK_TOP];
    if (heap->arena_id < sizes->nr_arenas)
        add_sums(&sizes->arenas[heap->arena_id], sums);
}

static bool add_mmapped(struct cf_sizes *sizes) {
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(sizes->map); i++) {
        const struct cf_mmapped *mmapped = cf_chunkmap_mmapped(sizes->map, i);
        enum cf_chunk_state state = mmapped->in_tcache ? CF_CHUNK_TCACHE : CF_CHUNK_MMAPPED;
        if (!count_sparse(sizes, UINT32_MAX, state, mmapped->bytes))
            return false;
    }
    return true;
}

static bool collect_dense(struct cf_sizes *sizes, uint32_t arena_id) {
    const struct dense *dense = sizes->dense[arena_id];
    for (size_t i = 0; dense != NULL && i < CF_COUNTED_STATES * CF_COUNTED_UNITS; i++) {
        if (dense->chunks[i] == 0)
            continue;
        struct cf_size_class *slot = cf_array_push(&sizes->classes);
        if (slot == NULL)
            return false;
        *slot = (struct cf_size_class){.arena_id = arena_id,
                                       .state = (enum cf_chunk_state)(i / CF_COUNTED_UNITS),
                                       .size_bytes = i % CF_COUNTED_UNITS << sizes->unit_shift,
                                       .chunks = dense->chunks[i]};
    }
    return true;
}

/* The dense classes behind the sparse ones. */
static bool collect(struct cf_sizes *sizes) {
    for (size_t i = 0; i < sizes->nr_arenas; i++)
        if (!collect_dense(sizes, (uint32_t)i))
            return false;
    return true;
}

static int compare_classes(const void *a, const void *b) {
    const struct cf_size_class *left = a, *right = b;
    if (left->arena_id != right->arena_id)
        return left->arena_id < right->arena_id ? -1 : 1;
    if (left->state != right->state)
        return left->state < right->state ? -1 : 1;
    return left->size_bytes < right->size_bytes ? -1 : left->size_bytes > right->size_bytes;
}

int cf_sizes_finish(struct cf_sizes *sizes, struct cf_err *err) {
    for (size_t i = 0; i < sizes->nr_heaps; i++)
        close_heap(sizes, cf_chunkmap_heap(sizes->map, i));
    if (!add_mmapped(sizes) || !collect(sizes))
        return cf_err_nomem(err, sizes->classes.len * sizeof *sizes->classes.items,
                            "the size classes");
    if (sizes->classes.len > 0)
        qsort(sizes->classes.items, sizes->classes.len, sizeof *sizes->classes.items,
              compare_classes);
    return CF_OK;
}

const struct cf_size_sums *cf_sizes_heap(const struct cf_sizes *sizes, size_t heap_id) {
    return &sizes->heaps[heap_id];
}

const struct cf_size_sums *cf_sizes_arena(const struct cf_sizes *sizes, size_t arena_id) {
    return &sizes->arenas[arena_id];
}

uint64_t cf_sizes_nr_chunks(const struct cf_sizes *sizes) {
    uint64_t chunks = 0;
    for (size_t i = 0; i < sizes->nr_heaps; i++)
        for (int state = 0; state < CF_NR_CHUNK_STATES; state++)
            chunks += sizes->heaps[i].chunks[state];
    return chunks;
}

size_t cf_sizes_nr_classes(const struct cf_sizes *sizes) {
    return sizes->classes.len;
}

const struct cf_size_class *cf_sizes_class(const struct cf_sizes *sizes, size_t index) {
    return &sizes->classes.items[index];
}
