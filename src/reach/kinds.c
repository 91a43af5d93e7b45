/*
 * Three passes over the links in the order of ranks: kinds of the caller's classes are counted (of
 * a large heap in a sample, with all chunks that have many edges), for each chunk the commonest
 * kind that leads to it is found, and with the classes that this divides kinds are counted again.
 * The edges of one chunk follow each other, so that a kind knows by its last chunk whether it was
 * met there already.
 */
#include "reach/kinds.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum {
    TICK_CHUNKS = 1 << 16,
    RUN_CHUNKS = 1 << 12,
    SAMPLE_CHUNKS = 1 << 20, /* that are enough to tell which kind is the commonest */
    NR_CLASSES = UINT16_MAX + 1,
};

/* What the caller's classes are divided into. */
struct class_division {
    CF_ARRAY(uint32_t) rows; /* class, and the class that holds it */
    struct cf_hash table;
};

static void class_division_fini(struct class_division *division) {
    cf_array_free(&division->rows);
    cf_hash_fini(&division->table);
}

static void clear(struct cf_edge_kinds *kinds) {
    cf_array_free(&kinds->keys);
    cf_array_free(&kinds->counts);
    cf_hash_fini(&kinds->table);
    free(kinds->ranks);
    kinds->ranks = NULL;
    kinds->nr_classes = 0;
}

/* The number of a kind, a new one where it was not met before; CF_HASH_NONE: memory is out. */
static uint32_t row_of(struct cf_edge_kinds *kinds, uint16_t from, uint16_t to) {
    uint32_t row = cf_edge_kinds_row(kinds, from, to), key = (uint32_t)from << 16 | to;
    if (row != CF_HASH_NONE)
        return row;
    uint32_t *added = cf_array_push(&kinds->keys);
    if (added == NULL || cf_array_push(&kinds->counts) == NULL ||
        !cf_hash_add(&kinds->table, cf_hash_mix(key), kinds->keys.len - 1))
        return CF_HASH_NONE;
    *added = key;
    return (uint32_t)kinds->keys.len - 1;
}

/* Each edge counts `weight` times. */
static int count_edges(struct cf_edge_kinds *kinds, const struct cf_links *links,
                       struct cf_rank rank, uint64_t weight, struct cf_err *err) {
    struct cf_link_list list = cf_links_of(links, rank);
    uint32_t row = CF_HASH_NONE;
    uint16_t before = 0;
    while (list.at < list.end) {
        uint16_t to = kinds->classes[cf_links_take(&list).index];
        if (row == CF_HASH_NONE || to != before)
            row = row_of(kinds, kinds->classes[rank.index], to);
        if (row == CF_HASH_NONE)
            return cf_err_nomem(err, sizeof *kinds->counts.items, "kinds of edges");
        before = to;
        struct cf_edge_kind *kind = &kinds->counts.items[row];
        kind->chunks += kind->last != rank.index + 1;
        kind->last = (uint32_t)rank.index + 1;
        kind->edges += weight;
    }
    return CF_OK;
}

/* The edges of one in `each` runs of chunks, and of the chunks that have many. Beyond
 * CF_EDGE_KINDS_MAX kinds no edge of a further chunk is counted. */
static int count_all(const struct cf_context *ctx, struct cf_edge_kinds *kinds,
                     const struct cf_links *links, size_t each, struct cf_err *err) {
    int status = CF_OK;
    for (struct cf_rank rank = {0}; rank.index < links->ranks->nr && status == CF_OK;
         rank.index++) {
        bool is_long = cf_links_are_long(links, rank);
        if (rank.index % TICK_CHUNKS == 0 &&
            cf_progress(ctx, "counting kinds of pointers", rank.index, links->ranks->nr))
            return cf_err_cancelled(err);
        if ((is_long || rank.index / RUN_CHUNKS % each == 0) && kinds->keys.len < CF_EDGE_KINDS_MAX)
            status = count_edges(kinds, links, rank, is_long ? 1 : each, err);
    }
    cf_links_drop(links);
    return status;
}

/* By rank: 1 and the row of the commonest kind of edge that leads there; 0: none does. */
static int find_commonest(const struct cf_context *ctx, const struct cf_edge_kinds *kinds,
                          const struct cf_links *links, uint32_t *commonest, struct cf_err *err) {
    for (struct cf_rank rank = {0}; rank.index < links->ranks->nr; rank.index++) {
        struct cf_link_list list = cf_links_of(links, rank);
        uint32_t row = CF_HASH_NONE;
        uint16_t before = 0;
        while (list.at < list.end) {
            size_t to = cf_links_take(&list).index;
            if (row == CF_HASH_NONE || kinds->classes[to] != before)
                row = cf_edge_kinds_row(kinds, kinds->classes[rank.index], kinds->classes[to]);
            before = kinds->classes[to];
            uint32_t best = commonest[to];
            if (row != CF_HASH_NONE && (best == 0 || kinds->counts.items[row].edges >
                                                         kinds->counts.items[best - 1].edges))
                commonest[to] = row + 1;
        }
        if (rank.index % TICK_CHUNKS == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    cf_links_drop(links);
    return CF_OK;
}

/* The number of a class of chunks that are held so, from 1 on; 0: no more can be numbered.
 * UINT32_MAX: memory is out. */
static uint32_t number(struct class_division *division, uint32_t key) {
    uint64_t hash = cf_hash_mix(key);
    uint32_t row = cf_hash_find(&division->table, hash, i, division->rows.items[i] == key);
    if (row != CF_HASH_NONE)
        return row + 1;
    if (division->rows.len == NR_CLASSES - 1)
        return 0;
    uint32_t *added = cf_array_push(&division->rows);
    if (added == NULL || !cf_hash_add(&division->table, hash, division->rows.len - 1))
        return UINT32_MAX;
    *added = key;
    return (uint32_t)division->rows.len;
}

static int divide(const struct cf_edge_kinds *kinds, const uint32_t *commonest, size_t nr,
                  uint16_t *out, struct cf_err *err) {
    CF_CLEANUP(class_division_fini) struct class_division division = {.rows = {0}};
    for (size_t rank = 0; rank < nr; rank++) {
        uint32_t best = commonest[rank];
        uint32_t holder = best == 0 ? 0 : kinds->keys.items[best - 1] >> 16;
        uint32_t class = kinds->classes[rank] == 0
                             ? 0
                             : number(&division, (uint32_t)kinds->classes[rank] << 16 | holder);
        if (class == UINT32_MAX)
            return cf_err_nomem(err, sizeof *division.rows.items, "classes of chunks");
        out[rank] = (uint16_t)class;
    }
    return CF_OK;
}

static int divide_classes(const struct cf_context *ctx, struct cf_edge_kinds *kinds,
                          const struct cf_links *links, struct cf_err *err) {
    struct cf_scratch commonest = {0};
    size_t nr = links->ranks->nr;
    int status = cf_scratch_init(&commonest, (nr + 1) * sizeof(uint32_t), err);
    if (status == CF_OK)
        status = cf_scratch_init(&kinds->file, (nr + 1) * sizeof *kinds->classes, err);
    if (status == CF_OK)
        status = find_commonest(ctx, kinds, links, commonest.at, err);
    if (status == CF_OK)
        status = divide(kinds, commonest.at, nr, kinds->file.at, err);
    cf_scratch_fini(&commonest);
    kinds->classes = kinds->file.at;
    return status;
}

/* `chunks` by class. */
static enum cf_edge_rank rank_of(uint32_t key, const struct cf_edge_kind *kind,
                                 const uint64_t *chunks) {
    uint16_t from = (uint16_t)(key >> 16), to = (uint16_t)key;
    if (from == 0 || to == 0 || kind->edges * CF_USUAL_TO >= chunks[to])
        return CF_EDGE_USUAL;
    if ((uint64_t)kind->chunks * CF_USUAL_FROM < chunks[from])
        return CF_EDGE_UNUSUAL;
    return chunks[from] < CF_MANY_CHUNKS ? CF_EDGE_ENTRY : CF_EDGE_USUAL;
}

static int judge(struct cf_edge_kinds *kinds, size_t nr, struct cf_err *err) {
    CF_CLEANUP_FREE uint64_t *chunks = calloc(NR_CLASSES, sizeof *chunks);
    size_t classes = 1;
    for (size_t rank = 0; rank < nr && chunks != NULL; rank++) {
        chunks[kinds->classes[rank]]++;
        if (kinds->classes[rank] >= classes)
            classes = kinds->classes[rank] + 1u;
    }
    kinds->nr_classes = classes * classes <= CF_CLASS_PAIRS_MAX ? classes : 0;
    kinds->ranks = calloc(kinds->nr_classes > 0 ? classes * classes : kinds->keys.len + 1, 1);
    if (chunks == NULL || kinds->ranks == NULL)
        return cf_err_nomem(err, NR_CLASSES * sizeof *chunks, "classes of chunks");
    for (size_t i = 0; i < kinds->keys.len; i++) {
        uint32_t key = kinds->keys.items[i];
        size_t at = kinds->nr_classes > 0 ? (key >> 16) * classes + (uint16_t)key : i;
        kinds->ranks[at] = (uint8_t)rank_of(key, &kinds->counts.items[i], chunks);
    }
    cf_array_free(&kinds->counts);
    return CF_OK;
}

int cf_edge_kinds_judge(const struct cf_context *ctx, const struct cf_links *links,
                        const uint16_t *classes, struct cf_edge_kinds *out, struct cf_err *err) {
    out->classes = classes;
    int status = count_all(ctx, out, links, 1 + links->ranks->nr / SAMPLE_CHUNKS, err);
    if (status == CF_OK)
        status = divide_classes(ctx, out, links, err);
    clear(out);
    if (status == CF_OK)
        status = count_all(ctx, out, links, 1, err);
    return status == CF_OK ? judge(out, links->ranks->nr, err) : status;
}

void cf_edge_kinds_fini(struct cf_edge_kinds *kinds) {
    clear(kinds);
    cf_scratch_fini(&kinds->file);
    kinds->classes = NULL;
}
