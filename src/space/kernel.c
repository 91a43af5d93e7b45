/*
 * The kernel's figures beside ours: which of our sums a figure compares with, and what is left of
 * the difference once the written pages of files are counted, which a core does not tell. The
 * sentences are the rules' (rules/kernel_words.c).
 */
#include "space/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "space/uses.h"
#include "base/err.h"

/* Figures that one of ours compares with; of the others a core tells nothing. */
static bool compares_with_anonymous(const char *name) {
    static const char *const names[] = {"Rss", "Anonymous", "anon", "memory.current"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static uint64_t resident_huge(const struct cf_budget *budget) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < budget->rows.len; i++)
        if (budget->rows.items[i].kind == CF_CLAIM_HUGE && budget->rows.items[i].resident.known)
            bytes += budget->rows.items[i].resident.bytes;
    return bytes;
}

static struct cf_resident_bytes known(uint64_t bytes) {
    return (struct cf_resident_bytes){.bytes = bytes, .known = true};
}

/* What is left of the difference once `least` to `most` bytes are added to ours. */
static void judge_rest(struct cf_kernel_row *row, uint64_t least, uint64_t most) {
    row->more = known(row->bytes > most ? row->bytes - most : 0);
    row->less = known(row->bytes < least ? least - row->bytes : 0);
}

/* The bounds of written file pages. */
static void compare_by_bounds(struct cf_kernel_row *row, const struct cf_budget *budget,
                              uint64_t page_bytes) {
    uint64_t least = budget->nr_copied * page_bytes;
    row->copied_least = known(least);
    row->copied_most = known(budget->copied_max_bytes);
    judge_rest(row, row->ours_bytes + least, row->ours_bytes + budget->copied_max_bytes);
}

/* A whole smaps says itself how many written pages of files there are. */
static void compare_by_mappings(struct cf_kernel_row *row, const struct cf_kernel *kernel) {
    uint64_t copied = 0;
    for (size_t i = 0; i < kernel->mappings.len; i++)
        if (!kernel->mappings.items[i].is_anonymous)
            copied += kernel->mappings.items[i].anonymous_bytes;
    row->copied = known(copied);
    judge_rest(row, row->ours_bytes + copied, row->ours_bytes + copied);
}

static struct cf_kernel_row *add_row(struct cf_kernel *kernel, const char *source,
                                     const char *name, const struct cf_budget *budget) {
    struct cf_kernel_row *row = cf_array_push(&kernel->rows);
    if (row == NULL)
        return NULL;
    row->source = source;
    row->name = name;
    row->has_bytes = row->has_ours = true;
    if (strcmp(source, "smaps") == 0 && strcmp(name, "Rss") == 0)
        row->ours_bytes = budget->rss_bytes;
    else if (compares_with_anonymous(name))
        row->ours_bytes = budget->anonymous_resident_bytes;
    else if (strcmp(name, "Private_Hugetlb") == 0)
        row->ours_bytes = resident_huge(budget);
    else
        row->has_ours = false;
    return row;
}

/* Addresses are random, so that one equal start is no accident, and none is a wrong file. */
bool cf_kernel_fits(const struct cf_smaps *smaps, const struct cf_mem *mem) {
    if (smaps->is_rollup)
        return true;
    for (size_t i = 0; i < smaps->rows.len; i++) {
        const struct cf_region *region = cf_mem_find(mem, smaps->rows.items[i].start);
        if (region != NULL && region->start == smaps->rows.items[i].start &&
            region->start < UINT64_MAX / 2) /* not vsyscall, which is the same in all */
            return true;
    }
    return false;
}

/* Only the ends of the whole address space stand in a sum. */
static bool has_ends(const struct cf_smaps_mapping *sum, const struct cf_mem *mem) {
    const struct cf_region *first = cf_mem_find(mem, sum->start);
    const struct cf_region *last = cf_mem_find(mem, sum->end - 1);
    return first != NULL && first->start == sum->start && last != NULL && last->end == sum->end;
}

bool cf_kernel_covers(const struct cf_smaps *smaps, const struct cf_mem *mem) {
    size_t nr_data = 0, nr_inside = 0;
    if (smaps->is_rollup)
        return has_ends(&smaps->sum, mem);
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        nr_data += region->data_bytes > 0;
        nr_inside += region->data_bytes > 0 && cf_smaps_find(smaps, region->start) != NULL;
    }
    return cf_kernel_fits(smaps, mem) && nr_inside * 2 >= nr_data;
}

/* The use of most bytes of a mapping, and our resident bytes of its anonymous parts. */
static void judge_mapping(struct cf_kernel_mapping *mapping, const struct cf_mem *mem,
                          const struct cf_claims *claims) {
    struct cf_residency residency = cf_residency_of_mem(mem);
    struct cf_uses walk = cf_uses_from(mem, claims, mapping->start);
    struct cf_use use;
    uint64_t best = 0;
    while (cf_uses_next(&walk, &use) && use.start < mapping->end) {
        uint64_t end = use.end < mapping->end ? use.end : mapping->end;
        if (end - use.start > best) {
            best = end - use.start;
            mapping->kind = use.kind;
            mapping->label = use.label;
            mapping->in_core = true;
        }
        mapping->is_anonymous |= use.is_anonymous;
        if (use.is_anonymous) {
            struct cf_resident_bytes ours = cf_residency_count(&residency, use.start, end);
            mapping->ours.bytes += ours.bytes;
            mapping->ours.known |= ours.known;
        }
    }
}

static int add_mappings(struct cf_kernel *kernel, const struct cf_smaps *smaps,
                        const struct cf_mem *mem, const struct cf_claims *claims,
                        struct cf_err *err) {
    for (size_t i = 0; i < smaps->rows.len; i++) {
        const struct cf_smaps_mapping *row = &smaps->rows.items[i];
        struct cf_kernel_mapping *mapping = cf_array_push(&kernel->mappings);
        if (mapping == NULL)
            return cf_err_nomem(err, sizeof *mapping, "the kernel's mappings");
        *mapping = (struct cf_kernel_mapping){
            .start = row->start,
            .end = row->end,
            .kind = CF_CLAIM_UNATTRIBUTED,
            .label = "",
            .rss_bytes = row->bytes[CF_SMAPS_RSS],
            .anonymous_bytes = row->bytes[CF_SMAPS_ANONYMOUS],
            .swap_bytes = row->bytes[CF_SMAPS_SWAP],
            .shared_bytes =
                row->bytes[CF_SMAPS_SHARED_CLEAN] + row->bytes[CF_SMAPS_SHARED_DIRTY],
            .is_dontdump = row->is_dontdump,
        };
        judge_mapping(mapping, mem, claims);
    }
    return CF_OK;
}

int cf_kernel_add_smaps(struct cf_kernel *kernel, const struct cf_smaps *smaps,
                        const struct cf_mem *mem, const struct cf_claims *claims,
                        const struct cf_budget *budget, struct cf_err *err) {
    int status = smaps->is_rollup ? CF_OK : add_mappings(kernel, smaps, mem, claims, err);
    if (status != CF_OK)
        return status;
    for (int i = 0; i < CF_NR_SMAPS_FIGURES; i++) {
        if ((smaps->sum.known & (1u << i)) == 0)
            continue;
        struct cf_kernel_row *row = add_row(kernel, smaps->is_rollup ? "smaps_rollup" : "smaps",
                                            cf_smaps_figure_name(i), budget);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the kernel's figures");
        row->bytes = smaps->sum.bytes[i];
        if (i == CF_SMAPS_ANONYMOUS && smaps->is_rollup)
            compare_by_bounds(row, budget, cf_mem_page_bytes(mem));
        else if (i == CF_SMAPS_ANONYMOUS)
            compare_by_mappings(row, kernel);
    }
    return CF_OK;
}

/* What is left below a limit. */
static void find_room(const struct cf_cgroup *cgroup, struct cf_kernel_row *row) {
    const struct cf_cgroup_figure *now = cf_cgroup_find(cgroup, "memory.current");
    if (row->has_bytes && now != NULL && now->bytes <= row->bytes)
        row->room = known(row->bytes - now->bytes);
}

int cf_kernel_add_cgroup(struct cf_kernel *kernel, const struct cf_cgroup *cgroup,
                         const struct cf_budget *budget, struct cf_err *err) {
    const char *source = cgroup->version == 1 ? "cgroup v1" : "cgroup";
    for (size_t i = 0; i < cgroup->figures.len; i++) {
        const struct cf_cgroup_figure *figure = &cgroup->figures.items[i];
        struct cf_kernel_row *row = add_row(kernel, source, figure->name, budget);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the kernel's figures");
        row->bytes = figure->bytes;
        row->has_bytes = !figure->is_unlimited;
        row->is_count = figure->is_count;
        if (strcmp(figure->name, "memory.max") == 0)
            find_room(cgroup, row);
        if (strcmp(figure->name, "anon") == 0)
            row->copied_most = known(budget->copied_max_bytes);
    }
    return CF_OK;
}

void cf_kernel_fini(struct cf_kernel *kernel) {
    cf_array_free(&kernel->rows);
    cf_array_free(&kernel->mappings);
}
