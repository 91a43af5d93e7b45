/*
 * damaged: a heap that its own program spoils, or one that only looks so. The argument says how:
 * overrun, double-free and tcache-double end in malloc's own abort; silent is an overrun that
 * nobody has seen yet when the program ends; assert ends by words that are not malloc's, and
 * nothing is wrong; caches and forked leave chunks in the caches of 40 threads, which in a forked
 * child are gone; held leaves a thousand blocks to memory that the core leaves out, lost to
 * nothing; left-out and left-out-part take the heap itself out of the core; busy is caught while
 * eight threads are in malloc and free, busy-damaged with an overrun beside them; taken has a
 * chunk off its list in the hands of a function by malloc's name, beside the one behind it, astray
 * in those of another.
 * poisoned, wild and fault end by a fault: in malloc, which takes a chunk whose link was
 * overwritten, in free, which is given what malloc never returned, and in strlen; end-of-stack by
 * one in malloc, which has no stack left.
 * alone is caught while the only thread is in malloc or free, where it takes no lock;
 * alone-damaged has an overrun beside it.
 */
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 40, SIZES = 64, EACH = 7 };

static pthread_barrier_t filled;
/* Pushes libc's own thread-local variables away from the thread pointer. */
static __thread volatile char much[16000];

/* The compiler may not know what the program does to its blocks. */
static void *opaque(void *p) {
    void *volatile hidden = p;
    return hidden;
}

static void overrun(void) {
    char *p = opaque(malloc(2000)), *q = opaque(malloc(2000));
    memset(p, 'A', 2040);
    free(q);
}

static void silent(void) {
    char *p = opaque(malloc(2000));
    (void)opaque(malloc(2000));
    memset(p, 0xff, 2040);
    abort();
}

static void double_free(void) {
    char *p = opaque(malloc(2000)), *again = opaque(p);
    (void)opaque(malloc(2000));
    free(p);
    free(again);
}

static void tcache_double(void) {
    char *p = opaque(malloc(40)), *again = opaque(p);
    free(p);
    free(again);
}

/* A thousand blocks that only memory holds which the core leaves out, or nothing at all. */
static void hold(int is_held) {
    enum { TABLE_BYTES = 1 << 20 };
    void **table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    if (table == MAP_FAILED)
        exit(99);
    for (int i = 0; i < 1000; i++)
        table[i] = memset(opaque(malloc(2000)), 1, 2000);
    if (is_held)
        (void)madvise(table, TABLE_BYTES, MADV_DONTDUMP);
    else
        (void)munmap(table, TABLE_BYTES);
}

/* Most of the heap, or a page of it, is left out of the core. */
static void leave_out(int is_all) {
    char *first = opaque(malloc(2000));
    for (int i = 0; i < 1000; i++)
        memset(opaque(malloc(2000)), 1, 2000);
    uintptr_t start = ((uintptr_t)first + 65536) & ~(uintptr_t)4095;
    (void)madvise((void *)start, is_all ? 1800000 & ~4095 : 65536, MADV_DONTDUMP);
}

static void *fill_cache(void *unused) {
    void *blocks[SIZES][EACH];
    for (int k = 0; k < SIZES; k++)
        for (int i = 0; i < EACH; i++)
            blocks[k][i] = memset(opaque(malloc(16 * (size_t)k + 24)), 1, 16 * (size_t)k + 24);
    for (int k = 0; k < SIZES; k++)
        for (int i = 0; i < EACH; i++)
            free(blocks[k][i]);
    pthread_barrier_wait(&filled);
    pause();
    return unused;
}

static void fill_caches(void) {
    pthread_t thread;
    pthread_barrier_init(&filled, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, fill_cache, NULL) != 0)
            exit(99);
    pthread_barrier_wait(&filled);
}

/* The only chunk of the thread's cache is handed out, and its link taken for the next one. */
static void poison(void) {
    char *first = opaque(malloc(40)), *second = opaque(malloc(40)), *again = opaque(second);
    uintptr_t link = (uintptr_t)second >> 12 ^ 0x41414140; /* as 2.32 and later store links */
    free(first);
    free(second);
    memcpy(again, &link, sizeof link);
    (void)opaque(malloc(40));
    (void)opaque(malloc(40));
}

/* Goes down to the last words of a thread's stack before it calls malloc. */
static void *use_up_the_stack(void *stack) {
    enum { LEFT = 16 };
    char here, *last = (char *)stack + getpagesize() + LEFT;
    char *volatile room = alloca((size_t)(&here - last) & ~(size_t)15);
    room[0] = 1;
    (void)opaque(malloc(100));
    return room;
}

static void end_the_stack(void) {
    enum { STACK_BYTES = 1 << 20 };
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    pthread_attr_t attr;
    pthread_t thread;
    if (stack == MAP_FAILED || mprotect(stack, (size_t)getpagesize(), PROT_NONE) != 0 ||
        pthread_attr_init(&attr) != 0 || pthread_attr_setstack(&attr, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attr, use_up_the_stack, stack) != 0)
        exit(99);
    pthread_join(thread, NULL);
}

/* The child's core is the one; the parent leaves none. */
static void forked(void) {
    fill_caches();
    pid_t child = fork();
    if (child == 0)
        abort();
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)waitpid(child, NULL, 0);
    abort();
}

/* Eight threads that never leave malloc alone for long; new pages make them wait inside of it. */
static void *work(void *seed) {
    enum { BLOCKS = 2000 };
    char *blocks[BLOCKS] = {0};
    for (uint32_t s = (uint32_t)(uintptr_t)seed;;) {
        s = s * 1664525 + 1013904223;
        uint32_t k = (s >> 9) % BLOCKS;
        free(blocks[k]);
        size_t bytes = (s >> 20) % 5 == 0 ? 20000 + (s >> 10) % 60000 : 16 + (s >> 12) % 1500;
        blocks[k] = malloc(bytes);
        blocks[k][0] = blocks[k][bytes - 1] = 1;
    }
    return NULL;
}

static void be_busy(int is_damaged) {
    pthread_t thread;
    for (uintptr_t i = 0; i < 8; i++)
        if (pthread_create(&thread, NULL, work, (void *)(i * 77 + 1)) != 0)
            exit(99);
    char *p = opaque(malloc(3000));
    (void)opaque(malloc(3000));
    usleep(300000);
    if (is_damaged)
        memset(p, 'A', 3020);
}

/* What _int_malloc has in hand when it sorts a chunk: that chunk, and often the top. */
static __attribute__((noinline)) void sysmalloc(void *victim, void *top) {
    void *volatile hands[] = {victim, top};
    (void)opaque(hands[1]);
    abort();
}

static void take(const char *how) {
    uintptr_t *victim = opaque(malloc(2000)), *last = opaque(malloc(2000));
    uintptr_t *chunk = opaque(victim - 2);
    uintptr_t top = (uintptr_t)last - 2 * sizeof *last + (last[-1] & ~(uintptr_t)7);
    free(victim);
    uintptr_t *list = (uintptr_t *)chunk[2]; /* the only chunk on the unsorted list */
    list[2] = list[3] = (uintptr_t)list;
    if (strcmp(how, "taken") == 0)
        sysmalloc(chunk, (void *)top);
    if (strcmp(how, "beside") == 0)
        sysmalloc(last - 2, NULL);
}

/* Stopped from outside, wherever it stands. */
static void be_alone(int is_damaged) {
    char *p = opaque(malloc(3000));
    (void)opaque(malloc(3000));
    if (is_damaged)
        memset(p, 'A', 3020);
    pid_t self = getpid();
    if (fork() == 0) {
        usleep(300000);
        (void)kill(self, SIGABRT);
        _exit(0);
    }
    work((void *)(uintptr_t)self);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    memset(opaque(malloc(100)), 1, 100);
    much[0] = 1;
    if (strcmp(how, "overrun") == 0)
        overrun();
    else if (strcmp(how, "silent") == 0)
        silent();
    else if (strcmp(how, "double-free") == 0)
        double_free();
    else if (strcmp(how, "tcache-double") == 0)
        tcache_double();
    else if (strcmp(how, "poisoned") == 0)
        poison();
    else if (strcmp(how, "wild") == 0)
        free(opaque((void *)64));
    else if (strcmp(how, "fault") == 0)
        exit((int)strlen(opaque((void *)64)));
    else if (strcmp(how, "end-of-stack") == 0)
        end_the_stack();
    else if (strcmp(how, "assert") == 0)
        assert(opaque(malloc(40)) == NULL);
    else if (strcmp(how, "caches") == 0)
        fill_caches();
    else if (strcmp(how, "forked") == 0)
        forked();
    else if (strcmp(how, "held") == 0 || strcmp(how, "lost") == 0)
        hold(how[0] == 'h');
    else if (strcmp(how, "left-out") == 0 || strcmp(how, "left-out-part") == 0)
        leave_out(strcmp(how, "left-out") == 0);
    else if (strcmp(how, "busy") == 0 || strcmp(how, "busy-damaged") == 0)
        be_busy(strcmp(how, "busy-damaged") == 0);
    else if (strcmp(how, "alone") == 0 || strcmp(how, "alone-damaged") == 0)
        be_alone(strcmp(how, "alone-damaged") == 0);
    else if (strcmp(how, "taken") == 0 || strcmp(how, "beside") == 0 || strcmp(how, "astray") == 0)
        take(how);
    abort();
}
