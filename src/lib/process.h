/*
 * The passes over the process as a whole, beside its heap: stacks, environment and settings, the
 * budget. Each object borrows from the reading. All zero is empty.
 */
#ifndef CF_LIB_PROCESS_H
#define CF_LIB_PROCESS_H

#include <stdbool.h>

#include "space/allocators.h"
#include "space/budget.h"
#include "space/kernel.h"
#include "libc/stacks.h"
#include "lib/counted.h"
#include "lib/reading.h"
#include "libc/tunables.h"
#include "store/db.h"

struct cf_process {
    const struct cf_stacks *stacks;
    struct cf_stacks own_stacks; /* where nobody lent any */
    struct cf_environ *env;
    struct cf_tunables tunables;
    struct cf_claims claims;
    bool has_allocator; /* a malloc beside glibc's was seen */
    struct cf_allocator allocator;
    struct cf_budget budget;
    struct cf_counted counted;
    struct cf_kernel kernel;
    const char *unconfirmed; /* why smaps does not make residency exact; NULL: it does */
};

/* What the kernel counted says of the core's memory: before anything is computed that rests on
 * residency. CF_EINPUT: the smaps is of another process. */
int cf_process_confirm(struct cf_process *process, const struct cf_reading *reading,
                       const struct cf_options *options, struct cf_err *err);

/* `stacks` are lent where another pass has found them already; NULL: it did not. */
int cf_process_analyze(const struct cf_context *ctx, struct cf_process *process,
                       const struct cf_reading *reading, const struct cf_stacks *stacks,
                       struct cf_err *err);
int cf_process_store(const struct cf_process *process, const struct cf_reading *reading,
                     const struct cf_options *options, struct cf_db *db, struct cf_err *err);
/* By smaps: a mapping that the process left out of its cores (MADV_DONTDUMP) had content. */
bool cf_process_lacks_content(const struct cf_process *process, const struct cf_mem *mem);
void cf_process_fini(struct cf_process *process);

#endif
