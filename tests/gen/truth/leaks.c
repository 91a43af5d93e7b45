/*
 * Chunks that nothing leads to, and chunks that only just something leads to.
 *
 * A pointer that was on the stack a moment ago would keep a leak alive by accident; so all of it
 * is built in functions that are not inlined, and their stack is overwritten afterwards.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shape.h"
#include "table.h"

#define NOINLINE __attribute__((noinline))

struct node {
    struct node *next;
    char body[];
};

/* A zeroed chunk with the claim `mark`. */
static NOINLINE struct node *node_new(size_t size, enum truth_mark mark) {
    struct node *node = truth_new(size);
    memset(node, 0, size);
    truth_mark(node, mark);
    return node;
}

/* `nr` nodes in a row; `is_ring` ties the last to the first. Returns the first. */
static NOINLINE struct node *chain_new(size_t nr, size_t size, enum truth_mark mark, bool is_ring) {
    struct node *first = node_new(size, mark), *last = first;
    while (--nr)
        last = last->next = node_new(size, mark);
    if (is_ring)
        last->next = first;
    return first;
}

static NOINLINE void wipe_stack(void) {
    volatile char room[1 << 15];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

/* Volatile, or a compiler that sees no reader leaves out the stores. */
static void *volatile global_first, *volatile global_inside, *volatile global_past_end;
static void *volatile global_in_mmapped, *volatile global_more;
static volatile uintptr_t global_hidden[64];
static __thread void *volatile in_tls;

static NOINLINE void lose_some(size_t nr) {
    for (size_t i = 0; i < nr; i++) {
        chain_new(20, 48 + i % 40 * 16, TRUTH_LEAKED, false);
        chain_new(8, 120, TRUTH_LEAKED, true);
        node_new(shape_size(32, 4000), TRUTH_LEAKED);
    }
    for (size_t i = 0; i < 64; i++)
        global_hidden[i] = (uintptr_t)node_new(200, TRUTH_LEAKED) ^ 0x5555555555555555u;
}

static NOINLINE void hold_some(void) {
    global_first = chain_new(5000, 64, TRUTH_HELD, false);
    global_inside = node_new(3000, TRUTH_HELD)->body + 1001;
    struct node *past = node_new(104, TRUTH_HELD);
    global_past_end = (char *)past + 104;
    /* A chunk of its own mapping holds a ring; an anonymous and a shared mapping hold one each. */
    struct node *large = node_new(400000, TRUTH_HELD);
    large->next = chain_new(30, 80, TRUTH_HELD, true);
    global_in_mmapped = large;
    for (int i = 0; i < 2; i++) {
        int flags = MAP_ANONYMOUS | (i ? MAP_SHARED : MAP_PRIVATE);
        void **mapping = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (mapping == MAP_FAILED)
            table_die("no mapping");
        mapping[700] = chain_new(30, 96, TRUTH_HELD, false);
    }
}

static void worker(unsigned thread, unsigned phase) {
    (void)phase;
    in_tls = chain_new(10 + thread, 56, TRUTH_HELD, false);
    lose_some(3);
    wipe_stack();
}

/* One thread that holds a chain by a variable of its own stack. */
static void *stack_holder(void *ready) {
    struct node *volatile mine = chain_new(25, 72, TRUTH_HELD, false);
    wipe_stack();
    *(volatile int *)ready = 1;
    for (;;)
        pause();
    return mine;
}

/* One thread that holds a chunk by a vector register, and nowhere else: what its other registers
 * had of the pointer is gone when it sleeps, in a system call that leaves vector ones alone. */
static NOINLINE uintptr_t hidden_node(void) {
    return ~(uintptr_t)node_new(152, TRUTH_HELD);
}

static void *register_holder(void *ready) {
    uintptr_t hidden = hidden_node();
    wipe_stack();
    *(volatile int *)ready = 1;
#ifdef __x86_64__
    for (;;)
        __asm__ volatile("not %0\n\tmovq %0, %%xmm11\n\tnot %0\n\t"
                         "mov $34, %%eax\n\tsyscall" /* pause */
                         : "+r"(hidden)
                         :
                         : "rax", "rcx", "r11", "xmm11", "memory");
#else
    static void *volatile instead;
    instead = (void *)~hidden;
    for (;;)
        pause();
#endif
    return NULL;
}

static void start_holder(void *(*holder)(void *ready)) {
    static volatile int ready;
    pthread_t id;
    ready = 0;
    if (pthread_create(&id, NULL, holder, (void *)&ready))
        table_die("no more threads");
    while (!ready)
        usleep(1000);
    usleep(20000);
}

static void run_leak(void) {
    truth_expect("verdict", "leak");
    start_holder(stack_holder);
    start_holder(register_holder);
    truth_threads(3, worker);
    truth_phase(0);
    lose_some(300);
    hold_some();
    wipe_stack();
}

/* A near miss: the same, but what was lost is a small part of what is held. */
static void run_leak_small(void) {
    truth_expect("verdict_not", "leak");
    lose_some(2);
    hold_some();
    global_more = chain_new(60000, 200, TRUTH_HELD, false);
    wipe_stack();
}

/* A few large blocks, each in a mapping of its own. */
static NOINLINE void lose_large(void) {
    for (size_t i = 0; i < 20; i++)
        memset(node_new(1 << 20, TRUTH_LEAKED)->body, 1, 1 << 19);
}

/* Right below a mapping whose start something points to: that is no end of this block. Each is
 * larger than any gap, so that it stands below what was mapped before. */
static NOINLINE void lose_beside_mappings(void) {
    static void *volatile starts[5];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        starts[i] = mmap(NULL, 24u << 20, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
        if (starts[i] == MAP_FAILED)
            table_die("no mapping");
        node_new(20000000, TRUTH_LEAKED);
    }
}

static void run_leak_large(void) {
    truth_expect("verdict", "leak");
    hold_some();
    lose_large();
    lose_beside_mappings();
    wipe_stack();
}

/* Memory that no core has. */
static void **unseen_new(size_t bytes) {
    void **unseen = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (unseen == MAP_FAILED || madvise(unseen, bytes, MADV_DONTDUMP))
        table_die("no mapping that is left out of cores");
    return unseen;
}

/* All that there is, is held from memory that the core does not have. */
static void run_unseen_roots(void) {
    truth_expect("verdict", "unknown");
    void **unseen = unseen_new(1 << 20);
    for (size_t i = 0; i < 3000; i++)
        memset(unseen[i] = truth_new(2000), 1, 2000);
    wipe_stack();
}

/* A near miss: as much is lost as is held, and the memory that is left out holds a little of it. */
static void run_leak_beside_unseen(void) {
    truth_expect("verdict", "leak");
    void **unseen = unseen_new(1 << 20);
    for (size_t i = 0; i < 10; i++)
        memset(unseen[i] = truth_new(2000), 1, 2000);
    lose_some(300);
    global_more = chain_new(5000, 1000, TRUTH_HELD, false);
    wipe_stack();
}

const struct truth_scenario truth_leaks[] = {
    {"leak", "chains, rings and single chunks that nothing leads to", NULL, run_leak},
    {"leak-small", "a small leak beside much that is held", NULL, run_leak_small},
    {"leak-large", "leaked chunks in mappings of their own", NULL, run_leak_large},
    {"unseen-roots", "all is held from memory that is in no core", NULL, run_unseen_roots},
    {"leak-beside-unseen", "a leak, beside memory that is in no core", NULL,
     run_leak_beside_unseen},
    {0},
};
