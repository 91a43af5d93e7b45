/*
 * The table `chunk` filled with table pages, past SQLite (store/btree.h), by several threads: each
 * makes the leaves of a part of the rows, gives them their places when all parts before have
 * theirs, and writes them. Parts are cut by the heaps alone, so the file is the same whatever the
 * number of threads.
 */
#ifndef CF_STORE_CHUNK_LOAD_H
#define CF_STORE_CHUNK_LOAD_H

#include <stdint.h>

#include "corefrag.h"
#include "store/chunk_source.h"
#include "store/btree.h"
#include "store/chunk_index.h"

struct cf_context;

struct cf_chunk_loading {
    const struct cf_context *ctx; /* its progress is called by any of the threads, one at a time */
    struct cf_pages *pages;
    struct cf_chunk_source *source; /* at its first row; its count of rows is filled */
    struct cf_chunk_index *index;   /* rows that belong there are noted */
    uint64_t total;                 /* rows, for the progress */
    unsigned nr_threads;            /* 0: one a processor */
};

/* CF_ENOMEM; CF_EOUTPUT as cf_pages_write(). */
int cf_chunk_load(const struct cf_chunk_loading *loading, struct cf_err *err);

#endif
