/*
 * Two programs that must get each verdict, and two that nearly do but must not. Those of whole
 * incidents and of leaks stand in incidents.c and leaks.c.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shape.h"
#include "table.h"

enum { MIB = 1 << 20 };

/* ---- arena-blowup ---- */

enum { POOL = 32, ERRAND = 60 };

static void *pool_row[POOL][ERRAND];

/* A task of a large buffer and many small ones, all freed: into the top and the thread's cache. */
static void run_errand(unsigned thread, unsigned phase) {
    void *buffer = NULL;
    (void)phase;
    shape_seed(thread + 3);
    shape_put(&buffer, 110000);
    shape_clear(&buffer);
    shape_fill(pool_row[thread], ERRAND, 200, 1000);
    for (size_t i = ERRAND; i-- > 1;)
        shape_clear(&pool_row[thread][i]);
}

static void run_pool(void) {
    truth_expect("verdict", "arena-blowup");
    truth_threads(POOL, run_errand);
    truth_phase(0);
}

/* A near miss: the same many arenas, but what they hold is live. */
static void keep_errand(unsigned thread, unsigned phase) {
    (void)phase;
    shape_seed(thread + 3);
    shape_fill(pool_row[thread], ERRAND, 8000, 20000);
}

static void run_pool_busy(void) {
    truth_expect("verdict", "in-use");
    truth_threads(POOL, keep_errand);
    truth_phase(0);
}

/* ---- retention ---- */

static void *pile[130000];

/* One size again and again, all of it reached from one table. */
static void run_pile(void) {
    truth_expect("verdict", "retention");
    for (size_t i = 0; i < 130000; i++)
        shape_put(&pile[i], 184);
}

struct link {
    struct link *next;
    char text[88];
};

static struct link *volatile queue;

/* A queue that nobody drains, beside an ordinary working set. */
static void run_queue(void) {
    truth_expect("verdict", "retention");
    shape_fill(pile, 2000, 64, 8000);
    for (size_t i = 0; i < 250000; i++) {
        struct link *link = truth_new(sizeof *link);
        *link = (struct link){.next = queue};
        truth_mark(link, TRUTH_HELD);
        queue = link;
    }
}

/* A near miss: as many bytes of one size, but a few large ones. */
static void run_large_pile(void) {
    truth_expect("verdict", "in-use");
    for (size_t i = 0; i < 1000; i++)
        shape_put(&pile[i], 24000);
}

/* ---- in-use ---- */

static void *arrays[8];

/* Large arrays, each in a mapping of its own: malloc's, all the same. */
static void run_arrays(void) {
    truth_expect("verdict", "in-use");
    truth_expect("verdict_not", "outside-malloc");
    for (size_t i = 0; i < 8; i++)
        shape_put(&arrays[i], 4 * MIB);
}

/* A near miss of not-returned: three in ten bytes were freed. */
static void run_thinned(void) {
    truth_expect("verdict", "in-use");
    shape_fill(pile, 16000, 64, 8000);
    for (size_t i = 0; i < 16000; i += 10) {
        for (size_t k = 2; k < 5; k++)
            shape_clear(&pile[i + k]);
    }
}

/* ---- outside-malloc ---- */

static void map_and_touch(size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        table_die("no mapping");
    memset(p, 0x77, bytes);
}

static void run_own_mappings(void) {
    truth_expect("verdict", "outside-malloc");
    shape_fill(pile, 1000, 64, 8000);
    map_and_touch(24 * MIB);
    map_and_touch(12 * MIB);
}

static void use_stack(unsigned thread, unsigned phase) {
    volatile char room[200 * 1024];
    (void)thread, (void)phase;
    for (size_t i = 0; i < sizeof room; i += 512)
        room[i] = (char)i;
}

/* Many threads, each with a stack that was once deep. */
static void run_deep_stacks(void) {
    truth_expect("verdict", "outside-malloc");
    truth_threads(120, use_stack);
    truth_phase(0);
}

/* A near miss: a large mapping, but malloc holds more. */
static void run_mapping_and_heap(void) {
    truth_expect("verdict", "in-use");
    shape_fill(pile, 20000, 64, 8000);
    map_and_touch(20 * MIB);
}

/* ---- other-allocator: the stand-ins take malloc over ---- */

static void run_preloaded(void) {
    truth_expect("verdict", "other-allocator");
    shape_fill(pile, 20000, 64, 8000);
}

/* ---- healthy ---- */

/* A small program with holes of its own, none of which matters. */
static void run_small(void) {
    truth_expect("verdict", "healthy");
    shape_fill(pile, 1000, 16, 4000);
    shape_thin(pile, 1000, 3);
}

const struct truth_scenario truth_verdicts[] = {
    {"pool", "32 threads that each ran one errand", "MALLOC_ARENA_MAX=64", run_pool},
    {"pool-busy", "32 arenas full of live memory", "MALLOC_ARENA_MAX=64", run_pool_busy},
    {"pile", "130,000 live chunks of one size", NULL, run_pile},
    {"queue", "a queue that nobody drains", NULL, run_queue},
    {"large-pile", "a thousand live chunks of one large size", NULL, run_large_pile},
    {"arrays", "large arrays in mappings of their own", NULL, run_arrays},
    {"thinned", "three of ten chunks were freed", NULL, run_thinned},
    {"own-mappings", "memory that the program mapped itself", NULL, run_own_mappings},
    {"deep-stacks", "120 stacks that were once deep", "MALLOC_ARENA_MAX=1", run_deep_stacks},
    {"mapping-heap", "a mapping beside a larger heap", NULL, run_mapping_and_heap},
    {"tcmalloc", "another malloc, preloaded", "LD_PRELOAD=libtcmalloc_minimal.so.4", run_preloaded},
    {"mimalloc", "another malloc, preloaded", "LD_PRELOAD=libmimalloc.so.2", run_preloaded},
    {"small", "a small healthy heap", NULL, run_small},
    {0},
};
