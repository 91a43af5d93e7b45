#include "analysis/links.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/ring.h"
#include "analysis/scan.h"
#include "base/err.h"

enum { SMALL_BYTES = 65536 }; /* of a chunk that is read as it stands, absent pages and all */

static const size_t CHUNKS_MAX = (1u << 31) - 2;

struct cf_links_builder {
    struct cf_links_input input;
    const struct cf_resolver *resolver;
    struct cf_scratch_writer first;
    struct cf_scratch_writer to;
    uint64_t nr_links;
    size_t nr_firsts; /* chunks whose lists have begun */
    size_t last;      /* rank that the last list's last link leads to; CF_NO_CHUNK: none */
    size_t from;      /* rank of the chunk that is read */
    struct cf_ring ring;
};

static inline void begin_lists(struct cf_links_builder *b, size_t end) {
    while (b->nr_firsts < end) {
        cf_scratch_put_u32(&b->first, (uint32_t)b->nr_links);
        b->nr_firsts++;
        b->last = CF_NO_CHUNK;
    }
}

static inline void add_link(void *arg, size_t from, size_t rank) {
    struct cf_links_builder *b = arg;
    begin_lists(b, from + 1);
    if (rank == b->last || rank == from)
        return;
    b->last = rank;
    b->nr_links++;
    cf_scratch_put_u32(&b->to, (uint32_t)rank);
}

static inline void meet(struct cf_links_builder *b, uint64_t lowered) {
    cf_ring_put(&b->ring, lowered, b->from, add_link, b);
}

static void read_range(struct cf_links_builder *b, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = b->input.mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        CF_SCAN_WORDS(b->resolver, bytes, nr_words, meet, b);
        cf_mem_drop(b->input.mem, start, scan.addr);
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

static void read_small(struct cf_links_builder *b, const struct cf_live *chunk) {
    unsigned word_bytes = b->resolver->word_bytes;
    for (uint32_t bits = chunk->pointers; bits != 0; bits &= bits - 1) {
        uint64_t word = cf_live_word(chunk, word_bytes, (uint64_t)__builtin_ctz(bits));
        meet(b, cf_resolver_lowered(b->resolver, word));
    }
    if (chunk->words > CF_LIVE_WORDS)
        CF_SCAN_WORDS(b->resolver, chunk->at + CF_LIVE_WORDS * word_bytes,
                      chunk->words - CF_LIVE_WORDS, meet, b);
}

static void look_at_chunk(void *arg, const struct cf_live *chunk, size_t rank) {
    struct cf_links_builder *b = arg;
    if (is_silent(&b->input, chunk->user))
        return;
    b->from = rank;
    if (chunk->readable == chunk->bytes && chunk->bytes <= SMALL_BYTES)
        read_small(b, chunk);
    else
        read_range(b, chunk->user, chunk->user + chunk->bytes);
}

struct cf_live_visitor cf_links_visitor(struct cf_links_builder *builder) {
    return (struct cf_live_visitor){builder, look_at_chunk};
}

int cf_links_begin(const struct cf_links_input *input, struct cf_links_builder **out,
                   struct cf_err *err) {
    if (input->ranks->nr > CHUNKS_MAX)
        return cf_err_set(err, CF_EUSAGE, "more chunks than can be numbered");
    struct cf_links_builder *b = calloc(1, sizeof *b);
    if (b == NULL)
        return cf_err_nomem(err, sizeof *b, "the pointers between chunks");
    *b = (struct cf_links_builder){.input = *input, .resolver = input->ranks->resolver,
                                   .last = CF_NO_CHUNK, .ring = {.ranks = input->ranks}};
    int status = cf_scratch_begin(&b->first, err);
    if (status == CF_OK)
        status = cf_scratch_begin(&b->to, err);
    if (status != CF_OK) {
        cf_links_abandon(b);
        return status;
    }
    *out = b;
    return CF_OK;
}

static int finish(struct cf_links_builder *b, struct cf_links *links, struct cf_err *err) {
    cf_ring_empty(&b->ring, add_link, b);
    begin_lists(b, b->input.ranks->nr + 1);
    if (b->nr_links >= UINT32_MAX)
        return cf_err_set(err, CF_EUSAGE, "more pointers than can be numbered");
    int status = cf_scratch_finish(&b->first, &links->first_file, err);
    return status == CF_OK ? cf_scratch_finish(&b->to, &links->to_file, err) : status;
}

int cf_links_finish(struct cf_links_builder *b, struct cf_links *out, struct cf_err *err) {
    struct cf_links links = {.ranks = b->input.ranks};
    int status = finish(b, &links, err);
    cf_links_abandon(b);
    if (status != CF_OK) {
        cf_links_fini(&links);
        return status;
    }
    links.first = links.first_file.at;
    links.to = links.to_file.at;
    *out = links;
    return CF_OK;
}

void cf_links_abandon(struct cf_links_builder *b) {
    if (b == NULL)
        return;
    cf_scratch_abandon(&b->first);
    cf_scratch_abandon(&b->to);
    free(b);
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
