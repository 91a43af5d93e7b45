/*
 * Top pins: the live chunks that keep an arena's top where it is, from the top down along the
 * arena's chain of heaps, newest heap first, at most 100 an arena. Main arena's list ends at the
 * first fence or foreign gap: nothing below it can ever join the top.
 *
 *     ... |live| hole below |live: rank 2| hole |live: rank 1| hole | top |
 *                                               `------ unlocked by rank 1
 *              `------------------------------------------- unlocked by rank 2
 *
 * "Freed" means given back to the arena here: what waits in a fastbin or a tcache among them
 * counts as given back with it. In a thread arena a heap that is empty then is dropped as
 * heap_trim() drops it (heapchain.h), all its accessible bytes count, and what ends the heap below
 * joins the top with its fences; where heap_trim() would keep the empty heap, nothing below it
 * can join.
 *
 * What joins the top does not go back by that alone: `returned` is what the next free() that trims
 * would then give back beyond what it does now (freeing.h), while thread caches stay as they are.
 */
#ifndef CF_RETAIN_TOPPIN_H
#define CF_RETAIN_TOPPIN_H

#include <stddef.h>
#include <stdint.h>

#include "retain/resident.h"
#include "retain/trimrule.h"
#include "base/array.h"
#include "corefrag.h"
#include "ptmalloc/chunkmap.h"

enum { CF_TOP_PINS_MAX = 100 };

struct cf_top_pin {
    uint32_t arena_id;
    uint32_t heap_id;
    uint32_t rank;   /* 1: topmost */
    uint64_t addr;   /* of the header */
    uint64_t bytes;  /* of the chunk */
    uint64_t hole_below_bytes;
    uint64_t unlocked_bytes; /* if this and all above it were freed; the old top not counted,
                                except with a heap that is dropped */
    struct cf_resident_bytes unlocked_resident; /* of these */
    struct cf_resident_bytes returned; /* resident bytes that free() would give back then */
};

struct cf_top_pins {
    CF_ARRAY(struct cf_top_pin) pins; /* by arena, rank */
};

/* CF_ENOMEM only; free with cf_top_pins_fini(). */
int cf_top_pins_find(const struct cf_chunkmap *map, const struct cf_trim_rule *rule,
                     const struct cf_residency *residency, struct cf_top_pins *out,
                     struct cf_err *err);
void cf_top_pins_fini(struct cf_top_pins *pins);

#endif
