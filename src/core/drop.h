/*
 * Keeps the core's pages from piling up in our memory. Each page that a read touches, with the
 * neighbours that the kernel maps along, counts as ours until somebody drops it (cf_core_drop()). A
 * pass that goes up through the file drops what is behind it.
 *
 * One that follows pointers cannot know what it still needs, and has a cf_rss_guard: it looks now
 * and then how much of the process's memory is files' pages, and drops all of the core's when that
 * has grown by CF_RSS_GUARD_BYTES. Faults alone do not say it: where the file system keeps large
 * folios, one fault may map 2 MiB. They only say when a look is worth its system calls. Where the
 * same pages come again and again, dropping costs more than it is worth: after `rereads` times the
 * core it stops.
 */
#ifndef CF_CORE_DROP_H
#define CF_CORE_DROP_H

#include <stdint.h>

#include "core/core.h"

enum {
    CF_RSS_GUARD_BYTES = 32 << 20,
    CF_RSS_GUARD_STEPS = 64, /* between two looks at the faults */
    CF_RSS_GUARD_FAULTS = 8, /* between two looks at the memory: 16 MiB of the largest folios */
};

struct cf_rss_guard {
    const struct cf_core *core;
    unsigned until_look;
    uint64_t faults_seen;
    uint64_t file_bytes; /* of our memory, when it began and after the last drop */
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
