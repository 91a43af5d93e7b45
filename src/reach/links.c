/*
 * Lists are written in the order of ranks while the chunks are read, so a chunk's list is complete
 * when a word of a later chunk is answered. Words wait in batches (reach/pending.h); a batch keeps
 * their order, and with it the order of the lists. Chunks that no word speaks for get empty lists
 * in passing.
 */
#include "reach/links.h"

#include <stdlib.h>
#include <string.h>

#include "reach/pending.h"
#include "reach/scan.h"
#include "base/context.h"
#include "base/err.h"

enum {
    SMALL_BYTES = 65536, /* of a chunk that is read as it stands, absent pages and all */
    LINK_BYTES = 5,
};

static const size_t CHUNKS_MAX = (1u << 31) - 2;

struct cf_links_builder {
    struct cf_links_input input;
    const struct cf_resolver *resolver;
    struct cf_scratch_writer blocks;
    struct cf_scratch_writer lists;
    struct cf_scratch_writer long_lists;
    struct cf_links_block block;
    size_t nr_lists;     /* that are complete; of the next one: */
    struct cf_rank last; /* that its last link leads to; its chunk's own: none */
    size_t length;       /* of what is in `list` */
    uint64_t long_begin; /* in the file of long ones; UINT64_MAX: it is not long */
    unsigned char list[CF_LINKS_LENGTH_MAX + 8];
    uint32_t from; /* rank of the chunk that is read */
    uint64_t last_user;
    size_t next_pointerless; /* index */
    struct cf_pending pending;
};

static void end_block(struct cf_links_builder *b) {
    cf_scratch_put(&b->blocks, &b->block, sizeof b->block);
    b->block = (struct cf_links_block){.begin = cf_scratch_place(&b->lists)};
}

static inline void end_list(struct cf_links_builder *b) {
    uint8_t length = (uint8_t)b->length;
    if (__builtin_expect(b->long_begin != UINT64_MAX, 0)) {
        cf_scratch_put(&b->long_lists, b->list, b->length);
        uint64_t place[2] = {b->long_begin, cf_scratch_place(&b->long_lists) - b->long_begin};
        cf_scratch_put(&b->lists, place, sizeof place);
        length = CF_LINKS_LONG | sizeof place;
        b->long_begin = UINT64_MAX;
    } else if (b->length <= 16) {
        cf_scratch_put_some(&b->lists, b->list, b->length);
    } else {
        cf_scratch_put(&b->lists, b->list, b->length);
    }
    b->block.lengths[b->nr_lists % CF_LINKS_PER_BLOCK] = length;
    b->length = 0;
    b->last.index = ++b->nr_lists;
    if (b->nr_lists % CF_LINKS_PER_BLOCK == 0)
        end_block(b);
}

static void put_long(struct cf_links_builder *b) {
    if (b->long_begin == UINT64_MAX)
        b->long_begin = cf_scratch_place(&b->long_lists);
    cf_scratch_put(&b->long_lists, b->list, b->length);
    b->length = 0;
}

static inline void add_link(void *arg, uint32_t from, struct cf_rank rank) {
    struct cf_links_builder *b = arg;
    while (b->nr_lists < from)
        end_list(b);
    if (rank.index == b->last.index || rank.index == from)
        return;
    if (b->length + LINK_BYTES > CF_LINKS_LENGTH_MAX)
        put_long(b);
    int64_t difference = (int64_t)rank.index - (int64_t)b->last.index;
    uint64_t zigzag = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
    unsigned nr = (64 - (unsigned)__builtin_clzll(zigzag | 1) + 3 + 7) / 8;
    uint64_t bits = zigzag << 3 | nr;
    memcpy(b->list + b->length, &bits, sizeof bits);
    b->length += nr;
    b->last = rank;
}

static void answer(struct cf_links_builder *b) {
    cf_pending_answer(&b->pending, add_link, b);
}

static inline void meet(struct cf_links_builder *b, uint64_t lowered) {
    if (cf_pending_put(&b->pending, lowered, b->from))
        answer(b);
}

static void read_range(struct cf_links_builder *b, uint64_t start, uint64_t end) {
    struct cf_scan scan = {.mem = b->input.mem, .addr = start, .end = end};
    const unsigned char *bytes;
    size_t nr_words;
    while (cf_scan_next(&scan, &bytes, &nr_words)) {
        CF_SCAN_WORDS(b->resolver, bytes, nr_words, meet, b);
        cf_mem_drop(b->input.mem, start, scan.addr);
        if (cf_tick(b->input.ctx))
            return; /* whoever shows the chunks asks, too */
    }
}

/* Chunks come in the order of addresses, but for mmapped ones, which begin again. */
static inline bool is_pointerless(struct cf_links_builder *b, uint64_t user) {
    const struct cf_links_input *input = &b->input;
    if (user < b->last_user)
        b->next_pointerless = 0;
    b->last_user = user;
    const uint64_t *next = input->pointerless + b->next_pointerless;
    const uint64_t *end = input->pointerless + input->nr_pointerless;
    while (next < end && *next < user)
        next++;
    b->next_pointerless = (size_t)(next - input->pointerless);
    return next < end && *next == user;
}

static inline __attribute__((always_inline)) void
read_small(struct cf_links_builder *b, const struct cf_live *chunk, unsigned word_bytes) {
    for (uint32_t bits = chunk->pointers; bits != 0; bits &= bits - 1) {
        uint64_t word = cf_live_word(chunk, word_bytes, (uint64_t)__builtin_ctz(bits));
        meet(b, cf_resolver_lowered(b->resolver, word));
    }
    if (chunk->words > CF_LIVE_WORDS)
        CF_SCAN_WORDS(b->resolver, chunk->at + CF_LIVE_WORDS * word_bytes,
                      chunk->words - CF_LIVE_WORDS, meet, b);
}

static void look_at_chunk(void *arg, const struct cf_live *chunk, struct cf_rank rank) {
    struct cf_links_builder *b = arg;
    if (is_pointerless(b, chunk->user))
        return;
    b->from = (uint32_t)rank.index;
    if (chunk->readable != chunk->bytes || chunk->bytes > SMALL_BYTES)
        read_range(b, chunk->user, chunk->user + chunk->bytes);
    else if (b->resolver->word_bytes == 8)
        read_small(b, chunk, 8);
    else
        read_small(b, chunk, 4);
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
                                   .long_begin = UINT64_MAX, .pending = {.ranks = input->ranks}};
    int status = cf_scratch_begin(&b->blocks, err);
    if (status == CF_OK)
        status = cf_scratch_begin(&b->lists, err);
    if (status == CF_OK)
        status = cf_scratch_begin(&b->long_lists, err);
    if (status != CF_OK) {
        cf_links_abandon(b);
        return status;
    }
    *out = b;
    return CF_OK;
}

/* A list for each rank, and one more, so that the last block is complete. */
static int finish(struct cf_links_builder *b, struct cf_links *links, struct cf_err *err) {
    answer(b);
    do
        end_list(b);
    while (b->nr_lists <= b->input.ranks->nr || b->nr_lists % CF_LINKS_PER_BLOCK != 0);
    int status = cf_scratch_finish(&b->blocks, &links->files[0], err);
    if (status == CF_OK)
        status = cf_scratch_finish(&b->lists, &links->files[1], err);
    return status == CF_OK ? cf_scratch_finish(&b->long_lists, &links->files[2], err) : status;
}

int cf_links_finish(struct cf_links_builder *b, struct cf_links *out, struct cf_err *err) {
    struct cf_links links = {.ranks = b->input.ranks};
    int status = finish(b, &links, err);
    cf_links_abandon(b);
    if (status != CF_OK) {
        cf_links_fini(&links);
        return status;
    }
    links.blocks = links.files[0].at;
    links.lists = links.files[1].at;
    links.long_lists = links.files[2].at;
    *out = links;
    return CF_OK;
}

void cf_links_abandon(struct cf_links_builder *b) {
    if (b == NULL)
        return;
    cf_scratch_abandon(&b->blocks);
    cf_scratch_abandon(&b->lists);
    cf_scratch_abandon(&b->long_lists);
    free(b);
}

void cf_links_drop(const struct cf_links *links) {
    for (size_t i = 0; i < 3; i++)
        cf_scratch_drop(&links->files[i]);
}

uint64_t cf_links_bytes(const struct cf_links *links) {
    return (uint64_t)links->files[0].bytes + links->files[1].bytes + links->files[2].bytes;
}

void cf_links_fini(struct cf_links *links) {
    for (size_t i = 0; i < 3; i++)
        cf_scratch_fini(&links->files[i]);
    *links = (struct cf_links){0};
}
