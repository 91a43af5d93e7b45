/*
 * The chunks as rows of the table `chunk`, in the order of their keys (two's complement: heaps
 * above 2^63 come first), mmapped chunks among those of heaps. One stream, so that whoever fills
 * the table sees the same rows. Gaps are no chunks. Plain value; borrows the map and the facts.
 */
#ifndef CF_STORE_CHUNK_SOURCE_H
#define CF_STORE_CHUNK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "ptmalloc/chunkmap.h"
#include "ptmalloc/planes.h"
#include "reach/ranks.h"
#include "types/types.h"

/* What `code` in the table means; schema/90-chunk.sql turns it into words. The commonest states
 * are 0 and 1, which cost no byte in a record. */
enum cf_chunk_code {
    CF_CODE_LIVE = 0,
    CF_CODE_FREE = 1,
    CF_CODE_TCACHE = 2,
    CF_CODE_FAST = 3,
    CF_CODE_TOP = 4,
    CF_CODE_FENCE = 5,
    CF_CODE_UNREACHABLE = 6,
    CF_CODE_MMAPPED = 7,
    CF_CODE_MMAPPED_UNREACHABLE = 8,
};

struct cf_chunk_row {
    int64_t address;
    int64_t size_bytes;
    enum cf_chunk_code code;
    uint32_t type; /* 0: not known */
    uint32_t arena_id; /* UINT32_MAX: mmapped; so is heap_id then */
    uint32_t heap_id;
};

/* What is known of live chunks; all zero is nothing. */
struct cf_chunk_facts {
    const uint64_t *reached; /* a bit for each number (reach/resolve.h); NULL: not examined */
    const struct cf_types *types;  /* NULL: not examined */
    const struct cf_ranks *ranks;  /* of the same chunks; NULL without types */
};

/* A place in the stream: a word of the start plane of the heap that comes at `turn`. */
struct cf_chunk_place {
    size_t turn;
    size_t word;
};

struct cf_chunk_source {
    const struct cf_chunkmap *map;
    struct cf_chunk_facts facts;
    const uint16_t *types; /* by rank; NULL: not examined */
    enum cf_chunks kept;
    bool keeps[CF_NR_CHUNK_STATES]; /* what `kept` means */
    size_t first_heap; /* the first one above 2^63, or 0 */
    size_t first_mmapped; /* likewise */
    size_t mmapped; /* the next mmapped chunk of the part, counted from that one */
    size_t mmapped_end;
    struct cf_chunk_place from; /* the part of the stream that this one is */
    struct cf_chunk_place to;
    size_t heaps_done;
    size_t stop_unit; /* of the heap at hand */
    const struct cf_heap *heap;
    struct cf_rank rank; /* of the next live chunk; 0 without types */
    struct cf_planes_walk walk;
    uint64_t rows; /* handed out so far */
};

/* `kept`: all chunks, those that the program does not hold (free, fast, tcache, top), or none.
 * `facts` NULL: nothing is known. */
void cf_chunk_source_init(struct cf_chunk_source *source, const struct cf_chunkmap *map,
                          enum cf_chunks kept, const struct cf_chunk_facts *facts);
/* Up to `max` rows; fewer: these were the last ones. */
size_t cf_chunk_source_take(struct cf_chunk_source *source, struct cf_chunk_row *rows, size_t max);
static inline bool cf_chunk_source_next(struct cf_chunk_source *source, struct cf_chunk_row *out) {
    return cf_chunk_source_take(source, out, 1) == 1;
}
/*
 * Cuts the stream into parts of `words` words of the start plane, wherever heaps begin and end:
 * part i is [places[i], places[i + 1]), and there are `nr` places, two at least. The caller frees
 * `*out`. CF_ENOMEM.
 */
int cf_chunk_source_cut(const struct cf_chunk_source *source, size_t words,
                        struct cf_chunk_place **out, size_t *nr, struct cf_err *err);
/* The part between two of them, at its first row. */
struct cf_chunk_source cf_chunk_source_part(const struct cf_chunk_source *source,
                                            const struct cf_chunk_place places[2]);

#endif
