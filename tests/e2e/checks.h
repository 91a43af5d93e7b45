/*
 * A file of checks: queries that must return no row, each under a name that is a sentence.
 *
 *     --- no freed pointer is called live
 *     --- needs residency
 *     SELECT ... ;
 *
 * A second line of dashes names what a core must be able to show for the check to mean anything:
 * `residency` (exactly which pages were resident), `pagemap` (and the kernel said so, too) or
 * `traced` (the program could trace its trim).
 */
#ifndef CHECKS_H
#define CHECKS_H

#include <stddef.h>

enum checks_need { CHECKS_ALWAYS, CHECKS_RESIDENCY, CHECKS_PAGEMAP, CHECKS_TRACED };

struct check {
    char *name; /* owned by the list's text, as all strings here */
    char *sql;
    enum checks_need need;
};

enum { CHECKS_MAX = 256 };

struct checks {
    struct check row[CHECKS_MAX];
    size_t nr, nr_files;
};

/*
 * Appends the checks of tests/e2e/`name`.sql. Ends the program with a message if the file is not
 * there or not in that form: a check that is not run must not look like one that passed.
 */
void checks_read(struct checks *checks, const char *name);

#endif
