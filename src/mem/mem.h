/*
 * The address space of the dead process, as far as the core has it.
 *
 * Absence is a type: an address is unmapped, mapped but not dumped, cut off with the file's end,
 * not resident, of unknown residency, or resident; none of the first ones ever reads as zeros,
 * except that a dumped page which was not resident holds the zeros that the process would have
 * read. Regions are sorted by address and do not overlap (where the segments of a hostile core do,
 * the earlier in the table of segments wins and the rest is a flaw). The object borrows the core,
 * is immutable, and costs memory in proportion to segments and runs of data, not to sizes.
 */
#ifndef CF_MEM_MEM_H
#define CF_MEM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "corefrag.h"
#include "input/smaps.h"

struct cf_mem;

enum cf_page_state {
    CF_PAGE_UNMAPPED,
    CF_PAGE_NOT_DUMPED, /* mapped, the producer left it out */
    CF_PAGE_CUT_OFF,    /* dumped, but beyond the end of the file */
    CF_PAGE_RESIDENT,
    CF_PAGE_NOT_RESIDENT,
    CF_PAGE_UNKNOWN, /* dumped; residency cannot be had (file mappings, shared memory) */
};

enum cf_residency_source {
    CF_RESIDENCY_NONE,
    CF_RESIDENCY_HOLES,      /* the file's holes, kernel core */
    CF_RESIDENCY_GAPS,       /* a producer that leaves out what is not resident */
    CF_RESIDENCY_ZERO_PAGES, /* all-zero pages are taken for absent: "at least" */
    CF_RESIDENCY_SMAPS,      /* the same, and smaps counts as many pages, mapping by mapping */
};

enum cf_region_kind {
    CF_REGION_ANONYMOUS, /* private, no file behind it */
    CF_REGION_FILE,      /* NT_FILE names a file */
    CF_REGION_SHARED,    /* shared memory: /dev/zero, /SYSV, memfd, /dev/shm; the kernel's vdso */
    CF_REGION_UNKNOWN,   /* the core has no NT_FILE: could be either */
};

/*
 * One piece of one PT_LOAD with one state of dumping and one file behind it; the rest of the
 * segment is its neighbour. So a region is wholly data, wholly cut off, or wholly not dumped:
 * one of data_bytes and cut_bytes is end - start or both are 0.
 */
struct cf_region {
    uint64_t start;
    uint64_t end;
    uint64_t offset;     /* in the core file, of `start`; meaningless unless data_bytes > 0 */
    uint64_t data_bytes; /* in the file */
    uint64_t cut_bytes;  /* declared but beyond the end of the file */
    uint32_t flags;      /* PF_R, PF_W, PF_X */
    uint32_t segment;    /* index in the core's program headers */
    int32_t file;        /* index in the core's NT_FILE rows, or -1 */
    enum cf_region_kind kind;
};

enum { CF_REGION_W = 2 }; /* PF_W; elf.h has more names than a header may bring along */

/* The program may write there. */
static inline bool cf_region_is_writable(const struct cf_region *region) {
    return (region->flags & CF_REGION_W) != 0;
}

/* Builds the address space of `core` (borrowed until cf_mem_free). Residency is not judged yet:
 * its source is none, and all anonymous memory that the file stores counts as resident. */
int cf_mem_map(const struct cf_core *core, struct cf_mem **out, struct cf_err *err);

/* What is known of pages without a look at them. */
struct cf_mem_witness {
    const void *user;
    /* Whole pages from `addr` (page-aligned) up to the returned address, at most `end`, are not all
     * zeros; `addr` itself: nothing is known of the first one. */
    uint64_t (*filled_until)(const void *user, uint64_t addr, uint64_t end);
};

/* Decides residency, in one pass over the file's anonymous data (the pages are
 * dropped behind the cursor) but for what `witness` (or NULL) knows. Once; CF_ENOMEM only. */
int cf_mem_judge(const struct cf_context *ctx, struct cf_mem *mem,
                 const struct cf_mem_witness *witness, struct cf_err *err);

/*
 * Holds the judgement against a smaps of the same process (confirm.c): where it rests on pages of
 * zeros in a kernel's core, and the kernel counts not one page more or less in any mapping, it is
 * exact. Returns NULL where that is so now; else why not (static), and nothing is changed.
 */
const char *cf_mem_confirm(struct cf_mem *mem, const struct cf_smaps *smaps);

void cf_mem_free(struct cf_mem *mem);

const struct cf_core *cf_mem_core(const struct cf_mem *mem);
unsigned cf_mem_word_bytes(const struct cf_mem *mem);
uint64_t cf_mem_page_bytes(const struct cf_mem *mem);

size_t cf_mem_nr_regions(const struct cf_mem *mem);
const struct cf_region *cf_mem_region(const struct cf_mem *mem, size_t index);
/* The region that holds `addr`, or NULL. */
const struct cf_region *cf_mem_find(const struct cf_mem *mem, uint64_t addr);
/* Index of the first region whose end is above `addr`; cf_mem_nr_regions() when there is none. */
size_t cf_mem_lower_bound(const struct cf_mem *mem, uint64_t addr);

/*
 * The longest run of readable bytes at `addr`: neighbouring regions whose data is contiguous in
 * the file too count as one. Returns a pointer borrowed from the mapping and its length, or NULL
 * when nothing can be read at `addr`.
 */
const unsigned char *cf_mem_span(const struct cf_mem *mem, uint64_t addr, uint64_t *avail);
/* The same run by where it stands in the file, for a reader (core/reader.h). */
bool cf_mem_locate(const struct cf_mem *mem, uint64_t addr, uint64_t *offset, uint64_t *avail);

/* Moves `*addr` up to the next address that has bytes in the core, its own or one above; false:
 * there is none below `end`. */
bool cf_mem_next_data(const struct cf_mem *mem, uint64_t *addr, uint64_t end);

/* Copies [addr, addr + bytes), also across regions; all or nothing. False: something there
 * cannot be read, and `out` is untouched. */
bool cf_mem_read(const struct cf_mem *mem, uint64_t addr, void *out, size_t bytes);
/* One target word, little-endian, cf_mem_word_bytes() wide. */
bool cf_mem_word(const struct cf_mem *mem, uint64_t addr, uint64_t *out);
bool cf_mem_u32(const struct cf_mem *mem, uint64_t addr, uint32_t *out);
bool cf_mem_u16(const struct cf_mem *mem, uint64_t addr, uint16_t *out);
/* True where the C string `text`, of 127 bytes at most, stands at `addr`. */
bool cf_mem_text_is(const struct cf_mem *mem, uint64_t addr, const char *text);

/* Drops the pages of [start, end) from our own resident memory; they can be read again. */
void cf_mem_drop(const struct cf_mem *mem, uint64_t start, uint64_t end);

/* For a pass that goes up through memory: what lies behind it is dropped, so many bytes at
 * a time. */
enum { CF_MEM_TRAIL_BYTES = 16 << 20 };

struct cf_mem_trail {
    const struct cf_mem *mem;
    uint64_t from; /* where the pass began; all below it was dropped */
};

/* The pass has come to `addr`. True: something was dropped, a good time for cf_tick(). */
static inline bool cf_mem_trail_to(struct cf_mem_trail *trail, uint64_t addr) {
    if (addr - trail->from < CF_MEM_TRAIL_BYTES)
        return false;
    cf_mem_drop(trail->mem, trail->from, addr);
    trail->from = addr;
    return true;
}

/* The pass ends here. */
static inline void cf_mem_trail_end(struct cf_mem_trail *trail, uint64_t end) {
    if (end > trail->from)
        cf_mem_drop(trail->mem, trail->from, end);
    trail->from = end;
}

enum cf_page_state cf_mem_page_state(const struct cf_mem *mem, uint64_t addr);
enum cf_residency_source cf_mem_residency_source(const struct cf_mem *mem);
const char *cf_mem_residency_name(const struct cf_mem *mem); /* "holes", "gaps", ... */
bool cf_mem_residency_exact(const struct cf_mem *mem);

/*
 * Resident bytes of [start, end), in whole pages clipped to the range; by address, of anonymous
 * (or unknown) regions only. False where nothing in the range says anything about residency
 * (not dumped with data, file mapping, residency source none): then the figure is NULL, not 0.
 */
bool cf_mem_resident_bytes(const struct cf_mem *mem, uint64_t start, uint64_t end, uint64_t *out);

/* Runs of resident anonymous memory, sorted by address: the next one that ends above `addr`.
 * False when there is none. A run is page-aligned unless its region is not. */
bool cf_mem_next_resident(const struct cf_mem *mem, uint64_t addr, uint64_t *start, uint64_t *end);

/* Flaws of the address space (overlapping segments ...), beside those of the core. */
size_t cf_mem_nr_flaws(const struct cf_mem *mem);
const struct cf_core_flaw *cf_mem_flaw(const struct cf_mem *mem, size_t index);

#endif
