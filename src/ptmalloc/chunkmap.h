/*
 * The chunk map: what the walk leaves behind, and the only thing that analysis and store may know
 * of chunks. Immutable once built. Bit planes, one bit for each unit (2 words: 16 bytes on 64-bit)
 * of each heap; never a struct for a chunk.
 *
 *     unit          0   1   2   3   4   5   6   7   8
 *     start plane   1   0   0   1   0   1   0   0   |    chunks of 3, 2 and 3 units
 *     state plane   d   c   .   d   c   d   c   .   |    d: dead, c: cached, at units 0, 1
 *
 * The smallest chunk has two units (MINSIZE), so a chunk's two state bits stand at its first two
 * units of one plane:  00 live,  10 free,  11 fast,  01 tcache. Top, fences and gaps (bytes of a
 * heap that are no chunk: a foreign sbrk) are few and stand in a sorted side table. A summary
 * plane, a bit for each word of the start plane, makes the way back from the middle of a huge
 * chunk short.
 *
 * A heap here is a contiguous piece of an arena (a heap_info's accessible part; main arena's brk
 * area; each piece of a discontiguous main arena). Its bytes before first_chunk are overhead.
 * mmapped chunks stand apart, sorted, each with its mapping's extent.
 */
#ifndef CF_PTMALLOC_CHUNKMAP_H
#define CF_PTMALLOC_CHUNKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"

enum cf_chunk_state {
    CF_CHUNK_LIVE,
    CF_CHUNK_FREE,
    CF_CHUNK_FAST,
    CF_CHUNK_TCACHE,
    CF_CHUNK_TOP,
    CF_CHUNK_FENCE,
    CF_CHUNK_GAP, /* no chunk: foreign or unreadable bytes inside a heap; overhead */
    CF_CHUNK_MMAPPED,
    CF_NR_CHUNK_STATES,
};

/* "live", "free", "fast", "tcache", "top", "fence", "gap", "mmapped"; static. */
const char *cf_chunk_state_name(enum cf_chunk_state state);

/* True for free, fast, tcache: what a hole is made of. */
static inline bool cf_chunk_is_dead(enum cf_chunk_state state) {
    return state == CF_CHUNK_FREE || state == CF_CHUNK_FAST || state == CF_CHUNK_TCACHE;
}

struct cf_heap {
    uint32_t id;           /* its index: heaps are sorted by start */
    uint32_t arena_id;
    uint64_t start;        /* of the heap: heap_info, or the piece's first byte */
    uint64_t first_chunk;
    uint64_t end;          /* of the accessible part; chunks end here or before */
    uint64_t chunks_end;   /* end of the last chunk (top, fence) */
    uint64_t reserved_end; /* end of the reservation (HEAP_MAX), or `end` */
    uint64_t top;          /* address of the arena's top chunk when it stands here, else 0 */
    size_t plane_word;     /* internal: first 64-bit word of this heap in the planes */
    size_t odd_first;      /* internal: first row of the side table at or above `start` */
};

struct cf_mmapped {
    uint64_t addr;         /* of the header */
    uint64_t bytes;        /* of the chunk: [addr, addr + bytes) */
    uint64_t map_start;    /* the mapping that munmap_chunk would give back */
    uint64_t map_end;
    uint64_t usable_bytes;
    uint32_t ns;
    bool in_tcache;        /* 2.43+: freed, waiting in a tcache */
};

struct cf_chunk {
    uint64_t addr;
    uint64_t bytes;
    enum cf_chunk_state state;
    uint32_t heap_id; /* UINT32_MAX for mmapped */
};

struct cf_chunkmap;

void cf_chunkmap_free(struct cf_chunkmap *map);

unsigned cf_chunkmap_unit_bytes(const struct cf_chunkmap *map); /* 2 words */
size_t cf_chunkmap_nr_heaps(const struct cf_chunkmap *map);
const struct cf_heap *cf_chunkmap_heap(const struct cf_chunkmap *map, size_t index);
size_t cf_chunkmap_nr_mmapped(const struct cf_chunkmap *map);
const struct cf_mmapped *cf_chunkmap_mmapped(const struct cf_chunkmap *map, size_t index);

/* The heap whose [start, end) holds `addr`, or NULL. */
const struct cf_heap *cf_chunkmap_find_heap(const struct cf_chunkmap *map, uint64_t addr);

/* The chunk or gap that covers `addr`, also in the middle; mmapped chunks too. */
bool cf_chunkmap_find(const struct cf_chunkmap *map, uint64_t addr, struct cf_chunk *out);

/*
 * Whole pages from `addr` (a multiple of `page_bytes`, a power of two of at least 64 units) up to
 * the returned address, at most `end`, each hold the header of a chunk whose size the walk has
 * read: they are not all zeros. `addr` itself where that is not known of the first page.
 */
uint64_t cf_chunkmap_headers_until(const struct cf_chunkmap *map, uint64_t addr, uint64_t end,
                                   uint64_t page_bytes);

/* Units of all heaps, each heap's rounded up to whole words of the planes: bits of a plane. */
size_t cf_chunkmap_nr_units(const struct cf_chunkmap *map);

#endif
