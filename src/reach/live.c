/*
 * Heaps come first, in the order of the resolver's extents, then mmapped chunks: the order of
 * ranks. Of each chunk's first words it is found out here, for all visitors, which of them are in
 * the span of the chunks: most are not, and a bit for each spares every visitor its own comparison.
 */
#include "reach/live.h"

#include "base/context.h"
#include "base/err.h"

enum { PREFETCH_BYTES = 2048, DROP_BYTES = 4 << 20 };

/* Without a branch on what the words are. From the last to the first, so that each bit moves to its
 * place by those that follow it. Without tags in pointers there is nothing to mask. */
static inline uint32_t find_pointers(const struct cf_resolver *resolver, const unsigned char *at,
                                     uint64_t nr_words) {
    const unsigned w = resolver->word_bytes;
    const uint64_t low = resolver->low + 2 * w, span = resolver->span;
    unsigned i = nr_words < CF_LIVE_WORDS ? (unsigned)nr_words : CF_LIVE_WORDS;
    uint32_t pointers = 0, narrow;
    uint64_t word;
    if (w == 4) {
        while (i-- > 0) {
            __builtin_memcpy(&narrow, at + 4 * i, 4);
            pointers = 2 * pointers + (narrow - low < span);
        }
    } else if (resolver->word_mask == ~0ull) {
        while (i-- > 0) {
            __builtin_memcpy(&word, at + 8 * i, 8);
            pointers = 2 * pointers + (word - low < span);
        }
    } else {
        while (i-- > 0) {
            __builtin_memcpy(&word, at + 8 * i, 8);
            pointers = 2 * pointers + ((word & resolver->word_mask) - low < span);
        }
    }
    return pointers;
}

static inline void measure(const struct cf_mem *mem, const struct cf_resolver *resolver,
                           const struct cf_extent *extent, uint64_t addr, uint64_t bytes,
                           struct cf_live *out) {
    const unsigned w = resolver->word_bytes;
    uint64_t user = addr + 2 * w;
    uint64_t end = cf_resolver_payload_end(resolver, extent, addr, bytes);
    uint64_t readable = end > user ? end - user : 0;
    out->user = user;
    out->bytes = readable;
    if (extent->bytes != NULL) {
        out->at = extent->bytes + (user - extent->start);
    } else {
        uint64_t avail = 0;
        out->at = cf_mem_span(mem, user, &avail);
        readable = avail < readable ? avail : readable;
    }
    out->readable = readable;
    out->words = readable >> (w == 8 ? 3 : 2);
    out->pointers = find_pointers(resolver, out->at, out->words);
}

struct pass {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_ranks *ranks;
    const struct cf_live_visitor *visitors;
    size_t nr_visitors;
};

static inline void visit(const struct pass *pass, const struct cf_extent *extent, uint64_t addr,
                         uint64_t bytes, size_t rank) {
    struct cf_live live;
    measure(pass->mem, pass->ranks->resolver, extent, addr, bytes, &live);
    for (size_t i = 0; i < pass->nr_visitors; i++)
        pass->visitors[i].look(pass->visitors[i].arg, &live, rank);
}

/* False: cancelled. */
static bool visit_heap(const struct pass *pass, const struct cf_extent *extent) {
    const struct cf_planes *planes = pass->ranks->resolver->planes;
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    size_t rank = cf_ranks_before_word(pass->ranks, extent->plane_word);
    uint64_t dropped = extent->start;
    while (cf_live_walk_next(&walk)) {
        uint64_t addr = extent->base + ((uint64_t)walk.unit << planes->unit_shift);
        if (extent->bytes != NULL) /* beyond the end it is no fault either */
            __builtin_prefetch(extent->bytes + (addr - extent->start) + PREFETCH_BYTES);
        visit(pass, extent, addr, (uint64_t)walk.units << planes->unit_shift, rank++);
        if (addr - dropped > DROP_BYTES) {
            cf_mem_drop(pass->mem, dropped, addr);
            dropped = addr;
            if (cf_tick(pass->ctx))
                return false;
        }
    }
    if (extent->end > dropped)
        cf_mem_drop(pass->mem, dropped, extent->end);
    return true;
}

int cf_live_visit(const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_ranks *ranks, const struct cf_live_visitor *visitors,
                  size_t nr_visitors, struct cf_err *err) {
    const struct pass pass = {ctx, mem, ranks, visitors, nr_visitors};
    const struct cf_resolver *resolver = ranks->resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (cf_progress(ctx, "reading chunks", i, resolver->nr_extents) ||
            (extent->heap != NULL && !visit_heap(&pass, extent)))
            return cf_err_cancelled(err);
    }
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap == NULL && !extent->mmapped->in_tcache)
            visit(&pass, extent, extent->start, extent->mmapped->bytes,
                  cf_ranks_of(ranks, extent->first_number));
    }
    return CF_OK;
}
