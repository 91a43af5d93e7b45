/*
 * Leaks as a person would file them: the leaders (reach/leaders.h) of one type and size that point
 * into the same module are one leak, with all that hangs on them.
 */
#ifndef CF_HOLDERS_LEAKGROUPS_H
#define CF_HOLDERS_LEAKGROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "corefrag.h"
#include "holders/labels.h"

enum { CF_LEAK_GROUPS_MAX = 100000 };

struct cf_leak_group {
    uint32_t type;       /* of the leaders; 0: only the size is known */
    uint64_t size_bytes; /* of the leaders' chunks */
    uint64_t module;     /* where the module begins that their first words lead to; 0: none */
    uint64_t leaders;
    uint64_t chunks; /* leaders, and all that hangs on them */
    uint64_t bytes;
    uint64_t example; /* header of the first leader */
    uint64_t points_to; /* word of it that leads into the module; 0: none */
};

/* All zero is empty. End with cf_leak_groups_fini(). */
struct cf_leak_groups {
    CF_ARRAY(struct cf_leak_group) rows; /* the most bytes first */
    struct cf_hash table;
};

/* `out` is all zero. Groups beyond CF_LEAK_GROUPS_MAX go into a last one of type 0 and size 0.
 * CF_ENOMEM, CF_ECANCELLED, CF_EOUTPUT. */
int cf_leak_groups_find(const struct cf_context *ctx, const struct cf_labels *labels,
                        struct cf_leak_groups *out, struct cf_err *err);
void cf_leak_groups_fini(struct cf_leak_groups *groups);

/* "session_ops (server)", "libfoo.so": what the group's first words lead to; "" for nothing. */
void cf_leak_group_target(const struct cf_labels *labels, const struct cf_leak_group *group,
                          char *out, size_t bytes);

#endif
