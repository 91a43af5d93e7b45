/*
 * Owners are handed down the dominator tree: a dominator has a lower number than what it dominates,
 * so one pass over the vertices has the owner above at hand. Before it, the words of roots have
 * named what hangs right below their groups. Then the live chunks are gone through once: what was
 * found to be memory of something is taken out of its type's sums.
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

enum { NOBODY, FIRST_TYPE, TICK_WORDS = 1 << 12, TICK_CHUNKS = 1 << 17 };

static const uint32_t UNKNOWN = UINT32_MAX; /* of a row of sharers: not asked yet */
static const uint32_t BY_OBJECT = 1u << 31; /* on top: an object of a runtime has the pointer */

struct belong {
    const struct cf_context *ctx;
    const struct cf_belong_input *input;
    const struct cf_resolver *resolver;
    const struct cf_ranks *ranks;
    const struct cf_dominators *dominators;
    struct cf_types *types;
    struct cf_scratch file;
    uint32_t *owners;          /* by vertex: NOBODY, or FIRST_TYPE + the type whose the chunk is,
                                  and what hangs on it */
    CF_ARRAY(uint32_t) shared; /* by row of sharers: their owner */
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
    return cf_evidence_is_object(cf_types_get(belong->types, type)->evidence);
}

/* Names repeat: found again by their hash, since looking through all types takes long. */
static uint32_t intern(struct belong *belong, const char *name) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
    bool found;
    uint32_t row = cf_types_memo(belong->types, CF_MEMO_OWNER, hash, &found);
    if (found)
        return belong->types->memos[CF_MEMO_OWNER].rows.items[row].type;
    uint32_t type = cf_types_add(belong->types, name, CF_EVIDENCE_OWNER);
    if (row != CF_HASH_NONE)
        belong->types->memos[CF_MEMO_OWNER].rows.items[row].type = type;
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

/* The chunk of this vertex gets its owner, and where its own bytes say less, a type of memory. */
static inline void own(struct belong *belong, struct cf_vertex vertex, struct cf_rank rank,
                       uint32_t owner) {
    uint16_t *type = &belong->types->table[rank.index];
    bool says_more = is_buffer(belong, *type) ? (owner & BY_OBJECT) != 0
                                              : is_nameless(belong, *type);
    belong->owners[vertex.index] = owner;
    owner &= ~BY_OBJECT;
    uint32_t memory = says_more && owner >= FIRST_TYPE ? memory_of(belong, owner - FIRST_TYPE) : 0;
    if (memory != 0)
        *type = (uint16_t)memory;
}

/* Each chunk that hangs right below a group of roots, by the first word of it that leads there. */
static int name_roots(struct belong *belong, struct cf_err *err) {
    const struct cf_root_words *words = &belong->input->reach->words;
    for (size_t i = 0; i < words->nr; i++) {
        if (i % TICK_WORDS == 0 &&
            cf_progress(belong->ctx, "naming what roots hold", i, words->nr))
            return cf_err_cancelled(err);
        uint32_t group = belong->dominators->roots.numbers[i];
        struct cf_rank rank = {words->rows[i].rank};
        struct cf_vertex vertex = cf_dominators_of_rank(belong->dominators, rank);
        uint32_t above = cf_dominators_above(belong->dominators, vertex).index;
        if (vertex.index != 0 && belong->owners[vertex.index] == NOBODY &&
            (above == 0 || above == belong->dominators->groups[group].index))
            own(belong, vertex, rank, root_owner(belong, &words->rows[i]));
    }
    return CF_OK;
}

/* "global a (prog) and global b (prog)"; false: one of them has no name. */
static bool name_sharers(const struct belong *belong, const struct cf_sharers *sharers, char *out,
                         size_t bytes) {
    size_t used = 0;
    out[0] = '\0';
    if (sharers->nr > CF_SHARERS_MAX || belong->input->name_group == NULL)
        return false;
    for (uint32_t i = 0; i < sharers->nr && used < bytes; i++) {
        char name[CF_TYPE_NAME_BYTES];
        if (!belong->input->name_group(belong->input->source, sharers->groups[i], name,
                                       sizeof name))
            return false;
        if (strstr(out, name) == NULL)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used > 0 ? " and " : "",
                                     name);
    }
    return used > 0;
}

static uint32_t sharers_owner(struct belong *belong, const struct cf_sharers *sharers) {
    char name[(CF_SHARERS_MAX + 1) * CF_TYPE_NAME_BYTES];
    if (!name_sharers(belong, sharers, name, sizeof name))
        return NOBODY;
    cf_typename_shorten(name, CF_TYPE_NAME_BYTES - 1);
    uint32_t type = intern(belong, name);
    return type != 0 ? FIRST_TYPE + type : NOBODY;
}

/* Whose all of a chunk is that hangs on no group alone. */
static uint32_t shared_owner(struct belong *belong, struct cf_vertex vertex) {
    const struct cf_sharing *sharing = belong->input->sharing;
    if (sharing == NULL)
        return NOBODY;
    uint32_t row = cf_sharing_top(sharing, belong->input->preorder->firsts[vertex.index])->sharers;
    while (belong->shared.len <= row) {
        uint32_t *slot = cf_array_push(&belong->shared);
        if (slot == NULL)
            return NOBODY;
        *slot = UNKNOWN;
    }
    uint32_t *owner = &belong->shared.items[row];
    if (*owner == UNKNOWN)
        *owner = sharers_owner(belong, &sharing->rows.items[row]);
    return *owner;
}

/* Whose the chunk of a vertex is that no root's word leads to. */
static uint32_t owner_of(struct belong *belong, struct cf_vertex vertex, struct cf_rank rank) {
    uint32_t type = cf_types_of_rank(belong->types, rank);
    uint32_t above = cf_dominators_above(belong->dominators, vertex).index;
    if (is_owner(belong, type))
        return FIRST_TYPE + type;
    return above == 0 ? shared_owner(belong, vertex) : belong->owners[above] & ~BY_OBJECT;
}

/* Who has a name hands it down. */
static int hand_down(struct belong *belong, struct cf_err *err) {
    const struct cf_dominators *dominators = belong->dominators;
    for (struct cf_vertex v = {1}; v.index < dominators->nr; v.index++) {
        if (v.index % TICK_CHUNKS == 0 &&
            cf_progress(belong->ctx, "naming whose memory it is", v.index, dominators->nr))
            return cf_err_cancelled(err);
        struct cf_rank rank = cf_dominators_rank(dominators, v);
        const struct cf_sharers alone = {{cf_dominators_group(dominators, v)}, 1};
        if (!cf_is_ranked(rank))
            belong->owners[v.index] = sharers_owner(belong, &alone);
        else if (belong->owners[v.index] == NOBODY)
            own(belong, v, rank, owner_of(belong, v, rank));
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
            count_chunk(belong, rank, cf_planes_addr(planes, extent->heap, walk.unit),
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
        .ranks = &input->reach->ranks, .dominators = input->dominators,
    };
    int status = cf_scratch_init(&belong.file,
                                 ((size_t)input->dominators->nr + 1) * sizeof *belong.owners, err);
    belong.owners = belong.file.at;
    if (status == CF_OK)
        status = name_roots(&belong, err);
    if (status == CF_OK)
        status = hand_down(&belong, err);
    cf_dominators_drop(belong.dominators);
    if (status == CF_OK)
        status = count_all(&belong, err);
    cf_scratch_fini(&belong.file);
    cf_array_free(&belong.memory);
    cf_array_free(&belong.shared);
    return status;
}
