/*
 * Small processes for the passes that follow pointers from roots: a heap of chunks side by side,
 * perhaps one mmapped chunk, and a page of words for each kind of root. Described by calls, then
 * marked; failing calls end the test.
 *
 *     struct rootworld *w = rootworld_new(CF_MACHINE_X86_64, 16, 0x4000);
 *     uint64_t table = rw_add(w, 4), item = rw_add(w, 2);
 *     rw_root(w, CF_ROOT_GLOBAL, 0, table);
 *     rw_point(w, table, 1, item);
 *     rw_mark(w);
 */
#ifndef CF_TESTS_UNIT_ROOTWORLD_H
#define CF_TESTS_UNIT_ROOTWORLD_H

#include <stddef.h>
#include <stdint.h>

#include "reach/mark.h"
#include "reach/reach.h"
#include "core/core.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"
#include "synth.h"

enum {
    PAGE = 0x1000,
    ROOTS_AT = 0x10000, /* a page for each kind of root, in the order of enum cf_root_kind */
    HEAP_AT = 0x1000000,
    MMAPPED_AT = 0x70000000,
};

/* The page of CF_ROOT_REGISTER is not read as memory and stays unused. */
struct rootworld {
    unsigned word;
    struct synth *synth;
    struct cf_chunk *chunks;
    size_t nr_chunks;
    size_t cap;
    struct cf_mmapped mmapped;
    uint64_t next;
    uint64_t pointerless; /* user address of a chunk without pointers; 0: none */
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_chunkmap *map;
    struct cf_reach reach; /* after rw_mark() */
};

struct rootworld *rootworld_new(enum cf_machine machine, size_t chunks_max, uint64_t heap_bytes);
void rootworld_free(struct rootworld *w);

/* A chunk of `units` units behind the last one; returns its header. */
uint64_t rw_add_in(struct rootworld *w, uint64_t units, enum cf_chunk_state state);
uint64_t rw_add(struct rootworld *w, uint64_t units); /* a live one */
uint64_t rw_user(const struct rootworld *w, uint64_t header);

/* Word `index` of the chunk `from` leads to the chunk `to`; the same for a root's page. */
void rw_point(struct rootworld *w, uint64_t from, unsigned index, uint64_t to);
uint64_t rw_root_word(const struct rootworld *w, enum cf_root_kind kind, unsigned index);
void rw_root(struct rootworld *w, enum cf_root_kind kind, unsigned index, uint64_t to);

/* Ends the making: opens the core, builds the map, finds roots and ranks. */
void rw_prepare(struct rootworld *w);
/* The same, and what is reached. */
void rw_mark(struct rootworld *w);

/* Cancels `pass` at the first call of progress, the second, ... until it is done before that; each
 * time it has to end at once. It was asked `least` times at the least. */
void rw_cancel_each_time(int (*pass)(void *arg, const struct cf_context *ctx, struct cf_err *err),
                         void *arg, unsigned least);

#endif
