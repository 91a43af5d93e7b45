/*
 * mprotect() cuts a mapping in pieces, and the kernel gives each its own program header: what lies
 * without rights between two pieces of a heap is a guard. gdb leaves out what it cannot read, and a
 * hole between the pieces remains. The end of a heap is no guard: beyond it lies the reserve.
 */
#include "reach/guards.h"

#include "base/err.h"

/* Between two pieces of [start, end) that have rights. */
static int add_between(struct cf_guard_pages *out, const struct cf_mem *mem, uint64_t start,
                       uint64_t end, struct cf_err *err) {
    uint64_t seen = 0; /* where the last piece with rights ends; 0: none yet */
    for (size_t i = cf_mem_lower_bound(mem, start); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start >= end)
            break;
        if (region->flags == 0)
            continue;
        if (seen != 0 && region->start > seen) {
            struct cf_guard_page *slot = cf_array_push(&out->rows);
            if (slot == NULL)
                return cf_err_nomem(err, sizeof *slot, "guard pages");
            *slot = (struct cf_guard_page){seen, region->start};
        }
        seen = region->end;
    }
    return CF_OK;
}

int cf_guard_pages_find(struct cf_guard_pages *out, const struct cf_mem *mem,
                        const struct cf_chunkmap *map, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && status == CF_OK; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        status = add_between(out, mem, heap->start, heap->end, err);
    }
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(map) && status == CF_OK; i++) {
        const struct cf_mmapped *chunk = cf_chunkmap_mmapped(map, i);
        status = add_between(out, mem, chunk->map_start, chunk->map_end, err);
    }
    return status;
}
