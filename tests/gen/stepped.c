/*
 * stepped: stopped at every instruction of an operation of malloc, one a run. stepped OP N does all
 * that leads to the operation, goes N instructions into it and ends there by SIGABRT; where the
 * operation takes fewer it ends with 0. The operations leave their arena, on their way, as no
 * thread outside ever sees it:
 *
 *     merge      free() of a block between two free ones, and sorting of what comes of it
 *     split      malloc() from a larger free chunk, the rest of which goes back
 *     sort       malloc() that sorts several freed chunks into their bins, large ones too
 *     top        malloc() from the top, and from a top that has to grow
 *     trim       free() of what stands below the top, which shrinks
 *     cache      free() into the thread's cache, malloc() out of it
 *     fast       free() into a fastbin, malloc() out of it, which fills the cache from there
 *     consolidate  malloc() of a large block, which empties the fastbins first
 *     grow       realloc() in place, into the free chunk behind
 *     aligned    memalign(), which gives back what stands before and behind
 */
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 12, CACHE = 7, DONE = 17, FAILED = 99 };

/* The compiler may not know what the program does to its blocks. */
static void *opaque(void *p) {
    void *volatile hidden = p;
    return hidden;
}

static char *block(size_t size) {
    return memset(opaque(malloc(size)), 1, size);
}

static char *blocks[MANY];

static void make_blocks(size_t size) {
    for (int i = 0; i < MANY; i++) {
        blocks[i] = block(size + 16 * (size_t)(i / 2 * 2));
        if (i % 2 == 1)
            (void)block(2000);
    }
}

static void free_every_second(void) {
    for (int i = 0; i < MANY; i += 2)
        free(blocks[i]);
}

static void merge(int is_set_up) {
    static char *between;
    if (is_set_up) {
        char *below = block(2000);
        between = block(3000);
        char *above = block(5000);
        (void)block(2000);
        free(below);
        free(above);
        (void)block(9000);
        return;
    }
    free(between);
    (void)opaque(malloc(20000));
}

static void split(int is_set_up) {
    if (is_set_up) {
        char *large = block(9000);
        (void)block(2000);
        free(large);
        return;
    }
    (void)opaque(malloc(2000));
    (void)opaque(malloc(3000));
}

static void sort(int is_set_up) {
    if (is_set_up) {
        make_blocks(1500);
        free_every_second();
        return;
    }
    (void)opaque(malloc(1530));
    (void)opaque(malloc(30000));
}

static void use_top(int is_set_up) {
    if (is_set_up)
        return;
    (void)opaque(malloc(100000));
    (void)opaque(malloc(100000));
}

static void trim(int is_set_up) {
    static char *high, *higher;
    if (is_set_up) {
        (void)mallopt(M_TRIM_THRESHOLD, 64 << 10);
        high = block(100000);
        higher = block(3000);
        return;
    }
    free(high);
    free(higher);
}

static void cache(int is_set_up) {
    static char *small, *other;
    if (is_set_up) {
        small = block(200);
        other = block(200);
        return;
    }
    free(small);
    free(other);
    (void)opaque(malloc(200));
    (void)opaque(malloc(200));
}

static char *fasts[MANY];

static void fill_fastbin(void) {
    for (int i = 0; i < MANY; i++)
        fasts[i] = block(40);
    (void)block(2000);
    for (int i = 0; i < CACHE + 3; i++)
        free(fasts[i]);
}

static void fast(int is_set_up) {
    if (is_set_up) {
        fill_fastbin();
        return;
    }
    free(fasts[MANY - 1]);
    for (int i = 0; i < CACHE + 2; i++)
        (void)opaque(malloc(40));
}

static void consolidate(int is_set_up) {
    if (is_set_up)
        fill_fastbin();
    else
        (void)opaque(malloc(3000));
}

static void grow(int is_set_up) {
    static char *growing;
    if (is_set_up) {
        growing = block(2000);
        char *behind = block(6000);
        (void)block(2000);
        free(behind);
        return;
    }
    growing = realloc(growing, 4000);
    growing = realloc(growing, 2500);
}

static void align(int is_set_up) {
    if (!is_set_up)
        (void)opaque(memalign(512, 3000));
}

static const struct {
    const char *name;
    void (*run)(int is_set_up);
} operations[] = {
    {"merge", merge}, {"split", split}, {"sort", sort},
    {"top", use_top}, {"trim", trim},   {"cache", cache},
    {"fast", fast},   {"consolidate", consolidate}, {"grow", grow},
    {"aligned", align},
};

static void trace_me(void (*run)(int is_set_up)) {
    (void)block(100);
    run(1);
    run(1);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(FAILED);
    (void)raise(SIGSTOP);
    run(0);
    _exit(DONE);
}

/* The tracee stands at the stop: some instructions on, it gets the signal. */
static int step(pid_t child, long steps) {
    int status;
    for (long i = 0; i < steps; i++) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) < 0)
            return FAILED;
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == DONE ? 0 : FAILED;
    }
    if (ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)SIGABRT) != 0 ||
        waitpid(child, &status, 0) < 0)
        return FAILED;
    return -1;
}

int main(int argc, char **argv) {
    const struct rlimit none = {0, 0};
    long steps = argc > 2 ? atol(argv[2]) : 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        int status;
        if (argc < 3 || strcmp(argv[1], operations[i].name) != 0)
            continue;
        pid_t child = fork();
        if (child == 0)
            trace_me(operations[i].run);
        if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
            return FAILED;
        int ended = step(child, steps);
        if (ended >= 0)
            return ended;
        (void)setrlimit(RLIMIT_CORE, &none); /* the core is the child's */
        abort();
    }
    return FAILED;
}
