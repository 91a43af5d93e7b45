/*
 * Buffers whose bytes tell nothing, named by who holds them. Three words in a row give them away,
 * in the first CF_LIVE_WORDS words of a live chunk, on a stack or in a module's data:
 *
 *     std::string   | p | length | capacity |    p[length] == 0, capacity + 1 fits the chunk snugly
 *     std::vector   | begin | end | end of storage |           the storage fits the chunk snugly
 *     Box<dyn T>    | data | vtable |            types/traits.c
 *     FILE          | ... _IO_buf_base, _IO_buf_end (words 7 and 8 of a struct with the magic)
 */
#include <string.h>

#include "core/drop.h"
#include "types/typestate.h"
#include "base/context.h"

enum {
    SNUG_BYTES = 24, /* malloc rounds a request up by less */
    SNUG_MMAPPED_BYTES = 4096 + SNUG_BYTES,
    FILE_WORDS = 9,  /* up to the end of its buffer */
    STRING_MIN = 15, /* shorter ones are inside the std::string (SSO) */
    TICK_WORDS = 1 << 17,
};

struct cf_chunk_number cf_types_buffer_at(const struct cf_types *types, uint64_t word,
                                          uint64_t *usable, uint64_t *slack) {
    const struct cf_resolver *resolver = types->input.resolver;
    uint64_t lowered = cf_resolver_lowered(resolver, word);
    if (!cf_resolver_in_span(resolver, lowered))
        return CF_NO_CHUNK;
    const struct cf_extent *extent = cf_resolver_extent(resolver, lowered);
    if (extent == NULL)
        return CF_NO_CHUNK;
    struct cf_chunk_number number = cf_resolver_start(resolver, extent, lowered);
    if (!cf_is_chunk(number))
        return CF_NO_CHUNK;
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    if (!chunk.live)
        return CF_NO_CHUNK;
    *usable = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes) -
              (chunk.addr + 2 * types->word);
    *slack = extent->mmapped != NULL ? SNUG_MMAPPED_BYTES : SNUG_BYTES;
    return number;
}

static bool is_snug(uint64_t wanted, uint64_t usable, uint64_t slack) {
    return wanted <= usable && usable - wanted <= slack;
}

static bool ends_with_zero(const struct cf_types *types, uint64_t addr) {
    uint64_t avail;
    const unsigned char *at = cf_mem_span(types->input.mem, addr, &avail);
    return at != NULL && *at == 0;
}

static bool may_be_string(uint64_t length, uint64_t capacity) {
    return length <= capacity && capacity >= STRING_MIN && capacity < 1ull << 40;
}

static bool may_be_vector(uint64_t begin, uint64_t end, uint64_t storage_end) {
    return end >= begin && storage_end >= end && storage_end > begin;
}

/* Three words in a row, the first of which may lead to a buffer of one of the two. */
static __attribute__((noinline)) void
look(struct cf_types *types, uint64_t first, uint64_t second, uint64_t third) {
    uint64_t usable, slack;
    struct cf_chunk_number number = cf_types_buffer_at(types, first, &usable, &slack);
    if (!cf_is_chunk(number) || cf_types_is_owned(types, number))
        return;
    if (may_be_string(second, third) && is_snug(third + 1, usable, slack) &&
        ends_with_zero(types, first + second))
        cf_types_own(types, number, CF_OWNED_STRING);
    else if (may_be_vector(first, second, third) && is_snug(third - first, usable, slack))
        cf_types_own(types, number, CF_OWNED_VECTOR);
}

/* A FILE at word `i`: _IO_MAGIC stands in its flags, _IO_buf_base is its eighth word. */
static void look_at_file(struct cf_types *types, const struct cf_live *payload, uint64_t i) {
    uint64_t usable, slack;
    if ((uint32_t)cf_payload_word(types, payload, i * types->word) >> 16 != CF_IO_MAGIC)
        return;
    uint64_t buffer = cf_payload_word(types, payload, (i + 7) * types->word);
    struct cf_chunk_number number = cf_types_buffer_at(types, buffer, &usable, &slack);
    if (cf_is_chunk(number) && !cf_types_is_owned(types, number))
        cf_types_own(types, number, CF_OWNED_STDIO);
}

/* From word `at` on, the first that is in the span of the chunks; `end`: there is none. */
static uint64_t next_pointer(const struct cf_types *types, const unsigned char *words,
                             uint64_t at, uint64_t end) {
    const struct cf_resolver *resolver = types->input.resolver;
    if (types->word == 8) {
        for (; at < end; at++) {
            uint64_t word;
            memcpy(&word, words + at * 8, 8);
            if (cf_resolver_in_span(resolver, (word & resolver->word_mask) - 16))
                break;
        }
        return at;
    }
    for (; at < end; at++) {
        uint32_t word;
        memcpy(&word, words + at * 4, 4);
        if (cf_resolver_in_span(resolver, (uint64_t)word - 8))
            break;
    }
    return at;
}

/* Word `i` may lead to a buffer, and is not the last one. Says whether it has a trait object. */
static inline __attribute__((always_inline)) bool
look_at_word(struct cf_types *types, const struct cf_live *payload, unsigned word_bytes,
             uint64_t words, uint64_t i) {
    uint64_t first = cf_live_word(payload, word_bytes, i);
    uint64_t second = cf_live_word(payload, word_bytes, i + 1);
    if (cf_types_may_be_module(types, second) && cf_types_look_for_trait(types, first, second))
        return true;
    if (i + 2 >= words)
        return false;
    uint64_t third = cf_live_word(payload, word_bytes, i + 2);
    if (may_be_string(second, third) || may_be_vector(first, second, third))
        look(types, first, second, third);
    return false;
}

/* From word `i` up to `end`. */
static void look_through(struct cf_types *types, const struct cf_live *payload, uint64_t i,
                         uint64_t end) {
    uint64_t words = payload->readable >> types->word_shift;
    for (; (i = next_pointer(types, payload->at, i, end)) < end && i + 1 < words; i++) {
        /* stdout's own FILE is a global, and its first pointers read like those of a vector. */
        if (i > 0 && i - 1 + FILE_WORDS <= words)
            look_at_file(types, payload, i - 1);
        (void)look_at_word(types, payload, types->word, words, i);
    }
}

/* Says whether one of the first words has a trait object. */
static inline __attribute__((always_inline)) bool
look_at_first_words(struct cf_types *types, const struct cf_live *payload, unsigned word_bytes) {
    bool has_traits = false;
    for (uint32_t bits = payload->pointers; bits != 0; bits &= bits - 1) {
        uint64_t i = (uint64_t)__builtin_ctz(bits);
        if (i + 1 < payload->words)
            has_traits |= look_at_word(types, payload, word_bytes, payload->words, i);
    }
    return has_traits;
}

/* The first words; and all of an array that begins with trait objects. */
void cf_types_look_for_owned(struct cf_types *types, const struct cf_live *payload) {
    if (payload->words >= FILE_WORDS)
        look_at_file(types, payload, 0);
    if (payload->words >= CF_LINK_MAP_WORDS)
        cf_types_look_at_link_map(types, payload);
    bool has_traits = types->word == 8 ? look_at_first_words(types, payload, 8)
                                       : look_at_first_words(types, payload, 4);
    if (has_traits)
        look_through(types, payload, CF_LIVE_WORDS, payload->words);
}

/* All words of [start, end) that the core has in one run. False: cancelled. */
static bool look_at_range(struct cf_types *types, uint64_t start, uint64_t end) {
    struct cf_live payload = {.user = start, .bytes = end - start};
    payload.at = cf_mem_span(types->input.mem, start, &payload.readable);
    if (payload.at == NULL)
        return true;
    if (payload.readable > payload.bytes)
        payload.readable = payload.bytes;
    payload.words = payload.readable >> types->word_shift;
    for (uint64_t i = 0; i < payload.words; i += TICK_WORDS) {
        uint64_t rest = payload.words - i;
        look_through(types, &payload, i, i + (rest < TICK_WORDS ? rest : TICK_WORDS));
        if (cf_tick(types->input.ctx))
            return false;
    }
    return true;
}

/* Modules' data and bss: where a program's globals hold their buffers. False: cancelled. */
static bool look_at_modules(struct cf_types *types) {
    const struct cf_mem *mem = types->input.mem;
    bool behind_module = false;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        bool is_module = region->kind == CF_REGION_FILE && cf_region_is_writable(region);
        if ((is_module || (behind_module && region->kind == CF_REGION_ANONYMOUS)) &&
            !look_at_range(types, region->start, region->end))
            return false;
        behind_module = is_module && i + 1 < cf_mem_nr_regions(mem) &&
                        cf_mem_region(mem, i + 1)->start == region->end;
    }
    return true;
}

/* Stacks and thread-local storage: where functions and threads hold their buffers. False:
 * cancelled. */
static bool look_at_stacks(struct cf_types *types) {
    const struct cf_roots *roots = types->input.roots;
    const struct cf_core *core = cf_mem_core(types->input.mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; roots != NULL && i < roots->rows.len; i++) {
        const struct cf_root *root = &roots->rows.items[i];
        cf_rss_guard_step(&guard);
        if ((root->kind == CF_ROOT_STACK || root->kind == CF_ROOT_TLS) &&
            !look_at_range(types, root->start, root->end))
            return false;
    }
    return true;
}

bool cf_types_look_at_roots(struct cf_types *types) {
    return look_at_modules(types) && look_at_stacks(types);
}
