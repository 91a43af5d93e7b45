#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "ptmalloc/chunkmap_build.h"
#include "rootworld.h"
#include "whole_mem.h"

struct rootworld *rootworld_new(enum cf_machine machine, size_t cap, uint64_t heap_bytes) {
    struct rootworld *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->word = machine == CF_MACHINE_I386 ? 4 : 8;
    w->cap = cap;
    w->chunks = calloc(cap, sizeof *w->chunks);
    assert_non_null(w->chunks);
    w->synth = synth_new(machine);
    synth_segment(w->synth, ROOTS_AT, CF_NR_ROOT_KINDS * PAGE, SYNTH_RW);
    synth_segment(w->synth, HEAP_AT, heap_bytes, SYNTH_RW);
    w->next = HEAP_AT;
    return w;
}

void rootworld_free(struct rootworld *w) {
    cf_reach_fini_mark(&w->reach);
    cf_array_free(&w->reach.roots.rows);
    cf_chunkmap_free(w->map);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
    free(w->chunks);
    free(w);
}

uint64_t rw_add_in(struct rootworld *w, uint64_t units, enum cf_chunk_state state) {
    assert_true(w->nr_chunks < w->cap);
    struct cf_chunk *chunk = &w->chunks[w->nr_chunks++];
    *chunk = (struct cf_chunk){.addr = w->next, .bytes = units * 2 * w->word, .state = state};
    w->next += chunk->bytes;
    return chunk->addr;
}

uint64_t rw_add(struct rootworld *w, uint64_t units) {
    return rw_add_in(w, units, CF_CHUNK_LIVE);
}

uint64_t rw_user(const struct rootworld *w, uint64_t header) {
    return header + 2 * w->word;
}

/* Word `index` of `from` leads to `to`. */
void rw_point(struct rootworld *w, uint64_t from, unsigned index, uint64_t to) {
    synth_put_word(w->synth, rw_user(w, from) + w->word * index, rw_user(w, to));
}

uint64_t rw_root_word(const struct rootworld *w, enum cf_root_kind kind, unsigned index) {
    return ROOTS_AT + (uint64_t)kind * PAGE + w->word * index;
}

void rw_root(struct rootworld *w, enum cf_root_kind kind, unsigned index, uint64_t to) {
    synth_put_word(w->synth, rw_root_word(w, kind, index), rw_user(w, to));
}

static void build_map(struct rootworld *w) {
    struct cf_heap heap = {
        .start = HEAP_AT, .first_chunk = HEAP_AT, .end = w->next, .chunks_end = w->next,
        .reserved_end = w->next,
    };
    assert_int_equal(cf_chunkmap_new(w->word, &w->map, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_add_heap(w->map, &heap, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(w->map, NULL), CF_OK);
    for (size_t i = 0; i < w->nr_chunks; i++) {
        cf_chunkmap_set_start(w->map, cf_chunkmap_heap(w->map, 0), w->chunks[i].addr);
        cf_chunkmap_set_state(w->map, cf_chunkmap_heap(w->map, 0), w->chunks[i].addr,
                              w->chunks[i].state);
    }
    if (w->mmapped.bytes > 0)
        assert_int_equal(cf_chunkmap_add_mmapped(w->map, &w->mmapped, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal(w->map, NULL), CF_OK);
}

void rw_prepare(struct rootworld *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    build_map(w);
    w->reach.roots.mem = w->mem;
    for (int kind = CF_ROOT_STACK; kind < CF_NR_ROOT_KINDS; kind++) {
        struct cf_root *row = cf_array_push(&w->reach.roots.rows);
        assert_non_null(row);
        *row = (struct cf_root){.kind = (enum cf_root_kind)kind, .thread = -1, .file = -1,
                                .start = ROOTS_AT + (uint64_t)kind * PAGE,
                                .end = ROOTS_AT + (uint64_t)(kind + 1) * PAGE};
    }
    w->reach.pointerless = &w->pointerless;
    w->reach.nr_pointerless = w->pointerless != 0;
    assert_int_equal(cf_reach_prepare(NULL, w->mem, w->map, &w->reach, &err), CF_OK);
}

void rw_mark(struct rootworld *w) {
    rw_prepare(w);
    assert_int_equal(cf_reach_follow(NULL, &w->reach, NULL, NULL), CF_OK);
}

struct patience {
    unsigned left;  /* calls until it is enough */
    unsigned after; /* calls after that */
};

static int lose_patience(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct patience *patience = user;
    (void)stage, (void)done, (void)total;
    if (patience->left == 0)
        patience->after++;
    else
        patience->left--;
    return patience->left == 0;
}

void rw_cancel_each_time(int (*pass)(void *arg, const struct cf_context *ctx, struct cf_err *err),
                         void *arg, unsigned least) {
    for (unsigned nr = 1;; nr++) {
        struct patience patience = {.left = nr};
        const struct cf_context ctx = {.user = &patience, .progress = lose_patience};
        struct cf_err err = {.status = CF_OK};
        int status = pass(arg, &ctx, &err);
        if (patience.left > 0) {
            assert_int_equal(status, CF_OK);
            assert_true(nr > least);
            return;
        }
        assert_int_equal(status, CF_ECANCELLED);
        assert_int_equal(err.status, CF_ECANCELLED);
        assert_int_equal(patience.after, 0);
    }
}
