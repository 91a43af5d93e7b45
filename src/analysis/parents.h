/*
 * For each chunk whence it was first reached: 4 bytes a chunk, in a temporary file without a name
 * that is mapped, so that they need no memory of ours that the kernel could not take back. A chunk
 * is known by its rank (analysis/ranks.h); what it holds is the rank of the chunk that led to it,
 * or a root.
 */
#ifndef CF_ANALYSIS_PARENTS_H
#define CF_ANALYSIS_PARENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scratch.h"
#include "corefrag.h"

struct cf_stone;

struct cf_parents {
    struct cf_scratch file;
    uint32_t *map; /* by rank; 0: nothing led there */
    struct cf_stone *stones; /* internal */
};

/*
 * `nr` chunks. CF_ENOMEM; CF_EOUTPUT when there is no room for the file in $TMPDIR (or /tmp);
 * CF_EUSAGE for more chunks or roots than 31 bits can number.
 */
int cf_parents_new(size_t nr, size_t nr_roots, struct cf_parents **out, struct cf_err *err);
void cf_parents_free(struct cf_parents *parents);

/* What may be held: the chunk with this rank, or the root with this index. Never 0. */
static inline uint32_t cf_parents_from_chunk(size_t rank) {
    return (uint32_t)rank + 1;
}

static inline uint32_t cf_parents_from_root(size_t root) {
    return 1u << 31 | (uint32_t)root;
}

static inline void cf_parents_set(struct cf_parents *parents, size_t rank, uint32_t from) {
    parents->map[rank] = from;
}

/* What led to the chunk: true and `*root` for a root, true and `*from` with `*root` == SIZE_MAX for
 * a chunk, by its rank; false: nothing did. */
bool cf_parents_get(const struct cf_parents *parents, size_t rank, size_t *root, size_t *from);

/* The end of the way back from a chunk. */
struct cf_way_end {
    size_t root;
    size_t first;       /* rank of the chunk that the root leads to */
    uint64_t nr_chunks; /* from `first` to the chunk, both counted */
};

/* False: nothing led to the chunk. What was walked before is not walked again to its end. */
bool cf_parents_end(struct cf_parents *parents, size_t rank, struct cf_way_end *out);

#endif
