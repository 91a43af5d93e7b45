/*
 * CPython's objects, which come from its own small allocator (pymalloc, Objects/obmalloc.c), in
 * arenas that it maps. An arena is cut into pools, each with blocks of one size:
 *
 *     pool:  used blocks | free block | next pool | previous pool | arena, size class |
 *            next offset, last offset of a block | blocks ...
 *
 * Pools are 4 KiB in arenas of 256 KiB up to 3.9, and 16 KiB in arenas of 1 MiB since; a size
 * class is 16 bytes, 8 before 3.7. The last offset is the pool's size less a block, so a header
 * that holds together is no accident.
 */
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "runtime/runtimes.h"
#include "space/unclaimed.h"

enum { HEADER_BYTES = 48, CLASSES_MAX = 64, POOLS_MIN = 4 };

/* The two shapes that there ever were. */
static const struct shape {
    uint32_t pool_bytes;
    uint32_t arena_bytes;
} shapes[] = {{16 << 10, 1 << 20}, {4 << 10, 256 << 10}};

static uint32_t word32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t word64(const unsigned char *at) {
    return word32(at) | (uint64_t)word32(at + 4) << 32;
}

static bool is_pool(const unsigned char *header, uint64_t addr, uint32_t pool_bytes) {
    uint64_t free_block = word64(header + 8);
    uint32_t used = word32(header), size_class = word32(header + 36);
    uint32_t next = word32(header + 40), last = word32(header + 44);
    if (size_class >= CLASSES_MAX || last >= pool_bytes)
        return false;
    uint32_t size = pool_bytes - last;
    if (size != (size_class + 1) * 16 && size != (size_class + 1) * 8)
        return false;
    if (used > (pool_bytes - HEADER_BYTES) / size || next < HEADER_BYTES ||
        next > pool_bytes + size || (next - HEADER_BYTES) % size != 0)
        return false;
    return free_block == 0 ||
           (free_block >= addr + HEADER_BYTES && free_block <= addr + last &&
            (free_block - addr - HEADER_BYTES) % size == 0);
}

/* Of the pools in [start, end), nearly all that were ever touched have a sound header. */
static bool is_arena(const struct cf_mem *mem, uint64_t start, uint64_t end, uint32_t pool_bytes) {
    static const unsigned char nothing[HEADER_BYTES];
    unsigned char header[HEADER_BYTES];
    unsigned sound = 0, unsound = 0;
    uint64_t addr;
    if (!cf_align_up(start, pool_bytes, &addr))
        return false;
    for (; addr < end && end - addr >= pool_bytes; addr += pool_bytes) {
        if (!cf_mem_read(mem, addr, header, sizeof header))
            return false;
        if (is_pool(header, addr, pool_bytes))
            sound++;
        else if (memcmp(header, nothing, sizeof header) != 0)
            unsound++;
    }
    return sound >= POOLS_MIN && sound / 8 >= unsound;
}

static uint64_t arenas_end(const struct cf_mem *mem, const struct cf_piece *piece, uint64_t start,
                           const struct shape *shape) {
    uint64_t end = start;
    while (piece->end - end >= shape->arena_bytes &&
           is_arena(mem, end, end + shape->arena_bytes, shape->pool_bytes))
        end += shape->arena_bytes;
    return end;
}

/* Arenas lie side by side from the mapping's start, where nothing else was merged into it. */
static int claim_arenas(const struct cf_managed *managed, const struct cf_piece *piece,
                        const struct shape *shape, struct cf_err *err) {
    const struct cf_claimant who =
        cf_managed_as(managed, CF_AREA_OBJECTS, "Python objects (pymalloc)");
    uint64_t at = piece->start, data = at;
    while (cf_mem_next_data(managed->mem, &data, piece->end)) {
        /* What was not dumped is no arena, and may be most of the address space. */
        at += (data - at) / shape->arena_bytes * shape->arena_bytes;
        if (piece->end - at < shape->arena_bytes)
            break;
        uint64_t end = arenas_end(managed->mem, piece, at, shape);
        int status = cf_claims_add_for(managed->out, &who, at, end, err);
        if (status != CF_OK)
            return status;
        at = end > at ? end : at + shape->arena_bytes;
        data = at;
    }
    cf_mem_drop(managed->mem, piece->start, piece->end);
    return CF_OK;
}

static bool recognises(const struct cf_mem *mem, const struct cf_modules *modules) {
    return cf_mem_word_bytes(mem) == 8 && (cf_modules_find_prefix(modules, "python") != NULL ||
                                           cf_modules_find_prefix(modules, "libpython") != NULL);
}

static int claim(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_unclaimed walk = cf_unclaimed_from(managed->mem, managed->taken, 0);
    struct cf_piece piece;
    while (cf_unclaimed_next(&walk, &piece)) {
        if ((piece.flags & PF_W) == 0)
            continue;
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            int status = claim_arenas(managed, &piece, &shapes[i], err);
            if (status != CF_OK)
                return status;
        }
    }
    return CF_OK;
}

/* Objects of CPython stand in malloc's chunks too, so it is the types that know them. */
struct objects {
    struct cf_types *types;
};

static bool open_objects(const struct cf_objects_input *input, void *state) {
    struct objects *objects = state;
    objects->types = input->types;
    return input->types != NULL;
}

static bool name_object(const void *state, uint64_t addr, uint64_t low, char *out, size_t bytes) {
    const struct objects *objects = state;
    (void)low;
    const char *name =
        cf_types_name(objects->types, cf_types_python_around(objects->types, addr));
    if (name != NULL)
        (void)snprintf(out, bytes, "%s", name);
    return name != NULL;
}

const struct cf_runtime cf_runtime_cpython = {
    .name = "CPython",
    .suffix = "", /* the names of its types begin with "python" */
    .advice = "Look at Python's objects first: tracemalloc says which lines made them, "
              "sys._debugmallocstats() how full the arenas are",
    .trim = "import ctypes; ctypes.CDLL(\"libc.so.6\").malloc_trim(0)",
    .recognises = recognises,
    .claim = claim,
    .state_bytes = sizeof(struct objects),
    .open_objects = open_objects,
    .name_object = name_object,
};
