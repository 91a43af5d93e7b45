/*
 * Owners are handed down along the paths of the search: positions come after what led to them, so
 * one pass in their order has the owner of the one before at hand. It begins with the words of
 * roots that reached a chunk first. Then the live chunks are gone through once: what has no name of
 * its own is taken out of its type's sums and counted as memory of its owner.
 */
#include "holders/belong.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reach/scan.h"
#include "types/typename.h"
#include "types/typestate.h"
#include "base/array.h"
#include "base/context.h"
#include "base/err.h"
#include "base/scratch.h"

enum { NOT_ASKED, NOBODY, FIRST_TYPE }; /* of `owners`; from there on a type's number */

static const uint32_t BY_OBJECT = 1u << 31; /* on top: an object of a runtime has the pointer */

struct belong {
    const struct cf_belong_input *input;
    const struct cf_resolver *resolver;
    const struct cf_ranks *ranks;
    const struct cf_paths *paths;
    struct cf_types *types;
    struct cf_scratch file;
    uint32_t *owners;          /* by rank: whose the chunk is, and what hangs on it */
    CF_ARRAY(uint32_t) memory; /* by type: that of its memory; 0: not made yet */
    size_t root;               /* that is scanned */
    uint64_t addr;             /* of the word at hand */
};

/* What a chunk's bytes say of it may be too little to tell it from others. */
static bool is_nameless(const struct belong *belong, uint32_t type) {
    enum cf_type_evidence evidence = cf_types_get(belong->types, type)->evidence;
    return evidence == CF_EVIDENCE_SIZE || evidence == CF_EVIDENCE_POINTERS;
}

/* Somebody has three words that look like a string's or a vector's, or it reads as a text. */
static bool is_buffer(const struct belong *belong, uint32_t type) {
    const struct cf_type *row = cf_types_get(belong->types, type);
    return row->evidence == CF_EVIDENCE_TEXT ||
           (row->evidence == CF_EVIDENCE_OWNER && row->memory_of == 0);
}

/* Texts and buffers have a name, and hang on who holds them as the nameless do. */
static bool is_owner(const struct belong *belong, uint32_t type) {
    enum cf_type_evidence evidence = cf_types_get(belong->types, type)->evidence;
    return evidence == CF_EVIDENCE_VTABLE || evidence == CF_EVIDENCE_SYMBOL ||
           evidence == CF_EVIDENCE_LIBC;
}

/* Names repeat: found again by their hash, since looking through all types takes long. */
static uint32_t intern(struct belong *belong, const char *name) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
    bool found;
    struct cf_type_key *slot = cf_types_key(belong->types, hash | 1ull << 63, &found);
    if (slot != NULL && found)
        return slot->type;
    uint32_t type = cf_types_add(belong->types, name, CF_EVIDENCE_OWNER);
    if (slot != NULL)
        slot->type = type;
    return type;
}

/* The first word of a root that leads to a chunk is what the search saw, too. */
static void meet(struct belong *belong, uint64_t word_addr, uint64_t lowered) {
    const struct cf_extent *extent = cf_resolver_extent(belong->resolver, lowered);
    size_t root, from;
    char name[CF_TYPE_NAME_BYTES];
    if (extent == NULL)
        return;
    size_t number = cf_resolver_number(belong->resolver, extent, lowered);
    size_t rank = number == CF_NO_CHUNK ? CF_NO_CHUNK : cf_ranks_of(belong->ranks, number);
    if (rank == CF_NO_CHUNK || !cf_paths_get(belong->paths, rank, &root, &from) ||
        root != belong->root)
        return;
    uint32_t *owner = &belong->owners[rank];
    if (*owner != NOT_ASKED)
        return;
    *owner = NOBODY;
    uint32_t own_type = cf_types_of_rank(belong->types, rank);
    if (is_owner(belong, own_type)) {
        *owner = FIRST_TYPE + own_type;
        return;
    }
    enum cf_belong_name known =
        belong->input->name(belong->input->source, &belong->input->reach->roots.rows.items[root],
                            word_addr, name, sizeof name);
    uint32_t type = known != CF_BELONG_NONE ? intern(belong, name) : 0;
    if (type != 0)
        *owner = (FIRST_TYPE + type) | (known == CF_BELONG_OBJECT ? BY_OBJECT : 0);
}

static void meet_word(struct belong *belong, const unsigned char *bytes, size_t index,
                      uint64_t addr) {
    const struct cf_resolver *resolver = belong->resolver;
    unsigned w = resolver->word_bytes;
    uint64_t word = 0;
    memcpy(&word, bytes + index * w, w);
    uint64_t lowered = cf_resolver_lowered(resolver, word);
    if (cf_resolver_in_span(resolver, lowered))
        meet(belong, addr + index * w, lowered);
}

/* Who holds chunks straight from variables and from other mappings; what stands on stacks and in
 * registers says where the program is, not whose a chunk is. */
static void name_roots(struct belong *belong) {
    const struct cf_roots *roots = &belong->input->reach->roots;
    for (size_t i = 0; i < roots->rows.len; i++) {
        const struct cf_root *root = &roots->rows.items[i];
        if (root->kind != CF_ROOT_GLOBAL && root->kind != CF_ROOT_MAPPING)
            continue;
        belong->root = i;
        struct cf_scan scan = {.mem = belong->input->mem, .addr = root->start, .end = root->end};
        const unsigned char *bytes;
        size_t nr_words;
        while (cf_scan_next(&scan, &bytes, &nr_words)) {
            uint64_t base = scan.addr - nr_words * belong->resolver->word_bytes;
            for (size_t word = 0; word < nr_words; word++)
                meet_word(belong, bytes, word, base);
        }
    }
}

/* Chunks come after what led to them: who has a name hands it down. */
static void hand_down(struct belong *belong) {
    const struct cf_paths *paths = belong->paths;
    for (size_t position = 0; position < paths->nr; position++) {
        uint32_t rank = paths->order[position];
        if (belong->owners[rank] != NOT_ASKED)
            continue;
        size_t before = cf_paths_before(paths, position);
        uint32_t owner = NOBODY, type = cf_types_of_rank(belong->types, rank);
        if (is_owner(belong, type))
            owner = FIRST_TYPE + type;
        else if (before != CF_NO_POSITION)
            owner = belong->owners[paths->order[before]] & ~BY_OBJECT;
        belong->owners[rank] = owner;
    }
}

/* The type of what hangs on `owner`; 0: no room for one more. */
static uint32_t memory_of(struct belong *belong, uint32_t owner) {
    while (belong->memory.len <= owner) {
        uint32_t *slot = cf_array_push(&belong->memory);
        if (slot == NULL)
            return 0;
        *slot = 0;
    }
    if (belong->memory.items[owner] == 0) {
        char name[2 * CF_TYPE_NAME_BYTES];
        (void)snprintf(name, sizeof name, "memory of %s", cf_types_name(belong->types, owner));
        cf_typename_shorten(name, CF_TYPE_NAME_BYTES - 1);
        belong->memory.items[owner] = intern(belong, name);
    }
    return belong->memory.items[owner];
}

/* The type of what the chunk belongs to; 0: its own bytes say as much. */
static uint32_t owning_type(struct belong *belong, size_t rank, uint32_t type) {
    uint32_t owner = belong->owners[rank];
    if (is_buffer(belong, type) && (owner & BY_OBJECT) == 0)
        return 0;
    owner &= ~BY_OBJECT;
    return owner >= FIRST_TYPE ? owner - FIRST_TYPE : 0;
}

static void count_chunk(struct belong *belong, size_t number, size_t rank, uint64_t addr,
                        uint64_t bytes) {
    if (!cf_mark_reached(belong->input->reach->mark, number))
        return;
    uint32_t type = cf_types_of_rank(belong->types, rank);
    if (!is_nameless(belong, type) && !is_buffer(belong, type))
        return;
    uint32_t owner = owning_type(belong, rank, type);
    uint32_t memory = owner != 0 ? memory_of(belong, owner) : 0;
    struct cf_type *row = &belong->types->rows.items[memory != 0 ? memory : type];
    row->chunks++;
    row->bytes += bytes;
    if (memory != 0) {
        row->memory_of = owner;
        belong->types->table[rank] = (uint16_t)memory;
    }
    if (row->sample == 0)
        row->sample = addr;
}

static void count_heap(struct belong *belong, const struct cf_extent *extent) {
    size_t rank = cf_ranks_before_word(belong->ranks, extent->plane_word);
    struct cf_chunk chunk;
    struct cf_planes_walk walk = cf_planes_walk(belong->resolver->planes, extent->heap);
    while (cf_planes_walk_next(&walk, &chunk))
        if (chunk.state == CF_CHUNK_LIVE)
            count_chunk(belong,
                        extent->first_number +
                            cf_resolver_unit(belong->resolver, extent, chunk.addr),
                        rank++, chunk.addr, chunk.bytes);
}

/* Only what nothing reaches stays where it was counted. */
static void take_back(struct belong *belong) {
    for (size_t i = 0; i < cf_types_nr(belong->types); i++) {
        struct cf_type *row = &belong->types->rows.items[i];
        if (!is_nameless(belong, (uint32_t)i) && !is_buffer(belong, (uint32_t)i))
            continue;
        row->chunks = row->unreachable_chunks;
        row->bytes = row->unreachable_bytes;
        row->sample = 0;
    }
}

static void count_all(struct belong *belong, const struct cf_context *ctx) {
    const struct cf_resolver *resolver = belong->resolver;
    take_back(belong);
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        cf_progress(ctx, "naming whose memory it is", i, resolver->nr_extents);
        if (extent->heap != NULL)
            count_heap(belong, extent);
        else if (!extent->mmapped->in_tcache)
            count_chunk(belong, extent->first_number,
                        cf_ranks_of(belong->ranks, extent->first_number), extent->start,
                        extent->mmapped->bytes);
    }
}

int cf_belong_count(const struct cf_context *ctx, const struct cf_belong_input *input,
                    struct cf_types *types, struct cf_err *err) {
    struct belong belong = {
        .input = input, .types = types, .resolver = cf_mark_resolver(input->reach->mark),
        .ranks = &input->reach->ranks, .paths = input->reach->paths,
    };
    int status = cf_scratch_init(&belong.file,
                                 (input->reach->ranks.nr + 1) * sizeof *belong.owners, err);
    if (status == CF_OK)
        status = cf_paths_index(input->reach->paths, input->reach->ranks.nr, err);
    if (status == CF_OK) {
        belong.owners = belong.file.at;
        name_roots(&belong);
        hand_down(&belong);
        count_all(&belong, ctx);
    }
    cf_scratch_fini(&belong.file);
    cf_array_free(&belong.memory);
    return status;
}
