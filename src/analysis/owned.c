/*
 * Buffers whose bytes tell nothing, named by who holds them. Three words in a row give them away,
 * in the first OWNER_WORDS words of a live chunk, on a stack or in a module's data:
 *
 *     std::string   | p | length | capacity |    p[length] == 0, capacity + 1 fits the chunk snugly
 *     std::vector   | begin | end | end of storage |           the storage fits the chunk snugly
 *     Box<dyn T>    | data | vtable |            analysis/traits.c
 *     FILE          | ... _IO_buf_base, _IO_buf_end (words 7 and 8 of a struct with the magic)
 */
#include <stdlib.h>

#include "analysis/scan.h"
#include "analysis/typestate.h"
#include "base/context.h"
#include "base/err.h"

enum {
    OWNER_WORDS = 32,
    SNUG_BYTES = 24, /* malloc rounds a request up by less */
    SNUG_MMAPPED_BYTES = 4096 + SNUG_BYTES,
    STRING_MIN = 15, /* shorter ones are inside the std::string (SSO) */
    PREFETCH_BYTES = 2048,
    DROP_BYTES = 4 << 20,
};

enum cf_owned cf_types_owned(const struct cf_types *types, size_t number) {
    if (types->owned == NULL)
        return CF_OWNED_NOT;
    bool low = types->owned[number >> 6] >> (number & 63) & 1;
    bool high = types->owned[(number + 1) >> 6] >> ((number + 1) & 63) & 1;
    return (enum cf_owned)(low + 2 * high);
}

static void set_owned(struct cf_types *types, size_t number, enum cf_owned owned) {
    if (owned & 1)
        types->owned[number >> 6] |= 1ull << (number & 63);
    if (owned & 2)
        types->owned[(number + 1) >> 6] |= 1ull << ((number + 1) & 63);
}

size_t cf_types_buffer_at(const struct cf_types *types, uint64_t word, uint64_t *usable,
                          uint64_t *slack) {
    const struct cf_resolver *resolver = types->input.resolver;
    uint64_t lowered = cf_resolver_lowered(resolver, word);
    if (!cf_resolver_in_span(resolver, lowered))
        return CF_NO_CHUNK;
    const struct cf_extent *extent = cf_resolver_extent(resolver, lowered);
    if (extent == NULL)
        return CF_NO_CHUNK;
    size_t number = cf_resolver_number(resolver, extent, lowered);
    if (number == CF_NO_CHUNK)
        return CF_NO_CHUNK;
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    if (!chunk.live || chunk.addr != lowered)
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

/* Three words in a row, the first of which may lead to a buffer. */
static void look(struct cf_types *types, uint64_t first, uint64_t second, uint64_t third) {
    bool may_be_string = second <= third && third >= STRING_MIN && third < 1ull << 40;
    bool may_be_vector = second >= first && third >= second && third > first;
    uint64_t usable, slack;
    if (!may_be_string && !may_be_vector)
        return;
    size_t number = cf_types_buffer_at(types, first, &usable, &slack);
    if (number == CF_NO_CHUNK || cf_types_owned(types, number) != CF_OWNED_NOT)
        return;
    if (may_be_string && is_snug(third + 1, usable, slack) && ends_with_zero(types, first + second))
        set_owned(types, number, CF_OWNED_STRING);
    else if (may_be_vector && is_snug(third - first, usable, slack))
        set_owned(types, number, CF_OWNED_VECTOR);
}

static void look_at_file(struct cf_types *types, const struct cf_payload *payload) {
    uint64_t usable, slack;
    if (payload->readable < 9 * types->word ||
        (uint32_t)cf_payload_word(types, payload, 0) >> 16 != 0xfbad)
        return;
    uint64_t buffer = cf_payload_word(types, payload, 7 * types->word);
    size_t number = cf_types_buffer_at(types, buffer, &usable, &slack);
    if (number != CF_NO_CHUNK && cf_types_owned(types, number) == CF_OWNED_NOT)
        set_owned(types, number, CF_OWNED_STDIO);
}

/* The first `most_words`; and all of an array that begins with trait objects. */
static void look_through(struct cf_types *types, const struct cf_payload *payload,
                         uint64_t most_words) {
    const struct cf_resolver *resolver = types->input.resolver;
    uint64_t words = payload->readable / types->word;
    bool has_traits = false;
    for (uint64_t i = 0; i + 1 < words && (i < most_words || has_traits); i++) {
        uint64_t first = cf_payload_word(types, payload, i * types->word);
        if (!cf_resolver_in_span(resolver, cf_resolver_lowered(resolver, first)))
            continue;
        uint64_t second = cf_payload_word(types, payload, (i + 1) * types->word);
        if (cf_types_look_for_trait(types, first, second))
            has_traits = true;
        else if (i + 2 < words)
            look(types, first, second, cf_payload_word(types, payload, (i + 2) * types->word));
    }
}

static void look_at_chunk(struct cf_types *types, uint64_t user, uint64_t end,
                          const struct cf_extent *extent) {
    struct cf_payload payload = {.user = user, .bytes = end - user};
    if (extent->bytes != NULL) {
        payload.at = extent->bytes + (user - extent->start);
        payload.readable = payload.bytes;
    } else {
        payload.at = cf_mem_span(types->input.mem, user, &payload.readable);
        if (payload.at == NULL)
            return;
        if (payload.readable > payload.bytes)
            payload.readable = payload.bytes;
    }
    look_at_file(types, &payload);
    cf_types_look_at_link_map(types, &payload);
    look_through(types, &payload, OWNER_WORDS);
}

static void look_at_heap(struct cf_types *types, const struct cf_extent *extent) {
    const struct cf_resolver *resolver = types->input.resolver;
    struct cf_chunk chunk;
    uint64_t dropped = extent->start;
    struct cf_planes_walk walk = cf_planes_walk(resolver->planes, extent->heap);
    while (cf_planes_walk_next(&walk, &chunk)) {
        if (chunk.state != CF_CHUNK_LIVE)
            continue;
        if (extent->bytes != NULL && chunk.addr + PREFETCH_BYTES < extent->end)
            __builtin_prefetch(extent->bytes + (chunk.addr - extent->start) + PREFETCH_BYTES);
        look_at_chunk(types, chunk.addr + 2 * types->word,
                      cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes), extent);
        if (chunk.addr - dropped > DROP_BYTES) {
            cf_mem_drop(types->input.mem, dropped, chunk.addr);
            dropped = chunk.addr;
        }
    }
}

/* Modules' data and bss: where a program's globals hold their buffers. */
static void look_at_modules(struct cf_types *types) {
    const struct cf_mem *mem = types->input.mem;
    bool behind_module = false;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        bool is_module = region->kind == CF_REGION_FILE && (region->flags & 2) != 0;
        if (is_module || (behind_module && region->kind == CF_REGION_ANONYMOUS)) {
            struct cf_payload payload = {.user = region->start,
                                         .bytes = region->end - region->start};
            payload.at = cf_mem_span(mem, region->start, &payload.readable);
            if (payload.at != NULL) {
                if (payload.readable > payload.bytes)
                    payload.readable = payload.bytes;
                look_through(types, &payload, UINT64_MAX);
            }
        }
        behind_module = is_module && i + 1 < cf_mem_nr_regions(mem) &&
                        cf_mem_region(mem, i + 1)->start == region->end;
    }
}

/* Stacks and thread-local storage: where functions and threads hold their buffers. */
static void look_at_roots(struct cf_types *types) {
    const struct cf_roots *roots = types->input.roots;
    for (size_t i = 0; roots != NULL && i < roots->rows.len; i++) {
        const struct cf_root *root = &roots->rows.items[i];
        if (root->kind != CF_ROOT_STACK && root->kind != CF_ROOT_TLS)
            continue;
        struct cf_payload payload = {.user = root->start, .bytes = root->end - root->start};
        payload.at = cf_mem_span(types->input.mem, root->start, &payload.readable);
        if (payload.at == NULL)
            continue;
        if (payload.readable > payload.bytes)
            payload.readable = payload.bytes;
        look_through(types, &payload, UINT64_MAX);
    }
}

int cf_types_find_owned(const struct cf_context *ctx, struct cf_types *types,
                        struct cf_err *err) {
    const struct cf_resolver *resolver = types->input.resolver;
    size_t words = resolver->nr_numbers / 64 + 2;
    types->owned = calloc(words, sizeof *types->owned);
    if (types->owned == NULL)
        return cf_err_nomem(err, words * sizeof *types->owned, "the plane of owned buffers");
    look_at_modules(types);
    look_at_roots(types);
    cf_types_look_at_threads(types);
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        cf_progress(ctx, "looking for owners", i, resolver->nr_extents);
        if (extent->heap != NULL)
            look_at_heap(types, extent);
        else if (!extent->mmapped->in_tcache)
            look_at_chunk(types, extent->start + 2 * types->word,
                          extent->start + 2 * types->word + extent->mmapped->usable_bytes,
                          extent);
    }
    return CF_OK;
}
