/*
 * The shared mapping of a truth program: its records, and the answers of its children.
 *
 * Private to tests/gen. The mapping is of a file, so that neither the kernel's account of anonymous
 * memory nor the core contains it; forked children fill in their part of it.
 */
#ifndef TABLE_H
#define TABLE_H

#include <malloc.h>
#include <stdint.h>

#include "truth.h"

enum {
    TABLE_SLOTS = 1 << 19,
    TABLE_CALLS = 1 << 15,
    TABLE_SCRATCH = 1 << 20,
    TABLE_OUT = 1 << 16,
};

enum table_state { TABLE_EMPTY, TABLE_LIVE, TABLE_FREED };

/* One pointer. Slots are found by hashing the address; a freed address may become live again. */
struct table_slot {
    uintptr_t hidden; /* the complement of the pointer */
    uint64_t requested : 48, state : 8, mark : 8;
};

/* A system call that malloc_trim() made in the traced child. */
struct table_call {
    uint64_t nr, arg[3], result;
};

struct table {
    struct mallinfo2 first, second, trimmed;
    uint64_t rollup_before, rollup_after; /* Anonymous of smaps_rollup around the child's trim */
    uint64_t trim_result, traced, nr_calls, lost_calls;
    struct table_call calls[TABLE_CALLS];
    char scratch[TABLE_SCRATCH];
    char out[TABLE_OUT];
    size_t out_used;
    int out_fd;
    struct table_slot slots[TABLE_SLOTS];
};

extern struct table *table;

/* Ends the program with 99 after writing `why` to stderr. Allocates nothing. */
_Noreturn void table_die(const char *why);

/* The slot of `p`, made if absent. */
struct table_slot *table_slot(const void *p);

/* Appends to the truth file through a buffer. */
void put_text(const char *text);
void put_bytes(const char *bytes, size_t length);
void put_number(uint64_t value);
void put_hex(uint64_t value);
void put_flush(void);

/* Reads the whole of a small file of /proc into the scratch area; returns its length. */
size_t proc_read(const char *path);

/* The figure after `field` in the scratch area, in bytes where the kernel says kB. */
uint64_t proc_field(const char *field);

/* How many threads truth_threads() has made. */
unsigned threads_started(void);

/* The children: malloc_info() into the file at `path`; malloc_trim(0) under a tracer. */
void child_malloc_info(const char *path);
void child_trim(void);

/* The name of a system call that moves memory; NULL for any other. */
const char *call_name(uint64_t nr);

/* Records `page` rows: every resident page of private anonymous writable memory. */
void put_resident_pages(void);

#endif
