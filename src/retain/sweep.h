/*
 * The one iteration over all chunks that sizes and holes share: the map is regenerated from its
 * planes once, not once for each question.
 */
#ifndef CF_RETAIN_SWEEP_H
#define CF_RETAIN_SWEEP_H

#include "retain/holes.h"
#include "retain/sizes.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"

/* Both outputs are the caller's to free; `mem` and `trim` as for cf_holes_new(). */
int cf_sweep(const struct cf_context *ctx, const struct cf_mem *mem, const struct cf_trim *trim,
             const struct cf_chunkmap *map, size_t nr_arenas,
             struct cf_sizes **out_sizes, struct cf_holes **out_holes, struct cf_err *err);

#endif
