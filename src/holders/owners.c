/*
 * All sums come from pieces of the preorder: what a vertex dominates stands in one, so that of the
 * objects of a type those count that no earlier one's piece has covered. What is not resident is
 * summed up to each place once, and a piece's part is the difference at its ends.
 */
#include "holders/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/texts.h"
#include "core/core.h"

enum { TICK_CHUNKS = 1 << 17 };

/* Bytes of a chunk that are not resident; after they are sorted, all up to this place too. */
struct absence {
    uint32_t place;
    uint64_t bytes;
};

struct owner_finder {
    const struct cf_context *ctx;
    const struct cf_owners_input *input;
    struct cf_owners *owners;
    CF_ARRAY(struct absence) absent;
};

static void owner_finder_fini(struct owner_finder *f) {
    cf_array_free(&f->absent);
}

/* ---- what is not resident ---- */

static int note_absence(struct owner_finder *f, struct cf_rank rank, uint64_t bytes,
                        struct cf_err *err) {
    uint32_t vertex = cf_dominators_of_rank(f->input->dominators, rank).index;
    if (vertex == 0 || bytes == 0)
        return CF_OK;
    struct absence *row = cf_array_push(&f->absent);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "what is not resident");
    *row = (struct absence){f->input->preorder->firsts[vertex], bytes};
    return CF_OK;
}

/* How many bytes of [start, end) are not resident; `run` is where the last look ended. */
static uint64_t absent_bytes(const struct cf_mem *mem, uint64_t start, uint64_t end,
                             uint64_t run[2]) {
    uint64_t absent = 0;
    for (uint64_t at = start; at < end;) {
        if (run[1] <= at && !cf_mem_next_resident(mem, at, &run[0], &run[1]))
            run[0] = run[1] = UINT64_MAX;
        if (run[0] > at)
            absent += (run[0] < end ? run[0] : end) - at;
        at = run[1];
    }
    return absent;
}

static int find_absent(struct owner_finder *f, struct cf_err *err) {
    const struct cf_ranks *ranks = f->input->dominators->ranks;
    const struct cf_resolver *resolver = ranks->resolver;
    const struct cf_planes *planes = resolver->planes;
    int status = CF_OK;
    for (size_t i = 0; i < resolver->nr_extents && status == CF_OK; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        uint64_t run[2] = {0, 0};
        if (extent->heap == NULL && !extent->mmapped->in_tcache)
            status = note_absence(f, cf_ranks_of(ranks, extent->first_number),
                                  absent_bytes(f->input->mem, extent->start,
                                               extent->start + extent->mmapped->bytes, run),
                                  err);
        if (extent->heap == NULL)
            continue;
        struct cf_rank rank = cf_ranks_of_word(ranks, extent->plane_word);
        struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
        for (; cf_live_walk_next(&walk) && status == CF_OK; rank.index++) {
            uint64_t start = cf_planes_addr(planes, extent->heap, walk.unit);
            uint64_t end = start + ((uint64_t)walk.units << planes->unit_shift);
            if (start < run[0] || end > run[1])
                status = note_absence(f, rank, absent_bytes(f->input->mem, start, end, run), err);
            if (rank.index % TICK_CHUNKS == 0 && cf_tick(f->ctx))
                return cf_err_cancelled(err);
        }
    }
    return status;
}

static int compare_places(const void *a, const void *b) {
    const struct absence *left = a, *right = b;
    return left->place < right->place ? -1 : left->place > right->place;
}

static void sum_absent(struct owner_finder *f) {
    if (f->absent.len > 1)
        qsort(f->absent.items, f->absent.len, sizeof *f->absent.items, compare_places);
    for (size_t i = 1; i < f->absent.len; i++)
        f->absent.items[i].bytes += f->absent.items[i - 1].bytes;
}

static uint64_t absent_before(const struct owner_finder *f, uint64_t place) {
    size_t nr = cf_bound(f->absent.len, i, f->absent.items[i].place >= place);
    return nr == 0 ? 0 : f->absent.items[nr - 1].bytes;
}

/* ---- sums ---- */

/* Adds what the vertex dominates. */
static void add_vertex(const struct owner_finder *f, struct cf_owner *row,
                       struct cf_vertex vertex) {
    struct cf_kept_alive kept = cf_dominators_kept(f->input->dominators, vertex);
    uint32_t first = f->input->preorder->firsts[vertex.index];
    row->kept.bytes += kept.bytes;
    row->kept.chunks += kept.chunks;
    row->absent_bytes += absent_before(f, (uint64_t)first + kept.chunks) - absent_before(f, first);
}

static void add_row(struct cf_owner *row, const struct cf_owner *other) {
    row->kept.bytes += other->kept.bytes;
    row->kept.chunks += other->kept.chunks;
    row->absent_bytes += other->absent_bytes;
}

static int compare_owners(const void *a, const void *b) {
    const struct cf_owner *left = a, *right = b;
    if (left->kept.bytes != right->kept.bytes)
        return left->kept.bytes > right->kept.bytes ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* The largest of `rows`, which loses its order. */
static int keep_largest(struct owner_finder *f, struct cf_owner *rows, size_t nr,
                        struct cf_err *err) {
    if (nr > 1)
        qsort(rows, nr, sizeof *rows, compare_owners);
    for (size_t i = 0; i < nr && i < CF_OWNERS_MAX && rows[i].kept.chunks > 0; i++) {
        struct cf_owner *row = cf_array_push(&f->owners->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "an owner");
        *row = rows[i];
    }
    return CF_OK;
}

/* A row for each number below `nr`, to be freed; NULL when memory is out. */
static struct cf_owner *rows_of(enum cf_owner_kind kind, size_t nr) {
    struct cf_owner *rows = calloc(nr + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < nr; i++)
        rows[i] = (struct cf_owner){.kind = kind, .number = (uint32_t)i};
    return rows;
}

static int find_places(struct owner_finder *f, struct cf_err *err) {
    size_t nr = f->input->places->rows.len;
    CF_CLEANUP_FREE struct cf_owner *rows = rows_of(CF_OWNER_PLACE, nr);
    if (rows == NULL)
        return cf_err_nomem(err, nr * sizeof *rows, "owners");
    for (size_t i = 0; i < nr; i++) {
        struct cf_vertex vertex = cf_dominators_of_group(f->input->dominators, (uint32_t)i);
        if (vertex.index != 0)
            add_vertex(f, &rows[i], vertex);
    }
    return keep_largest(f, rows, nr, err);
}

static int find_shared(struct owner_finder *f, struct cf_err *err) {
    const struct cf_sharing *sharing = f->input->sharing;
    CF_CLEANUP_FREE struct cf_owner *rows = rows_of(CF_OWNER_SHARED, sharing->rows.len);
    if (rows == NULL)
        return cf_err_nomem(err, sharing->rows.len * sizeof *rows, "owners");
    for (size_t i = 0; i < sharing->nr_tops; i++) {
        const struct cf_top *top = &sharing->tops[i];
        struct cf_owner *row = &rows[top->sharers];
        if (!cf_is_ranked(cf_dominators_rank(f->input->dominators, top->vertex)))
            continue;
        if (row->kept.chunks == 0)
            row->first = top->place;
        add_vertex(f, row, top->vertex);
    }
    return keep_largest(f, rows, sharing->rows.len, err);
}

/* Whose name says that they own something: objects, and what a library has a name for. */
static bool is_owner(const struct cf_types *types, uint32_t type) {
    return cf_evidence_is_object(cf_types_get(types, type)->evidence);
}

static int find_types(struct owner_finder *f, struct cf_err *err) {
    const struct cf_types *types = f->input->labels->types;
    const struct cf_preorder *preorder = f->input->preorder;
    const uint16_t *by_rank = cf_types_by_rank(types);
    size_t nr = cf_types_nr(types);
    CF_CLEANUP_FREE struct cf_owner *rows = rows_of(CF_OWNER_TYPE, nr);
    CF_CLEANUP_FREE uint32_t *ends = calloc(nr + 1, sizeof *ends); /* of the last one's piece */
    if (rows == NULL || ends == NULL)
        return cf_err_nomem(err, nr * sizeof *rows, "owners");
    for (uint32_t place = 0; place < preorder->nr; place++) {
        uint32_t type = by_rank[preorder->ranks[place]];
        if (place % TICK_CHUNKS == 0 && cf_tick(f->ctx))
            return cf_err_cancelled(err);
        if (place < ends[type] || !is_owner(types, type))
            continue;
        struct cf_vertex vertex =
            cf_dominators_of_rank(f->input->dominators, cf_preorder_rank(preorder, place));
        if (rows[type].kept.chunks == 0)
            rows[type].first = place;
        add_vertex(f, &rows[type], vertex);
        ends[type] = place + f->input->dominators->rows[vertex.index].chunks;
    }
    return keep_largest(f, rows, nr, err);
}

/* The file of the module whose variable it is; UINT32_MAX: it is none. */
static uint32_t file_of(const struct cf_owners_input *input, uint32_t place) {
    const struct cf_place *row = &input->places->rows.items[place];
    const struct cf_root *root = &input->labels->reach->roots.rows.items[row->root];
    return row->kind == CF_ROOT_GLOBAL && root->file >= 0 ? (uint32_t)root->file : UINT32_MAX;
}

static const char *path_of(const struct cf_owners_input *input, uint32_t file) {
    return cf_core_file(cf_mem_core(input->mem), file)->path;
}

static bool is_same_file(const struct cf_owners_input *input, uint32_t a, uint32_t b) {
    return a == b || strcmp(path_of(input, a), path_of(input, b)) == 0;
}

static struct cf_owner *module_row(const struct cf_owners_input *input, struct cf_owner *rows,
                                   size_t *nr, uint32_t file) {
    for (size_t i = 0; i < *nr; i++)
        if (is_same_file(input, rows[i].number, file))
            return &rows[i];
    rows[*nr] = (struct cf_owner){.kind = CF_OWNER_MODULE, .number = file};
    return &rows[(*nr)++];
}

/* The file that all who share have in common; UINT32_MAX: none. */
static uint32_t common_file(const struct cf_owners_input *input,
                            const struct cf_sharers *sharers) {
    uint32_t file = UINT32_MAX;
    for (uint32_t i = 0; i < sharers->nr; i++) {
        uint32_t other = sharers->nr <= CF_SHARERS_MAX ? file_of(input, sharers->groups[i])
                                                       : UINT32_MAX;
        if (other == UINT32_MAX ||
            (i > 0 && !is_same_file(input, other, file)))
            return UINT32_MAX;
        file = other;
    }
    return file;
}

/* From the rows of places and of what they share, the largest of which are known. */
static int find_modules(struct owner_finder *f, struct cf_err *err) {
    size_t known = f->owners->rows.len, nr = 0;
    CF_CLEANUP_FREE struct cf_owner *rows = calloc(known + 1, sizeof *rows);
    if (rows == NULL)
        return cf_err_nomem(err, known * sizeof *rows, "owners");
    for (size_t i = 0; i < known; i++) {
        const struct cf_owner *owner = &f->owners->rows.items[i];
        uint32_t file = owner->kind == CF_OWNER_PLACE    ? file_of(f->input, owner->number)
                        : owner->kind == CF_OWNER_SHARED
                            ? common_file(f->input, &f->input->sharing->rows.items[owner->number])
                            : UINT32_MAX;
        if (file == UINT32_MAX)
            continue;
        struct cf_owner *row = module_row(f->input, rows, &nr, file);
        if (row->kept.chunks == 0)
            row->first = owner->first;
        add_row(row, owner);
    }
    return keep_largest(f, rows, nr, err);
}

/* Of each place the word that leads to the most of what it keeps, of several the last one: on a
 * stack that is the caller's. */
static int find_words(struct owner_finder *f, struct cf_err *err) {
    const struct cf_dominators *dominators = f->input->dominators;
    size_t nr = f->input->places->rows.len;
    CF_CLEANUP_FREE struct cf_owner **by_place = calloc(nr + 1, sizeof(struct cf_owner *));
    if (by_place == NULL)
        return cf_err_nomem(err, nr * sizeof *by_place, "owners");
    for (size_t i = 0; i < f->owners->rows.len; i++) {
        struct cf_owner *row = &f->owners->rows.items[i];
        if (row->kind == CF_OWNER_PLACE)
            by_place[row->number] = row;
    }
    for (size_t i = 0; i < f->input->words->nr; i++) {
        const struct cf_root_word *word = &f->input->words->rows[i];
        struct cf_owner *row = by_place[dominators->roots.numbers[i]];
        struct cf_vertex vertex = {dominators->vertices[word->rank]};
        if (row == NULL || cf_dominators_above(dominators, vertex).index !=
                               dominators->groups[row->number].index)
            continue;
        uint32_t best = row->word == NULL ? 0 : dominators->vertices[row->word->rank];
        if (row->word == NULL ||
            dominators->rows[vertex.index].bytes >= dominators->rows[best].bytes) {
            row->word = word;
            row->first = f->input->preorder->firsts[vertex.index];
        }
        if (i % TICK_CHUNKS == 0 && cf_tick(f->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

int cf_owners_find(const struct cf_context *ctx, const struct cf_owners_input *input,
                   struct cf_owners *owners, struct cf_err *err) {
    CF_CLEANUP(owner_finder_fini) struct owner_finder f = {
        .ctx = ctx, .input = input, .owners = owners,
    };
    int status = find_absent(&f, err);
    sum_absent(&f);
    if (status == CF_OK)
        status = find_places(&f, err);
    if (status == CF_OK)
        status = find_words(&f, err);
    if (status == CF_OK)
        status = find_shared(&f, err);
    if (status == CF_OK)
        status = find_modules(&f, err);
    if (status == CF_OK)
        status = find_types(&f, err);
    cf_dominators_drop(input->dominators);
    cf_preorder_drop(input->preorder);
    return status;
}

void cf_owners_fini(struct cf_owners *owners) {
    cf_array_free(&owners->rows);
}

static void label_sharers(const struct cf_owners_input *input, const struct cf_sharers *sharers,
                          char *out, size_t bytes) {
    if (sharers->nr > CF_SHARERS_MAX) {
        (void)snprintf(out, bytes, "shared by more than %d", CF_SHARERS_MAX);
        return;
    }
    size_t used = (size_t)snprintf(out, bytes, "shared");
    for (uint32_t i = 0; i < sharers->nr && used < bytes; i++) {
        char label[CF_LABEL_BYTES];
        cf_place_label(input->labels, &input->places->rows.items[sharers->groups[i]], NULL, label,
                       sizeof label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s",
                                 i == 0 ? " by " : i + 1 == sharers->nr ? " and " : ", ", label);
    }
}

void cf_owner_label(const struct cf_owners_input *input, const struct cf_owner *owner, char *out,
                    size_t bytes) {
    switch (owner->kind) {
    case CF_OWNER_PLACE:
        cf_place_label(input->labels, &input->places->rows.items[owner->number], owner->word, out,
                       bytes);
        return;
    case CF_OWNER_SHARED:
        label_sharers(input, &input->sharing->rows.items[owner->number], out, bytes);
        return;
    case CF_OWNER_TYPE:
        (void)snprintf(out, bytes, "%s", cf_types_name(input->labels->types, owner->number));
        return;
    default:
        cf_owner_module(input, owner, out, bytes);
    }
}

void cf_owner_module(const struct cf_owners_input *input, const struct cf_owner *owner, char *out,
                     size_t bytes) {
    uint32_t file = owner->kind == CF_OWNER_MODULE  ? owner->number
                    : owner->kind == CF_OWNER_PLACE ? file_of(input, owner->number)
                    : owner->kind == CF_OWNER_SHARED
                        ? common_file(input, &input->sharing->rows.items[owner->number])
                        : UINT32_MAX;
    (void)snprintf(out, bytes, "%s",
                   file != UINT32_MAX ? cf_base_name(path_of(input, file)) : "");
}

const char *cf_owner_kind_name(const struct cf_owners_input *input, const struct cf_owner *owner) {
    static const char *const names[CF_NR_OWNER_KINDS] = {NULL, "shared", "type", "module"};
    if (owner->kind != CF_OWNER_PLACE)
        return names[owner->kind];
    const struct cf_place *place = &input->places->rows.items[owner->number];
    return place->heap != NULL ? "runtime" : cf_root_kind_name(place->kind);
}
