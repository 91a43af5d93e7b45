/*
 * One pass from a free chunk's end down: a word that, taken for a size, reaches exactly a boundary
 * that is known already, is a stale header, and the next boundary. So a block is what lies between
 * two. The size of the lowest block of a merged run is gone, but it shows as what is left below.
 * A random word seldom ends at a boundary: of some sixteen units below it, one value fits each.
 */
#include "retain/former.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/reader.h"
#include "ptmalloc/planes.h"

enum { FLAGS = 7, PIECE_BYTES = CF_CORE_READER_BYTES };

struct former_search {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_residency *residency;
    struct cf_core_reader reader;
    unsigned word_bytes;
    unsigned unit_shift;
    uint64_t least;
    uint64_t *known; /* bits by unit of the chunk at hand: a boundary */
    size_t nr_known;
    uint64_t start, end;   /* of that chunk */
    uint64_t boundary;     /* the lowest so far */
    bool is_top;
    struct cf_former_blocks *out;
};

/* What ends a top was the top before: no block. */
static void add_block(struct former_search *s, uint64_t start, uint64_t end) {
    if (end - start < s->least || (s->is_top && end == s->end))
        return;
    struct cf_resident_bytes resident = cf_residency_count(s->residency, start, end);
    s->out->blocks++;
    s->out->bytes += end - start;
    s->out->resident.bytes += resident.bytes;
    s->out->resident.known = s->out->resident.known || resident.known;
}

static bool is_known(const struct former_search *s, uint64_t addr) {
    uint64_t unit = (addr - s->start) >> s->unit_shift;
    return s->known[unit >> 6] >> (unit & 63) & 1;
}

static void set_boundary(struct former_search *s, uint64_t addr) {
    uint64_t unit = (addr - s->start) >> s->unit_shift;
    s->known[unit >> 6] |= 1ull << (unit & 63);
    s->boundary = addr;
}

/* The words of [from, to), from the last unit down. */
static void search_piece(struct former_search *s, const unsigned char *bytes, uint64_t from,
                         uint64_t to) {
    uint64_t unit_bytes = 1ull << s->unit_shift;
    for (uint64_t addr = to; addr > from;) {
        addr -= unit_bytes;
        uint64_t word = 0;
        memcpy(&word, bytes + (addr - from) + s->word_bytes, s->word_bytes);
        uint64_t size = word & ~(uint64_t)FLAGS;
        if (size < 2 * unit_bytes || (size & (unit_bytes - 1)) != 0 || size > s->end - addr ||
            addr + size < s->boundary || !is_known(s, addr + size))
            continue;
        add_block(s, addr, s->boundary);
        set_boundary(s, addr);
    }
}

/* Where the core has nothing of [from, to), nothing shows there. */
static int search_range(struct former_search *s, uint64_t from, uint64_t to, struct cf_err *err) {
    while (to > from) {
        uint64_t start = to - from > PIECE_BYTES ? to - PIECE_BYTES : from;
        uint64_t offset, avail, had;
        const unsigned char *bytes = NULL;
        if (cf_mem_locate(s->mem, start, &offset, &avail) && avail >= to - start)
            bytes = cf_core_reader_at(&s->reader, offset, to - start, &had);
        if (bytes != NULL)
            search_piece(s, bytes, start, to);
        if (cf_tick(s->ctx))
            return cf_err_cancelled(err);
        to = start;
    }
    return CF_OK;
}

static int find_room(struct former_search *s, struct cf_err *err) {
    size_t words = (size_t)((s->end - s->start) >> s->unit_shift >> 6) + 1;
    if (words > s->nr_known) {
        free(s->known);
        s->nr_known = 0;
        s->known = malloc(words * sizeof *s->known);
        if (s->known == NULL)
            return cf_err_nomem(err, words * sizeof *s->known, "former blocks");
        s->nr_known = words;
    }
    memset(s->known, 0, words * sizeof *s->known);
    return CF_OK;
}

static int search_chunk(struct former_search *s, const struct cf_chunk *chunk, struct cf_err *err) {
    s->start = chunk->addr;
    s->end = chunk->addr + chunk->bytes;
    s->is_top = chunk->state == CF_CHUNK_TOP;
    int status = find_room(s, err);
    if (status != CF_OK)
        return status;
    set_boundary(s, s->end);
    status = search_range(s, s->start + (1ull << s->unit_shift), s->end, err);
    add_block(s, s->start, s->boundary);
    return status;
}

int cf_former_blocks_find(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                          const struct cf_residency *residency, uint64_t least,
                          struct cf_former_blocks *out, struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    const struct cf_planes *planes = cf_chunkmap_planes(map);
    struct former_search s = {
        .ctx = ctx, .mem = cf_malloc_mem(cf_ptmalloc_malloc(pt)), .residency = residency,
        .unit_shift = planes->unit_shift, .least = least, .out = out,
    };
    s.word_bytes = cf_mem_word_bytes(s.mem);
    *out = (struct cf_former_blocks){0};
    int status = cf_core_reader_init(&s.reader, cf_mem_core(s.mem))
                     ? CF_OK
                     : cf_err_nomem(err, CF_CORE_READER_BYTES, "former blocks");
    for (size_t i = 0; status == CF_OK && i < cf_chunkmap_nr_heaps(map); i++) {
        struct cf_planes_walk walk = cf_planes_walk(planes, cf_chunkmap_heap(map, i));
        struct cf_chunk chunk;
        while (status == CF_OK && cf_planes_walk_next(&walk, &chunk))
            if (chunk.bytes >= least &&
                (chunk.state == CF_CHUNK_FREE || chunk.state == CF_CHUNK_TOP))
                status = search_chunk(&s, &chunk, err);
    }
    cf_core_reader_fini(&s.reader);
    free(s.known);
    return status;
}
