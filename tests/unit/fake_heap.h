/*
 * A heap with everything in it, for a synthetic process: fake_fill() puts into each arena of a
 * built fake, from its top on, free chunks of a small, a large and the unsorted bin, fastbin
 * chunks, the fences of a piece that malloc left, and behind the main arena's fences what a foreign
 * sbrk took and a second piece; then mmapped chunks, one of them aligned, with two headers; large
 * and mmapped chunks in the tcache where the release has that. All by the layouts of the fake, and
 * every chunk is noted, so that a walk can be held against it.
 */
#ifndef CF_TESTS_UNIT_FAKE_HEAP_H
#define CF_TESTS_UNIT_FAKE_HEAP_H

#include "fake_malloc.h"
#include "ptmalloc/chunkmap.h"

enum { FAKE_CHUNKS_MAX = 256 };

struct fake_chunk {
    uint64_t addr;
    uint64_t bytes;
    enum cf_chunk_state state; /* tcache for an mmapped chunk that is cached */
    uint64_t usable_bytes;     /* of an mmapped chunk, else 0 */
};

struct fake_heap {
    struct fake_chunk chunks[FAKE_CHUNKS_MAX]; /* of heaps, as noted; then the mmapped ones */
    unsigned nr_chunks;
    unsigned nr_mmapped; /* the last of them */
};

/* After fake_build(), before fake_open(). */
void fake_fill(struct fake *fake, struct fake_heap *out);

#endif
