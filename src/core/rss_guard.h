/*
 * Gives the core's pages back while a pass reads it criss-cross. Each page that a read touches,
 * with the neighbours that the kernel maps along, counts as our memory; a pass that goes up through
 * the file drops what is behind it, one that follows pointers cannot know. So this one looks at
 * the thread's page faults now and then, and drops all pages when so many have come that they may
 * be CF_RSS_GUARD_BYTES. Where the same pages come again and again, dropping costs more than it is
 * worth: after `rereads` times the core it stops.
 */
#ifndef CF_CORE_RSS_GUARD_H
#define CF_CORE_RSS_GUARD_H

#include <stdint.h>

#include "core/core.h"

enum {
    CF_RSS_GUARD_BYTES = 32 << 20,
    CF_RSS_GUARD_STEPS = 256, /* between two looks */
};

struct cf_rss_guard {
    const struct cf_core *core;
    unsigned until_look;
    uint64_t faults_seen;
    uint64_t drops;
    uint64_t drops_max;
};

/* For a pass over so many bytes of the core. */
struct cf_rss_guard cf_rss_guard_make(const struct cf_core *core, uint64_t bytes, unsigned rereads);

/* The slow part of cf_rss_guard_step(). */
void cf_rss_guard_look(struct cf_rss_guard *guard);

/* After each piece of work of some kilobytes at most. */
static inline void cf_rss_guard_step(struct cf_rss_guard *guard) {
    if (--guard->until_look == 0)
        cf_rss_guard_look(guard);
}

#endif
