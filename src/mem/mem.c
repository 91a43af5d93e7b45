/*
 * The address space, put together and read. Regions are sorted and disjoint (regions.c,
 * overlap.c); those whose data is neighbouring in the file too are joined into spans, so that a
 * read finds with one search how far it can go. Sums over runs are kept with each run, which
 * makes a range's sum two searches, however many runs lie in it.
 */
#include "mem/mem.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "mem/mem_private.h"

void cf_mem_add_flaw(struct cf_mem *mem, const char *code, uint64_t offset, const char *format,
                     ...) {
    struct cf_core_flaw *flaw = cf_array_push(&mem->flaws);
    if (flaw == NULL)
        return;
    flaw->code = code;
    flaw->offset = offset;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(flaw->detail, sizeof flaw->detail, format, args);
    va_end(args);
}

bool cf_mem_region_is_known(const struct cf_region *region) {
    return region->data_bytes > 0 &&
           (region->kind == CF_REGION_ANONYMOUS || region->kind == CF_REGION_UNKNOWN);
}

bool cf_mem_runs_add(struct mem_runs *runs, uint64_t start, uint64_t end) {
    struct mem_run *last = runs->len > 0 ? &runs->items[runs->len - 1] : NULL;
    if (last != NULL && last->end == start) {
        last->end = end;
        return true;
    }
    uint64_t before = last == NULL ? 0 : last->bytes_before + (last->end - last->start);
    struct mem_run *run = cf_array_push(runs);
    if (run == NULL)
        return false;
    *run = (struct mem_run){start, end, before};
    return true;
}

size_t cf_mem_runs_above(const struct mem_runs *runs, uint64_t addr) {
    return cf_bound(runs->len, i, runs->items[i].end > addr);
}

uint64_t cf_mem_runs_bytes_below(const struct mem_runs *runs, uint64_t addr) {
    size_t i = cf_mem_runs_above(runs, addr);
    if (i < runs->len) {
        const struct mem_run *run = &runs->items[i];
        return run->bytes_before + (addr > run->start ? addr - run->start : 0);
    }
    if (runs->len == 0)
        return 0;
    const struct mem_run *last = &runs->items[runs->len - 1];
    return last->bytes_before + (last->end - last->start);
}

static int build_spans(struct cf_mem *mem, struct cf_err *err) {
    for (size_t i = 0; i < mem->regions.len; i++) {
        const struct cf_region *region = &mem->regions.items[i];
        if (region->data_bytes == 0)
            continue;
        if (cf_mem_region_is_known(region) &&
            !cf_mem_runs_add(&mem->known, region->start, region->end))
            return cf_err_nomem(err, (mem->known.len + 1) * sizeof *mem->known.items, "regions");
        struct mem_span *last = mem->spans.len > 0 ? &mem->spans.items[mem->spans.len - 1] : NULL;
        if (last != NULL && last->end == region->start &&
            last->offset + (last->end - last->start) == region->offset) {
            last->end = region->end;
            continue;
        }
        struct mem_span *span = cf_array_push(&mem->spans);
        if (span == NULL)
            return cf_err_nomem(err, (mem->spans.len + 1) * sizeof *span, "readable spans");
        *span = (struct mem_span){region->start, region->end, region->offset};
    }
    return CF_OK;
}

static void cleanup_mem(struct cf_mem **mem) {
    cf_mem_free(*mem);
}

int cf_mem_map(const struct cf_core *core, struct cf_mem **out, struct cf_err *err) {
    CF_CLEANUP(cleanup_mem) struct cf_mem *mem = calloc(1, sizeof *mem);
    if (mem == NULL)
        return cf_err_nomem(err, sizeof *mem, "the address space");
    mem->core = core;
    mem->word_bytes = cf_core_word_bytes(core);
    mem->page_bytes = cf_core_page_bytes(core);
    int status = cf_mem_build_regions(mem, err);
    if (status == CF_OK)
        status = build_spans(mem, err);
    if (status == CF_OK)
        status = cf_mem_find_stored(mem, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&mem);
    return CF_OK;
}

void cf_mem_free(struct cf_mem *mem) {
    if (mem == NULL)
        return;
    cf_array_free(&mem->regions);
    cf_array_free(&mem->files);
    cf_array_free(&mem->spans);
    cf_array_free(&mem->known);
    cf_array_free(&mem->resident);
    cf_array_free(&mem->flaws);
    free(mem);
}

const struct cf_core *cf_mem_core(const struct cf_mem *mem) {
    return mem->core;
}

unsigned cf_mem_word_bytes(const struct cf_mem *mem) {
    return mem->word_bytes;
}

uint64_t cf_mem_page_bytes(const struct cf_mem *mem) {
    return mem->page_bytes;
}

size_t cf_mem_nr_regions(const struct cf_mem *mem) {
    return mem->regions.len;
}

const struct cf_region *cf_mem_region(const struct cf_mem *mem, size_t index) {
    return &mem->regions.items[index];
}

size_t cf_mem_lower_bound(const struct cf_mem *mem, uint64_t addr) {
    return cf_bound(mem->regions.len, i, mem->regions.items[i].end > addr);
}

const struct cf_region *cf_mem_find(const struct cf_mem *mem, uint64_t addr) {
    size_t i = cf_mem_lower_bound(mem, addr);
    if (i == mem->regions.len || mem->regions.items[i].start > addr)
        return NULL;
    return &mem->regions.items[i];
}

/* Index of the first span whose end is above `addr`. */
static size_t span_above(const struct cf_mem *mem, uint64_t addr) {
    return cf_bound(mem->spans.len, i, mem->spans.items[i].end > addr);
}

bool cf_mem_locate(const struct cf_mem *mem, uint64_t addr, uint64_t *offset, uint64_t *avail) {
    size_t i = span_above(mem, addr);
    if (i == mem->spans.len || mem->spans.items[i].start > addr)
        return false;
    const struct mem_span *span = &mem->spans.items[i];
    *offset = span->offset + (addr - span->start);
    *avail = span->end - addr;
    return true;
}

const unsigned char *cf_mem_span(const struct cf_mem *mem, uint64_t addr, uint64_t *avail) {
    uint64_t offset, left;
    if (!cf_mem_locate(mem, addr, &offset, &left))
        return NULL;
    const unsigned char *bytes = cf_core_bytes(mem->core, offset, left);
    if (bytes != NULL)
        *avail = left;
    return bytes;
}

bool cf_mem_next_data(const struct cf_mem *mem, uint64_t *addr, uint64_t end) {
    size_t i = span_above(mem, *addr);
    if (i == mem->spans.len || mem->spans.items[i].start >= end || *addr >= end)
        return false;
    if (mem->spans.items[i].start > *addr)
        *addr = mem->spans.items[i].start;
    return true;
}

static bool is_readable(const struct cf_mem *mem, uint64_t addr, uint64_t bytes) {
    while (bytes > 0) {
        uint64_t avail;
        if (cf_mem_span(mem, addr, &avail) == NULL)
            return false;
        if (avail >= bytes)
            return true;
        addr += avail;
        bytes -= avail;
    }
    return true;
}

bool cf_mem_read(const struct cf_mem *mem, uint64_t addr, void *out, size_t bytes) {
    uint64_t avail = 0;
    const unsigned char *from = bytes == 0 ? NULL : cf_mem_span(mem, addr, &avail);
    if (from != NULL && avail >= bytes) {
        memcpy(out, from, bytes);
        return true;
    }
    if (!is_readable(mem, addr, bytes))
        return false;
    unsigned char *to = out;
    while (bytes > 0) {
        from = cf_mem_span(mem, addr, &avail);
        size_t part = avail < bytes ? (size_t)avail : bytes;
        memcpy(to, from, part);
        to += part;
        addr += part;
        bytes -= part;
    }
    return true;
}

static bool read_uint(const struct cf_mem *mem, uint64_t addr, unsigned width, uint64_t *out) {
    unsigned char bytes[8];
    if (!cf_mem_read(mem, addr, bytes, width))
        return false;
    struct cf_cursor cursor = cf_cursor_make(bytes, width, width);
    return cf_cursor_uint(&cursor, width, out);
}

bool cf_mem_word(const struct cf_mem *mem, uint64_t addr, uint64_t *out) {
    return read_uint(mem, addr, mem->word_bytes, out);
}

bool cf_mem_u32(const struct cf_mem *mem, uint64_t addr, uint32_t *out) {
    uint64_t value;
    if (!read_uint(mem, addr, 4, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

bool cf_mem_u16(const struct cf_mem *mem, uint64_t addr, uint16_t *out) {
    uint64_t value;
    if (!read_uint(mem, addr, 2, &value))
        return false;
    *out = (uint16_t)value;
    return true;
}

bool cf_mem_text_is(const struct cf_mem *mem, uint64_t addr, const char *text) {
    char copy[128];
    size_t bytes = strlen(text) + 1;
    return bytes <= sizeof copy && cf_mem_read(mem, addr, copy, bytes) &&
           memcmp(copy, text, bytes) == 0;
}

void cf_mem_drop(const struct cf_mem *mem, uint64_t start, uint64_t end) {
    for (size_t i = span_above(mem, start); i < mem->spans.len; i++) {
        const struct mem_span *span = &mem->spans.items[i];
        if (span->start >= end)
            return;
        uint64_t from = span->start > start ? span->start : start;
        uint64_t to = span->end < end ? span->end : end;
        cf_core_drop(mem->core, span->offset + (from - span->start), to - from);
    }
}

enum cf_page_state cf_mem_page_state(const struct cf_mem *mem, uint64_t addr) {
    const struct cf_region *region = cf_mem_find(mem, addr);
    if (region == NULL)
        return CF_PAGE_UNMAPPED;
    if (region->cut_bytes > 0)
        return CF_PAGE_CUT_OFF;
    if (region->data_bytes == 0)
        return CF_PAGE_NOT_DUMPED;
    if (!cf_mem_region_is_known(region) || mem->source == CF_RESIDENCY_NONE)
        return CF_PAGE_UNKNOWN;
    size_t i = cf_mem_runs_above(&mem->resident, addr);
    bool is_resident = i < mem->resident.len && mem->resident.items[i].start <= addr;
    return is_resident ? CF_PAGE_RESIDENT : CF_PAGE_NOT_RESIDENT;
}

enum cf_residency_source cf_mem_residency_source(const struct cf_mem *mem) {
    return mem->source;
}

const char *cf_mem_residency_name(const struct cf_mem *mem) {
    static const char *const names[] = {
        [CF_RESIDENCY_NONE] = "none",
        [CF_RESIDENCY_HOLES] = "holes",
        [CF_RESIDENCY_GAPS] = "gaps",
        [CF_RESIDENCY_ZERO_PAGES] = "zero-pages",
        [CF_RESIDENCY_SMAPS] = "smaps",
    };
    return names[mem->source];
}

bool cf_mem_residency_exact(const struct cf_mem *mem) {
    return mem->exact;
}

bool cf_mem_resident_bytes(const struct cf_mem *mem, uint64_t start, uint64_t end, uint64_t *out) {
    size_t i = cf_mem_runs_above(&mem->known, start);
    if (mem->source == CF_RESIDENCY_NONE || start >= end || i == mem->known.len ||
        mem->known.items[i].start >= end)
        return false;
    *out = cf_mem_runs_bytes_below(&mem->resident, end) -
           cf_mem_runs_bytes_below(&mem->resident, start);
    return true;
}

bool cf_mem_next_resident(const struct cf_mem *mem, uint64_t addr, uint64_t *start, uint64_t *end) {
    size_t i = cf_mem_runs_above(&mem->resident, addr);
    if (i == mem->resident.len)
        return false;
    *start = mem->resident.items[i].start;
    *end = mem->resident.items[i].end;
    return true;
}

size_t cf_mem_nr_flaws(const struct cf_mem *mem) {
    return mem->flaws.len;
}

const struct cf_core_flaw *cf_mem_flaw(const struct cf_mem *mem, size_t index) {
    return &mem->flaws.items[index];
}
