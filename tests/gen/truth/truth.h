/*
 * What a truth program uses to write down, before it dies, what its heap really looks like.
 *
 * A program takes memory through truth_take() and gives it back through truth_drop(). At the end
 * truth_finish() asks glibc and the kernel for their own account, writes all of it to the truth
 * file and aborts (or waits for gcore). The format of the file is in README.md beside this header.
 *
 * Nothing here may disturb what is measured. So the book-keeping lives in one shared mapping of a
 * file (`OUT.tab`): it is neither malloc's, nor anonymous, nor in a core under the default filter,
 * and pointers stand in it as their complement, so that nothing finds a leaked chunk by way of us.
 * Between the statistics and the end there is no malloc and no stdio; malloc_info() and
 * malloc_trim() run in forked children, whose heap is an exact copy.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stddef.h>

/* What the program knows about a live pointer beyond its being live. */
enum truth_mark {
    TRUTH_PLAIN,  /* nothing is claimed */
    TRUTH_HELD,   /* something reachable leads to it */
    TRUTH_LEAKED, /* nothing leads to it */
};

/* How the program ends. */
enum truth_end { TRUTH_ABORT, TRUTH_WAIT };

/* Opens `out` and `out`.tab. Called once, first; nothing it does stays in malloc's heap. */
void truth_open(const char *scenario, const char *out, enum truth_end end);

/* malloc() of `size` bytes, recorded as live. Not NULL: a program that runs out exits with 99. */
void *truth_new(size_t size);

/* malloc() of `size` bytes, recorded as live. Where memory runs out the program exits with 99. */
void *truth_take(void *p, size_t size);

/* Records `p` as freed and frees it. */
void truth_drop(void *p);

/* Records `p` as freed by somebody else's free(). */
void truth_gone(void *p);

/* realloc() with the records kept. */
void *truth_resize(void *p, size_t size);

/* Sets what is claimed about a live pointer. */
void truth_mark(void *p, enum truth_mark mark);

/* Adds the record `kind TAB value`, for instance the verdict that the program must get. */
void truth_expect(const char *kind, const char *value);

/* Writes every record and ends the program as truth_open() was told. */
_Noreturn void truth_finish(void);

/*
 * Starts `nr` threads with small stacks. Each truth_phase(n) runs fn(i, n) on thread i, one thread
 * after the other, so that every run makes the same heap; then all of them wait. A thread stays
 * until the program ends or until truth_leave().
 */
void truth_threads(unsigned nr, void (*fn)(unsigned thread, unsigned phase));
void truth_phase(unsigned phase);

/* Ends thread `i` and joins it. */
void truth_leave(unsigned i);

/* A scenario of the program; `env` is one NAME=VALUE that must be set before malloc starts. */
struct truth_scenario {
    const char *name;
    const char *text;
    const char *env;
    void (*run)(void);
};

/* Each file of scenarios ends its table with a NULL name. */
extern const struct truth_scenario truth_main_heap[];
extern const struct truth_scenario truth_arenas[];
extern const struct truth_scenario truth_incidents[];
extern const struct truth_scenario truth_trims[];
extern const struct truth_scenario truth_leaks[];
extern const struct truth_scenario truth_verdicts[];
extern const struct truth_scenario truth_growth[];

#endif
