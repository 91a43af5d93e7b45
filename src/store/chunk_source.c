/*
 * The rows come in the order of the addresses as SQLite sorts them, two's complement: what lies
 * above 2^63 first. A heap's rows are read off the planes word by word; mmapped chunks are merged
 * in between, since they may lie among the heaps. A place is a heap's turn and a word of its plane,
 * so that parts cut at places need nothing of each other.
 */
#include "store/chunk_source.h"

#include <stdlib.h>

#include "base/err.h"

static bool is_kept(enum cf_chunks kept, enum cf_chunk_state state) {
    if (state == CF_CHUNK_GAP || kept == CF_CHUNKS_NONE)
        return false;
    return kept != CF_CHUNKS_FREE || cf_chunk_is_dead(state) || state == CF_CHUNK_TOP;
}

void cf_chunk_source_init(struct cf_chunk_source *source, const struct cf_chunkmap *map,
                          enum cf_chunks kept, const struct cf_chunk_facts *facts) {
    *source = (struct cf_chunk_source){.map = map, .kept = kept};
    if (facts != NULL)
        source->facts = *facts;
    if (source->facts.types != NULL)
        source->types = cf_types_by_rank(source->facts.types);
    for (int state = 0; state < CF_NR_CHUNK_STATES; state++)
        source->keeps[state] = is_kept(kept, (enum cf_chunk_state)state);
    size_t nr_heaps = cf_chunkmap_nr_heaps(map), nr_mmapped = cf_chunkmap_nr_mmapped(map);
    source->to = (struct cf_chunk_place){.turn = nr_heaps};
    source->mmapped_end = nr_mmapped;
    for (size_t i = nr_heaps; i-- > 0;)
        if ((int64_t)cf_chunkmap_heap(map, i)->start < 0)
            source->first_heap = i;
    for (size_t i = nr_mmapped; i-- > 0;)
        if ((int64_t)cf_chunkmap_mmapped(map, i)->addr < 0)
            source->first_mmapped = i;
}

/* The heaps come by address, those above 2^63 first. */
static const struct cf_heap *heap_at(const struct cf_chunk_source *source, size_t turn) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(source->map);
    return cf_chunkmap_heap(source->map, (source->first_heap + turn) % nr_heaps);
}

/* Index in the map of the mmapped chunk that comes as the nth. */
static size_t mmapped_index(const struct cf_chunk_source *source, size_t nth) {
    return (source->first_mmapped + nth) % cf_chunkmap_nr_mmapped(source->map);
}

static int64_t mmapped_address(const struct cf_chunk_source *source, size_t nth) {
    return (int64_t)cf_chunkmap_mmapped(source->map, mmapped_index(source, nth))->addr;
}

/* How many mmapped chunks come before a place, which is the first, the last or a word within a
 * heap: those at addresses below that word's. */
static size_t mmapped_before(const struct cf_chunk_source *source, struct cf_chunk_place place) {
    size_t nr_heaps = cf_chunkmap_nr_heaps(source->map);
    size_t low = 0, high = cf_chunkmap_nr_mmapped(source->map);
    if (place.turn >= nr_heaps)
        return high;
    if (place.word == 0)
        return 0;
    const struct cf_planes *planes = cf_chunkmap_planes(source->map);
    const struct cf_heap *heap = heap_at(source, place.turn);
    int64_t at = (int64_t)(cf_planes_base(planes, heap) +
                           ((uint64_t)place.word << (6 + planes->unit_shift)));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mmapped_address(source, middle) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Back to the first row. */
static void rewind_source(struct cf_chunk_source *source) {
    source->heaps_done = source->from.turn;
    source->heap = NULL;
    source->mmapped = mmapped_before(source, source->from);
    source->mmapped_end = mmapped_before(source, source->to);
    source->rows = 0;
}

static bool next_heap(struct cf_chunk_source *source) {
    size_t turn = source->heaps_done;
    bool is_last = turn == source->to.turn;
    if (source->kept == CF_CHUNKS_NONE || turn > source->to.turn ||
        (is_last && source->to.word == 0))
        return false;
    size_t word = turn == source->from.turn ? source->from.word : 0;
    source->heaps_done++;
    source->heap = heap_at(source, turn);
    source->walk = cf_planes_walk_at(cf_chunkmap_planes(source->map), source->heap, word);
    source->stop_unit = is_last ? source->to.word * 64 : SIZE_MAX;
    if (source->types != NULL)
        source->rank = cf_ranks_of_word(source->facts.ranks, source->heap->plane_word + word);
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
    rewind_source(&part);
    return part;
}

/* As many of the heap's chunks below unit `stop` as `max`; fewer: there are no more. */
static size_t take_chunks(struct cf_chunk_source *source, struct cf_chunk_row *rows, size_t max,
                          size_t stop) {
    static const uint8_t codes[CF_NR_CHUNK_STATES] = {
        [CF_CHUNK_LIVE] = CF_CODE_LIVE,     [CF_CHUNK_FREE] = CF_CODE_FREE,
        [CF_CHUNK_TCACHE] = CF_CODE_TCACHE, [CF_CHUNK_FAST] = CF_CODE_FAST,
        [CF_CHUNK_TOP] = CF_CODE_TOP,       [CF_CHUNK_FENCE] = CF_CODE_FENCE,
    };
    const uint64_t *reached = source->facts.reached;
    const uint32_t arena_id = source->heap->arena_id, heap_id = source->heap->id;
    struct cf_planes_walk walk = source->walk;
    struct cf_chunk chunk;
    struct cf_rank next = source->rank; /* live */
    size_t nr = 0;
    while (nr < max && walk.unit.index < stop && cf_planes_walk_next(&walk, &chunk)) {
        bool is_live = chunk.state == CF_CHUNK_LIVE;
        next.index += is_live;
        if (!source->keeps[chunk.state])
            continue;
        struct cf_chunk_row *row = &rows[nr++];
        *row = (struct cf_chunk_row){.address = (int64_t)chunk.addr,
                                     .size_bytes = (int64_t)chunk.bytes,
                                     .code = codes[chunk.state],
                                     .arena_id = arena_id, .heap_id = heap_id};
        if (!is_live || reached == NULL)
            continue;
        if (source->types != NULL)
            row->type = source->types[next.index - 1];
        struct cf_heap_unit unit = {(size_t)((chunk.addr - walk.base) >> walk.shift)};
        if (!cf_plane_bit(reached, source->heap->plane_word, unit))
            row->code = CF_CODE_UNREACHABLE;
    }
    source->walk = walk;
    source->rank = next;
    return nr;
}

/* The next mmapped chunk, if it is asked for; returns the number of rows made. */
static size_t take_mmapped(struct cf_chunk_source *source, struct cf_chunk_row *row) {
    const struct cf_chunk_facts *facts = &source->facts;
    size_t index = mmapped_index(source, source->mmapped++);
    const struct cf_mmapped *mmapped = cf_chunkmap_mmapped(source->map, index);
    if (!source->keeps[mmapped->in_tcache ? CF_CHUNK_TCACHE : CF_CHUNK_MMAPPED])
        return 0;
    *row = (struct cf_chunk_row){.address = (int64_t)mmapped->addr,
                                 .size_bytes = (int64_t)mmapped->bytes,
                                 .code = mmapped->in_tcache ? CF_CODE_TCACHE : CF_CODE_MMAPPED,
                                 .arena_id = UINT32_MAX, .heap_id = UINT32_MAX};
    if (mmapped->in_tcache || facts->reached == NULL)
        return 1;
    if (source->types != NULL)
        row->type = source->types[facts->ranks->nr_live + index];
    if (!cf_number_bit(facts->reached, cf_number_of_mmapped(source->map, index)))
        row->code = CF_CODE_MMAPPED_UNREACHABLE;
    return 1;
}

/* The first unit of the heap at hand that does not come before the next mmapped chunk. */
static size_t unit_of_mmapped(const struct cf_chunk_source *source) {
    const struct cf_planes_walk *walk = &source->walk;
    if (source->mmapped == source->mmapped_end)
        return SIZE_MAX;
    int64_t at = mmapped_address(source, source->mmapped), base = (int64_t)walk->base;
    if (at <= base)
        return 0;
    uint64_t offset = (uint64_t)at - (uint64_t)base, unit = 1ull << walk->shift;
    return offset >> walk->shift >= walk->units ? SIZE_MAX
                                                : (size_t)((offset + unit - 1) >> walk->shift);
}

/* What claims the very place of a heap's chunk is none. */
static bool is_in_the_way(const struct cf_chunk_source *source) {
    const struct cf_planes_walk *walk = &source->walk;
    return source->heap != NULL && walk->unit.index < walk->units &&
           mmapped_address(source, source->mmapped) ==
               (int64_t)(walk->base + ((uint64_t)walk->unit.index << walk->shift));
}

size_t cf_chunk_source_take(struct cf_chunk_source *source, struct cf_chunk_row *rows,
                            size_t max) {
    size_t nr = 0;
    while (nr < max) {
        size_t at_mmapped = 0;
        if (source->heap != NULL || next_heap(source)) {
            at_mmapped = unit_of_mmapped(source);
            nr += take_chunks(source, rows + nr, max - nr,
                              at_mmapped < source->stop_unit ? at_mmapped : source->stop_unit);
        } else if (source->mmapped == source->mmapped_end) {
            break;
        }
        if (nr == max)
            break;
        if (at_mmapped == SIZE_MAX || source->mmapped == source->mmapped_end)
            source->heap = NULL;
        else if (is_in_the_way(source))
            source->mmapped++;
        else
            nr += take_mmapped(source, rows + nr);
    }
    source->rows += nr;
    return nr;
}
