#include "analysis/types.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/typestate.h"
#include "base/context.h"
#include "base/err.h"

enum {
    PREFETCH_BYTES = 1024,
    DROP_BYTES = 4 << 20,
    KEYS_MAX = 1 << 18,
    NAMED_MAX = 1 << 20, /* 16 bytes each */
};

const char *cf_type_evidence_name(enum cf_type_evidence evidence) {
    static const char *const names[] = {"size",   "libc", "owner",   "vtable",
                                        "symbol", "text", "pointers"};
    return names[evidence];
}

static size_t hash(uint64_t key) {
    return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20);
}

static struct cf_type_key *probe(struct cf_type_key *keys, size_t mask, uint64_t key) {
    size_t at = hash(key) & mask;
    while (keys[at].key != 0 && keys[at].key != key)
        at = (at + 1) & mask;
    return &keys[at];
}

/* Twice as many slots, with the same keys. */
static bool grow(struct cf_type_key **slots, size_t *mask) {
    size_t nr = *slots == NULL ? 1024 : (*mask + 1) * 2;
    struct cf_type_key *grown = calloc(nr, sizeof *grown);
    if (grown == NULL)
        return false;
    for (size_t i = 0; *slots != NULL && i <= *mask; i++)
        if ((*slots)[i].key != 0)
            *probe(grown, nr - 1, (*slots)[i].key) = (*slots)[i];
    free(*slots);
    *slots = grown;
    *mask = nr - 1;
    return true;
}

struct cf_type_key *cf_types_key(struct cf_types *types, uint64_t key, bool *found) {
    if ((types->keys == NULL || types->nr_keys * 2 > types->key_mask) &&
        !grow(&types->keys, &types->key_mask))
        return NULL;
    struct cf_type_key *slot = probe(types->keys, types->key_mask, key);
    *found = slot->key == key;
    if (!*found && types->nr_keys >= KEYS_MAX)
        return NULL;
    if (!*found) {
        slot->key = key;
        slot->type = 0;
        types->nr_keys++;
    }
    return slot;
}

void cf_types_name_chunk(struct cf_types *types, size_t number, uint32_t type) {
    struct cf_named_chunks *named = &types->named;
    if (named->nr >= NAMED_MAX || type == 0 ||
        ((named->slots == NULL || named->nr * 2 > named->mask) &&
         !grow(&named->slots, &named->mask)))
        return;
    struct cf_type_key *slot = probe(named->slots, named->mask, number + 1);
    named->nr += slot->key == 0;
    *slot = (struct cf_type_key){number + 1, type};
}

uint32_t cf_types_named(const struct cf_types *types, size_t number) {
    if (types->named.slots == NULL)
        return 0;
    const struct cf_type_key *slot = probe(types->named.slots, types->named.mask, number + 1);
    return slot->key != 0 ? slot->type : 0;
}

/* Names come from files and from the core: nothing in them shall reach a terminal unmasked. */
static void copy_masked(char *out, const char *name) {
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < CF_TYPE_NAME_BYTES; i++)
        out[i] = (unsigned char)name[i] < 0x20 || (unsigned char)name[i] >= 0x7f ? '?' : name[i];
    out[i] = '\0';
}

uint32_t cf_types_intern(struct cf_types *types, const char *name,
                         enum cf_type_evidence evidence) {
    char masked[CF_TYPE_NAME_BYTES];
    copy_masked(masked, name);
    for (size_t i = types->rows.len; i-- > 1;)
        if (types->rows.items[i].evidence == evidence &&
            strcmp(types->rows.items[i].name, masked) == 0)
            return (uint32_t)i;
    if (types->rows.len > CF_TYPES_MAX)
        return 0;
    struct cf_type *row = cf_array_push(&types->rows);
    if (row == NULL)
        return 0;
    memcpy(row->name, masked, sizeof masked);
    row->evidence = evidence;
    return (uint32_t)types->rows.len - 1;
}

const struct cf_module_span *cf_types_span(const struct cf_types *types, uint64_t addr) {
    size_t low = 0, high = types->spans.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (types->spans.items[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == types->spans.len || addr < types->spans.items[low].start)
        return NULL;
    return &types->spans.items[low];
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
    }
    if (types->spans.len > 0) {
        types->modules_low = types->spans.items[0].start;
        types->modules_span = types->spans.items[types->spans.len - 1].end - types->modules_low;
    }
    return CF_OK;
}

static int compare_addrs(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* A dynamic thread vector: the second word of the tcb leads to its second entry
 * (_dl_allocate_tls; x86: tcbhead_t.dtv at 1 word, aarch64: at 0). */
static int collect_libc(struct cf_types *types, struct cf_err *err) {
    const struct cf_ptmalloc *pt = types->input.pt;
    const struct cf_core *core = cf_mem_core(types->input.mem);
    for (size_t i = 0; pt != NULL && i < cf_ptmalloc_nr_tcaches(pt); i++) {
        uint64_t *slot = cf_array_push(&types->tcaches);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "libc's own chunks");
        *slot = cf_ptmalloc_tcache(pt, i)->addr;
    }
    bool is_arm = cf_core_machine(core) == CF_MACHINE_AARCH64;
    for (size_t i = 0; i < cf_core_nr_threads(core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(core, i);
        uint64_t dtv;
        if (!thread->has_tp ||
            !cf_mem_word(types->input.mem, thread->tp + (is_arm ? 0 : types->word), &dtv))
            continue;
        uint64_t *slot = cf_array_push(&types->dtvs);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "libc's own chunks");
        *slot = dtv - 2 * types->word;
    }
    if (types->tcaches.len > 0)
        qsort(types->tcaches.items, types->tcaches.len, sizeof(uint64_t), compare_addrs);
    if (types->dtvs.len > 0)
        qsort(types->dtvs.items, types->dtvs.len, sizeof(uint64_t), compare_addrs);
    return CF_OK;
}

static void free_types(struct cf_types **types) {
    cf_types_free(*types);
}

int cf_types_new(const struct cf_context *ctx, const struct cf_types_input *input,
                 struct cf_types **out, struct cf_err *err) {
    __attribute__((cleanup(free_types))) struct cf_types *types = calloc(1, sizeof *types);
    if (types == NULL)
        return cf_err_nomem(err, sizeof *types, "the types");
    types->input = *input;
    types->word = input->resolver->word_bytes;
    if (cf_array_push(&types->rows) == NULL) /* type 0: the size is all that is known */
        return cf_err_nomem(err, sizeof(struct cf_type), "the types");
    types->has_python = maps_python(cf_mem_core(input->mem));
    int status = collect_spans(types, err);
    if (status == CF_OK)
        status = collect_libc(types, err);
    if (status == CF_OK)
        status = cf_types_find_owned(ctx, types, err);
    if (status != CF_OK)
        return status;
    *out = types;
    types = NULL;
    return CF_OK;
}

void cf_types_free(struct cf_types *types) {
    if (types == NULL)
        return;
    cf_array_free(&types->rows);
    cf_array_free(&types->spans);
    cf_array_free(&types->tcaches);
    cf_array_free(&types->dtvs);
    free(types->keys);
    free(types->owned);
    free(types->named.slots);
    free(types);
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

uint32_t cf_types_of(struct cf_types *types, const struct cf_extent *extent, size_t number) {
    enum cf_owned owned = cf_types_owned(types, number);
    if (owned != CF_OWNED_NOT)
        return owned_type(types, owned);
    uint32_t named = cf_types_named(types, number);
    if (named != 0)
        return named;
    const struct cf_resolver *resolver = types->input.resolver;
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    struct cf_payload payload = {.user = chunk.addr + 2 * types->word};
    payload.bytes = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes) -
                    payload.user;
    if (extent->bytes != NULL) {
        payload.at = extent->bytes + (payload.user - extent->start);
        payload.readable = extent->end - payload.user;
    } else {
        payload.at = cf_mem_span(types->input.mem, payload.user, &payload.readable);
    }
    if (payload.at == NULL)
        return 0;
    if (payload.readable > payload.bytes)
        payload.readable = payload.bytes;
    return cf_types_recognise(types, &payload);
}

uint32_t cf_types_at(struct cf_types *types, uint64_t addr) {
    size_t number = cf_resolver_number_at(types->input.resolver, addr);
    if (number == CF_NO_CHUNK)
        return 0;
    return cf_types_of(types, cf_resolver_extent_of(types->input.resolver, number), number);
}

static void count_chunk(struct cf_types *types, const struct cf_extent *extent, size_t number,
                        uint64_t addr, uint64_t bytes) {
    uint32_t index = cf_types_of(types, extent, number);
    struct cf_type *type = &types->rows.items[index];
    type->chunks++;
    type->bytes += bytes;
    if (types->input.mark == NULL || cf_mark_reached(types->input.mark, number)) {
        if (type->sample == 0)
            type->sample = addr;
        return;
    }
    type->unreachable_chunks++;
    type->unreachable_bytes += bytes;
}

static void count_heap(struct cf_types *types, const struct cf_extent *extent) {
    struct cf_chunk chunk;
    uint64_t dropped = extent->start;
    struct cf_planes_walk walk = cf_planes_walk(types->input.resolver->planes, extent->heap);
    while (cf_planes_walk_next(&walk, &chunk)) {
        if (chunk.state != CF_CHUNK_LIVE)
            continue;
        if (extent->bytes != NULL && chunk.addr + PREFETCH_BYTES < extent->end)
            __builtin_prefetch(extent->bytes + (chunk.addr - extent->start) + PREFETCH_BYTES);
        size_t number = extent->first_number +
                        cf_resolver_unit(types->input.resolver, extent, chunk.addr);
        count_chunk(types, extent, number, chunk.addr, chunk.bytes);
        if (chunk.addr - dropped > DROP_BYTES) {
            cf_mem_drop(types->input.mem, dropped, chunk.addr);
            dropped = chunk.addr;
        }
    }
    if (extent->end > dropped)
        cf_mem_drop(types->input.mem, dropped, extent->end);
}

int cf_types_count(const struct cf_context *ctx, struct cf_types *types, struct cf_err *err) {
    (void)err;
    const struct cf_resolver *resolver = types->input.resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        cf_progress(ctx, "naming chunks", i, resolver->nr_extents);
        if (extent->heap != NULL)
            count_heap(types, extent);
        else if (!extent->mmapped->in_tcache)
            count_chunk(types, extent, extent->first_number, extent->start,
                        extent->mmapped->bytes);
    }
    return CF_OK;
}

size_t cf_types_nr(const struct cf_types *types) {
    return types->rows.len;
}

const char *cf_types_name(const struct cf_types *types, uint32_t type) {
    return types == NULL || type == 0 ? NULL : types->rows.items[type].name;
}

const struct cf_type *cf_types_get(const struct cf_types *types, uint32_t type) {
    return &types->rows.items[type];
}
