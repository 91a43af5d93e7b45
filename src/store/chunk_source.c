#include "store/chunk_source.h"

void cf_chunk_source_init(struct cf_chunk_source *source, const struct cf_chunkmap *map,
                          enum cf_chunks kept, const uint64_t *reached) {
    *source = (struct cf_chunk_source){.map = map, .kept = kept, .reached = reached};
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
    return true;
}

static bool next_chunk(struct cf_chunk_source *source, struct cf_chunk *out) {
    while (source->heap != NULL || next_heap(source)) {
        if (cf_planes_walk_next(&source->walk, out))
            return true;
        source->heap = NULL;
    }
    return false;
}

static bool is_reached(const struct cf_chunk_source *source, const struct cf_chunk *chunk) {
    if (source->reached == NULL)
        return true;
    size_t unit = cf_chunkmap_unit_of(source->map, source->heap, chunk->addr);
    return source->reached[unit >> 6] >> (unit & 63) & 1;
}

static bool is_kept(const struct cf_chunk_source *source, enum cf_chunk_state state) {
    if (state == CF_CHUNK_GAP)
        return false;
    return source->kept != CF_CHUNKS_FREE || cf_chunk_is_dead(state) || state == CF_CHUNK_TOP;
}

static enum cf_chunk_code code_of(const struct cf_chunk_source *source,
                                  const struct cf_chunk *chunk) {
    switch (chunk->state) {
    case CF_CHUNK_FREE:
        return CF_CODE_FREE;
    case CF_CHUNK_TCACHE:
        return CF_CODE_TCACHE;
    case CF_CHUNK_FAST:
        return CF_CODE_FAST;
    case CF_CHUNK_TOP:
        return CF_CODE_TOP;
    case CF_CHUNK_FENCE:
        return CF_CODE_FENCE;
    default:
        return is_reached(source, chunk) ? CF_CODE_LIVE : CF_CODE_UNREACHABLE;
    }
}

bool cf_chunk_source_next(struct cf_chunk_source *source, struct cf_chunk_row *out) {
    struct cf_chunk chunk;
    while (next_chunk(source, &chunk)) {
        if (!is_kept(source, chunk.state))
            continue;
        out->address = (int64_t)chunk.addr;
        out->size_bytes = (int64_t)chunk.bytes;
        out->code = code_of(source, &chunk);
        source->rows++;
        return true;
    }
    return false;
}
