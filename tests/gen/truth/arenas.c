/* Scenarios of many threads: arenas, their limit, heaps of several pieces, threads that went. */
#include <malloc.h>
#include <string.h>

#include "shape.h"

enum { THREADS = 40, ROW = 400 };

static void *row[THREADS][ROW];

/* Small survivors between larger chunks that are freed in the second phase. */
static void survive(unsigned thread, unsigned phase) {
    if (phase == 0) {
        shape_seed(thread + 1);
        shape_fill(row[thread], ROW, 16, 6000);
    } else {
        shape_thin(row[thread], ROW, 5 + thread % 7);
    }
}

static void run_arenas(void) {
    truth_threads(THREADS, survive);
    truth_phase(0);
    truth_phase(1);
    shape_put(&row[0][1], 3000);
}

/* A third of the threads end; their arenas go to the free list, their caches to the arenas. */
static void run_threads_gone(void) {
    truth_threads(24, survive);
    truth_phase(0);
    truth_phase(1);
    for (unsigned i = 0; i < 24; i += 3)
        truth_leave(i);
}

enum { BIG = 1500, BIG_BYTES = 100000 };

static void *big[2][BIG];

/* Thread 0 fills three heaps, thread 1 two; only the first bytes of each chunk are touched. */
static void fill_heaps(unsigned thread, unsigned phase) {
    size_t nr = thread ? 900 : BIG;
    for (size_t i = 0; i < nr && phase == 0; i++) {
        big[thread][i] = truth_new(BIG_BYTES + i % 97 * 16);
        truth_mark(big[thread][i], TRUTH_HELD);
        memset(big[thread][i], 0x55, 64);
    }
    /* Thread 0 leaves the ends of its heaps alone, thread 1 frees up to the fences. */
    for (size_t i = 0; i < nr && phase == 1; i++) {
        if (thread ? i > 20 && i < nr - 20 : i % 3 == 1)
            shape_clear(&big[thread][i]);
    }
}

static void run_heaps(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    truth_threads(2, fill_heaps);
    truth_phase(0);
    truth_phase(1);
}

const struct truth_scenario truth_arenas[] = {
    {"arenas", "forty arenas with survivors", "MALLOC_ARENA_MAX=64", run_arenas},
    {"arena-max", "forty threads in three arenas", "MALLOC_ARENA_MAX=3", run_arenas},
    {"arena-limit", "forty threads, the limit that the cores set", NULL, run_arenas},
    {"threads-gone", "some of the threads have ended", "MALLOC_ARENA_MAX=64", run_threads_gone},
    {"heaps", "arenas of several heaps", NULL, run_heaps},
    {"huge-heaps", "huge pages are asked for, heaps are smaller",
     "GLIBC_TUNABLES=glibc.malloc.hugetlb=2", run_heaps},
    {0},
};
