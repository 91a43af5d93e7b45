/*
 * Programs that are run until they are ready, and what is claimed of their cores: each claim is a
 * query that must return 1, and a test of its own.
 */
#ifndef CLAIMS_H
#define CLAIMS_H

#include <stddef.h>

enum { CLAIMS_MAX = 12 };

struct claim {
    const char *text;
    const char *sql;
};

struct claims_program {
    const char *name;
    const char *command; /* NULL: the generated program `name`; "": the truth program's scenario */
    const char *needs;   /* a command of the shell without which it cannot run; NULL: nothing */
    struct claim claims[CLAIMS_MAX];
};

/* The type that holds the most, as SQL. */
#define FIRST_TYPE "(SELECT type FROM v_type ORDER BY bytes DESC LIMIT 1)"

/* Runs each program and its claims; returns how many tests failed, or 1 where nothing could run
 * that should. One that is not installed is left out, which the output says. */
int claims_run(const struct claims_program *programs, size_t nr);

#endif
