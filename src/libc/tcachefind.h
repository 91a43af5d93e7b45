/*
 * What the finders of this folder share about tcaches, beside what libc/tcache.h offers to all.
 */
#ifndef CF_LIBC_TCACHEFIND_H
#define CF_LIBC_TCACHEFIND_H

#include <stdbool.h>
#include <stdint.h>

#include "libc/found.h"
#include "libc/tcache.h"

/* How the bins of a would-be tcache look; nr_good + nr_bad are those that are not empty. */
struct cf_tcache_verdict {
    unsigned nr_good;
    unsigned nr_bad;
    bool slots_full; /* 2.42+: nothing bad, and empty bins have the full number of slots */
};

struct cf_tcache_verdict cf_tcache_judge(const struct cf_malloc *m, uint64_t tcache,
                                         uint64_t chunk_bytes);

/* The layout whose struct a chunk of this size would hold, or NULL. */
const struct cf_tcache_layout *cf_tcache_layout_of(const struct cf_malloc *m,
                                                   uint64_t chunk_bytes);

/* The list has bin->count chunks of the bin's sizes, and ends there (checked for short lists). */
bool cf_tcache_list_is_sound(const struct cf_malloc *m, const struct cf_tcache_bin *bin,
                             bool mangled);

#endif
