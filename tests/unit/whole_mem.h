/*
 * An address space in one call: mapped and judged, without a witness.
 */
#ifndef CF_TESTS_UNIT_WHOLE_MEM_H
#define CF_TESTS_UNIT_WHOLE_MEM_H

#include "mem/mem.h"

/* As cf_mem_map() and cf_mem_judge(). Caller frees with cf_mem_free(). */
static inline int whole_mem(const struct cf_context *ctx, const struct cf_core *core,
                            struct cf_mem **out, struct cf_err *err) {
    struct cf_mem *mem = NULL;
    int status = cf_mem_map(core, &mem, err);
    if (status == CF_OK)
        status = cf_mem_judge(ctx, mem, NULL, err);
    if (status == CF_OK)
        *out = mem;
    else
        cf_mem_free(mem);
    return status;
}

#endif
