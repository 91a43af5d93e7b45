/*
 * The kernel's figures beside ours. The sentences stand in the schema; here is decided which of our
 * sums a figure compares with, and what is left of a difference.
 */
#include "space/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/uses.h"
#include "base/err.h"
#include "base/number.h"

/* Which figure of ours a row is compared with. */
enum ours { OURS_NONE, OURS_ANONYMOUS, OURS_HUGE };

/* Words for each figure; "" where the sums speak for themselves. */
struct wording {
    const char *name;
    enum ours ours;
    const char *text;
};

static const struct wording of_smaps[CF_NR_SMAPS_FIGURES] = {
    [CF_SMAPS_RSS] = {"Rss", OURS_ANONYMOUS,
                      "Rss also counts pages of files and of shared memory, whose residency a core "
                      "does not tell."},
    [CF_SMAPS_PSS] = {"Pss", OURS_NONE,
                      "Pages divided by the number of processes that map them: a core knows of "
                      "one process."},
    [CF_SMAPS_ANONYMOUS] = {"Anonymous", OURS_ANONYMOUS, ""},
    [CF_SMAPS_LAZY_FREE] = {"LazyFree", OURS_NONE,
                            "Given back with MADV_FREE and not taken yet: they count as Anonymous, "
                            "and are data in the core, so ours counts them too."},
    [CF_SMAPS_ANON_HUGE] = {"AnonHugePages", OURS_NONE,
                            "Transparent huge pages are resident as a whole, 2 MiB each, also "
                            "where the program touched 4 KiB; ours counts them so too."},
    [CF_SMAPS_SHMEM_HUGE] = {"ShmemPmdMapped", OURS_NONE,
                             "Shared memory in huge pages: its residency is in no core."},
    [CF_SMAPS_SHARED_HUGETLB] = {"Shared_Hugetlb", OURS_NONE,
                                 "Pages of hugetlbfs, which are no part of Rss."},
    [CF_SMAPS_PRIVATE_HUGETLB] = {"Private_Hugetlb", OURS_HUGE,
                                  "Pages of hugetlbfs, which are no part of Rss; ours knows them "
                                  "only where they were dumped (coredump_filter bit 0x20)."},
    [CF_SMAPS_SWAP] = {"Swap", OURS_NONE,
                       "Swapped out: not in Rss, but read back for the core, where they are data, "
                       "so ours counts them as resident. Add Swap to Anonymous to compare."},
    [CF_SMAPS_LOCKED] = {"Locked", OURS_NONE, "Pages that cannot be swapped out."},
};

#define GROUP "Counts all processes of the cgroup, ours this one. "
#define IN_NO_CORE "The kernel's own memory on behalf of the group: in no core. "

static const struct wording of_cgroup[] = {
    {"anon", OURS_ANONYMOUS, GROUP},
    {"file", OURS_NONE,
     "The page cache that the group is charged for, read and written files included, mapped or "
     "not: in no core. The kernel takes it back under pressure."},
    {"shmem", OURS_NONE,
     "Shared memory and tmpfs, charged to whoever touched it first; a core does not tell its "
     "residency. Part of file."},
    {"file_mapped", OURS_NONE, "Page cache that is mapped; charged once, whoever maps it."},
    {"sock", OURS_NONE,
     IN_NO_CORE "Buffers of sockets: grows with unread data and slow receivers."},
    {"slab", OURS_NONE, IN_NO_CORE "Its objects: directory entries, inodes, files, pipes."},
    {"slab_reclaimable", OURS_NONE, IN_NO_CORE "Part of slab that goes under pressure."},
    {"slab_unreclaimable", OURS_NONE, IN_NO_CORE "Part of slab that stays."},
    {"kernel", OURS_NONE, IN_NO_CORE "All of it: slab, stacks, page tables, percpu."},
    {"kernel_stack", OURS_NONE, IN_NO_CORE "16 KiB for each thread."},
    {"pagetables", OURS_NONE,
     IN_NO_CORE "Grows with touched address space, also where arenas are spread over it."},
    {"percpu", OURS_NONE, IN_NO_CORE "Counters and the like, a copy for each processor."},
    {"vmalloc", OURS_NONE, IN_NO_CORE "Large buffers of its own."},
    {"file_dirty", OURS_NONE, "Page cache that has to be written before it can be dropped."},
    {"file_writeback", OURS_NONE, "Page cache that is being written."},
    {"swapcached", OURS_NONE, "In swap and in memory at once."},
    {"zswap", OURS_NONE, "Swapped out into compressed memory: the size of the compressed pages."},
    {"swap", OURS_NONE, "Swapped out; ours counts such pages as resident."},
    {"anon_thp", OURS_NONE, "Anonymous memory in huge pages: part of anon."},
    {"memory.current", OURS_ANONYMOUS,
     GROUP "Also counts page cache and the kernel's own memory: file, sock, slab and others."},
    {"memory.peak", OURS_NONE, "The most that memory.current ever was."},
    {"memory.max", OURS_NONE, "The limit: memory.current beyond it ends in an OOM kill."},
    {"memory.high", OURS_NONE, "Beyond it the group is slowed down and reclaimed from."},
    {"memory.swap.current", OURS_NONE, "Swapped out; ours counts such pages as resident."},
    {"memory.swap.max", OURS_NONE, "The limit of swapped-out memory."},
};

static uint64_t resident_huge(const struct cf_budget *budget) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < budget->rows.len; i++)
        if (budget->rows.items[i].kind == CF_CLAIM_HUGE && budget->rows.items[i].resident.known)
            bytes += budget->rows.items[i].resident.bytes;
    return bytes;
}

/* Adds a sentence. */
static void say(struct cf_kernel_row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct cf_kernel_row *row, const char *format, ...) {
    size_t used = strlen(row->explanation);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->explanation + used, sizeof row->explanation - used, format, args);
    va_end(args);
}

/* What the bounds of written file pages leave open. */
static void explain_by_bounds(struct cf_kernel_row *row, const struct cf_budget *budget,
                              uint64_t page_bytes) {
    char least[CF_NUMBER_MAX], most[CF_NUMBER_MAX], rest[CF_NUMBER_MAX];
    uint64_t ours = budget->anonymous_resident_bytes, max = budget->copied_max_bytes;
    uint64_t min = budget->nr_copied * page_bytes;
    say(row,
        "Ours lacks the pages of files' private mappings that were written (module data): %s to "
        "%s here. ",
        cf_number_bytes(least, min), cf_number_bytes(most, max));
    if (row->bytes >= ours + min && row->bytes - ours <= max)
        say(row, "That explains the difference.");
    else if (row->bytes > ours + max)
        say(row,
            "The kernel counts %s more than that: the two were taken at different times, or the "
            "core's residency is \"at least\".",
            cf_number_bytes(rest, row->bytes - ours - max));
    else
        say(row,
            "The kernel counts %s less than that: the two were taken at different times, or pages "
            "were swapped out.",
            cf_number_bytes(rest, ours + min - row->bytes));
}

/* A whole smaps says itself how many written pages of files there are. */
static void explain_by_mappings(struct cf_kernel_row *row, const struct cf_kernel *kernel,
                                const struct cf_budget *budget) {
    char files[CF_NUMBER_MAX], rest[CF_NUMBER_MAX];
    uint64_t copied = 0;
    for (size_t i = 0; i < kernel->mappings.len; i++)
        if (!kernel->mappings.items[i].ours.known)
            copied += kernel->mappings.items[i].anonymous_bytes;
    uint64_t ours = budget->anonymous_resident_bytes + copied;
    say(row,
        "%s of it are pages of files' private mappings that were written (module data), which a "
        "core does not tell. ",
        cf_number_bytes(files, copied));
    if (row->bytes == ours)
        say(row, "Nothing else differs.");
    else
        say(row,
            "Beyond that the kernel counts %s %s: see v_kernel_mapping for where. Memory changed "
            "between the two, was swapped out, or the core's residency is \"at least\".",
            cf_number_bytes(rest, row->bytes > ours ? row->bytes - ours : ours - row->bytes),
            row->bytes > ours ? "more" : "less");
}

static struct cf_kernel_row *add_row(struct cf_kernel *kernel, const char *source,
                                     const struct wording *words, const struct cf_budget *budget) {
    struct cf_kernel_row *row = cf_array_push(&kernel->rows);
    if (row == NULL)
        return NULL;
    row->source = source;
    row->name = words->name;
    row->has_bytes = true;
    row->has_ours = words->ours != OURS_NONE;
    if (words->ours == OURS_ANONYMOUS)
        row->ours_bytes = budget->anonymous_resident_bytes;
    else if (words->ours == OURS_HUGE)
        row->ours_bytes = resident_huge(budget);
    (void)snprintf(row->explanation, sizeof row->explanation, "%s", words->text);
    return row;
}

/* Addresses are random, so that one equal start is no accident, and none is a wrong file. */
static bool is_of_this_process(const struct cf_smaps *smaps, const struct cf_mem *mem) {
    for (size_t i = 0; i < smaps->rows.len; i++) {
        const struct cf_region *region = cf_mem_find(mem, smaps->rows.items[i].start);
        if (region != NULL && region->start == smaps->rows.items[i].start &&
            region->start < UINT64_MAX / 2) /* not vsyscall, which is the same in all */
            return true;
    }
    return false;
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
            .is_dontdump = row->is_dontdump,
        };
        judge_mapping(mapping, mem, claims);
    }
    return CF_OK;
}

int cf_kernel_add_smaps(struct cf_kernel *kernel, const struct cf_smaps *smaps,
                        const struct cf_mem *mem, const struct cf_claims *claims,
                        const struct cf_budget *budget, struct cf_err *err) {
    if (!smaps->is_rollup && !is_of_this_process(smaps, mem))
        return cf_err_set(err, CF_EINPUT,
                          "the smaps is of another process, or of another run: no mapping of it "
                          "begins where one of the core's does");
    int status = smaps->is_rollup ? CF_OK : add_mappings(kernel, smaps, mem, claims, err);
    if (status != CF_OK)
        return status;
    for (int i = 0; i < CF_NR_SMAPS_FIGURES; i++) {
        if ((smaps->sum.known & (1u << i)) == 0)
            continue;
        struct cf_kernel_row *row = add_row(kernel, smaps->is_rollup ? "smaps_rollup" : "smaps",
                                            &of_smaps[i], budget);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the kernel's figures");
        row->bytes = smaps->sum.bytes[i];
        if (i == CF_SMAPS_ANONYMOUS && smaps->is_rollup)
            explain_by_bounds(row, budget, cf_mem_page_bytes(mem));
        else if (i == CF_SMAPS_ANONYMOUS)
            explain_by_mappings(row, kernel, budget);
    }
    return CF_OK;
}

/* A limit with what is left below it. */
static void explain_room(const struct cf_cgroup *cgroup, struct cf_kernel_row *row) {
    const struct cf_cgroup_figure *now = cf_cgroup_find(cgroup, "memory.current");
    char room[CF_NUMBER_MAX];
    if (!row->has_bytes)
        say(row, " None is set.");
    else if (now != NULL && now->bytes <= row->bytes)
        say(row, " %s are left.", cf_number_bytes(room, row->bytes - now->bytes));
}

int cf_kernel_add_cgroup(struct cf_kernel *kernel, const struct cf_cgroup *cgroup,
                         const struct cf_budget *budget, struct cf_err *err) {
    char most[CF_NUMBER_MAX];
    const char *source = cgroup->version == 1 ? "cgroup v1" : "cgroup";
    for (size_t i = 0; i < cgroup->figures.len; i++) {
        const struct cf_cgroup_figure *figure = &cgroup->figures.items[i];
        struct wording words = {figure->name, OURS_NONE, ""};
        for (size_t j = 0; j < sizeof of_cgroup / sizeof of_cgroup[0]; j++)
            if (strcmp(of_cgroup[j].name, figure->name) == 0)
                words = of_cgroup[j];
        struct cf_kernel_row *row = add_row(kernel, source, &words, budget);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "the kernel's figures");
        row->bytes = figure->bytes;
        row->has_bytes = !figure->is_unlimited;
        if (strcmp(figure->name, "memory.max") == 0)
            explain_room(cgroup, row);
        if (strcmp(figure->name, "anon") == 0)
            say(row,
                "Ours also lacks the pages of files' private mappings that were written, at most "
                "%s.",
                cf_number_bytes(most, budget->copied_max_bytes));
    }
    return CF_OK;
}

void cf_kernel_fini(struct cf_kernel *kernel) {
    cf_array_free(&kernel->rows);
    cf_array_free(&kernel->mappings);
}
