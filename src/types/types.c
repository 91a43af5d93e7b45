/*
 * Types are rows, a number each; chunks have a number of two bytes in a table by rank. What a word
 * that leads into a module stands for is looked up once and kept by the word, the negative answer
 * too: objects are many, tables of functions few.
 */
#include "types/types.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/err.h"
#include "base/hash.h"
#include "types/typestate.h"

enum {
    MEMOS_MAX = 1 << 18, /* of a kind */
    DROP_EACH = 1 << 22, /* chunks, two bytes each */
    TICK_CHUNKS = 1 << 18,
    FILTER_BLOCKS_MAX = 1 << 14,
};

const char *cf_type_evidence_name(enum cf_type_evidence evidence) {
    static const char *const names[] = {"size",   "libc", "owner",   "vtable",
                                        "symbol", "text", "pointers"};
    return names[evidence];
}

uint32_t cf_types_memo(struct cf_types *types, enum cf_memo_kind kind, uint64_t key, bool *found) {
    struct cf_type_memos *memos = &types->memos[kind];
    uint64_t hash = cf_hash_mix(key);
    uint32_t row = cf_hash_find(&memos->table, hash, i, memos->rows.items[i].key == key);
    *found = row != CF_HASH_NONE;
    if (*found || memos->rows.len >= MEMOS_MAX)
        return row;
    struct cf_type_memo *memo = cf_array_push(&memos->rows);
    if (memo == NULL)
        return CF_HASH_NONE;
    *memo = (struct cf_type_memo){.key = key};
    row = (uint32_t)memos->rows.len - 1;
    return cf_hash_add(&memos->table, hash, row) ? row : CF_HASH_NONE;
}

/* Names come from files and from the core: nothing in them shall reach a terminal unmasked. */
static void copy_masked(char *out, const char *name) {
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < CF_TYPE_NAME_BYTES; i++)
        out[i] = (unsigned char)name[i] < 0x20 || (unsigned char)name[i] >= 0x7f ? '?' : name[i];
    out[i] = '\0';
}

uint32_t cf_types_add(struct cf_types *types, const char *name, enum cf_type_evidence evidence) {
    if (types->rows.len > CF_TYPES_MAX)
        return 0;
    struct cf_type *row = cf_array_push(&types->rows);
    if (row == NULL)
        return 0;
    copy_masked(row->name, name);
    row->evidence = evidence;
    return (uint32_t)types->rows.len - 1;
}

uint32_t cf_types_intern(struct cf_types *types, const char *name,
                         enum cf_type_evidence evidence) {
    char masked[CF_TYPE_NAME_BYTES];
    copy_masked(masked, name);
    for (size_t i = types->rows.len; i-- > 1;)
        if (types->rows.items[i].evidence == evidence &&
            strcmp(types->rows.items[i].name, masked) == 0)
            return (uint32_t)i;
    return cf_types_add(types, masked, evidence);
}

const struct cf_module_span *cf_types_find_span(const struct cf_types *types, uint64_t addr) {
    size_t at = cf_bound(types->spans.len, i, types->spans.items[i].end > addr);
    if (at == types->spans.len || addr < types->spans.items[at].start)
        return NULL;
    return &types->spans.items[at];
}

/* The interpreter is a file of its name, or a library of its name (libpython3.11.so). */
static bool maps_python(const struct cf_core *core) {
    for (size_t i = 0; i < cf_core_nr_files(core); i++) {
        const char *slash = strrchr(cf_core_file(core, i)->path, '/');
        if (slash != NULL && strstr(slash, "python") != NULL)
            return true;
    }
    return false;
}

static void add_to_filter(struct cf_types *types, const struct cf_module_span *span) {
    uint64_t first = span->start >> CF_MODULE_BLOCK_SHIFT;
    uint64_t last = (span->end - 1) >> CF_MODULE_BLOCK_SHIFT;
    if (last - first >= FILTER_BLOCKS_MAX) {
        memset(types->module_filter, 0xff, sizeof types->module_filter);
        return;
    }
    for (uint64_t block = first; block <= last; block++) {
        size_t bit = cf_types_module_bit(block);
        types->module_filter[bit / 64] |= 1ull << (bit & 63);
    }
}

static int collect_spans(struct cf_types *types, struct cf_err *err) {
    const struct cf_mem *mem = types->input.mem;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->kind != CF_REGION_FILE)
            continue;
        struct cf_module_span *span = cf_array_push(&types->spans);
        if (span == NULL)
            return cf_err_nomem(err, sizeof *span, "the modules' mappings");
        *span = (struct cf_module_span){region->start, region->end, (region->flags & PF_X) != 0};
        add_to_filter(types, span);
    }
    return CF_OK;
}

/* In a temporary file, since it grows with the chunks; in our own memory where there is no room
 * for one. */
static int make_table(struct cf_types *types, struct cf_err *err) {
    size_t bytes = (types->ranks->nr + 1) * sizeof *types->table;
    int status = cf_scratch_init(&types->scratch, bytes, err);
    if (status != CF_OK && status != CF_EOUTPUT)
        return status;
    types->table = status == CF_OK ? types->scratch.at : calloc(1, bytes);
    return types->table != NULL ? CF_OK : cf_err_nomem(err, bytes, "the types of chunks");
}

static void free_types(struct cf_types **types) {
    cf_types_free(*types);
}

static uint32_t owned_type(struct cf_types *types, enum cf_owned owned) {
    static const char *const names[] = {"", "std::string buffer", "std::vector buffer",
                                        "glibc stdio buffer"};
    if (types->owned_types[owned] == 0)
        types->owned_types[owned] =
            cf_types_intern(types, names[owned],
                            owned == CF_OWNED_STDIO ? CF_EVIDENCE_LIBC : CF_EVIDENCE_OWNER);
    return types->owned_types[owned];
}

static bool is_owned_type(const struct cf_types *types, uint32_t type) {
    const uint32_t *owned = types->owned_types;
    return type != 0 && (type == owned[CF_OWNED_STRING] || type == owned[CF_OWNED_VECTOR] ||
                         type == owned[CF_OWNED_STDIO]);
}

bool cf_types_is_owned(const struct cf_types *types, struct cf_chunk_number number) {
    return is_owned_type(types, cf_types_of(types, number));
}

void cf_types_own(struct cf_types *types, struct cf_chunk_number number, enum cf_owned owned) {
    cf_types_name_chunk(types, number, owned_type(types, owned));
}

void cf_types_name_chunk(struct cf_types *types, struct cf_chunk_number number, uint32_t type) {
    struct cf_rank rank = cf_ranks_of(types->ranks, number);
    if (cf_is_ranked(rank) && type != 0 && !is_owned_type(types, types->table[rank.index]))
        types->table[rank.index] = (uint16_t)type;
}

/* A chunk says what it is, and what others are. Where it stands in the order of addresses, others
 * may have spoken of it already; those behind it still can. */
static void look_at_chunk(void *arg, const struct cf_live *chunk, struct cf_rank rank) {
    struct cf_types *types = arg;
    if (chunk->at == NULL)
        return;
    cf_types_look_for_owned(types, chunk);
    if (types->table[rank.index] == 0)
        types->table[rank.index] = (uint16_t)cf_types_recognise(types, chunk);
    if (rank.index % DROP_EACH == 0)
        cf_scratch_drop(&types->scratch);
}

struct cf_live_visitor cf_types_visitor(struct cf_types *types) {
    return (struct cf_live_visitor){types, look_at_chunk};
}

int cf_types_new(const struct cf_types_input *input, struct cf_types **out, struct cf_err *err) {
    __attribute__((cleanup(free_types))) struct cf_types *types = calloc(1, sizeof *types);
    if (types == NULL)
        return cf_err_nomem(err, sizeof *types, "the types");
    types->input = *input;
    types->word = input->resolver->word_bytes;
    types->word_shift = types->word == 8 ? 3 : 2;
    if (cf_array_push(&types->rows) == NULL) /* type 0: the size is all that is known */
        return cf_err_nomem(err, sizeof(struct cf_type), "the types");
    types->has_python = maps_python(cf_mem_core(input->mem));
    types->ranks = input->ranks;
    int status = collect_spans(types, err);
    if (status == CF_OK)
        status = make_table(types, err);
    if (status != CF_OK)
        return status;
    cf_types_name_libc(types);
    if (!cf_types_look_at_roots(types))
        return cf_err_cancelled(err);
    cf_types_look_at_threads(types);
    *out = types;
    types = NULL;
    return CF_OK;
}

void cf_types_free(struct cf_types *types) {
    if (types == NULL)
        return;
    cf_array_free(&types->rows);
    cf_array_free(&types->spans);
    for (size_t i = 0; i < CF_NR_MEMOS; i++) {
        cf_array_free(&types->memos[i].rows);
        cf_hash_fini(&types->memos[i].table);
    }
    if (types->scratch.at == NULL)
        free(types->table);
    cf_scratch_fini(&types->scratch);
    free(types);
}

uint32_t cf_types_of(const struct cf_types *types, struct cf_chunk_number number) {
    struct cf_rank rank = cf_ranks_of(types->ranks, number);
    return cf_is_ranked(rank) ? types->table[rank.index] : 0;
}

const uint16_t *cf_types_by_rank(const struct cf_types *types) {
    return types->table;
}

void cf_types_drop(const struct cf_types *types) {
    cf_scratch_drop(&types->scratch);
}

/* Asked for each chunk that pins a page: a live chunk's bit is looked at once. */
bool cf_types_leads_to_module(const struct cf_types *types, uint64_t word) {
    return cf_types_span(types, word) != NULL;
}

uint32_t cf_types_at(const struct cf_types *types, uint64_t addr) {
    const struct cf_resolver *resolver = types->input.resolver;
    const struct cf_planes *planes = resolver->planes;
    const struct cf_extent *extent =
        cf_resolver_in_span(resolver, addr) ? cf_resolver_extent(resolver, addr) : NULL;
    if (extent == NULL)
        return 0;
    if (extent->heap == NULL)
        return addr == extent->start ? cf_types_of(types, extent->first_number) : 0;
    struct cf_heap_unit unit = cf_resolver_unit(resolver, extent, addr);
    size_t word = extent->plane_word + (unit.index >> 6);
    uint64_t live = cf_ranks_live_bits(planes, word), bit = 1ull << (unit.index & 63);
    if ((live & bit) == 0 || (addr & ((1u << planes->unit_shift) - 1)) != 0)
        return 0;
    return cf_types_of_rank(types, cf_ranks_of_bit(types->ranks, word, live, bit));
}

static inline void count_chunk(struct cf_types *types, uint32_t index, uint64_t addr,
                               uint64_t bytes, bool reached) {
    struct cf_type *type = &types->rows.items[index];
    type->chunks++;
    type->bytes += bytes;
    if (!reached) {
        type->unreachable_chunks++;
        type->unreachable_bytes += bytes;
    } else if (type->sample == 0) {
        type->sample = addr;
    }
}

/* False: cancelled. */
static bool count_heap(const struct cf_context *ctx, struct cf_types *types,
                       const struct cf_extent *extent, const uint64_t *reached) {
    const struct cf_planes *planes = types->input.resolver->planes;
    const uint16_t *next =
        types->table + cf_ranks_of_word(types->ranks, extent->plane_word).index;
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (uint64_t nr = 0; cf_live_walk_next(&walk); nr++) {
        count_chunk(types, *next++, cf_planes_addr(planes, extent->heap, walk.unit),
                    (uint64_t)walk.units << planes->unit_shift,
                    reached == NULL || cf_plane_bit(reached, extent->plane_word, walk.unit));
        if (nr % TICK_CHUNKS == 0 && cf_tick(ctx))
            return false;
    }
    return true;
}

int cf_types_count(const struct cf_context *ctx, struct cf_types *types,
                   const struct cf_mark *mark, struct cf_err *err) {
    const struct cf_resolver *resolver = types->input.resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        struct cf_chunk_number number = extent->first_number;
        if (extent->heap != NULL &&
            !count_heap(ctx, types, extent, mark != NULL ? cf_mark_plane(mark) : NULL))
            return cf_err_cancelled(err);
        if (extent->heap == NULL && !extent->mmapped->in_tcache)
            count_chunk(types, cf_types_of(types, number), extent->start,
                        extent->end - extent->start, mark == NULL || cf_mark_reached(mark, number));
    }
    cf_scratch_drop(&types->scratch);
    return CF_OK;
}

size_t cf_types_nr(const struct cf_types *types) {
    return types->rows.len;
}

const char *cf_types_name(const struct cf_types *types, uint32_t type) {
    return types == NULL || type == 0 ? NULL : types->rows.items[type].name;
}

const char *cf_types_own_name(const struct cf_types *types, uint32_t type) {
    bool is_memory = types != NULL && types->rows.items[type].memory_of != 0;
    return is_memory ? NULL : cf_types_name(types, type);
}

const struct cf_type *cf_types_get(const struct cf_types *types, uint32_t type) {
    return &types->rows.items[type];
}
