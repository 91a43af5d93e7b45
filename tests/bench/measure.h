/*
 * Commands and what they cost. A command runs in a shell of its own; CPU is user and system time
 * of it and its children, `rss` the largest resident set, both as wait4() tells them. Anonymous
 * memory has no high-water mark, so it is looked at every two milliseconds. A command that fails
 * has no cost at all: whoever asks for one gets a complaint on stderr and `false`.
 */
#ifndef CF_BENCH_MEASURE_H
#define CF_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdio.h>

enum { CF_SAID_MAX = 2 };

struct sample {
    double cpu;  /* seconds */
    double wall; /* seconds */
    double rss_mib;
    double anonymous_mib;
    double said[CF_SAID_MAX]; /* the numbers that the command printed; 0: it did not */
};

/* Runs `command`; its stdout is read for numbers. False when it did not end with status 0. */
bool measure_run(const char *command, struct sample *out);

/* 0 when there is no such file. */
double measure_file_bytes(const char *path);
/* Free for us on the file system of `path`. */
double measure_free_bytes(const char *path);

double measure_median(const double *values, unsigned n);

/* CPU, cores, memory, kernel, SQLite and how busy it is, in a line; not the machine's name. */
void measure_print_machine(FILE *file);

#endif
