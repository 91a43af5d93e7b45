#include "types/leaks.h"

#include <stdlib.h>

#include "reach/scan.h"
#include "base/err.h"
#include "core/rss_guard.h"

struct pointing {
    struct cf_mark *mark;
    const struct cf_resolver *resolver;
    size_t from;
};

static inline void note_target(struct pointing *pointing, uint64_t lowered) {
    const struct cf_extent *extent = cf_resolver_extent(pointing->resolver, lowered);
    if (extent == NULL)
        return;
    size_t number = cf_resolver_number(pointing->resolver, extent, lowered);
    if (number != CF_NO_CHUNK && number != pointing->from &&
        !cf_mark_reached(pointing->mark, number))
        cf_mark_set_second(pointing->mark, number);
}

static void note_targets(struct cf_mark *mark, const struct cf_mem *mem,
                         struct cf_rss_guard *guard) {
    struct pointing pointing = {.mark = mark, .resolver = cf_mark_resolver(mark)};
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    cf_unreached_iter_init(&iter, mark);
    while (cf_unreached_iter_next(&iter, &chunk)) {
        struct cf_scan scan = {
            .mem = mem, .addr = chunk.addr + 2 * pointing.resolver->word_bytes,
            .end = cf_resolver_payload_end(pointing.resolver, chunk.extent, chunk.addr,
                                           chunk.bytes),
        };
        const unsigned char *bytes;
        size_t nr_words;
        pointing.from = chunk.number;
        while (cf_scan_next(&scan, &bytes, &nr_words)) {
            CF_SCAN_WORDS(pointing.resolver, bytes, nr_words, note_target, &pointing);
            cf_rss_guard_step(guard);
        }
    }
}

/* Open addressing over the rows: an index plus one, 0 empty; at most half full. */
struct size_table {
    uint32_t *slots;
    size_t mask;
};

static bool is_row(const struct cf_leak *row, uint64_t bytes, uint32_t type) {
    return row->size_bytes == bytes && row->type == type;
}

static size_t slot_of(const struct size_table *table, const struct cf_leaks *leaks,
                      uint64_t bytes, uint32_t type) {
    uint64_t mixed = ((bytes >> 3) ^ (uint64_t)type << 40) * 0x9e3779b97f4a7c15ull;
    size_t slot = (size_t)(mixed >> 32) & table->mask;
    while (table->slots[slot] != 0 &&
           !is_row(&leaks->rows.items[table->slots[slot] - 1], bytes, type))
        slot = (slot + 1) & table->mask;
    return slot;
}

static bool grow(struct size_table *table, const struct cf_leaks *leaks) {
    size_t nr = table->slots == NULL ? 256 : (table->mask + 1) * 2;
    uint32_t *slots = calloc(nr, sizeof *slots);
    if (slots == NULL)
        return false;
    free(table->slots);
    *table = (struct size_table){slots, nr - 1};
    for (size_t i = 0; i < leaks->rows.len; i++)
        slots[slot_of(table, leaks, leaks->rows.items[i].size_bytes,
                      leaks->rows.items[i].type)] = (uint32_t)i + 1;
    return true;
}

/* The row of chunks of this size and type; NULL when memory is out. */
static struct cf_leak *row_of(struct size_table *table, struct cf_leaks *leaks, uint64_t bytes,
                              uint32_t type) {
    if ((table->slots == NULL || leaks->rows.len * 2 > table->mask) && !grow(table, leaks))
        return NULL;
    size_t slot = slot_of(table, leaks, bytes, type);
    if (table->slots[slot] == 0) {
        struct cf_leak *row = cf_array_push(&leaks->rows);
        if (row == NULL)
            return NULL;
        row->size_bytes = bytes;
        row->type = type;
        table->slots[slot] = (uint32_t)leaks->rows.len;
    }
    return &leaks->rows.items[table->slots[slot] - 1];
}

static void add(struct cf_leak_sum *sum, uint64_t bytes) {
    sum->chunks++;
    sum->bytes += bytes;
}

static int count(struct cf_leaks *leaks, const struct cf_mark *mark, struct cf_types *types,
                 struct size_table *table, struct cf_rss_guard *guard, struct cf_err *err) {
    struct cf_unreached_iter iter;
    struct cf_unreached chunk;
    cf_unreached_iter_init(&iter, mark);
    while (cf_unreached_iter_next(&iter, &chunk)) {
        cf_rss_guard_step(guard);
        uint32_t type = types == NULL ? 0 : cf_types_of(types, chunk.number);
        struct cf_leak *row = row_of(table, leaks, chunk.bytes, type);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row * (leaks->rows.len + 1), "the sizes of leaks");
        row->chunks++;
        row->bytes += chunk.bytes;
        row->root_chunks += !cf_mark_second(mark, chunk.number);
        add(&leaks->total, chunk.bytes);
        add(chunk.extent->heap != NULL ? &leaks->heaps[chunk.extent->heap->id] : &leaks->mmapped,
            chunk.bytes);
    }
    return CF_OK;
}

static int compare_sizes(const void *a, const void *b) {
    const struct cf_leak *left = a, *right = b;
    if (left->size_bytes != right->size_bytes)
        return left->size_bytes < right->size_bytes ? -1 : 1;
    return left->type < right->type ? -1 : left->type > right->type;
}

int cf_leaks_find(struct cf_leaks *leaks, struct cf_mark *mark, const struct cf_mem *mem,
                  struct cf_types *types, struct cf_err *err) {
    size_t nr_heaps = cf_mark_resolver(mark)->planes->nr_heaps;
    leaks->heaps = calloc(nr_heaps + 1, sizeof *leaks->heaps);
    if (leaks->heaps == NULL)
        return cf_err_nomem(err, (nr_heaps + 1) * sizeof *leaks->heaps, "sums of leaks");
    const struct cf_core *core = cf_mem_core(mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    note_targets(mark, mem, &guard);
    struct size_table table = {0};
    int status = count(leaks, mark, types, &table, &guard, err);
    free(table.slots);
    if (status != CF_OK)
        return status;
    if (leaks->rows.len > 0)
        qsort(leaks->rows.items, leaks->rows.len, sizeof *leaks->rows.items, compare_sizes);
    return CF_OK;
}

void cf_leaks_fini(struct cf_leaks *leaks) {
    cf_array_free(&leaks->rows);
    free(leaks->heaps);
    leaks->heaps = NULL;
}
