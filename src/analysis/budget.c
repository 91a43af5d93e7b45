#include "analysis/budget.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/unclaimed.h"
#include "base/err.h"

enum { ALONE_MAX = 16, ALONE_BYTES = 1 << 20 }; /* anonymous mappings that get a row of their own */

int cf_budget_claim_malloc(struct cf_claims *claims, const struct cf_ptmalloc *pt,
                           struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    int status = CF_OK;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map) && status == CF_OK; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        bool is_main = cf_ptmalloc_arena(pt, heap->arena_id)->is_main;
        status = cf_claims_add(claims, is_main ? CF_CLAIM_MAIN_HEAP : CF_CLAIM_ARENA_HEAP,
                               heap->start, heap->end, NULL, err);
        if (status == CF_OK)
            status = cf_claims_add(claims, CF_CLAIM_RESERVE, heap->end, heap->reserved_end, NULL,
                                   err);
    }
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(map) && status == CF_OK; i++) {
        const struct cf_mmapped *chunk = cf_chunkmap_mmapped(map, i);
        status = cf_claims_add(claims, CF_CLAIM_MMAPPED, chunk->map_start, chunk->map_end, NULL,
                               err);
    }
    return status;
}

int cf_budget_claim_stacks(struct cf_claims *claims, const struct cf_stacks *stacks,
                           struct cf_err *err) {
    for (size_t i = 0; i < stacks->rows.len; i++) {
        const struct cf_stack *stack = &stacks->rows.items[i];
        int status = cf_claims_add(claims,
                                   stack->thread >= 0 || stack->is_main ? CF_CLAIM_STACK
                                                                        : CF_CLAIM_STACK_CACHED,
                                   stack->start, stack->end, NULL, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

struct division {
    struct cf_budget *budget;
    const struct cf_mem *mem;
    struct cf_residency residency;
    uint64_t vdso;
    uint64_t kind_mappings[CF_NR_CLAIM_KINDS];
    CF_ARRAY(struct cf_budget_row) alone; /* anonymous mappings, one by one */
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static enum cf_claim_kind nature(const struct division *division, size_t index) {
    const struct cf_region *region = cf_mem_region(division->mem, index);
    if (division->vdso >= region->start && division->vdso < region->end)
        return CF_CLAIM_KERNEL;
    if (region->start >= 0xffffffffff600000u)
        return CF_CLAIM_KERNEL; /* vsyscall */
    switch (region->kind) {
    case CF_REGION_FILE:
        if (!cf_region_is_elf(division->mem, index))
            return CF_CLAIM_FILE;
        return region->flags & PF_W ? CF_CLAIM_MODULE_DATA : CF_CLAIM_MODULE;
    case CF_REGION_SHARED:
        return CF_CLAIM_SHARED;
    case CF_REGION_UNKNOWN:
        return CF_CLAIM_UNATTRIBUTED;
    default:
        break;
    }
    if (region->file >= 0)
        return CF_CLAIM_HUGE; /* "/anon_hugepage (deleted)" */
    return cf_region_is_bss(division->mem, index) ? CF_CLAIM_MODULE_BSS : CF_CLAIM_ANONYMOUS;
}

/* Whether the kernel counts memory of this use, in this mapping, as Anonymous. A runtime's heap
 * can be shared memory (ZGC) or a file's (an archive of classes). */
static bool counts_as_anonymous(const struct cf_mem *mem, size_t index, enum cf_claim_kind kind) {
    enum cf_region_kind mapping = cf_mem_region(mem, index)->kind;
    switch (kind) {
    case CF_CLAIM_MODULE_DATA: /* pages that were written count, but the core cannot tell which */
    case CF_CLAIM_MODULE:
    case CF_CLAIM_FILE:
    case CF_CLAIM_SHARED:
    case CF_CLAIM_KERNEL:
    case CF_CLAIM_HUGE: /* hugetlbfs is accounted apart */
        return false;
    default:
        return mapping == CF_REGION_ANONYMOUS || mapping == CF_REGION_UNKNOWN;
    }
}

static void add_to(struct cf_budget_row *row, uint64_t bytes, struct cf_resident_bytes resident) {
    row->mappings++;
    row->mapped_bytes += bytes;
    row->resident.bytes += resident.bytes;
    row->resident.known |= resident.known;
}

static struct cf_budget_row *find_row(struct cf_budget *budget, enum cf_claim_kind kind,
                                      const char *label, bool is_anonymous) {
    for (size_t i = 0; i < budget->rows.len; i++)
        if (budget->rows.items[i].kind == kind &&
            budget->rows.items[i].is_anonymous == is_anonymous &&
            strcmp(budget->rows.items[i].label, label) == 0)
            return &budget->rows.items[i];
    struct cf_budget_row *row = cf_array_push(&budget->rows);
    if (row == NULL)
        return NULL;
    row->kind = kind;
    row->is_anonymous = is_anonymous;
    (void)snprintf(row->label, sizeof row->label, "%s", label);
    return row;
}

/* "between libfoo.so and [stack]": what stands around an anonymous mapping. */
static void name_by_neighbours(const struct cf_mem *mem, size_t index, char *out, size_t bytes) {
    const struct cf_core *core = cf_mem_core(mem);
    const struct cf_region *region = cf_mem_region(mem, index);
    const char *below = NULL, *above = NULL;
    for (size_t i = index; i-- > 0 && below == NULL && index - i < 64;)
        if (cf_mem_region(mem, i)->file >= 0)
            below = cf_core_file(core, (size_t)cf_mem_region(mem, i)->file)->path;
    for (size_t i = index + 1; i < cf_mem_nr_regions(mem) && above == NULL && i - index < 64; i++)
        if (cf_mem_region(mem, i)->file >= 0)
            above = cf_core_file(core, (size_t)cf_mem_region(mem, i)->file)->path;
    (void)snprintf(out, bytes, "0x%llx%s%.30s%s%.30s", (unsigned long long)region->start,
                   below != NULL ? ", above " : "", below != NULL ? base_name(below) : "",
                   above != NULL ? ", below " : "", above != NULL ? base_name(above) : "");
}

static int add_anonymous(struct division *division, size_t index, uint64_t bytes,
                         struct cf_resident_bytes resident, struct cf_err *err) {
    struct cf_budget_row *row = cf_array_push(&division->alone);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the budget");
    row->kind = CF_CLAIM_ANONYMOUS;
    row->is_anonymous = true;
    if (bytes >= ALONE_BYTES)
        name_by_neighbours(division->mem, index, row->label, sizeof row->label);
    add_to(row, bytes, resident);
    return CF_OK;
}

/* [start, end) of region `index`, claimed or (claim NULL) not. */
static int add_piece(struct division *division, size_t index, const struct cf_claim *claim,
                     uint64_t start, uint64_t end, struct cf_err *err) {
    enum cf_claim_kind kind = claim != NULL ? claim->kind : nature(division, index);
    bool is_anonymous = counts_as_anonymous(division->mem, index, kind);
    struct cf_resident_bytes resident =
        is_anonymous || kind == CF_CLAIM_HUGE
            ? cf_residency_count(&division->residency, start, end)
            : (struct cf_resident_bytes){.known = false};
    if (kind == CF_CLAIM_ANONYMOUS)
        return add_anonymous(division, index, end - start, resident, err);
    struct cf_budget_row *row =
        find_row(division->budget, kind, claim != NULL ? claim->label : "", is_anonymous);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the budget");
    add_to(row, end - start, resident);
    return CF_OK;
}

static int divide(struct division *division, const struct cf_claims *claims, struct cf_err *err) {
    size_t next = 0;
    for (size_t i = 0; i < cf_mem_nr_regions(division->mem); i++) {
        const struct cf_region *region = cf_mem_region(division->mem, i);
        uint64_t at = region->start;
        division->budget->mapped_bytes += region->end - region->start;
        while (at < region->end) {
            while (next < claims->rows.len && claims->rows.items[next].end <= at)
                next++;
            const struct cf_claim *claim = next < claims->rows.len ? &claims->rows.items[next]
                                                                   : NULL;
            uint64_t until = region->end;
            if (claim != NULL && claim->start > at) {
                until = claim->start < until ? claim->start : until;
                claim = NULL;
            } else if (claim != NULL && claim->end < until) {
                until = claim->end;
            }
            int status = add_piece(division, i, claim, at, until, err);
            if (status != CF_OK)
                return status;
            at = until;
        }
    }
    return CF_OK;
}

static int compare_sizes(const void *a, const void *b) {
    const struct cf_budget_row *left = a, *right = b;
    uint64_t l = left->resident.known ? left->resident.bytes : left->mapped_bytes;
    uint64_t r = right->resident.known ? right->resident.bytes : right->mapped_bytes;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (l != r)
        return l > r ? -1 : 1;
    int order = strcmp(left->label, right->label);
    return order != 0 ? order : right->is_anonymous - left->is_anonymous;
}

/* The largest anonymous mappings keep their rows, the rest is summed. */
static int fold_anonymous(struct division *division, struct cf_err *err) {
    if (division->alone.len > 0)
        qsort(division->alone.items, division->alone.len, sizeof *division->alone.items,
              compare_sizes);
    for (size_t i = 0; i < division->alone.len; i++) {
        const struct cf_budget_row *one = &division->alone.items[i];
        struct cf_budget_row *row = find_row(division->budget, CF_CLAIM_ANONYMOUS,
                                             i < ALONE_MAX ? one->label : "", true);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the budget");
        add_to(row, one->mapped_bytes, one->resident);
    }
    return CF_OK;
}

int cf_budget_make(struct cf_budget *budget, const struct cf_mem *mem,
                   const struct cf_claims *claims, struct cf_err *err) {
    struct division division = {
        .budget = budget, .mem = mem, .residency = cf_residency_of_mem(mem),
    };
    (void)cf_core_auxv(cf_mem_core(mem), AT_SYSINFO_EHDR, &division.vdso);
    int status = divide(&division, claims, err);
    if (status == CF_OK)
        status = fold_anonymous(&division, err);
    /* A core without this row would leave the reader in doubt whether anything is missing. */
    if (status == CF_OK && find_row(budget, CF_CLAIM_UNATTRIBUTED, "", true) == NULL)
        status = cf_err_nomem(err, sizeof(struct cf_budget_row), "the budget");
    cf_array_free(&division.alone);
    if (status != CF_OK)
        return status;
    qsort(budget->rows.items, budget->rows.len, sizeof *budget->rows.items, compare_sizes);
    for (size_t i = 0; i < budget->rows.len; i++) {
        struct cf_budget_row *row = &budget->rows.items[i];
        if (row->mapped_bytes == 0)
            row->resident.known = true;
        if (row->is_anonymous)
            budget->anonymous_resident_bytes += row->resident.bytes;
    }
    return CF_OK;
}

void cf_budget_fini(struct cf_budget *budget) {
    cf_array_free(&budget->rows);
}
