/*
 * What `make bench` measures: sections of commands, and rows that say which of their costs is held
 * against what. A section prepares a core in FOLDER, runs its commands in their order once a
 * round, and is then removed.
 */
#ifndef CF_BENCH_SECTIONS_H
#define CF_BENCH_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define FOLDER "build/bench.d"

enum { COMMANDS_MAX = 16, ROWS_MAX = 24, NOTHING = -1 };

enum measure {
    CPU,        /* seconds, user and system */
    WALL,       /* seconds */
    RSS,        /* MiB, everything that is resident */
    ANONYMOUS,  /* MiB of it that are our own */
    SAID,       /* seconds that the command printed */
    SAID_NEXT,  /* the second number of it */
    FILE_BYTES, /* of a file that the command left, for each of $N */
};

enum limit {
    FIXED,        /* `target` */
    MEMORY_OWN,   /* 3 % of the heap and 32 MiB */
    MEMORY_ALL,   /* 64 MiB more, with the pages of the core */
    MEMORY_GRAPH, /* 20 bytes a reachable chunk more, in temporary files */
};

struct command {
    const char *text; /* for a shell; $N is how many there are */
    bool once;        /* in the first round only */
};

struct operand {
    int command; /* its index, or NOTHING */
    enum measure measure;
    const char *file;
};

/* `ours` against `theirs`, which makes a ratio, or by itself. */
struct row {
    const char *what;
    struct operand ours;
    struct operand theirs;
    enum limit limit;
    double target; /* 0: none, the row only tells */
    double stretch;
};

/* What a row came to. */
struct cell {
    double result;
    double target;
};

struct section {
    const char *title;
    const char *prepare;
    const char *heap_bytes; /* a command that prints how large the heap is, and how many of its
                               chunks are reached */
    const struct command *commands;
    size_t nr_commands;
    const struct row *rows;
    size_t nr_rows;
    unsigned long long nr;  /* for $N, where it is not told */
    double room_bytes;      /* on the disk */
    double room_bytes_each; /* and for each of $N more */
};

extern const struct section size_section; /* once for each number of chunks */
extern const struct section *const scale_sections[];
extern const size_t nr_scale_sections;

/* "s", "MiB", "B"; static. */
const char *unit_of(enum measure measure);

#endif
