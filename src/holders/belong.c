/*
 * Owners are handed down along the paths of the search: positions come after what led to them, and
 * what led to them comes in the order of positions too, so one pass has the owner of the one before
 * at hand. It begins with the words of roots that reached a chunk first: the first positions are
 * theirs, in the order in which the words were read. Then the live chunks are gone through once:
 * what was found to be memory of something is taken out of its type's sums.
 */
#include "holders/belong.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/err.h"
#include "base/tempfile.h"
#include "types/typename.h"
#include "types/typestate.h"

enum { NOBODY, FIRST_TYPE, TICK_CHUNKS = 1 << 17, AHEAD = 16 };

static const uint32_t BY_OBJECT = 1u << 31; /* on top: an object of a runtime has the pointer */

struct belong {
    const struct cf_context *ctx;
    const struct cf_belong_input *input;
    const struct cf_resolver *resolver;
    const struct cf_ranks *ranks;
    const struct cf_paths *paths;
    struct cf_types *types;
    struct cf_scratch file;
    uint32_t *owners;          /* by position: NOBODY, or FIRST_TYPE + the type whose the chunk is,
                                  and what hangs on it */
    CF_ARRAY(uint32_t) memory; /* by type: that of its memory; 0: not made yet */
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

/* Whose the chunk is that a root's word has reached. What stands on stacks and in registers says
 * where the program is, not whose a chunk is; variables and other mappings do. */
static uint32_t root_owner(struct belong *belong, const struct cf_root_word *word) {
    const struct cf_root *root = &belong->input->reach->roots.rows.items[word->root];
    uint32_t own_type = cf_types_of_rank(belong->types, (struct cf_rank){word->rank});
    char name[CF_TYPE_NAME_BYTES];
    if (is_owner(belong, own_type))
        return FIRST_TYPE + own_type;
    if (root->kind != CF_ROOT_GLOBAL && root->kind != CF_ROOT_MAPPING)
        return NOBODY;
    enum cf_belong_name known =
        belong->input->name(belong->input->source, root, word->addr, name, sizeof name);
    uint32_t type = known != CF_BELONG_NONE ? intern(belong, name) : 0;
    if (type == 0)
        return NOBODY;
    return (FIRST_TYPE + type) | (known == CF_BELONG_OBJECT ? BY_OBJECT : 0);
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
        uint32_t type = belong->memory.items[owner] = intern(belong, name);
        if (type != 0)
            belong->types->rows.items[type].memory_of = owner;
    }
    return belong->memory.items[owner];
}

/* The chunk at `position` gets its owner, and where its own bytes say less, a type of memory. */
static inline void own(struct belong *belong, struct cf_position position, uint32_t owner) {
    uint16_t *type = &belong->types->table[cf_paths_rank(belong->paths, position).index];
    bool says_more = is_buffer(belong, *type) ? (owner & BY_OBJECT) != 0
                                              : is_nameless(belong, *type);
    belong->owners[position.index] = owner;
    owner &= ~BY_OBJECT;
    uint32_t memory = says_more && owner >= FIRST_TYPE ? memory_of(belong, owner - FIRST_TYPE) : 0;
    if (memory != 0)
        *type = (uint16_t)memory;
}

/* Whose the chunk at `position` is that a root leads to: the words stand in the order in which they
 * were read, and the first with that chunk has reached it. */
static uint32_t owner_by_word(struct belong *belong, struct cf_position position, size_t *word) {
    const struct cf_root_words *words = &belong->input->reach->words;
    size_t rank = cf_paths_rank(belong->paths, position).index;
    while (*word < words->nr && words->rows[*word].rank != rank)
        ++*word;
    return *word < words->nr ? root_owner(belong, &words->rows[(*word)++]) : NOBODY;
}

/* Who has a name hands it down. */
static int name_all(struct belong *belong, struct cf_err *err) {
    const struct cf_paths *paths = belong->paths;
    size_t word = 0;
    for (struct cf_position position = {0}; position.index < paths->nr; position.index++) {
        if (position.index % TICK_CHUNKS == 0 &&
            cf_progress(belong->ctx, "naming whose memory it is", position.index, paths->nr))
            return cf_err_cancelled(err);
        if (position.index + AHEAD < paths->nr)
            __builtin_prefetch(&belong->types->table[paths->order[position.index + AHEAD]]);
        uint32_t type = cf_types_of_rank(belong->types, cf_paths_rank(paths, position));
        struct cf_position before = cf_paths_before(paths, position);
        if (!cf_is_position(before))
            own(belong, position, owner_by_word(belong, position, &word));
        else
            own(belong, position,
                is_owner(belong, type) ? FIRST_TYPE + type
                                       : belong->owners[before.index] & ~BY_OBJECT);
    }
    return CF_OK;
}

static inline void count_chunk(struct belong *belong, struct cf_rank rank, uint64_t addr,
                               uint64_t bytes) {
    uint32_t type = cf_types_of_rank(belong->types, rank);
    struct cf_type *row = &belong->types->rows.items[type];
    if (row->memory_of == 0 && !is_nameless(belong, type) && !is_buffer(belong, type))
        return;
    row->chunks++;
    row->bytes += bytes;
    if (row->sample == 0)
        row->sample = addr;
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

/* The reached chunks of a heap. */
static int count_heap(struct belong *belong, const struct cf_extent *extent, struct cf_err *err) {
    const struct cf_planes *planes = belong->resolver->planes;
    const uint64_t *reached = cf_mark_plane(belong->input->reach->mark);
    struct cf_rank rank = cf_ranks_of_word(belong->ranks, extent->plane_word);
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (; cf_live_walk_next(&walk); rank.index++) {
        if (cf_plane_bit(reached, extent->plane_word, walk.unit))
            count_chunk(belong, rank, extent->base + ((uint64_t)walk.unit << planes->unit_shift),
                        (uint64_t)walk.units << planes->unit_shift);
        if (rank.index % TICK_CHUNKS == 0 && cf_tick(belong->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

static int count_all(struct belong *belong, struct cf_err *err) {
    const struct cf_resolver *resolver = belong->resolver;
    int status = CF_OK;
    take_back(belong);
    for (size_t i = 0; i < resolver->nr_extents && status == CF_OK; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap != NULL)
            status = count_heap(belong, extent, err);
        else if (!extent->mmapped->in_tcache &&
                 cf_mark_reached(belong->input->reach->mark, extent->first_number))
            count_chunk(belong, cf_ranks_of(belong->ranks, extent->first_number), extent->start,
                        extent->mmapped->bytes);
    }
    return status;
}

int cf_belong_count(const struct cf_context *ctx, const struct cf_belong_input *input,
                    struct cf_types *types, struct cf_err *err) {
    struct belong belong = {
        .ctx = ctx, .input = input, .types = types,
        .resolver = cf_mark_resolver(input->reach->mark),
        .ranks = &input->reach->ranks, .paths = input->reach->paths,
    };
    int status = cf_scratch_init(&belong.file, (belong.paths->nr + 1) * sizeof *belong.owners,
                                 err);
    belong.owners = belong.file.at;
    if (status == CF_OK)
        status = name_all(&belong, err);
    if (status == CF_OK)
        status = count_all(&belong, err);
    cf_scratch_fini(&belong.file);
    cf_array_free(&belong.memory);
    return status;
}
