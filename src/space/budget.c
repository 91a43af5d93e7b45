/*
 * The budget is a sum over uses.h's pieces, which cover each mapped byte once, so its rows add up
 * to the address space; large anonymous mappings of nobody get rows of their own.
 */
#include "space/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"
#include "space/uses.h"
#include "sym/bss.h"

/* Anonymous mappings that get a row of their own: those with the most bytes in memory, and what is
 * large address space all the same. */
enum { ALONE_MAX = 16, ALONE_BYTES = 1 << 20, RESERVATION_BYTES = 64 << 20 };

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

int cf_budget_claim_bss(struct cf_claims *claims, const struct cf_mem *mem, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < cf_mem_nr_regions(mem) && status == CF_OK; i++) {
        uint64_t end;
        enum cf_bss bss = cf_bss_of(mem, i, &end);
        if (bss != CF_BSS_NONE)
            status = cf_claims_add(claims, CF_CLAIM_MODULE_BSS, cf_mem_region(mem, i)->start, end,
                                   bss == CF_BSS_KNOWN ? "" : "end not in the core (guess)", err);
    }
    return status;
}

struct division {
    struct cf_budget *budget;
    const struct cf_mem *mem;
    struct cf_residency residency;
    CF_ARRAY(struct cf_budget_row) alone; /* anonymous mappings, one by one */
    const struct cf_smaps *smaps;         /* or NULL */
    size_t row;                           /* of smaps: those below it are done with */
    uint64_t left_bytes;                  /* of that row's count, what is not placed yet */
    uint64_t unplaced_bytes;              /* what was left of those below it */
};

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
                   below != NULL ? ", above " : "", below != NULL ? cf_base_name(below) : "",
                   above != NULL ? ", below " : "", above != NULL ? cf_base_name(above) : "");
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

/* What the kernel counts in a mapping beyond what the core shows of it. */
static uint64_t open_bytes(const struct division *division, size_t row) {
    const struct cf_smaps_mapping *mapping = &division->smaps->rows.items[row];
    uint64_t rss = mapping->bytes[CF_SMAPS_RSS];
    struct cf_resident_bytes ours =
        cf_residency_count(&division->residency, mapping->start, mapping->end);
    return !ours.known ? rss : rss > ours.bytes ? rss - ours.bytes : 0;
}

/* Goes on to the mapping of smaps that ends above `addr`. */
static void go_to(struct division *division, uint64_t addr) {
    const struct cf_smaps *smaps = division->smaps;
    while (division->row < smaps->rows.len && smaps->rows.items[division->row].end <= addr) {
        division->unplaced_bytes += division->left_bytes;
        division->row++;
        division->left_bytes =
            division->row < smaps->rows.len ? open_bytes(division, division->row) : 0;
    }
}

/* What smaps says of a piece of which the core says nothing; where a mapping has several such
 * pieces the lowest is filled first. */
static struct cf_resident_bytes ask_smaps(struct division *division, const struct cf_use *use) {
    struct cf_resident_bytes resident = {.known = false};
    if (division->smaps == NULL)
        return resident;
    for (uint64_t at = use->start; at < use->end;) {
        go_to(division, at);
        const struct cf_smaps_mapping *mapping = cf_smaps_find(division->smaps, at);
        if (mapping == NULL)
            return (struct cf_resident_bytes){.known = false};
        uint64_t end = mapping->end < use->end ? mapping->end : use->end;
        uint64_t part = division->left_bytes < end - at ? division->left_bytes : end - at;
        division->left_bytes -= part;
        resident.bytes += part;
        resident.known = true;
        at = end;
    }
    return resident;
}

/* Huge pages are no part of Rss, and what a heap holds is told chunk by chunk or not at all. */
static bool may_ask(enum cf_claim_kind kind) {
    return kind != CF_CLAIM_HUGE && kind != CF_CLAIM_MAIN_HEAP && kind != CF_CLAIM_ARENA_HEAP;
}

static int add_use(struct division *division, const struct cf_use *use, struct cf_err *err) {
    uint64_t bytes = use->end - use->start;
    struct cf_resident_bytes resident = {.known = false};
    if (use->is_anonymous || use->kind == CF_CLAIM_HUGE)
        resident = cf_residency_count(&division->residency, use->start, use->end);
    if (!resident.known && may_ask(use->kind))
        resident = ask_smaps(division, use);
    division->budget->mapped_bytes += bytes;
    if (use->kind == CF_CLAIM_ANONYMOUS)
        return add_anonymous(division, use->region, bytes, resident, err);
    struct cf_budget_row *row =
        find_row(division->budget, use->kind, use->label, use->is_anonymous);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the budget");
    row->runtime = use->runtime;
    row->area = use->area;
    add_to(row, bytes, resident);
    if (use->is_copied) {
        row->copied_max_bytes += bytes;
        division->budget->copied_max_bytes += bytes;
        division->budget->nr_copied++;
    }
    return CF_OK;
}

static int divide(struct division *division, const struct cf_claims *claims, struct cf_err *err) {
    struct cf_uses walk = cf_uses_from(division->mem, claims, 0);
    struct cf_use use;
    int status = CF_OK;
    if (division->smaps != NULL && division->smaps->rows.len > 0)
        division->left_bytes = open_bytes(division, 0);
    while (status == CF_OK && cf_uses_next(&walk, &use))
        status = add_use(division, &use, err);
    if (status == CF_OK && division->smaps != NULL)
        go_to(division, UINT64_MAX);
    return status;
}

static int add_unplaced(struct division *division, struct cf_err *err) {
    if (division->unplaced_bytes == 0)
        return CF_OK;
    struct cf_budget_row *row = find_row(division->budget, CF_CLAIM_UNPLACED,
                                         "counted by smaps; the core does not show where", false);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "the budget");
    row->resident =
        (struct cf_resident_bytes){.bytes = division->unplaced_bytes, .known = true};
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
    if (left->mapped_bytes != right->mapped_bytes)
        return left->mapped_bytes > right->mapped_bytes ? -1 : 1;
    int order = strcmp(left->label, right->label);
    return order != 0 ? order : right->is_anonymous - left->is_anonymous;
}

/* The largest anonymous mappings keep their rows, the rest is summed. */
static int fold_anonymous(struct division *division, struct cf_err *err) {
    if (division->alone.len > 0)
        qsort(division->alone.items, division->alone.len, sizeof *division->alone.items,
              compare_sizes);
    unsigned nr_reservations = 0;
    for (size_t i = 0; i < division->alone.len; i++) {
        const struct cf_budget_row *one = &division->alone.items[i];
        bool is_alone = i < ALONE_MAX || (one->mapped_bytes >= RESERVATION_BYTES &&
                                          nr_reservations++ < ALONE_MAX);
        struct cf_budget_row *row = find_row(division->budget, CF_CLAIM_ANONYMOUS,
                                             is_alone ? one->label : "", true);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the budget");
        add_to(row, one->mapped_bytes, one->resident);
    }
    return CF_OK;
}

int cf_budget_make(struct cf_budget *budget, const struct cf_mem *mem,
                   const struct cf_claims *claims, const struct cf_smaps *smaps,
                   struct cf_err *err) {
    struct division division = {
        .budget = budget, .mem = mem, .residency = cf_residency_of_mem(mem),
        .smaps = smaps == NULL || smaps->is_rollup ? NULL : smaps,
    };
    int status = divide(&division, claims, err);
    if (status == CF_OK)
        status = fold_anonymous(&division, err);
    if (status == CF_OK)
        status = add_unplaced(&division, err);
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
        if (row->kind != CF_CLAIM_HUGE)
            budget->rss_bytes += row->resident.bytes;
        if (row->is_anonymous)
            budget->anonymous_resident_bytes += row->resident.bytes;
    }
    return CF_OK;
}

void cf_budget_fini(struct cf_budget *budget) {
    cf_array_free(&budget->rows);
}
