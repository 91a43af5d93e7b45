/*
 * Two passes over the unreached chunks. The first follows their links and notes every chunk that
 * one of them leads to; what is not noted heads a group. Links leave out a chunk's pointers to
 * itself (reach/links.h), so a chunk that only points at itself is its own head. The second pass
 * counts by size and type.
 */
#include "reach/leaks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/hash.h"

enum { TICK_CHUNKS = 1 << 16 };

/* A bit for each rank that a leaked chunk other than itself points to. False: cancelled. */
static bool note_targets(const struct cf_context *ctx, const struct cf_leaks_input *input,
                         uint64_t *pointed) {
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    cf_unreached_iter_init(&iter, input->mark);
    for (uint64_t nr = 0; cf_unreached_iter_next(&iter, &chunk); nr++) {
        struct cf_link_list list =
            cf_links_of(input->links, cf_ranks_of(input->links->ranks, chunk.number));
        while (list.at < list.end)
            cf_rank_set_bit(pointed, cf_links_take(&list));
        if (nr % TICK_CHUNKS == 0 && cf_progress(ctx, "looking for leaks", 0, 0))
            return false;
    }
    return true;
}

/* The row of chunks of this size and type; NULL when memory is out. */
static struct cf_leak *row_of(struct cf_hash *table, struct cf_leaks *leaks, uint64_t bytes,
                              uint32_t type) {
    const struct cf_leak *rows = leaks->rows.items;
    uint64_t hash = cf_hash_mix(bytes ^ (uint64_t)type << 48);
    uint32_t at = cf_hash_find(table, hash, i, rows[i].size_bytes == bytes && rows[i].type == type);
    if (at != CF_HASH_NONE)
        return &leaks->rows.items[at];
    struct cf_leak *row = cf_array_push(&leaks->rows);
    if (row == NULL || !cf_hash_add(table, hash, leaks->rows.len - 1))
        return NULL;
    row->size_bytes = bytes;
    row->type = type;
    return row;
}

static void add(struct cf_leak_sum *sum, uint64_t bytes) {
    sum->chunks++;
    sum->bytes += bytes;
}

static void add_resident(struct cf_leak *row, const struct cf_mem *mem,
                         const struct cf_unreached *chunk) {
    uint64_t bytes = 0;
    if (mem == NULL || !cf_mem_resident_bytes(mem, chunk->addr, chunk->addr + chunk->bytes, &bytes))
        return;
    row->resident_bytes += bytes;
    row->resident_known = true;
}

static int count(const struct cf_context *ctx, struct cf_leaks *leaks,
                 const struct cf_leaks_input *input, const uint64_t *pointed,
                 struct cf_hash *table, struct cf_err *err) {
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    cf_unreached_iter_init(&iter, input->mark);
    for (uint64_t nr = 0; cf_unreached_iter_next(&iter, &chunk); nr++) {
        struct cf_rank rank = cf_ranks_of(input->links->ranks, chunk.number);
        uint32_t type = input->type_of == NULL ? 0 : input->type_of(input->types, chunk.number);
        struct cf_leak *row = row_of(table, leaks, chunk.bytes, type);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row * (leaks->rows.len + 1), "the sizes of leaks");
        row->chunks++;
        row->bytes += chunk.bytes;
        row->root_chunks += !cf_rank_bit(pointed, rank);
        add_resident(row, input->mem, &chunk);
        add(&leaks->total, chunk.bytes);
        add(chunk.extent->heap != NULL ? &leaks->heaps[chunk.extent->heap->id] : &leaks->mmapped,
            chunk.bytes);
        if (nr % TICK_CHUNKS == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

static int compare_sizes(const void *a, const void *b) {
    const struct cf_leak *left = a, *right = b;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return left->type < right->type ? -1 : left->type > right->type;
}

int cf_leaks_find(const struct cf_context *ctx, struct cf_leaks *leaks,
                  const struct cf_leaks_input *input, struct cf_err *err) {
    size_t nr_heaps = cf_mark_resolver(input->mark)->planes->nr_heaps;
    size_t words = input->links->ranks->nr / 64 + 1;
    leaks->heaps = calloc(nr_heaps + 1, sizeof *leaks->heaps);
    CF_CLEANUP_FREE uint64_t *pointed = calloc(words, sizeof *pointed);
    if (leaks->heaps == NULL || pointed == NULL)
        return cf_err_nomem(err, words * sizeof *pointed, "sums of leaks");
    if (!note_targets(ctx, input, pointed))
        return cf_err_cancelled(err);
    cf_links_drop(input->links);
    struct cf_hash table = {0};
    int status = count(ctx, leaks, input, pointed, &table, err);
    cf_hash_fini(&table);
    if (status != CF_OK)
        return status;
    if (leaks->rows.len > 0)
        qsort(leaks->rows.items, leaks->rows.len, sizeof *leaks->rows.items, compare_sizes);
    return CF_OK;
}

void cf_leaks_fini(struct cf_leaks *leaks) {
    cf_array_free(&leaks->rows);
    free(leaks->heaps);
    leaks->heaps = NULL;
}
