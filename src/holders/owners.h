/*
 * The roots that hold most of what was asked about, each as a person sees it (a whole variable, a
 * thread, a runtime's heap), and what each keeps alive alone (held.h).
 */
#ifndef CF_HOLDERS_OWNERS_H
#define CF_HOLDERS_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "holders/asking.h"
#include "holders/held.h"
#include "holders/holders.h"
#include "holders/labels.h"
#include "mem/mem.h"

enum { CF_OWNERS_MAX = 3 };

/* A root that holds asked chunks. */
struct cf_owner {
    struct cf_held held;
    struct cf_hop hop; /* of the first of them */
    uint64_t weight;   /* of the weightiest */
};

struct cf_owners {
    CF_ARRAY(struct cf_owner) rows; /* the weightiest first */
};

/* Borrowed. */
struct cf_owners_input {
    const struct cf_mem *mem;
    const struct cf_labels *labels;
    const struct cf_asking *asking;
    const struct cf_holders *holders; /* the paths to what was asked */
    bool count; /* what each keeps alive; else there are no rows */
};

/* `owners` is all zero. CF_ENOMEM. Without room for its temporary files there are no rows. End with
 * cf_owners_fini(). */
int cf_owners_find(const struct cf_context *ctx, const struct cf_owners_input *input,
                   struct cf_owners *owners, struct cf_err *err);
void cf_owners_fini(struct cf_owners *owners);

/* "connections (server)", "thread 4711": the root, not the word in it. */
void cf_owner_label(const struct cf_labels *labels, const struct cf_owner *owner, char *out,
                    size_t bytes);

#endif
