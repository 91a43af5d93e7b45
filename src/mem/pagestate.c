/*
 * Which pages were in memory when the core was written, in two steps. What the file stores is known
 * from its extents, without a look at the data: no page outside of it was in memory, as far as
 * the core says. Which stored pages are zeros takes a look at each, unless somebody has met content
 * there already: the walk over the heaps reads a chunk's header on nearly every page, and a size
 * field is not zero. So the second step comes after the walk, and reads the other pages only.
 *
 * In an original kernel core a hole in the file means that an anonymous page was not resident, and
 * data means that it was, even where the data is all zeros. A tool that copies sparsely punches
 * the zeros too; so the holes are believed only where some all-zero anonymous page stands in the
 * file as data, which no such copy leaves behind. Unpacking with zstd, lz4, xz or dd to a file
 * punches more coarsely than pages and does leave some, but its holes begin at multiples of 8 or
 * 32 KiB, where half of the kernel's begin at an odd page. Otherwise pages of zeros are taken for
 * absent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/err.h"
#include "core/reader.h"
#include "mem/mem_private.h"

enum { STEP_BYTES = 4 << 20 };

/* ---- gaps that createdump left ---- */

/*
 * Whether a createdump left out the pages that were not resident. A full dump that does so covers
 * files in part: every module's last mapping (its data, which relocation wrote to) has some pages,
 * and some mapping has some but not all. A full dump of an older createdump has all or nothing of
 * a mapping; a heap or mini dump has no data of most modules. Only the first is believed.
 */
enum { MODULE_MAPPINGS = 4, NEEDED_MODULES = 3 };

static uint64_t covered_bytes(const struct cf_mem *mem, const struct mem_file_range *range) {
    uint64_t total = 0;
    for (size_t i = cf_mem_lower_bound(mem, range->start); i < mem->regions.len; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        if (region->start >= range->end)
            break;
        total +=
            cf_overlap(region->start, region->start + region->data_bytes, range->start, range->end);
    }
    return total;
}

static bool same_file(const struct cf_mem *mem, size_t a, size_t b) {
    const struct mem_file_range *ranges = mem->files.items;
    return strcmp(cf_core_file(mem->core, (size_t)ranges[a].file)->path,
                  cf_core_file(mem->core, (size_t)ranges[b].file)->path) == 0;
}

static bool has_gaps(const struct cf_mem *mem) {
    if (cf_core_producer(mem->core) != CF_PRODUCER_CREATEDUMP)
        return false;
    size_t partly = 0;
    size_t modules = 0;
    size_t mappings = 0;
    for (size_t i = 0; i < mem->files.len; i++) {
        const struct mem_file_range *range = &mem->files.items[i];
        uint64_t covered = covered_bytes(mem, range);
        partly += covered > 0 && covered < range->end - range->start;
        mappings++;
        if (i + 1 < mem->files.len && same_file(mem, i, i + 1))
            continue;
        bool is_module = mappings >= MODULE_MAPPINGS;
        if (is_module && covered == 0)
            return false;
        modules += is_module;
        mappings = 0;
    }
    return partly > 0 && modules >= NEEDED_MODULES;
}

/* ---- holes of the file ---- */

/* The file's data, in file offsets; what lies between is holes. */
struct extents {
    struct mem_runs runs;
};

static int find_extents(const struct cf_mem *mem, struct extents *out, struct cf_err *err) {
    for (size_t i = 0; i < cf_core_nr_extents(mem->core); i++) {
        const struct cf_core_extent *extent = cf_core_extent(mem->core, i);
        if (!cf_mem_runs_add(&out->runs, extent->start, extent->end))
            return cf_err_nomem(err, (out->runs.len + 1) * sizeof *out->runs.items,
                                "the file's extents");
    }
    return CF_OK;
}

static bool region_has_holes(const struct extents *extents, const struct cf_region *region) {
    uint64_t end = region->offset + region->data_bytes;
    return cf_mem_runs_bytes_below(&extents->runs, end) -
               cf_mem_runs_bytes_below(&extents->runs, region->offset) <
           region->data_bytes;
}

static bool any_region_has_holes(const struct cf_mem *mem, const struct extents *extents) {
    for (size_t i = 0; i < mem->regions.len; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        if (cf_mem_region_is_known(region) && region_has_holes(extents, region))
            return true;
    }
    return false;
}

/* The stored pieces of a region, widened to whole pages. */
static bool add_stored(struct cf_mem *mem, const struct mem_runs *runs,
                       const struct cf_region *region) {
    uint64_t page_bytes = mem->page_bytes;
    uint64_t region_end = region->offset + region->data_bytes;
    uint64_t pos = region->start;
    for (size_t i = cf_mem_runs_above(runs, region->offset); i < runs->len; i++) {
        if (runs->items[i].start >= region_end)
            break;
        uint64_t from = runs->items[i].start > region->offset
                            ? region->start + (runs->items[i].start - region->offset)
                            : region->start;
        uint64_t to = runs->items[i].end < region_end
                          ? region->start + (runs->items[i].end - region->offset)
                          : region->end;
        uint64_t widened;
        from = cf_align_down(from, page_bytes);
        from = from > pos ? from : pos;
        to = cf_align_up(to, page_bytes, &widened) && widened < region->end ? widened : region->end;
        if (from < to && !cf_mem_runs_add(&mem->resident, from, to))
            return false;
        pos = to > pos ? to : pos;
    }
    return true;
}

static int no_room(const struct cf_mem *mem, struct cf_err *err) {
    return cf_err_nomem(err, (mem->resident.len + 1) * sizeof(struct mem_run),
                        "runs of resident pages");
}

struct hole_starts {
    uint64_t all;
    uint64_t odd; /* at an odd multiple of the page size */
};

static void count_hole_starts(const struct cf_mem *mem, const struct extents *extents,
                              const struct cf_region *region, struct hole_starts *counts) {
    const struct mem_runs *runs = &extents->runs;
    uint64_t region_end = region->offset + region->data_bytes;
    for (size_t i = cf_mem_runs_above(runs, region->offset); i < runs->len; i++) {
        uint64_t start = runs->items[i].end;
        if (start >= region_end)
            return;
        counts->all++;
        counts->odd += start % (2 * mem->page_bytes) == mem->page_bytes;
    }
}

/* Whoever made the holes did so page by page: also false on a file system whose blocks are larger
 * than a page. A coarse tool leaves no hole at an odd page at all; of the kernel's about half are
 * there, but only an eighth where a runtime commits its memory in steps of 64 KiB (HotSpot). */
static bool holes_are_fine(const struct cf_mem *mem, const struct extents *extents) {
    struct hole_starts counts = {0, 0};
    for (size_t i = 0; i < mem->regions.len; i++) {
        if (cf_mem_region_is_known(&mem->regions.items[i]))
            count_hole_starts(mem, extents, &mem->regions.items[i], &counts);
    }
    return counts.odd > 0 && counts.odd >= counts.all / 32;
}

/* The holes may tell which pages were in memory, if a page of zeros is stored (see above). */
static bool holes_may_count(const struct cf_mem *mem, const struct extents *extents) {
    return cf_core_producer(mem->core) == CF_PRODUCER_KERNEL &&
           cf_core_holes_are_evidence(mem->core) && any_region_has_holes(mem, extents) &&
           holes_are_fine(mem, extents);
}

static int find_by_gaps(struct cf_mem *mem, struct cf_err *err) {
    for (size_t i = 0; i < mem->known.len; i++) {
        const struct mem_run *run = &mem->known.items[i];
        if (!cf_mem_runs_add(&mem->resident, run->start, run->end))
            return no_room(mem, err);
    }
    mem->source = CF_RESIDENCY_GAPS;
    mem->exact = true;
    return CF_OK;
}

int cf_mem_find_stored(struct cf_mem *mem, struct cf_err *err) {
    if (mem->known.len == 0)
        return CF_OK;
    if (has_gaps(mem))
        return find_by_gaps(mem, err);
    struct extents extents = {0};
    int status = find_extents(mem, &extents, err);
    for (size_t i = 0; i < mem->regions.len && status == CF_OK; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        if (cf_mem_region_is_known(region) && !add_stored(mem, &extents.runs, region))
            status = no_room(mem, err);
    }
    mem->holes_may_count = holes_may_count(mem, &extents);
    cf_array_free(&extents.runs);
    return status;
}

/* ---- by content ---- */

/* A pass over the stored pages of anonymous memory, in the order of addresses. */
struct scan {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_mem_witness *witness;
    struct cf_core_reader reader;
    struct mem_runs filled; /* pages that are not all zeros */
    bool met_zeros;
    bool is_cancelled;
    uint64_t done_bytes;
    uint64_t total_bytes; /* upper bound of done_bytes */
};

/* The first page of zeros ends the pass: the holes tell the rest. */
static bool is_decided(const struct scan *scan) {
    return scan->met_zeros && scan->mem->holes_may_count;
}

static bool is_zero(const unsigned char *bytes, size_t nr_bytes) {
    enum { BLOCK = 256 };
    /* Most pages differ from zero at once; the loop over words is for the compiler to vectorise. */
    while (nr_bytes >= BLOCK) {
        uint64_t words[BLOCK / sizeof(uint64_t)];
        uint64_t any = 0;
        memcpy(words, bytes, BLOCK);
        for (size_t i = 0; i < BLOCK / sizeof(uint64_t); i++)
            any |= words[i];
        if (any != 0)
            return false;
        bytes += BLOCK;
        nr_bytes -= BLOCK;
    }
    unsigned char any = 0;
    for (size_t i = 0; i < nr_bytes; i++)
        any |= bytes[i];
    return any == 0;
}

/* Whether [start, end) of a region, a page or the region's part of one, has content. What cannot
 * be read has none. */
static bool has_content(struct scan *scan, const struct cf_region *region, uint64_t start,
                        uint64_t end) {
    while (start < end) {
        uint64_t avail, left = end - start;
        uint64_t part = left < CF_CORE_READER_BYTES ? left : CF_CORE_READER_BYTES;
        const unsigned char *bytes = cf_core_reader_at(
            &scan->reader, region->offset + (start - region->start), part, &avail);
        if (bytes != NULL && !is_zero(bytes, (size_t)part))
            return true;
        start += part;
    }
    return false;
}

/* Adds those pages of [start, end) that have content. False: memory is out. */
static bool add_by_content(struct scan *scan, const struct cf_region *region, uint64_t start,
                           uint64_t end) {
    uint64_t page_bytes = scan->mem->page_bytes;
    for (uint64_t at = start; at < end && !is_decided(scan);) {
        uint64_t left = page_bytes - (at & (page_bytes - 1));
        uint64_t next = left < end - at ? at + left : end, known = at;
        if (left == page_bytes && scan->witness != NULL)
            known = scan->witness->filled_until(scan->witness->user, at, end);
        next = known > at ? known : next;
        if (known > at || has_content(scan, region, at, next)) {
            if (!cf_mem_runs_add(&scan->filled, at, next))
                return false;
        } else {
            scan->met_zeros = scan->met_zeros || next - at == page_bytes;
        }
        at = next;
    }
    return true;
}

/* One stored piece of a region, in steps. */
static bool scan_stored(struct scan *scan, const struct cf_region *region, uint64_t start,
                        uint64_t end) {
    while (start < end && !is_decided(scan) && !scan->is_cancelled) {
        uint64_t step = cf_align_down(start, STEP_BYTES) + STEP_BYTES;
        uint64_t stop = step > start && step < end ? step : end;
        if (!add_by_content(scan, region, start, stop))
            return false;
        scan->done_bytes += stop - start;
        scan->is_cancelled =
            cf_progress(scan->ctx, "residency", scan->done_bytes, scan->total_bytes);
        start = stop;
    }
    return true;
}

static bool scan_region(struct scan *scan, const struct cf_region *region) {
    const struct mem_runs *stored = &scan->mem->resident;
    uint64_t end = region->start + region->data_bytes;
    for (size_t i = cf_mem_runs_above(stored, region->start); i < stored->len; i++) {
        const struct mem_run *run = &stored->items[i];
        if (run->start >= end)
            break;
        if (!scan_stored(scan, region, run->start > region->start ? run->start : region->start,
                         run->end < end ? run->end : end))
            return false;
    }
    return true;
}

int cf_mem_judge(const struct cf_context *ctx, struct cf_mem *mem,
                 const struct cf_mem_witness *witness, struct cf_err *err) {
    if (mem->known.len == 0 || mem->source != CF_RESIDENCY_NONE)
        return CF_OK;
    struct scan scan = {.ctx = ctx, .mem = mem, .witness = witness,
                        .total_bytes = cf_mem_runs_bytes_below(&mem->known, UINT64_MAX)};
    bool fine = cf_core_reader_init(&scan.reader, mem->core);
    for (size_t i = 0; i < mem->regions.len && fine && !is_decided(&scan) && !scan.is_cancelled;
         i++) {
        const struct cf_region *region = &mem->regions.items[i];
        fine = !cf_mem_region_is_known(region) || scan_region(&scan, region);
    }
    cf_core_reader_fini(&scan.reader);
    if (fine && !scan.is_cancelled && !is_decided(&scan)) {
        cf_array_free(&mem->resident);
        mem->resident = scan.filled;
        mem->source = CF_RESIDENCY_ZERO_PAGES;
        return CF_OK;
    }
    cf_array_free(&scan.filled);
    if (scan.is_cancelled || !fine)
        return scan.is_cancelled ? cf_err_cancelled(err) : no_room(mem, err);
    mem->source = CF_RESIDENCY_HOLES;
    mem->exact = true;
    return CF_OK;
}
