/*
 * Chunks that malloc mapped one by one (sysmalloc_mmap): no list names them, so their headers are
 * searched in anonymous memory outside the heaps. A block starts on a page; its header holds
 * IS_MMAPPED alone. Up to 2.42 prev_size is the header's offset in the block and size the rest of
 * it; from 2.43 on size leaves out the header of 2 words, and bit 0 of prev_size means hugetlbfs.
 * memalign moves the header up by writing a second one and leaves the first where it was
 * (_int_memalign): both describe the same block, the one with the larger offset is the real one.
 * mp_.n_mmaps and mmapped_mem say how many there must be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "ptmalloc/state.h"

enum {
    EXCESS_MAX = 12,     /* candidates that may be false */
    STEPS_MAX = 8 << 20, /* of the search for them */
};

struct block {
    uint64_t start;
    uint64_t end;
    uint64_t addr; /* of the real header */
};

struct hunt {
    struct cf_ptmalloc *pt;
    uint64_t page;
    uint64_t most_bytes; /* that one block can have: what mp_ counts of all */
    struct cf_word_view view;
    CF_ARRAY(struct block) blocks;
};

/* The block that a header at `addr` describes; false when it is none. */
static bool read_header(struct hunt *hunt, uint64_t addr, struct block *out) {
    unsigned word = hunt->pt->word_bytes;
    uint64_t offset, size, end;
    if (!cf_word_view_get(&hunt->view, addr + word, &size) ||
        (size & SIZE_FLAGS) != IS_MMAPPED || !cf_word_view_get(&hunt->view, addr, &offset))
        return false;
    size &= ~(uint64_t)SIZE_FLAGS;
    if (cf_malloc_header_is_short(hunt->pt->malloc_found)) {
        offset &= ~(uint64_t)1;
        size += 2 * word;
    }
    if (offset > addr || size < 2 * word || !cf_add_u64(addr, size, &end))
        return false;
    *out = (struct block){.start = addr - offset, .end = end, .addr = addr};
    return (out->start & (hunt->page - 1)) == 0 && (end & (hunt->page - 1)) == 0;
}

/* All of [start, end) is mapped, writable and not a file's. */
static bool is_anonymous(const struct cf_mem *mem, uint64_t start, uint64_t end) {
    uint64_t at = start;
    for (size_t i = cf_mem_lower_bound(mem, start); i < cf_mem_nr_regions(mem) && at < end; i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start > at || region->kind == CF_REGION_FILE ||
            region->kind == CF_REGION_SHARED)
            return false;
        at = region->end;
    }
    return at >= end;
}

/* memalign's header in the block that starts at `original`: the user address is the first
 * multiple of some power of two behind the original's, or the second one. */
static void find_aligned_header(struct hunt *hunt, struct block *block) {
    unsigned header = 2 * hunt->pt->word_bytes;
    uint64_t user = block->addr + header;
    for (uint64_t align = 2 * hunt->pt->alignment; align != 0 && align < block->end - block->start;
         align <<= 1) {
        uint64_t at = cf_align_down(user + align - 1, align);
        for (int twice = 0; twice < 2; twice++, at += align) {
            struct block found;
            if (at <= user || at >= block->end || !read_header(hunt, at - header, &found))
                continue;
            if (found.start == block->start && found.end == block->end && found.addr > block->addr)
                *block = found;
        }
    }
}

static bool block_at(struct hunt *hunt, uint64_t page, struct block *out) {
    uint64_t first = cf_chunk_from(hunt->pt, page);
    if (!read_header(hunt, first, out) || out->start != page ||
        out->end - out->start > hunt->most_bytes ||
        !is_anonymous(hunt->pt->mem, out->start, out->end))
        return false;
    find_aligned_header(hunt, out);
    return true;
}

/* Where the heap that covers `addr` ends; 0 when none does. */
static uint64_t heap_end(const struct cf_ptmalloc *pt, uint64_t addr) {
    const struct cf_heap *heap = cf_chunkmap_find_heap(pt->map, addr);
    return heap == NULL ? 0 : heap->reserved_end > addr ? heap->reserved_end : heap->end;
}

static int hunt_region(struct hunt *hunt, const struct cf_region *region, uint64_t *at,
                       struct cf_err *err) {
    uint64_t data_end = region->start + region->data_bytes;
    struct cf_mem_trail trail = {hunt->pt->mem, *at};
    while (*at < data_end) {
        uint64_t end = heap_end(hunt->pt, *at);
        struct block block;
        if (end != 0) {
            if (!cf_align_up(end, hunt->page, at))
                return CF_OK;
        } else if (block_at(hunt, *at, &block)) {
            struct block *slot = cf_array_push(&hunt->blocks);
            if (slot == NULL)
                return cf_err_nomem(err, sizeof *slot, "an mmapped chunk");
            *slot = block;
            *at = block.end;
        } else {
            *at = cf_next_present_page(hunt->pt->mem, *at + hunt->page, hunt->page);
        }
        if (*at < data_end)
            (void)cf_mem_trail_to(&trail, *at);
    }
    cf_mem_trail_end(&trail, data_end);
    return CF_OK;
}

static int hunt_all(struct hunt *hunt, struct cf_err *err) {
    const struct cf_mem *mem = hunt->pt->mem;
    uint64_t at = 0;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->data_bytes == 0 || region->kind == CF_REGION_FILE ||
            region->kind == CF_REGION_SHARED)
            continue;
        if (at < region->start && !cf_align_up(region->start, hunt->page, &at))
            continue;
        int status = hunt_region(hunt, region, &at, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

struct promise {
    uint64_t chunks;
    uint64_t bytes;
    bool known;
};

/* What mp_ of all namespaces counts. */
static struct promise promised(const struct cf_ptmalloc *pt) {
    struct promise sum = {.known = true};
    for (size_t i = 0; i < cf_malloc_nr_namespaces(pt->malloc_found); i++) {
        const struct cf_par *par = &cf_malloc_namespace(pt->malloc_found, i)->par;
        if (par->addr == 0)
            sum.known = false;
        sum.chunks += par->n_mmaps;
        sum.bytes += par->mmapped_mem;
    }
    return sum;
}

static uint64_t total_bytes(const struct hunt *hunt) {
    uint64_t sum = 0;
    for (size_t i = 0; i < hunt->blocks.len; i++)
        sum += hunt->blocks.items[i].end - hunt->blocks.items[i].start;
    return sum;
}

/* The search for the candidates that are none: so many blocks, of so many bytes together. */
struct false_blocks {
    const struct block *blocks;
    size_t nr;
    size_t chosen[EXCESS_MAX];
    size_t found[EXCESS_MAX]; /* the first way */
    unsigned ways;            /* 2: more than one */
    uint64_t steps_left;
};

static uint64_t block_bytes(const struct block *block) {
    return block->end - block->start;
}

/* Depth first; `nr` more blocks from `first` on, of `bytes` together. */
static void search_subsets(struct false_blocks *subset, size_t first, size_t depth, size_t nr,
                           uint64_t bytes) {
    if (nr == 0) {
        if (bytes == 0 && subset->ways++ == 0)
            memcpy(subset->found, subset->chosen, sizeof subset->found);
        return;
    }
    for (size_t i = first; i + nr <= subset->nr && subset->ways < 2 && subset->steps_left > 0;
         i++) {
        subset->steps_left--;
        if (block_bytes(&subset->blocks[i]) > bytes)
            continue;
        subset->chosen[depth] = i;
        search_subsets(subset, i + 1, depth + 1, nr - 1, bytes - block_bytes(&subset->blocks[i]));
    }
}

/*
 * More candidates than mp_ counts: bytes in somebody's memory look like a header. When exactly
 * one way of leaving some out makes count and bytes match, those are the false ones.
 */
static bool drop_false_ones(struct hunt *hunt, const struct promise *promise) {
    size_t nr_excess = hunt->blocks.len - (size_t)promise->chunks, kept = 0, next = 0;
    struct false_blocks subset = {.blocks = hunt->blocks.items, .nr = hunt->blocks.len,
                            .steps_left = STEPS_MAX};
    if (nr_excess > EXCESS_MAX)
        return false;
    search_subsets(&subset, 0, 0, nr_excess, total_bytes(hunt) - promise->bytes);
    if (subset.ways != 1 || subset.steps_left == 0)
        return false;
    for (size_t i = 0; i < hunt->blocks.len; i++) {
        if (next < nr_excess && subset.found[next] == i)
            next++;
        else
            hunt->blocks.items[kept++] = hunt->blocks.items[i];
    }
    hunt->blocks.len = kept;
    return true;
}

/* 2.43 and 2.44 add 2 words to mmapped_mem with each mremap that changes a size (mremap_chunk). */
static bool is_drift(const struct cf_ptmalloc *pt, uint64_t found, uint64_t promise) {
    return cf_malloc_header_is_short(pt->malloc_found) && promise > found &&
           (promise - found) % (2 * pt->word_bytes) == 0;
}

static void compare(struct hunt *hunt) {
    struct promise promise = promised(hunt->pt);
    if (!promise.known)
        return;
    if (hunt->blocks.len > promise.chunks && total_bytes(hunt) >= promise.bytes)
        (void)drop_false_ones(hunt, &promise);
    uint64_t bytes = total_bytes(hunt);
    if (hunt->blocks.len == promise.chunks &&
        (bytes == promise.bytes || is_drift(hunt->pt, bytes, promise.bytes)))
        return;
    /* They are found by their looks: too many or too few prove no corruption, even where the core
     * is complete (memory that looks like one, one whose mapping was left out). */
    cf_anomalies_add(&hunt->pt->anomalies,
                     &(struct cf_anomaly){.code = "mmapped-count", .arena_id = UINT32_MAX,
                                          .heap_id = UINT32_MAX, .in_complete = false},
                     "%zu mmapped chunks of %llu bytes found, mp_ counts %llu of %llu",
                     hunt->blocks.len, (unsigned long long)bytes,
                     (unsigned long long)promise.chunks, (unsigned long long)promise.bytes);
}

static int keep(struct hunt *hunt, struct cf_err *err) {
    unsigned word = hunt->pt->word_bytes;
    bool is_short = cf_malloc_header_is_short(hunt->pt->malloc_found);
    for (size_t i = 0; i < hunt->blocks.len; i++) {
        const struct block *block = &hunt->blocks.items[i];
        uint64_t bytes = block->end - block->addr;
        struct cf_mmapped row = {
            .addr = block->addr, .bytes = bytes,
            .map_start = block->start, .map_end = block->end,
            /* memsize(): the size field less 2 words, from 2.43 on less 1 of a field that is
             * already 2 words shorter. */
            .usable_bytes = bytes - (is_short ? 3 : 2) * word,
        };
        int status = cf_chunkmap_add_mmapped(hunt->pt->map, &row, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_mmapped_find(struct cf_ptmalloc *pt, struct cf_err *err) {
    struct promise promise = promised(pt);
    if (promise.known && promise.chunks == 0)
        return CF_OK;
    struct hunt hunt = {
        .pt = pt, .page = cf_mem_page_bytes(pt->mem),
        .most_bytes = promise.known ? promise.bytes : UINT64_MAX,
        .view = {.mem = pt->mem, .word_bytes = pt->word_bytes},
    };
    int status = hunt_all(&hunt, err);
    if (status == CF_OK) {
        compare(&hunt);
        status = keep(&hunt, err);
    }
    cf_array_free(&hunt.blocks);
    return status;
}
