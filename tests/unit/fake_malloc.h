/*
 * A process with glibc's malloc in it, synthetic: libc's data with mp_ and main_arena, a main
 * heap, thread arenas with their heaps, threads with TLS and tcaches, all by the layouts that the
 * test names. Built on synth.h; the test may damage what it likes before it opens the space.
 *
 *     struct fake fake;
 *     fake_init(&fake, 8, "2.36");
 *     fake.nr_arenas = 3;
 *     fake_build(&fake);
 *     synth_put_word(fake.synth, fake.main_arena + fake.state->next, 0x41414141);
 *     fake_open(&fake);       finds malloc: fake.m
 *     fake_close(&fake);
 */
#ifndef CF_TESTS_UNIT_FAKE_MALLOC_H
#define CF_TESTS_UNIT_FAKE_MALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "libc/malloc.h"
#include "synth.h"

enum { FAKE_ARENAS_MAX = 8, FAKE_HEAP_BYTES = 0x21000 };

struct fake {
    /* set by fake_init(), to be changed before fake_build() */
    unsigned word;
    const struct cf_state_layout *state;
    const struct cf_par_layout *par;
    const struct cf_heap_info_layout *heap_info;
    const struct cf_tcache_layout *tcache; /* NULL before 2.26 */
    bool mangled;           /* safe-linking */
    unsigned alignment;
    uint64_t heap_max;
    unsigned nr_arenas;     /* thread arenas, one thread each, beside the main thread */
    unsigned heaps_each;    /* of a thread arena */
    uint64_t tcache_count;
    bool no_thread_pointers;
    bool no_libc_data;      /* libc's data is left out of the core */
    bool no_file_rows;
    bool uninitialised;     /* main arena is zero: malloc was never called */
    bool pristine;          /* main arena is set up but unused */
    enum cf_machine machine;
    /* set by fake_build() */
    struct synth *synth;
    uint64_t mp;
    uint64_t main_arena;
    uint64_t sbrk_base;
    uint64_t break_word;    /* address of libc's break variable */
    uint64_t arenas[FAKE_ARENAS_MAX];
    uint64_t tcaches[FAKE_ARENAS_MAX + 1]; /* [0]: the main thread's */
    uint64_t tps[FAKE_ARENAS_MAX + 1];
    /* [0]: the main arena's; else of thread arena i - 1, in its newest heap */
    uint64_t firsts[FAKE_ARENAS_MAX + 1]; /* first chunk */
    uint64_t tops[FAKE_ARENAS_MAX + 1];
    uint64_t ends[FAKE_ARENAS_MAX + 1];
    /* set by fake_open() */
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_malloc *m;
};

/* What a release looks like ("2.17" to "2.44"), word 8 on x86_64 or 4 on i386. */
void fake_init(struct fake *fake, unsigned word, const char *release);
void fake_build(struct fake *fake);
void fake_open(struct fake *fake);
void fake_close(struct fake *fake);

/* A second libc's data at `data`, with a ring of its own of one arena. */
void fake_second_libc(struct fake *fake, uint64_t data, bool pristine);
/* The address of bin `index`'s pair of links. */
uint64_t fake_bin(const struct fake *fake, uint64_t arena, unsigned index);

#endif
