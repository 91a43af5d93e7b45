#include "store/chunk_source.h"

static bool is_kept(enum cf_chunks kept, enum cf_chunk_state state) {
    if (state == CF_CHUNK_GAP || state == CF_CHUNK_MMAPPED)
        return false;
    return kept != CF_CHUNKS_FREE || cf_chunk_is_dead(state) || state == CF_CHUNK_TOP;
}

void cf_chunk_source_init(struct cf_chunk_source *source, const struct cf_chunkmap *map,
                          enum cf_chunks kept, const uint64_t *reached) {
    *source = (struct cf_chunk_source){.map = map, .kept = kept, .reached = reached};
    for (int state = 0; state < CF_NR_CHUNK_STATES; state++)
        source->keeps[state] = is_kept(kept, (enum cf_chunk_state)state);
    size_t nr_heaps = cf_chunkmap_nr_heaps(map);
    for (size_t i = 0; i < nr_heaps; i++)
        if ((int64_t)cf_chunkmap_heap(map, i)->start < 0) {
            source->first_heap = i;
            break;
        }
}

void cf_chunk_source_rewind(struct cf_chunk_source *source) {
    source->heaps_done = 0;
    source->heap = NULL;
    source->rows = 0;
}

static bool next_heap(struct cf_chunk_source *source) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(source->map);
    if (source->kept == CF_CHUNKS_NONE || source->heaps_done == nr_heaps)
        return false;
    size_t index = (source->first_heap + source->heaps_done++) % nr_heaps;
    source->heap = cf_chunkmap_heap(source->map, index);
    source->walk = cf_planes_walk(cf_chunkmap_planes(source->map), source->heap);
    source->first_unit = source->heap->plane_word * 64;
    return true;
}

/* As many of the heap's chunks as `max`; fewer: it is at its end. */
static size_t take_chunks(struct cf_chunk_source *source, struct cf_chunk_row *rows, size_t max) {
    static const uint8_t codes[CF_NR_CHUNK_STATES] = {
        [CF_CHUNK_LIVE] = CF_CODE_LIVE,     [CF_CHUNK_FREE] = CF_CODE_FREE,
        [CF_CHUNK_TCACHE] = CF_CODE_TCACHE, [CF_CHUNK_FAST] = CF_CODE_FAST,
        [CF_CHUNK_TOP] = CF_CODE_TOP,       [CF_CHUNK_FENCE] = CF_CODE_FENCE,
    };
    const uint64_t *reached = source->reached;
    struct cf_planes_walk walk = source->walk;
    struct cf_chunk chunk;
    size_t nr = 0;
    while (nr < max && cf_planes_walk_next(&walk, &chunk)) {
        if (!source->keeps[chunk.state])
            continue;
        rows[nr] = (struct cf_chunk_row){.address = (int64_t)chunk.addr,
                                         .size_bytes = (int64_t)chunk.bytes,
                                         .code = codes[chunk.state]};
        if (reached != NULL && chunk.state == CF_CHUNK_LIVE) {
            size_t unit = source->first_unit + ((chunk.addr - walk.base) >> walk.shift);
            if ((reached[unit >> 6] >> (unit & 63) & 1) == 0)
                rows[nr].code = CF_CODE_UNREACHABLE;
        }
        nr++;
    }
    source->walk = walk;
    return nr;
}

size_t cf_chunk_source_take(struct cf_chunk_source *source, struct cf_chunk_row *rows,
                            size_t max) {
    size_t nr = 0;
    while (nr < max && (source->heap != NULL || next_heap(source))) {
        nr += take_chunks(source, rows + nr, max - nr);
        if (nr < max)
            source->heap = NULL;
    }
    source->rows += nr;
    return nr;
}
