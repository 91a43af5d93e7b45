/*
 * Parts of the table are made in any order and placed in one: a thread makes the leaves of its
 * part, waits for its turn, takes as many page numbers as it needs, and writes outside the lock.
 * No part waits for one behind it, and the pool hands parts out in order, so the part whose turn it
 * is always belongs to a thread that is at work.
 */
#include "store/chunk_load.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/thread_pool.h"
#include "store/leaves.h"

enum {
    PART_WORDS = 8192, /* of the start plane: 8 MiB of heap on 64-bit, some 90,000 rows */
    BATCH_ROWS = 256,
};

struct load {
    const struct cf_chunk_loading *loading;
    const struct cf_chunk_place *places;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t turn; /* the part whose leaves get their places next */
    struct cf_leaves spare[CF_THREAD_POOL_MOST]; /* that nobody uses just now */
    size_t nr_spare;
    uint64_t rows;
    int status; /* the first failure */
    struct cf_err err;
};

/* What one thread makes of one part. */
struct part {
    struct cf_leaves leaves;
    struct cf_chunk_index index;
    struct cf_leaf_runs places;
    int status;
    struct cf_err err;
};

/* Leaves that were used before keep their memory. */
static int borrow_leaves(struct load *load, struct part *part) {
    (void)pthread_mutex_lock(&load->lock);
    bool has_spare = load->nr_spare > 0;
    if (has_spare)
        part->leaves = load->spare[--load->nr_spare];
    (void)pthread_mutex_unlock(&load->lock);
    if (!has_spare)
        return cf_leaves_init(&part->leaves, cf_pages_page_bytes(load->loading->pages),
                              &part->err);
    cf_leaves_clear(&part->leaves);
    return CF_OK;
}

static struct cf_home home_of(const struct cf_chunk_row *row) {
    return row->heap_id == UINT32_MAX ? cf_home_make(CF_ID_NONE, CF_ID_NONE)
                                      : cf_home_make(row->arena_id, row->heap_id);
}

static int add_rows(struct part *part, const struct cf_chunk_row *rows, size_t nr) {
    struct cf_home home = home_of(&rows[0]);
    uint32_t heap_id = rows[0].heap_id;
    int status = CF_OK;
    for (size_t i = 0; i < nr && status == CF_OK; i++) {
        const struct cf_record record = {.rowid = rows[i].address, .first = rows[i].size_bytes,
                                         .second = rows[i].code, .type = rows[i].type};
        if (rows[i].heap_id != heap_id) {
            home = home_of(&rows[i]);
            heap_id = rows[i].heap_id;
        }
        status = cf_leaves_add(&part->leaves, &record, &home, &part->err);
        if (status == CF_OK && cf_chunk_is_indexed(&rows[i]))
            status = cf_chunk_index_note(&part->index, &rows[i], &part->err);
    }
    return status;
}

static int make_leaves(struct part *part, struct cf_chunk_source *source) {
    struct cf_chunk_row rows[BATCH_ROWS];
    size_t nr;
    int status = CF_OK;
    while (status == CF_OK && (nr = cf_chunk_source_take(source, rows, BATCH_ROWS)) > 0)
        status = add_rows(part, rows, nr);
    return status == CF_OK ? cf_leaves_turn(&part->leaves, &part->err) : status;
}

/* When all parts before have their places, this one gets its own. Nothing more happens once a
 * part has failed, but each has its turn. */
static void take_places(struct load *load, size_t index, struct part *part) {
    const struct cf_chunk_loading *loading = load->loading;
    (void)pthread_mutex_lock(&load->lock);
    while (load->turn != index)
        (void)pthread_cond_wait(&load->moved, &load->lock);
    if (load->status == CF_OK && part->status == CF_OK)
        part->status = cf_pages_place(loading->pages, &part->leaves, &part->places, &part->err);
    if (load->status == CF_OK && part->status == CF_OK)
        part->status = cf_chunk_index_join(loading->index, &part->index, &part->err);
    load->rows += part->leaves.rows;
    if (loading->source->facts.types != NULL)
        cf_types_drop(loading->source->facts.types);
    if (cf_progress(loading->ctx, "storing chunks", load->rows, loading->total) &&
        part->status == CF_OK)
        part->status = cf_err_cancelled(&part->err);
    load->turn++;
    (void)pthread_cond_broadcast(&load->moved);
    (void)pthread_mutex_unlock(&load->lock);
}

static void end_part(struct load *load, struct part *part) {
    (void)pthread_mutex_lock(&load->lock);
    if (part->status != CF_OK && load->status == CF_OK) {
        load->status = part->status;
        load->err = part->err;
    }
    if (part->leaves.bytes != NULL && part->leaves.last != NULL)
        load->spare[load->nr_spare++] = part->leaves;
    else
        cf_leaves_fini(&part->leaves);
    (void)pthread_mutex_unlock(&load->lock);
    cf_chunk_index_fini(&part->index);
}

static void load_part(void *user, size_t index) {
    struct load *load = user;
    struct part part = {.status = CF_OK};
    struct cf_chunk_source source = cf_chunk_source_part(load->loading->source,
                                                         &load->places[index]);
    part.status = borrow_leaves(load, &part);
    if (part.status == CF_OK)
        part.status = make_leaves(&part, &source);
    take_places(load, index, &part);
    if (part.status == CF_OK)
        part.status = cf_pages_write(load->loading->pages, &part.leaves, &part.places, &part.err);
    end_part(load, &part);
}

int cf_chunk_load(const struct cf_chunk_loading *loading, struct cf_err *err) {
    struct load load = {.loading = loading, .lock = PTHREAD_MUTEX_INITIALIZER,
                        .moved = PTHREAD_COND_INITIALIZER};
    CF_CLEANUP_FREE struct cf_chunk_place *places = NULL;
    size_t nr_places;
    int status = cf_chunk_source_cut(loading->source, PART_WORDS, &places, &nr_places, err);
    if (status != CF_OK)
        return status;
    load.places = places;
    cf_thread_pool_run(loading->nr_threads, nr_places - 1, load_part, &load);
    for (size_t i = 0; i < load.nr_spare; i++)
        cf_leaves_fini(&load.spare[i]);
    loading->source->rows = load.rows;
    if (load.status != CF_OK && err != NULL)
        *err = load.err;
    return load.status;
}
