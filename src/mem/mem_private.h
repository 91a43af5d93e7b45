/*
 * What the files of this folder share: the address space while it is built, in the order regions
 * (regions.c, overlap.c), spans (mem.c), residency (pagestate.c). Immutable afterwards.
 */
#ifndef CF_MEM_MEM_PRIVATE_H
#define CF_MEM_MEM_PRIVATE_H

#include "base/array.h"
#include "mem/mem.h"

/* Readable bytes that are contiguous in address and in the file. */
struct mem_span {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
};

/* A range of addresses and how many bytes the ranges before it have together. */
struct mem_run {
    uint64_t start;
    uint64_t end;
    uint64_t bytes_before;
};

struct mem_runs {
    struct mem_run *items;
    size_t len;
    size_t cap;
};

/* A part of one segment that no other segment has. */
struct mem_piece {
    uint64_t start;
    uint64_t end;
    uint32_t segment;
};

struct mem_pieces {
    struct mem_piece *items;
    size_t len;
    size_t cap;
};

/* A part of one row of NT_FILE that no other row has. */
struct mem_file_range {
    uint64_t start;
    uint64_t end;
    int32_t file;
};

struct cf_mem {
    const struct cf_core *core;
    unsigned word_bytes;
    uint64_t page_bytes;
    CF_ARRAY(struct cf_region) regions;
    CF_ARRAY(struct mem_file_range) files; /* sorted, disjoint */
    CF_ARRAY(struct mem_span) spans;
    struct mem_runs known; /* anonymous memory with data: residency can be judged there */
    struct mem_runs resident; /* until it is judged: what the file stores of `known` */
    bool holes_may_count;     /* residency is told by the file's holes, if a page of zeros is met */
    enum cf_residency_source source;
    bool exact;
    CF_ARRAY(struct cf_core_flaw) flaws;
};

/* Appends [start, end), which begins at or above the end of the last run, or joins it. False when
 * memory is out. */
bool cf_mem_runs_add(struct mem_runs *runs, uint64_t start, uint64_t end);
/* Index of the first run whose end is above `addr`, or runs->len. */
size_t cf_mem_runs_above(const struct mem_runs *runs, uint64_t addr);
/* Bytes of all runs below `addr`. */
uint64_t cf_mem_runs_bytes_below(const struct mem_runs *runs, uint64_t addr);

void cf_mem_add_flaw(struct cf_mem *mem, const char *code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True for a region whose residency can be judged by what the file has of it. */
bool cf_mem_region_is_known(const struct cf_region *region);

/* Makes pieces that are sorted by start disjoint; where two overlap, the lower segment index
 * wins. `overlap_bytes` is how much was given up. */
int cf_mem_pieces_resolve(struct mem_pieces *pieces, uint64_t *overlap_bytes, struct cf_err *err);

int cf_mem_build_regions(struct cf_mem *mem, struct cf_err *err);
/* What may have been in memory: fills `resident` with what the file stores. */
int cf_mem_find_stored(struct cf_mem *mem, struct cf_err *err);

#endif
