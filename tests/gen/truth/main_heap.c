/* Scenarios of one thread: the main arena's bins, caches, pieces, and mmapped chunks. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shape.h"
#include "table.h"

enum { ROW = 4096 };

static void *row[ROW];
static void *fence[ROW];

/* Frees every second chunk, sorts the unsorted bin by a large request, then frees some more. */
static void run_bins(void) {
    shape_fill(row, 3000, 8, 40000);
    for (size_t i = 0; i < 3000; i += 2)
        shape_clear(&row[i]);
    shape_put(&row[3000], 100000);
    for (size_t i = 1; i < 400; i += 6)
        shape_clear(&row[i]);
}

/* Nine chunks of each small size are freed, each kept from its neighbours by a live one. */
static void run_caches(void) {
    size_t used = 0;
    for (size_t size = 24; size <= 1048; size += 16) {
        for (int i = 0; i < 9; i++, used++) {
            shape_put(&row[used], size);
            shape_put(&fence[used], 24);
        }
    }
    /* The small ones go last: a large piece that becomes whole would empty the fastbins again. */
    shape_put(&fence[used], 100000);
    while (used)
        shape_clear(&row[--used]);
}

/* The tunable switches the thread caches off: small chunks go straight to the fastbins. */
static void run_no_tcache(void) {
    shape_fill(row + 3000, 500, 8, 4000);
    shape_thin(row + 3000, 500, 3);
    run_caches();
}

static void run_empty(void) {
    shape_put(&row[0], 1);
}

/* Somebody else moves the break three times, by odd amounts, and writes to what he got. */
static void run_foreign(void) {
    static const intptr_t amount[] = {5000, 70000, 8192};
    shape_fill(row, 200, 16, 9000);
    for (size_t i = 0; i < 3; i++) {
        char *theirs = sbrk(amount[i]);
        if (theirs == (void *)-1)
            table_die("the break does not move");
        memset(theirs, 0xAA, (size_t)amount[i]);
        shape_fill(row + 200 * (i + 1), 200, 16, 9000);
    }
    shape_thin(row, 800, 3);
}

/* Puts an inaccessible page right behind the break, where the heap would grow. */
static void block_break(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *behind = (void *)(((uintptr_t)sbrk(0) + page - 1) & ~(page - 1));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap(behind, page, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        table_die("cannot block brk");
}

static void run_no_brk(void) {
    block_break();
    shape_fill(row, 1500, 16, 9000);
    shape_thin(row, 1500, 4);
}

static void run_no_brk_later(void) {
    shape_fill(row, 200, 16, 9000);
    block_break();
    shape_fill(row + 200, 1500, 16, 9000);
    shape_thin(row, 1700, 4);
}

/* Alone, aligned, grown, shrunk, and several that the kernel merges into one mapping. */
static void run_mmapped(void) {
    for (size_t i = 0; i < 12; i++)
        shape_put(&row[i], 140000 + 5000 * i);
    static const size_t alignment[] = {64, 4096, 65536, 1 << 20};
    for (size_t i = 0; i < 4; i++) {
        row[20 + i] = truth_take(memalign(alignment[i], 300000), 300000);
        truth_mark(row[20 + i], TRUTH_HELD);
        memset(row[20 + i], 0x55, 300000);
    }
    row[0] = truth_resize(row[0], 900000);
    truth_mark(row[0], TRUTH_HELD);
    row[2] = truth_resize(row[2], 132000);
    truth_mark(row[2], TRUTH_HELD);
    shape_fill(row + 30, 100, 16, 2000);
    shape_clear(&row[5]);
    shape_put(&row[5], 4 << 20);
}

#ifndef TRUTH_STATIC
/*
 * A second libc in a namespace of its own: it has its own arenas, which never use the break. What
 * mallinfo2() says is of the first one alone; the records are of both.
 */
static void run_namespace(void) {
    void *other = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    void *(*other_malloc)(size_t) = other ? (void *(*)(size_t))dlsym(other, "malloc") : NULL;
    void (*other_free)(void *) = other ? (void (*)(void *))dlsym(other, "free") : NULL;
    if (!other_malloc || !other_free)
        table_die("no second libc");
    truth_expect("loads", "libc.so.6");
    shape_fill(row, 500, 16, 4000);
    for (size_t i = 0; i < 500; i++)
        fence[i] = truth_take(other_malloc(1000 + i), 1000 + i);
    for (size_t i = 0; i < 500; i += 3) {
        truth_gone(fence[i]);
        other_free(fence[i]);
    }
    shape_thin(row, 500, 3);
}
#endif

const struct truth_scenario truth_main_heap[] = {
    {"bins", "one thread, every kind of bin", NULL, run_bins},
    {"caches", "tcache and fastbins full", NULL, run_caches},
    {"no-tcache", "thread caches off by tunable", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
     run_no_tcache},
    {"empty", "one chunk of one byte", NULL, run_empty},
    {"foreign", "somebody else moved the break three times", NULL, run_foreign},
    {"no-brk", "the break never moves", NULL, run_no_brk},
    {"no-brk-later", "the break is blocked after a while", NULL, run_no_brk_later},
    {"mmapped", "chunks in mappings of their own", NULL, run_mmapped},
    {"deep-tcache", "thread caches of 200 chunks a size",
     "GLIBC_TUNABLES=glibc.malloc.tcache_count=200", run_bins},
    {"no-fast", "no fastbins", "GLIBC_TUNABLES=glibc.malloc.mxfast=0", run_caches},
    {"perturb", "freed memory is overwritten", "GLIBC_TUNABLES=glibc.malloc.perturb=165", run_bins},
#ifndef TRUTH_STATIC
    {"namespace", "a second libc in a namespace of its own", NULL, run_namespace},
#endif
    {0},
};
