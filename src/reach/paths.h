/*
 * The shortest paths from roots to chunks, as a breadth-first search (reach/search.h) leaves them:
 * the chunks in the order in which they were reached, each a position, and for each the position
 * or root whose edge first reached it. Both are written from their beginning to their end, in
 * temporary files, 8 bytes a chunk that is reached; chunks are ranks (reach/ranks.h).
 *
 *     position   0        1        2   3   4 ...
 *     order      rank     rank     ...
 *     from       root 0   root 3   0   0   1 ...      a position is above that of its parent
 */
#ifndef CF_REACH_PATHS_H
#define CF_REACH_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tempfile.h"
#include "corefrag.h"
#include "reach/ranks.h"

struct cf_path_stone;

struct cf_paths {
    size_t nr; /* positions */
    const uint32_t *order;
    const uint32_t *from;
    struct cf_scratch order_file;
    struct cf_scratch from_file;
    struct cf_path_stone *stones; /* internal */
};

/* A chunk's position. */
struct cf_position {
    size_t index;
};

/* What is not a position. */
#define CF_NO_POSITION ((struct cf_position){SIZE_MAX})

static inline bool cf_is_position(struct cf_position position) {
    return position.index != SIZE_MAX;
}

static const uint32_t CF_PATHS_MAX = (1u << 31) - 2; /* positions, ranks, and roots */

/* What is written. */
struct cf_paths_writer {
    struct cf_scratch_writer order;
    struct cf_scratch_writer from;
    size_t nr;
};

/* What `from` may be: the position of a chunk, or the root with this index. */
static inline uint32_t cf_paths_from_root(size_t root) {
    return 1u << 31 | (uint32_t)root;
}
static inline uint32_t cf_paths_from_chunk(struct cf_position position) {
    return (uint32_t)position.index;
}

/* Without `from` it is the queue of a search and no more: nothing to finish, but to be abandoned.
 * CF_ENOMEM; CF_EOUTPUT when there is no room in $TMPDIR (or /tmp). */
int cf_paths_begin(struct cf_paths_writer *writer, bool with_from, struct cf_err *err);
/* The chunk's position is how many were put before it. */
static inline void cf_paths_put(struct cf_paths_writer *writer, struct cf_rank rank,
                                uint32_t from) {
    cf_scratch_put_u32(&writer->order, (uint32_t)rank.index);
    if (writer->from.buffer != NULL)
        cf_scratch_put_u32(&writer->from, from);
    writer->nr++;
}
/* Copies the ranks at `nr` positions that were put, from `position` on. */
void cf_paths_copy(const struct cf_paths_writer *writer, struct cf_position position,
                   uint32_t *out, size_t nr);
/* The writer is gone in any case. As cf_paths_begin(). End with cf_paths_free(). */
int cf_paths_finish(struct cf_paths_writer *writer, struct cf_paths **out, struct cf_err *err);
void cf_paths_abandon(struct cf_paths_writer *writer);
void cf_paths_free(struct cf_paths *paths);

/* Fills in the positions of the `nr` ranks, which are sorted; CF_NO_POSITION where one was not
 * reached. One pass over all of them. CF_ECANCELLED. */
int cf_paths_find(const struct cf_context *ctx, const struct cf_paths *paths,
                  const struct cf_rank *ranks, size_t nr, struct cf_position *positions,
                  struct cf_err *err);

/* The chunk at `position`. */
static inline struct cf_rank cf_paths_rank(const struct cf_paths *paths,
                                           struct cf_position position) {
    return (struct cf_rank){paths->order[position.index]};
}

/* What led to the chunk at `position`: the position of another, or CF_NO_POSITION for a root. */
static inline struct cf_position cf_paths_before(const struct cf_paths *paths,
                                                 struct cf_position position) {
    uint32_t from = paths->from[position.index];
    return from >> 31 ? CF_NO_POSITION : (struct cf_position){from};
}

/* The end of the path back from a position. */
struct cf_path_end {
    size_t root;
    struct cf_position first; /* of the chunk that the root leads to */
    uint64_t nr_chunks;       /* from `first` to the chunk, both counted */
};

/* What was walked before is not walked again to its end. CF_ECANCELLED. */
int cf_paths_end(const struct cf_context *ctx, struct cf_paths *paths,
                 struct cf_position position, struct cf_path_end *out, struct cf_err *err);

/* Gives the pages back; the files keep their content. */
void cf_paths_drop(const struct cf_paths *paths);

#endif
