#include "analysis/links.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/ring.h"
#include "analysis/scan.h"
#include "base/context.h"
#include "base/err.h"

enum {
    SMALL_BYTES = 65536,   /* of a chunk that is read as it stands, absent pages and all */
    PREFETCH_BYTES = 2048,
    DROP_BYTES = 4 << 20,
};

static const size_t CHUNKS_MAX = (1u << 31) - 2;

struct builder {
    const struct cf_links_input *input;
    const struct cf_resolver *resolver;
    struct cf_scratch_writer first;
    struct cf_scratch_writer to;
    uint64_t nr_links;
    size_t nr_firsts; /* chunks whose lists have begun */
    size_t last;      /* rank that the last list's last link leads to; CF_NO_CHUNK: none */
    size_t from;      /* rank of the chunk that is read */
    struct cf_ring ring;
};

static inline void begin_lists(struct builder *b, size_t end) {
    while (b->nr_firsts < end) {
        cf_scratch_put_u32(&b->first, (uint32_t)b->nr_links);
        b->nr_firsts++;
        b->last = CF_NO_CHUNK;
    }
}

static inline void add_link(void *arg, size_t from, size_t rank) {
    struct builder *b = arg;
    begin_lists(b, from + 1);
    if (rank == b->last || rank == from)
        return;
    b->last = rank;
    b->nr_links++;
    cf_scratch_put_u32(&b->to, (uint32_t)rank);
}

static inline void meet(struct builder *b, uint64_t lowered) {
    cf_ring_put(&b->ring, lowered, b->from, add_link, b);
}

static void read_range(struct builder *b, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = b->input->mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        CF_SCAN_WORDS(b->resolver, bytes, nr_words, meet, b);
        cf_mem_drop(b->input->mem, start, scan.addr);
    }
}

static bool is_silent(const struct cf_links_input *input, uint64_t user) {
    size_t low = 0, high = input->nr_silent;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (input->silent[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low < input->nr_silent && input->silent[low] == user;
}

static void read_chunk(struct builder *b, const struct cf_extent *extent, uint64_t addr,
                       uint64_t bytes) {
    unsigned word = b->resolver->word_bytes;
    uint64_t user = addr + 2 * word;
    uint64_t end = cf_resolver_payload_end(b->resolver, extent, addr, bytes);
    if (end <= user || is_silent(b->input, user))
        return;
    if (extent->bytes == NULL || end - user > SMALL_BYTES)
        read_range(b, user, end);
    else
        CF_SCAN_WORDS(b->resolver, extent->bytes + (user - extent->start), (end - user) / word,
                      meet, b);
}

static void read_heap(struct builder *b, const struct cf_extent *extent) {
    struct cf_planes_walk walk = cf_planes_walk(b->resolver->planes, extent->heap);
    struct cf_chunk chunk;
    uint64_t dropped = extent->start;
    b->from = cf_ranks_before_word(b->input->ranks, extent->plane_word);
    while (cf_planes_walk_next(&walk, &chunk)) {
        if (chunk.state != CF_CHUNK_LIVE)
            continue;
        if (extent->bytes != NULL && chunk.addr + PREFETCH_BYTES < extent->end)
            __builtin_prefetch(extent->bytes + (chunk.addr - extent->start) + PREFETCH_BYTES);
        read_chunk(b, extent, chunk.addr, chunk.bytes);
        b->from++;
        if (chunk.addr - dropped > DROP_BYTES) {
            cf_mem_drop(b->input->mem, dropped, chunk.addr);
            dropped = chunk.addr;
        }
    }
    if (extent->end > dropped)
        cf_mem_drop(b->input->mem, dropped, extent->end);
}

/* In the order of ranks: heaps, then mmapped chunks, each by address. */
static void read_all(const struct cf_context *ctx, struct builder *b) {
    for (size_t i = 0; i < b->resolver->nr_extents; i++) {
        const struct cf_extent *extent = &b->resolver->extents[i];
        cf_progress(ctx, "collecting pointers", i, b->resolver->nr_extents);
        if (extent->heap != NULL)
            read_heap(b, extent);
    }
    for (size_t i = 0; i < b->resolver->nr_extents; i++) {
        const struct cf_extent *extent = &b->resolver->extents[i];
        if (extent->heap != NULL || extent->mmapped->in_tcache)
            continue;
        b->from = cf_ranks_of(b->input->ranks, extent->first_number);
        read_chunk(b, extent, extent->start, extent->mmapped->bytes);
    }
    cf_ring_empty(&b->ring, add_link, b);
    begin_lists(b, b->input->ranks->nr + 1);
}

static int finish(struct builder *b, struct cf_links *out, struct cf_err *err) {
    if (b->nr_links >= UINT32_MAX)
        return cf_err_set(err, CF_EUSAGE, "more pointers than can be numbered");
    struct cf_links links = {.ranks = b->input->ranks};
    int status = cf_scratch_finish(&b->first, &links.first_file, err);
    if (status == CF_OK)
        status = cf_scratch_finish(&b->to, &links.to_file, err);
    if (status != CF_OK) {
        cf_links_fini(&links);
        return status;
    }
    links.first = links.first_file.at;
    links.to = links.to_file.at;
    *out = links;
    return CF_OK;
}

int cf_links_make(const struct cf_context *ctx, const struct cf_links_input *input,
                  struct cf_links *out, struct cf_err *err) {
    if (input->ranks->nr > CHUNKS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more chunks than can be numbered");
    struct builder b = {.input = input, .resolver = input->ranks->resolver, .last = CF_NO_CHUNK,
                        .ring = {.ranks = input->ranks}};
    int status = cf_scratch_begin(&b.first, err);
    if (status == CF_OK)
        status = cf_scratch_begin(&b.to, err);
    if (status == CF_OK) {
        read_all(ctx, &b);
        status = finish(&b, out, err);
    }
    cf_scratch_abandon(&b.first);
    cf_scratch_abandon(&b.to);
    return status;
}

void cf_links_drop(const struct cf_links *links) {
    cf_scratch_drop(&links->first_file);
    cf_scratch_drop(&links->to_file);
}

void cf_links_fini(struct cf_links *links) {
    cf_scratch_fini(&links->first_file);
    cf_scratch_fini(&links->to_file);
    *links = (struct cf_links){0};
}
