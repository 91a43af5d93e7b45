/*
 * For each chunk whence it was first reached: 4 bytes a chunk, in a temporary file without a name
 * that is mapped, so that they need no memory of ours that the kernel could not take back. A chunk
 * is known by its rank, the number of starts before it; what it holds is the rank of the chunk
 * that led to it, or a root.
 */
#ifndef CF_ANALYSIS_PARENTS_H
#define CF_ANALYSIS_PARENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/resolve.h"
#include "corefrag.h"

struct cf_parents;

/*
 * CF_ENOMEM; CF_EOUTPUT when there is no room for the file in $TMPDIR (or /tmp); CF_EUSAGE for
 * more chunks or roots than 31 bits can number.
 */
int cf_parents_new(const struct cf_resolver *resolver, size_t nr_roots, struct cf_parents **out,
                   struct cf_err *err);
void cf_parents_free(struct cf_parents *parents);

void cf_parents_set_chunk(struct cf_parents *parents, size_t number, size_t from);
void cf_parents_set_root(struct cf_parents *parents, size_t number, size_t root);

/* What led to the chunk `number`: true and `*root` for a root, true and `*from` with
 * `*root` == SIZE_MAX for a chunk; false: nothing did. */
bool cf_parents_get(const struct cf_parents *parents, size_t number, size_t *root, size_t *from);

#endif
