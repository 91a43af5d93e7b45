/* What a careless rule for malloc_trim(0) gets wrong. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shape.h"
#include "table.h"

enum { ROW = 2000 };

static void *row[ROW];
static void *small[ROW];

/* Nothing comes back a second time. */
static void run_again(void) {
    shape_fill(row, ROW, 16, 20000);
    shape_thin(row, ROW, 5);
    malloc_trim(0);
}

/* Freed chunks that nobody ever wrote to: address space, not memory. */
static void run_untouched(void) {
    for (size_t i = 0; i < 200; i++)
        row[i] = truth_new(100000);
    for (size_t i = 0; i < 200; i++) {
        if (i % 2)
            shape_clear(&row[i]);
        else
            truth_mark(row[i], TRUTH_HELD);
    }
}

/* Seven chunks of `size` fill the thread's cache, so that the next ones go to a fastbin. */
static void fill_cache(size_t size) {
    void *seven[7];
    for (size_t i = 0; i < 7; i++)
        shape_put(&seven[i], size);
    for (size_t i = 0; i < 7; i++)
        shape_clear(&seven[i]);
}

/*
 * From below: live, free, fast, top. Consolidation makes all but the first one top; a thread's top
 * is never trimmed, so what the free chunk could have given back stays.
 */
static void free_up_to_top(unsigned slot) {
    fill_cache(100);
    shape_put(&row[slot], 5000);
    shape_put(&row[slot + 1], 60000);
    for (size_t i = 0; i < 8; i++)
        shape_put(&small[8 * slot + i], 100);
    shape_clear(&row[slot + 1]);
    /* The cache hands out its seven first: the last of these eight is the one below the top. */
    for (size_t i = 0; i < 8; i++)
        shape_clear(&small[8 * slot + i]);
}

static void worker_free_up_to_top(unsigned thread, unsigned phase) {
    (void)phase;
    free_up_to_top(2 * thread);
}

static void run_fast_top(void) {
    truth_threads(6, worker_free_up_to_top);
    truth_phase(0);
}

/* In the main arena the same makes the top larger, and the break goes down by more. */
static void run_fast_top_main(void) {
    free_up_to_top(0);
}

/* Cached chunks keep free neighbours apart: no trim consolidates a thread cache. */
static void run_tcache_between(void) {
    for (size_t i = 0; i < 210; i++) {
        shape_put(&row[i], 3000);
        shape_put(&small[i], 40 + i / 7 * 16);
    }
    shape_put(&row[ROW - 1], 3000);
    shape_thin(small, 210, 0);
    shape_thin(row, 210, 0);
}

/* Fast chunks between free neighbours: consolidation joins them all, and whole pages come free. */
static void run_fast_between(void) {
    for (size_t i = 0; i < 300; i++) {
        shape_put(&row[i], 3000);
        shape_put(&small[i], 40);
    }
    shape_put(&row[ROW - 1], 3000);
    shape_thin(row, 300, 0);
    shape_thin(small, 300, 0);
}

/* Somebody moved the break: the top does not end there, so it cannot be given back. */
static void run_top_not_at_break(void) {
    shape_fill(row, 500, 1000, 9000);
    shape_thin(row, 500, 3);
    shape_thin(row + 250, 250, 0);
    if (sbrk(4096) == (void *)-1)
        table_die("the break does not move");
}

/* A large top_pad: the top is long, most of it was never touched. */
static void run_long_top(void) {
    shape_fill(row, 500, 16, 3000);
    shape_thin(row, 500, 4);
}

/* All of the arenas have holes of all sizes. */
static void make_holes(unsigned thread, unsigned phase) {
    shape_seed(thread + 7);
    if (phase == 0)
        shape_fill(row + 100 * thread, 100, 16, 30000);
    else
        shape_thin(row + 100 * thread, 100, 3);
}

static void run_holes(void) {
    truth_threads(12, make_holes);
    truth_phase(0);
    truth_phase(1);
}

/* The break goes down by whole huge pages only. */
static void run_huge_top(void) {
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    shape_fill(row, 1000, 4000, 30000);
    shape_thin(row, 200, 3);
    shape_thin(row + 200, 800, 0);
}

const struct truth_scenario truth_trims[] = {
    {"trim-again", "already trimmed", NULL, run_again},
    {"trim-untouched", "freed chunks that were never touched", NULL, run_untouched},
    {"trim-fast-top", "fast chunks just below the tops of threads", NULL, run_fast_top},
    {"trim-fast-main", "fast chunks just below the main top", NULL, run_fast_top_main},
    {"trim-tcache", "cached chunks between free ones", NULL, run_tcache_between},
    {"trim-fast", "fast chunks between free ones", NULL, run_fast_between},
    {"trim-break", "the top does not end at the break", NULL, run_top_not_at_break},
    {"trim-pad", "a top of sixteen megabytes", "MALLOC_TOP_PAD_=16777216", run_long_top},
    {"trim-holes", "holes in twelve arenas", NULL, run_holes},
    {"trim-thp", "the heap grows by huge pages", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
     run_long_top},
    {"trim-huge", "a top of many huge pages", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
     run_huge_top},
    {0},
};
