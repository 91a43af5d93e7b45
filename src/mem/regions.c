/*
 * From segments and NT_FILE to regions: sorted, disjoint, each with one state of dumping and one
 * file or none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "mem/mem_private.h"

static int compare_pieces(const void *left, const void *right) {
    const struct mem_piece *a = left;
    const struct mem_piece *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->segment > b->segment) - (a->segment < b->segment);
}

static int collect_pieces(struct cf_mem *mem, struct mem_pieces *pieces, struct cf_err *err) {
    for (size_t i = 0; i < cf_core_nr_segments(mem->core); i++) {
        const struct cf_segment *segment = cf_core_segment(mem->core, i);
        if (segment->mem_bytes == 0)
            continue;
        struct mem_piece *piece = cf_array_push(pieces);
        if (piece == NULL)
            return cf_err_nomem(err, (pieces->len + 1) * sizeof *piece, "segments");
        piece->start = segment->vaddr;
        piece->end = segment->vaddr + segment->mem_bytes;
        piece->segment = (uint32_t)i;
    }
    if (pieces->len > 0)
        qsort(pieces->items, pieces->len, sizeof *pieces->items, compare_pieces);
    return CF_OK;
}

static int compare_ranges(const void *left, const void *right) {
    const struct mem_file_range *a = left;
    const struct mem_file_range *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->file > b->file) - (a->file < b->file);
}

/* Overlapping rows, which only a damaged note has: the one that begins lower wins. */
static size_t clip_ranges(struct mem_file_range *ranges, size_t nr_ranges) {
    size_t kept = 0;
    uint64_t reached = 0;
    for (size_t i = 0; i < nr_ranges; i++) {
        struct mem_file_range range = ranges[i];
        range.start = range.start > reached ? range.start : reached;
        if (range.start >= range.end)
            continue;
        reached = range.end;
        ranges[kept++] = range;
    }
    return kept;
}

static int collect_files(struct cf_mem *mem, struct cf_err *err) {
    for (size_t i = 0; i < cf_core_nr_files(mem->core); i++) {
        const struct cf_core_file *file = cf_core_file(mem->core, i);
        struct mem_file_range *range = cf_array_push(&mem->files);
        if (range == NULL)
            return cf_err_nomem(err, (mem->files.len + 1) * sizeof *range, "mapped files");
        range->start = file->start;
        range->end = file->end;
        range->file = (int32_t)i;
    }
    if (mem->files.len > 0)
        qsort(mem->files.items, mem->files.len, sizeof *mem->files.items, compare_ranges);
    mem->files.len = clip_ranges(mem->files.items, mem->files.len);
    return CF_OK;
}

/* Index of the first range whose end is above `addr`. */
static size_t file_above(const struct cf_mem *mem, uint64_t addr) {
    return cf_bound(mem->files.len, i, mem->files.items[i].end > addr);
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * The kernel names the backing of anonymous memory too where it is a file inside: a private
 * mapping of /dev/zero is plain anonymous memory, a shared one is "/dev/zero (deleted)"; private
 * huge pages of MAP_HUGETLB are "/anon_hugepage (deleted)".
 */
static enum cf_region_kind kind_of_path(const char *path) {
    static const char *const shared[] = {"/dev/zero (deleted)", "/SYSV", "/memfd:", "/dev/shm/"};
    if (strcmp(path, "/dev/zero") == 0 || begins_with(path, "/anon_hugepage"))
        return CF_REGION_ANONYMOUS;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (begins_with(path, shared[i]))
            return CF_REGION_SHARED;
    }
    return CF_REGION_FILE;
}

static bool is_dev_zero(const struct cf_mem *mem, int32_t file) {
    return strcmp(cf_core_file(mem->core, (size_t)file)->path, "/dev/zero") == 0;
}

static enum cf_region_kind kind_of(const struct cf_mem *mem, const struct cf_region *region) {
    if (region->file >= 0)
        return kind_of_path(cf_core_file(mem->core, (size_t)region->file)->path);
    return cf_core_has_files(mem->core) ? CF_REGION_ANONYMOUS : CF_REGION_UNKNOWN;
}

/* Which part of a segment a region is cut from. */
enum segment_part { PART_DATA, PART_CUT, PART_ABSENT };

static int add_region(struct cf_mem *mem, const struct mem_piece *piece, enum segment_part part,
                      int32_t file, struct cf_err *err) {
    const struct cf_segment *segment = cf_core_segment(mem->core, piece->segment);
    struct cf_region *region = cf_array_push(&mem->regions);
    if (region == NULL)
        return cf_err_nomem(err, (mem->regions.len + 1) * sizeof *region, "regions");
    uint64_t bytes = piece->end - piece->start;
    region->start = piece->start;
    region->end = piece->end;
    region->offset = part == PART_DATA ? segment->offset + (piece->start - segment->vaddr) : 0;
    region->data_bytes = part == PART_DATA ? bytes : 0;
    region->cut_bytes = part == PART_CUT ? bytes : 0;
    region->flags = segment->flags;
    region->segment = piece->segment;
    region->file = file;
    region->kind = kind_of(mem, region);
    if (region->kind == CF_REGION_ANONYMOUS && file >= 0 && is_dev_zero(mem, file))
        region->file = -1; /* as if mmap() had been asked for MAP_ANONYMOUS */
    return CF_OK;
}

/* Cuts the part of a piece at the boundaries of the mapped files. */
static int add_by_files(struct cf_mem *mem, struct mem_piece piece, enum segment_part part,
                        struct cf_err *err) {
    int status = CF_OK;
    size_t i = file_above(mem, piece.start);
    while (status == CF_OK && piece.start < piece.end) {
        struct mem_piece here = piece;
        int32_t file = -1;
        if (i < mem->files.len) {
            const struct mem_file_range *range = &mem->files.items[i];
            bool inside = range->start <= here.start;
            uint64_t edge = inside ? range->end : range->start;
            here.end = edge < here.end ? edge : here.end;
            file = inside ? range->file : -1;
            i += inside && here.end == range->end;
        }
        status = add_region(mem, &here, part, file, err);
        piece.start = here.end;
    }
    return status;
}

/* A piece's data, what is cut off behind it, and what was not dumped behind that. */
static int add_piece(struct cf_mem *mem, const struct mem_piece *piece, struct cf_err *err) {
    const struct cf_segment *segment = cf_core_segment(mem->core, piece->segment);
    uint64_t edges[] = {
        [PART_DATA] = segment->vaddr + segment->present_bytes,
        [PART_CUT] = segment->vaddr + segment->file_bytes,
        [PART_ABSENT] = piece->end,
    };
    struct mem_piece rest = *piece;
    for (enum segment_part part = PART_DATA; part <= PART_ABSENT; part++) {
        struct mem_piece here = rest;
        here.end = edges[part] < rest.end ? edges[part] : rest.end;
        if (here.end <= here.start)
            continue;
        int status = add_by_files(mem, here, part, err);
        if (status != CF_OK)
            return status;
        rest.start = here.end;
    }
    return CF_OK;
}

static int add_pieces(struct cf_mem *mem, struct mem_pieces *pieces, struct cf_err *err) {
    int status = collect_pieces(mem, pieces, err);
    uint64_t overlap_bytes = 0;
    if (status == CF_OK)
        status = cf_mem_pieces_resolve(pieces, &overlap_bytes, err);
    if (status == CF_OK && overlap_bytes > 0)
        cf_mem_add_flaw(mem, "segments-overlap", 0,
                     "%llu bytes stand in more than one segment; the first segment is taken",
                     (unsigned long long)overlap_bytes);
    for (size_t i = 0; status == CF_OK && i < pieces->len; i++)
        status = add_piece(mem, &pieces->items[i], err);
    return status;
}

static bool is_part_of_vvar(const struct cf_region *region, const struct cf_region *above) {
    enum { READ_ONLY = 4 };
    return region->end == above->start && region->file < 0 && region->flags == READ_ONLY;
}

/* What the kernel lends every process and always dumps: the vdso, by AT_SYSINFO_EHDR, with its
 * data (vvar) right below, and x86_64's vsyscall page. It is no anonymous memory of the process. */
static void mark_kernels_own(struct cf_mem *mem) {
    enum { AUXV_SYSINFO_EHDR = 33 };
    const uint64_t vsyscall = 0xffffffffff600000;
    struct cf_region *regions = mem->regions.items;
    uint64_t vdso;
    size_t i = cf_mem_lower_bound(mem, vsyscall);
    if (cf_core_machine(mem->core) == CF_MACHINE_X86_64 && i < mem->regions.len &&
        regions[i].start == vsyscall)
        regions[i].kind = CF_REGION_SHARED;
    if (!cf_core_auxv(mem->core, AUXV_SYSINFO_EHDR, &vdso) || vdso == 0)
        return;
    i = cf_mem_lower_bound(mem, vdso);
    if (i == mem->regions.len || regions[i].start != vdso || regions[i].file >= 0)
        return;
    regions[i].kind = CF_REGION_SHARED;
    for (; i > 0 && is_part_of_vvar(&regions[i - 1], &regions[i]); i--)
        regions[i - 1].kind = CF_REGION_SHARED;
}

int cf_mem_build_regions(struct cf_mem *mem, struct cf_err *err) {
    struct mem_pieces pieces = {0};
    int status = collect_files(mem, err);
    if (status == CF_OK)
        status = add_pieces(mem, &pieces, err);
    if (status == CF_OK)
        mark_kernels_own(mem);
    cf_array_free(&pieces);
    return status;
}
