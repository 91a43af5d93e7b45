/*
 * Gives the core's pages back while a pass reads it criss-cross. Each page that a read touches,
 * with the neighbours that the kernel maps along, counts as our memory; a pass that goes up through
 * the file drops what is behind it, one that follows pointers cannot know. So this one looks at
 * the thread's page faults now and then, and drops all pages when so many have come that they may
 * be CF_THRIFT_BYTES. Where the same pages come again and again, dropping costs more than it is
 * worth: after `rereads` times the core it stops.
 */
#ifndef CF_CORE_THRIFT_H
#define CF_CORE_THRIFT_H

#include <stdint.h>

#include "core/core.h"

enum {
    CF_THRIFT_BYTES = 32 << 20,
    CF_THRIFT_STEPS = 256, /* between two looks */
};

struct cf_thrift {
    const struct cf_core *core;
    unsigned until_look;
    uint64_t faults_seen;
    uint64_t drops;
    uint64_t drops_max;
};

/* For a pass over so many bytes of the core. */
struct cf_thrift cf_thrift_make(const struct cf_core *core, uint64_t bytes, unsigned rereads);

/* The slow part of cf_thrift_step(). */
void cf_thrift_look(struct cf_thrift *thrift);

/* After each piece of work of some kilobytes at most. */
static inline void cf_thrift_step(struct cf_thrift *thrift) {
    if (--thrift->until_look == 0)
        cf_thrift_look(thrift);
}

#endif
