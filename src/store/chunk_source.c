#include "store/chunk_source.h"

#include <stdlib.h>

#include "base/err.h"

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
    source->to = (struct cf_chunk_place){.turn = nr_heaps};
    for (size_t i = 0; i < nr_heaps; i++)
        if ((int64_t)cf_chunkmap_heap(map, i)->start < 0) {
            source->first_heap = i;
            break;
        }
}

void cf_chunk_source_rewind(struct cf_chunk_source *source) {
    source->heaps_done = source->from.turn;
    source->heap = NULL;
    source->rows = 0;
}

/* The heaps come by address, those above 2^63 first. */
static const struct cf_heap *heap_at(const struct cf_chunk_source *source, size_t turn) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(source->map);
    return cf_chunkmap_heap(source->map, (source->first_heap + turn) % nr_heaps);
}

static bool next_heap(struct cf_chunk_source *source) {
    size_t turn = source->heaps_done;
    bool is_last = turn == source->to.turn;
    if (source->kept == CF_CHUNKS_NONE || turn > source->to.turn ||
        (is_last && source->to.word == 0))
        return false;
    source->heaps_done++;
    source->heap = heap_at(source, turn);
    source->walk = cf_planes_walk_at(cf_chunkmap_planes(source->map), source->heap,
                                     turn == source->from.turn ? source->from.word : 0);
    source->stop_unit = is_last ? source->to.word * 64 : SIZE_MAX;
    source->first_unit = source->heap->plane_word * 64;
    return true;
}

static size_t plane_words(const struct cf_chunk_source *source, const struct cf_heap *heap) {
    return (cf_planes_units(cf_chunkmap_planes(source->map), heap) + 63) / 64;
}

int cf_chunk_source_cut(const struct cf_chunk_source *source, size_t words,
                        struct cf_chunk_place **out, size_t *nr, struct cf_err *err) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(source->map), all = 0, parts = 1;
    for (size_t turn = 0; turn < nr_heaps; turn++)
        all += plane_words(source, heap_at(source, turn));
    struct cf_chunk_place *places = calloc(all / words + 2, sizeof *places);
    if (places == NULL)
        return cf_err_nomem(err, all / words * sizeof *places, "parts of the chunk table");
    size_t left = words; /* of the part at hand */
    for (size_t turn = 0; turn < nr_heaps; turn++) {
        size_t at = 0, end = plane_words(source, heap_at(source, turn));
        while (end - at >= left) {
            at += left;
            left = words;
            places[parts++] = (struct cf_chunk_place){.turn = turn, .word = at};
        }
        left -= end - at;
    }
    places[parts++] = (struct cf_chunk_place){.turn = nr_heaps};
    *out = places;
    *nr = parts;
    return CF_OK;
}

struct cf_chunk_source cf_chunk_source_part(const struct cf_chunk_source *source,
                                            const struct cf_chunk_place places[2]) {
    struct cf_chunk_source part = *source;
    part.from = places[0];
    part.to = places[1];
    cf_chunk_source_rewind(&part);
    return part;
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
    while (nr < max && walk.unit < source->stop_unit && cf_planes_walk_next(&walk, &chunk)) {
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
