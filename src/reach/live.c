/*
 * Heaps come first, in the order of the resolver's extents, then mmapped chunks: the order of
 * ranks. Of each chunk's first words it is found out here, for all visitors, which of them are in
 * the span of the chunks: most are not, and a bit for each spares every visitor its own comparison.
 */
#include "reach/live.h"

#include "base/context.h"
#include "base/err.h"
#include "core/drop.h"
#include "core/reader.h"

/* Chunks up to this size are read, and others looked at in the mapping. */
enum { READ_BYTES = 32 << 10, TICK_CHUNKS = 1 << 14 };

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

struct pass {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_ranks *ranks;
    const struct cf_live_visitor *visitors;
    size_t nr_visitors;
    struct cf_core_reader reader;
    struct cf_rss_guard guard; /* visitors look at other chunks, too */
    uint64_t offset;           /* in the file, of the extent at hand, where it has `bytes` */
};

/* The `bytes` bytes from `user` on, which is in the extent with all of them. */
static inline const unsigned char *read_payload(struct pass *pass, const struct cf_extent *extent,
                                                uint64_t user, uint64_t bytes) {
    uint64_t from = user - extent->start, avail;
    const unsigned char *at = NULL;
    if (bytes <= READ_BYTES)
        at = cf_core_reader_at(&pass->reader, pass->offset + from, bytes, &avail);
    return at != NULL ? at : extent->bytes + from;
}

static inline void measure(struct pass *pass, const struct cf_extent *extent, uint64_t addr,
                           uint64_t bytes, struct cf_live *out) {
    const struct cf_resolver *resolver = pass->ranks->resolver;
    const unsigned w = resolver->word_bytes;
    uint64_t user = addr + 2 * w;
    uint64_t end = cf_resolver_payload_end(resolver, extent, addr, bytes);
    uint64_t readable = end > user ? end - user : 0;
    *out = (struct cf_live){.user = user, .bytes = readable};
    if (extent->bytes == NULL) {
        uint64_t avail = 0;
        out->at = cf_mem_span(pass->mem, user, &avail);
        readable = avail < readable ? avail : readable;
    } else if (readable > 0) {
        out->at = read_payload(pass, extent, user, readable);
    }
    out->readable = readable;
    out->words = readable >> (w == 8 ? 3 : 2);
    out->pointers = find_pointers(resolver, out->at, out->words);
}

static inline void visit(struct pass *pass, const struct cf_extent *extent, uint64_t addr,
                         uint64_t bytes, struct cf_rank rank) {
    struct cf_live live;
    measure(pass, extent, addr, bytes, &live);
    for (size_t i = 0; i < pass->nr_visitors; i++)
        pass->visitors[i].look(pass->visitors[i].arg, &live, rank);
    cf_rss_guard_step(&pass->guard);
}

/* False: cancelled. */
static bool visit_heap(struct pass *pass, const struct cf_extent *extent) {
    const struct cf_planes *planes = pass->ranks->resolver->planes;
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    struct cf_rank rank = cf_ranks_of_word(pass->ranks, extent->plane_word);
    uint64_t avail;
    if (extent->bytes != NULL && !cf_mem_locate(pass->mem, extent->start, &pass->offset, &avail))
        return true; /* what is mapped has its place in the file */
    while (cf_live_walk_next(&walk)) {
        uint64_t addr = cf_planes_addr(planes, extent->heap, walk.unit);
        visit(pass, extent, addr, (uint64_t)walk.units << planes->unit_shift, rank);
        if (++rank.index % TICK_CHUNKS == 0 && cf_tick(pass->ctx))
            return false;
    }
    return true;
}

static int visit_all(struct pass *pass, struct cf_err *err) {
    const struct cf_resolver *resolver = pass->ranks->resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (cf_progress(pass->ctx, "reading chunks", i, resolver->nr_extents) ||
            (extent->heap != NULL && !visit_heap(pass, extent)))
            return cf_err_cancelled(err);
    }
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        uint64_t avail;
        if (extent->heap != NULL || extent->mmapped->in_tcache)
            continue;
        if (extent->bytes != NULL)
            (void)cf_mem_locate(pass->mem, extent->start, &pass->offset, &avail);
        visit(pass, extent, extent->start, extent->mmapped->bytes,
              cf_ranks_of(pass->ranks, extent->first_number));
        if (cf_tick(pass->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

int cf_live_visit(const struct cf_context *ctx, const struct cf_mem *mem,
                  const struct cf_ranks *ranks, const struct cf_live_visitor *visitors,
                  size_t nr_visitors, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    struct pass pass = {
        .ctx = ctx, .mem = mem, .ranks = ranks, .visitors = visitors, .nr_visitors = nr_visitors,
        .guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1),
    };
    if (!cf_core_reader_init(&pass.reader, core))
        return cf_err_nomem(err, CF_CORE_READER_BYTES, "reading chunks");
    int status = visit_all(&pass, err);
    cf_core_reader_fini(&pass.reader);
    cf_core_drop(core, 0, cf_core_file_bytes(core));
    return status;
}
