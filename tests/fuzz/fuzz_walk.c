/*
 * The reading side on hostile bytes: header and notes, the address space, the search for malloc,
 * the walk, and then every chunk of the map. No database, so that a fuzzer gets many runs a
 * second.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "core/core.h"
#include "libc/malloc.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap.h"
#include "ptmalloc/heap.h"
#include "ptmalloc/planes.h"
#include "../unit/whole_mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Chunks tile their heap: the map's promise must hold whatever the bytes were. */
static void check_map(const struct cf_chunkmap *map) {
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        struct cf_chunk chunk;
        uint64_t end = heap->start;
        struct cf_planes_walk walk = cf_planes_walk(cf_chunkmap_planes(map), heap);
        while (cf_planes_walk_next(&walk, &chunk)) {
            if (chunk.bytes == 0 || chunk.addr < end || chunk.addr + chunk.bytes > heap->end)
                abort();
            end = chunk.addr + chunk.bytes;
        }
    }
}

static void walk(const struct cf_core *core) {
    struct cf_err err;
    struct cf_mem *mem = NULL;
    struct cf_malloc *found = NULL;
    struct cf_ptmalloc *heaps = NULL;
    if (whole_mem(NULL, core, &mem, &err) == 0 &&
        cf_malloc_find(NULL, mem, &found, &err) == 0 &&
        cf_ptmalloc_walk(NULL, found, 1, &heaps, &err) == 0)
        check_map(cf_ptmalloc_map(heaps));
    cf_ptmalloc_free(heaps);
    cf_malloc_free(found);
    cf_mem_free(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CF_CLEANUP_CLOSE int fd = memfd_create("seed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    struct cf_core *core = NULL;
    struct cf_err err;
    if (cf_core_open(NULL, fd, "seed", NULL, &core, &err) == 0)
        walk(core);
    cf_core_free(core);
    return 0;
}
