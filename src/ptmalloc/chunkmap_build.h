/*
 * How a chunk map is made; for the walk and for tests. First all heaps are added and sealed, which
 * sorts them and allocates the planes; then chunks are set, each heap by one thread at a time
 * (heaps share no word of the planes); then the map is sealed and immutable.
 *
 *     cf_chunkmap_new(8, &map, err);
 *     cf_chunkmap_add_heap(map, &(struct cf_heap){.start = ..., .first_chunk = ..., ...}, err);
 *     cf_chunkmap_seal_heaps(map, err);
 *     cf_chunkmap_set_start(map, heap, addr);                     for every chunk
 *     cf_chunkmap_set_state(map, heap, addr, CF_CHUNK_FREE);      where it is not live
 *     cf_chunkmap_add_odd(map, addr, CF_CHUNK_TOP, err);          top, fence, gap (one thread)
 *     cf_chunkmap_seal(map, err);
 */
#ifndef CF_PTMALLOC_CHUNKMAP_BUILD_H
#define CF_PTMALLOC_CHUNKMAP_BUILD_H

#include "ptmalloc/chunkmap.h"

int cf_chunkmap_new(unsigned word_bytes, struct cf_chunkmap **out, struct cf_err *err);

/* start, first_chunk, end, chunks_end, reserved_end, arena_id, top of `heap` are used. Heaps must
 * not overlap: the call that seals them refuses the later one (CF_EINTERNAL). */
int cf_chunkmap_add_heap(struct cf_chunkmap *map, const struct cf_heap *heap, struct cf_err *err);
int cf_chunkmap_seal_heaps(struct cf_chunkmap *map, struct cf_err *err);

/* Heaps may still get their final chunks_end (within end) and top while they are filled. */
struct cf_heap *cf_chunkmap_heap_mutable(struct cf_chunkmap *map, size_t index);

/* `addr` is a multiple of the unit inside the heap. */
void cf_chunkmap_set_start(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr);
/* live, free, fast or tcache, of the chunk that starts at `addr` and has two units at least. */
void cf_chunkmap_set_state(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr,
                           enum cf_chunk_state state);

/* One heap's part of the planes, for the walk, which cannot afford a call for each chunk. */
struct cf_heap_planes {
    uint64_t *starts;
    uint64_t *states;
    uint64_t first_unit; /* address >> unit_shift, less this: a unit of the heap */
    unsigned unit_shift;
};

struct cf_heap_planes cf_chunkmap_heap_planes(struct cf_chunkmap *map, const struct cf_heap *heap);

/* Sets the start too. The caller serialises. */
int cf_chunkmap_add_odd(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr,
                        enum cf_chunk_state state, struct cf_err *err);

int cf_chunkmap_add_mmapped(struct cf_chunkmap *map, const struct cf_mmapped *mmapped,
                            struct cf_err *err);
struct cf_mmapped *cf_chunkmap_mmapped_mutable(struct cf_chunkmap *map, size_t index);
int cf_chunkmap_seal(struct cf_chunkmap *map, struct cf_err *err);

/* Works before the map is sealed: does a chunk begin at `addr`? */
bool cf_chunkmap_is_start(const struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr);

#endif
