/*
 * What leaks are made of: the fewest leaked chunks from which all others can be reached, and how
 * much hangs on each. Of a ring that nothing points to it is one, the first by address: mostly what
 * was made first. A chunk that several lead to counts for one of them, so that the sums are all
 * that is leaked.
 */
#ifndef CF_REACH_LEADERS_H
#define CF_REACH_LEADERS_H

#include <stdint.h>

#include "corefrag.h"
#include "reach/links.h"
#include "reach/mark.h"

struct cf_leader {
    struct cf_numbered chunk;
    struct cf_chunk_number number;
    uint64_t chunks; /* that hang on it, itself counted */
    uint64_t bytes;
};

/* Whoever is told. CF_OK, or what ends the search. */
typedef int cf_leader_found(void *arg, const struct cf_leader *leader, struct cf_err *err);

/* Tells all leaders, the last one by address first. `links` between the chunks that `mark` knows.
 * CF_ENOMEM, CF_ECANCELLED; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp). */
int cf_leaders_find(const struct cf_context *ctx, const struct cf_mark *mark,
                    const struct cf_links *links, cf_leader_found *found, void *arg,
                    struct cf_err *err);

#endif
