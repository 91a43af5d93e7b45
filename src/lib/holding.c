#include "lib/holding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/number.h"
#include "store/rows.h"

enum { LABEL_BYTES = 256, SUMMARY_HOPS = 3 };

static int compare_unlocked(const void *a, const void *b) {
    const struct cf_top_pin *left = *(const struct cf_top_pin *const *)a;
    const struct cf_top_pin *right = *(const struct cf_top_pin *const *)b;
    if (left->unlocked_bytes != right->unlocked_bytes)
        return left->unlocked_bytes > right->unlocked_bytes ? -1 : 1;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static int ask_top_pins(struct cf_holders *holders, const struct cf_top_pins *pins,
                        struct cf_err *err) {
    size_t nr = 0;
    CF_CLEANUP_FREE const struct cf_top_pin **first = calloc(pins->pins.len + 1, sizeof *first);
    if (first == NULL)
        return cf_err_nomem(err, pins->pins.len * sizeof *first, "the top pins");
    for (size_t i = 0; i < pins->pins.len; i++)
        if (pins->pins.items[i].rank == 1)
            first[nr++] = &pins->pins.items[i];
    qsort(first, nr, sizeof *first, compare_unlocked);
    int status = CF_OK;
    for (size_t i = 0; i < nr && i < CF_ASKED_PINS && status == CF_OK; i++)
        status = cf_holders_ask(holders, first[i]->addr, err);
    return status;
}

static int compare_pinned(const void *a, const void *b) {
    const struct cf_page_pin *left = *(const struct cf_page_pin *const *)a;
    const struct cf_page_pin *right = *(const struct cf_page_pin *const *)b;
    if (left->pinned_bytes != right->pinned_bytes)
        return left->pinned_bytes > right->pinned_bytes ? -1 : 1;
    return left->sample < right->sample ? -1 : left->sample > right->sample;
}

static int ask_page_pins(struct cf_holders *holders, const struct cf_page_pins *pins,
                         struct cf_err *err) {
    size_t nr = cf_page_pins_nr(pins);
    CF_CLEANUP_FREE const struct cf_page_pin **rows = calloc(nr + 1, sizeof *rows);
    if (rows == NULL)
        return cf_err_nomem(err, nr * sizeof *rows, "the page pins");
    for (size_t i = 0; i < nr; i++)
        rows[i] = cf_page_pins_row(pins, i);
    qsort(rows, nr, sizeof *rows, compare_pinned);
    int status = CF_OK;
    for (size_t i = 0; i < nr && i < CF_ASKED_GROUPS && status == CF_OK; i++)
        if (rows[i]->sample_bytes > 0)
            status = cf_holders_ask(holders, rows[i]->sample, err);
    return status;
}

struct largest {
    struct cf_chunk chunks[CF_ASKED_LARGEST]; /* the largest first */
    size_t nr;
};

static void consider(struct largest *largest, const struct cf_chunk *chunk) {
    size_t at = largest->nr;
    if (at == CF_ASKED_LARGEST && chunk->bytes <= largest->chunks[at - 1].bytes)
        return;
    if (at < CF_ASKED_LARGEST)
        largest->nr++;
    else
        at--;
    for (; at > 0 && largest->chunks[at - 1].bytes < chunk->bytes; at--)
        largest->chunks[at] = largest->chunks[at - 1];
    largest->chunks[at] = *chunk;
}

static int ask_largest(struct cf_holders *holders, const struct cf_chunkmap *map,
                       struct cf_err *err) {
    struct largest largest = {.nr = 0};
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        struct cf_chunk_iter iter;
        struct cf_chunk chunk;
        cf_chunk_iter_init(&iter, map, cf_chunkmap_heap(map, i), 0);
        while (cf_chunk_iter_next(&iter, &chunk))
            if (chunk.state == CF_CHUNK_LIVE)
                consider(&largest, &chunk);
    }
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(map); i++) {
        const struct cf_mmapped *row = cf_chunkmap_mmapped(map, i);
        struct cf_chunk chunk = {.addr = row->addr, .bytes = row->bytes};
        if (!row->in_tcache)
            consider(&largest, &chunk);
    }
    int status = CF_OK;
    for (size_t i = 0; i < largest.nr && status == CF_OK; i++)
        status = cf_holders_ask(holders, largest.chunks[i].addr, err);
    return status;
}

static int compare_addrs(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int search(struct cf_holding *holding, const struct cf_context *ctx,
                  const struct cf_reading *reading, struct cf_err *err) {
    size_t nr = cf_ptmalloc_nr_tcaches(reading->pt);
    CF_CLEANUP_FREE uint64_t *silent = calloc(nr + 1, sizeof *silent);
    if (silent == NULL)
        return cf_err_nomem(err, nr * sizeof *silent, "the list of tcaches");
    for (size_t i = 0; i < nr; i++)
        silent[i] = cf_ptmalloc_tcache(reading->pt, i)->addr;
    qsort(silent, nr, sizeof *silent, compare_addrs);
    const struct cf_holders_input input = {
        .mem = reading->mem, .mark = holding->reach->mark, .roots = &holding->reach->roots,
        .silent = silent, .nr_silent = nr,
    };
    int status = cf_holders_find(ctx, &input, &holding->holders, err);
    if (status != CF_EOUTPUT && status != CF_EUSAGE)
        return status;
    cf_log(ctx, "holders are not looked for: %s", err != NULL ? err->text : "no room");
    cf_holders_fini(&holding->holders);
    return CF_OK;
}

int cf_holding_find(struct cf_holding *holding, const struct cf_context *ctx,
                    const struct cf_reading *reading, const struct cf_reach *reach,
                    struct cf_types *types, const struct cf_kept *kept,
                    const struct cf_naming *naming, struct cf_err *err) {
    holding->reach = reach;
    holding->types = types;
    holding->naming = naming;
    int status = ask_top_pins(&holding->holders, &kept->top_pins, err);
    if (status == CF_OK)
        status = ask_page_pins(&holding->holders, kept->page_pins, err);
    if (status == CF_OK)
        status = ask_largest(&holding->holders, cf_ptmalloc_map(reading->pt), err);
    return status == CF_OK ? search(holding, ctx, reading, err) : status;
}

/* "Session, 96 bytes" or "96 bytes". */
static void label_chunk(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                        size_t bytes) {
    const struct cf_resolver *resolver = cf_mark_resolver(holding->reach->mark);
    size_t number = cf_resolver_number_at(resolver, hop->addr);
    if (number == CF_NO_CHUNK) {
        (void)snprintf(out, bytes, "chunk");
        return;
    }
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    const char *type = cf_types_name(holding->types, cf_types_of(holding->types, extent, number));
    char size[CF_NUMBER_MAX];
    (void)cf_number_bytes(size, cf_resolver_chunk(resolver, extent, number).bytes);
    (void)snprintf(out, bytes, "%s%s%s", type != NULL ? type : "", type != NULL ? ", " : "", size);
}

/* "thread 4711, frame handle_request": what the root is called, and whose part of a stack it is. */
static void label_other(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                        size_t bytes) {
    char function[LABEL_BYTES / 2];
    cf_root_label(&holding->reach->roots, hop->root, out, bytes);
    size_t used = strlen(out);
    if (hop->root->kind == CF_ROOT_STACK && used < bytes &&
        cf_naming_frame(holding->naming, hop->root->thread, hop->addr, function, sizeof function))
        (void)snprintf(out + used, bytes - used, ", frame %s", function);
}

/* "g_sessions (libfoo.so)", "libfoo.so+0x4010", or what the root itself is called. */
static void label_root(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                       size_t bytes) {
    const struct cf_namer *namer = &holding->naming->namer;
    char symbol[LABEL_BYTES / 2] = "", module[64] = "";
    uint64_t offset = 0, module_offset = 0;
    bool is_global = hop->root->kind == CF_ROOT_GLOBAL;
    bool has_symbol = is_global && namer->symbol(namer->source, hop->addr, symbol, sizeof symbol,
                                                 &offset);
    bool has_module = is_global && namer->module(namer->source, hop->addr, module, sizeof module,
                                                 &module_offset);
    if (is_global && !has_module)
        cf_root_label(&holding->reach->roots, hop->root, module, sizeof module);
    if (has_symbol && offset == 0)
        (void)snprintf(out, bytes, "%s (%s)", symbol, module);
    else if (has_symbol)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64 " (%s)", symbol, offset, module);
    else if (has_module)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64, module, module_offset);
    else if (is_global)
        (void)snprintf(out, bytes, "%s .bss 0x%" PRIx64, module, hop->addr);
    else
        label_other(holding, hop, out, bytes);
}

static void label_hop(const struct cf_holding *holding, const struct cf_way *way, size_t index,
                      char *out, size_t bytes) {
    const struct cf_hop *hop = &way->hops.items[index];
    if (hop->root != NULL) {
        label_root(holding, hop, out, bytes);
        return;
    }
    label_chunk(holding, hop, out, bytes);
    size_t used = strlen(out);
    if (index + 1 < way->hops.len && used < bytes)
        (void)snprintf(out + used, bytes - used, ", at +%" PRIu64, hop->offset);
}

/* "global g_sessions (prog) -> HashTable, 8.0 KiB -> 2 more -> Session, 96 B" */
static void summarise(const struct cf_holding *holding, const struct cf_way *way, char *out,
                      size_t bytes) {
    char label[LABEL_BYTES];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i + 1 < way->hops.len && i < SUMMARY_HOPS && used < bytes; i++) {
        const struct cf_hop *hop = &way->hops.items[i];
        if (hop->root != NULL)
            label_root(holding, hop, label, sizeof label);
        else
            label_chunk(holding, hop, label, sizeof label);
        bool says_kind = hop->root != NULL && hop->root->kind != CF_ROOT_MAPPING;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s%s", i > 0 ? " -> " : "",
                                 says_kind ? cf_root_kind_name(hop->root->kind) : "",
                                 says_kind ? " " : "");
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s", label);
    }
    if (way->length > SUMMARY_HOPS + 1 && used < bytes)
        (void)snprintf(out + used, bytes - used, " -> %" PRIu64 " more",
                       way->length - 1 - SUMMARY_HOPS);
}

static int store_way(const struct cf_holding *holding, const struct cf_way *way, struct cf_db *db,
                     struct cf_insert *in, struct cf_err *err) {
    char label[LABEL_BYTES], summary[2 * LABEL_BYTES];
    int status = CF_OK;
    for (size_t i = 0; i < way->hops.len && status == CF_OK; i++) {
        label_hop(holding, way, i, label, sizeof label);
        status = cf_rows_hop(in, way->addr, &way->hops.items[i], label, err);
    }
    summarise(holding, way, summary, sizeof summary);
    return status == CF_OK ? cf_rows_holder(db, way->addr, summary, err) : status;
}

int cf_holding_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_rows_hops_begin(&in, db, err);
    for (size_t i = 0; i < holding->holders.ways.len && status == CF_OK; i++) {
        const struct cf_way *way = &holding->holders.ways.items[i];
        if (way->length > 0)
            status = store_way(holding, way, db, &in, err);
    }
    return status;
}

void cf_holding_fini(struct cf_holding *holding) {
    cf_holders_fini(&holding->holders);
}
