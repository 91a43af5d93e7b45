/*
 * One pass over free memory, unit by unit: of most words a look at one bit says that they lead
 * into no module.
 */
#include "types/ghosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"
#include "core/reader.h"
#include "ptmalloc/planes.h"
#include "types/typestate.h"

enum { FLAGS = 7 };

struct ghost_search {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    struct cf_types *types;
    struct cf_ghosts *out;
    struct cf_core_reader reader;
    uint64_t unit_bytes;
    uint32_t arena;
    uint64_t end; /* of the free chunk */
};

static uint64_t word_at(const struct ghost_search *s, const unsigned char *at) {
    uint64_t word = 0;
    memcpy(&word, at, s->types->word); /* little-endian targets */
    return word;
}

static int count(struct ghost_search *s, uint32_t type, uint64_t bytes, struct cf_err *err) {
    while (s->out->rows.len <= type)
        if (cf_array_push(&s->out->rows) == NULL)
            return cf_err_nomem(err, sizeof *s->out->rows.items, "ghosts");
    struct cf_ghost *row = &s->out->rows.items[type];
    row->ghosts++;
    row->bytes += bytes;
    row->arenas += row->arena != s->arena + 1;
    row->arena = s->arena + 1;
    return CF_OK;
}

/* An object may have begun at `addr`, whose bytes `at` are; its header is in front of it. */
static int look_at(struct ghost_search *s, const unsigned char *at, uint64_t addr,
                   struct cf_err *err) {
    uint64_t word = word_at(s, at), header = addr - s->unit_bytes;
    if (!cf_types_may_be_module(s->types, word))
        return CF_OK;
    uint64_t bytes = word_at(s, at - s->types->word) & ~(uint64_t)FLAGS;
    if (bytes < 2 * s->unit_bytes || bytes % s->unit_bytes != 0 || bytes > s->end - header)
        return CF_OK;
    uint32_t type = cf_types_of_table(s->types, word);
    if (type == 0 || cf_types_get(s->types, type)->evidence != CF_EVIDENCE_VTABLE)
        return CF_OK;
    return count(s, type, bytes, err);
}

/* From `start` on, which is in memory. What stands in front of a piece is read with it. */
static int search_run(struct ghost_search *s, uint64_t start, uint64_t end, struct cf_err *err) {
    int status = CF_OK;
    for (uint64_t at = start - s->unit_bytes; at + s->unit_bytes < end && status == CF_OK;) {
        uint64_t offset, avail, nr = 0;
        const unsigned char *bytes = NULL;
        if (cf_mem_locate(s->mem, at, &offset, &avail)) {
            nr = avail < end - at ? avail : end - at;
            nr = nr < CF_CORE_READER_BYTES ? nr : CF_CORE_READER_BYTES;
            bytes = cf_core_reader_at(&s->reader, offset, nr, &avail);
        }
        if (bytes == NULL || nr <= s->unit_bytes)
            return CF_OK; /* the core has no more of it */
        for (uint64_t i = s->unit_bytes; i < nr && status == CF_OK; i += s->unit_bytes)
            status = look_at(s, bytes + i, at + i, err);
        if (cf_tick(s->ctx))
            return cf_err_cancelled(err);
        at += nr - s->unit_bytes;
    }
    return status;
}

/* The chunk's own header and first words are malloc's: objects begin behind the next header. What
 * is not in memory is not read. */
static int search_chunk(struct ghost_search *s, const struct cf_chunk *chunk, struct cf_err *err) {
    uint64_t at = chunk->addr + 3 * s->unit_bytes, start, end;
    int status = CF_OK;
    s->end = chunk->addr + chunk->bytes;
    while (status == CF_OK && at < s->end && cf_mem_next_resident(s->mem, at, &start, &end)) {
        start = start > at ? start : at;
        end = end < s->end ? end : s->end;
        if (start < end)
            status = search_run(s, start, end, err);
        at = end > at ? end : s->end;
        if (start >= s->end)
            break;
    }
    return status;
}

static int search_heap(struct ghost_search *s, const struct cf_planes *planes,
                       const struct cf_heap *heap, struct cf_err *err) {
    struct cf_planes_walk walk = cf_planes_walk(planes, heap);
    struct cf_chunk chunk;
    int status = CF_OK;
    while (status == CF_OK && cf_planes_walk_next(&walk, &chunk))
        if ((chunk.state == CF_CHUNK_FREE || chunk.state == CF_CHUNK_TOP) &&
            chunk.bytes > 3 * s->unit_bytes)
            status = search_chunk(s, &chunk, err);
    return status;
}

int cf_ghosts_find(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                   struct cf_types *types, struct cf_ghosts *out, struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    const struct cf_planes *planes = cf_chunkmap_planes(map);
    struct ghost_search s = {
        .ctx = ctx, .mem = cf_malloc_mem(cf_ptmalloc_malloc(pt)), .types = types, .out = out,
        .unit_bytes = 1ull << planes->unit_shift,
    };
    size_t nr_heaps = cf_chunkmap_nr_heaps(map), nr_arenas = cf_ptmalloc_nr_arenas(pt);
    int status = cf_core_reader_init(&s.reader, cf_mem_core(s.mem))
                     ? CF_OK
                     : cf_err_nomem(err, CF_CORE_READER_BYTES, "ghosts");
    for (size_t arena = 0; arena < nr_arenas && status == CF_OK; arena++) {
        s.arena = (uint32_t)arena;
        if (cf_progress(ctx, "looking for what the holes once were", arena, nr_arenas))
            status = cf_err_cancelled(err);
        for (size_t i = 0; i < nr_heaps && status == CF_OK; i++)
            if (cf_chunkmap_heap(map, i)->arena_id == arena)
                status = search_heap(&s, planes, cf_chunkmap_heap(map, i), err);
    }
    cf_core_reader_fini(&s.reader);
    return status;
}

void cf_ghosts_fini(struct cf_ghosts *ghosts) {
    cf_array_free(&ghosts->rows);
}
