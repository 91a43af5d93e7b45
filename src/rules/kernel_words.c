/*
 * What the kernel's own figures (smaps, cgroup) count, in words. A row's sentence is a template
 * over the row itself: what is left of the difference between its figure and ours was computed with
 * it (space/kernel.h). The first entry with the row's name and source is taken; one without a
 * source is for all.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "rules/rules.h"
#include "rules/template.h"

enum { WORDS_BYTES = 1024 };

#define GROUP "Counts all processes of the cgroup, ours this one. "
#define IN_NO_CORE "The kernel's own memory on behalf of the group: in no core. "

static const struct {
    const char *source; /* NULL: any */
    const char *name;
    const char *text;
} words[] = {
    {"smaps", "Rss",
     "Ours is anonymous memory as the core shows it, and all else as smaps counts it."
     " Where they differ the two were taken at different times, or pages were swapped out."},
    {NULL, "Rss",
     "Rss also counts pages of files and of shared memory, whose residency a core does not tell."},
    {NULL, "Pss",
     "Pages divided by the number of processes that map them: a core knows of one process."},
    {NULL, "Shared_Clean", "On pages that other processes map too, and that nobody changed."},
    {NULL, "Shared_Dirty",
     "On changed pages that other processes map too: shared memory, and what a fork left shared "
     "with the parent or a child."},
    {"smaps_rollup", "Anonymous",
     "Ours lacks the pages of files' private mappings that were written (module data): "
     "{copied_least_bytes:amount} to {copied_most_bytes:amount} here. "
     "[{is_equal:when}That explains the difference.]"
     "[The kernel counts {more_bytes:bytes} more than that: the two were taken at different times, "
     "or the core's residency is \"at least\".]"
     "[The kernel counts {less_bytes:bytes} less than that: the two were taken at different times, "
     "or pages were swapped out.]"},
    {"smaps", "Anonymous",
     "{copied_bytes:Amount} of it is pages of files' private mappings that were written (module "
     "data), which a core does not tell. [{is_equal:when}Nothing else differs.]"
     "[Beyond that the kernel counts {more_bytes:bytes} more: see v_kernel_mapping for where. "
     "Memory changed between the two, or the core's residency is \"at least\".]"
     "[Beyond that the kernel counts {less_bytes:bytes} less: see v_kernel_mapping for where. "
     "Memory changed between the two, or was swapped out.]"},
    {NULL, "LazyFree",
     "Given back with MADV_FREE and not taken yet: they count as Anonymous, and are data in the "
     "core, so ours counts them too."},
    {NULL, "AnonHugePages",
     "Transparent huge pages are resident as a whole, 2 MiB each, also where the program touched "
     "4 KiB; ours counts them so too."},
    {NULL, "ShmemPmdMapped", "Shared memory in huge pages: its residency is in no core."},
    {NULL, "Shared_Hugetlb", "Pages of hugetlbfs, which are no part of Rss."},
    {NULL, "Private_Hugetlb",
     "Pages of hugetlbfs, which are no part of Rss; ours knows them only where they were dumped "
     "(coredump_filter bit 0x20)."},
    {NULL, "Swap",
     "Swapped out: not in Rss, but read back for the core, where they are data, so ours counts "
     "them as resident. Add Swap to Anonymous to compare."},
    {NULL, "Locked", "Pages that cannot be swapped out."},
    {NULL, "anon",
     GROUP "Ours also lacks the pages of files' private mappings that were written, at most "
     "{copied_most_bytes:bytes}."},
    {NULL, "file",
     "The page cache that the group is charged for, read and written files included, mapped or "
     "not: in no core. The kernel takes it back under pressure."},
    {NULL, "shmem",
     "Shared memory and tmpfs, charged to whoever touched it first; a core does not tell its "
     "residency. Part of file."},
    {NULL, "file_mapped", "Page cache that is mapped; charged once, whoever maps it."},
    {NULL, "sock", IN_NO_CORE "Buffers of sockets: grows with unread data and slow receivers."},
    {NULL, "slab", IN_NO_CORE "Its objects: directory entries, inodes, files, pipes."},
    {NULL, "slab_reclaimable", IN_NO_CORE "Part of slab that goes under pressure."},
    {NULL, "slab_unreclaimable", IN_NO_CORE "Part of slab that stays."},
    {NULL, "kernel", IN_NO_CORE "All of it: slab, stacks, page tables, percpu."},
    {NULL, "kernel_stack", IN_NO_CORE "16 KiB for each thread."},
    {NULL, "pagetables",
     IN_NO_CORE "Grows with touched address space, also where arenas are spread over it."},
    {NULL, "percpu", IN_NO_CORE "Counters and the like, a copy for each processor."},
    {NULL, "vmalloc", IN_NO_CORE "Large buffers of its own."},
    {NULL, "file_dirty", "Page cache that has to be written before it can be dropped."},
    {NULL, "file_writeback", "Page cache that is being written."},
    {NULL, "swapcached", "In swap and in memory at once."},
    {NULL, "zswap", "Swapped out into compressed memory: the size of the compressed pages."},
    {NULL, "swap", "Swapped out; ours counts such pages as resident."},
    {NULL, "anon_thp", "Anonymous memory in huge pages: part of anon."},
    {NULL, "memory.current",
     GROUP "Also counts page cache and the kernel's own memory: file, sock, slab and others."},
    {NULL, "memory.peak", "The most that memory.current ever was."},
    {NULL, "memory.max",
     "The limit: memory.current beyond it ends in an OOM kill.[{is_unset:when} None is set.]"
     "[ {room_bytes:amount} is left.]"},
    {NULL, "oom_kill", "Processes of the group that were killed since it is at its limit."},
    {NULL, "memory.high", "Beyond it the group is slowed down and reclaimed from."},
    {NULL, "memory.swap.current", "Swapped out; ours counts such pages as resident."},
    {NULL, "memory.swap.max", "The limit of swapped-out memory."},
};

static const char *words_for(const char *source, const char *name) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].name, name) == 0 &&
            (words[i].source == NULL || strcmp(words[i].source, source) == 0))
            return words[i].text;
    return "";
}

static int explain(const struct cf_stmt *row, struct cf_stmt *into, struct cf_err *err) {
    char text[WORDS_BYTES];
    int status = cf_template_fill(words_for(cf_stmt_text(row, 1), cf_stmt_text(row, 2)), row, text,
                                  sizeof text, err);
    if (status != CF_OK)
        return cf_err_context(err, "the kernel's figure %s", cf_stmt_text(row, 2));
    cf_stmt_bind_i64(into, 1, cf_stmt_i64(row, 0));
    cf_stmt_bind_text(into, 2, text);
    return cf_stmt_run(into, err);
}

int cf_rules_explain_kernel(struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_STMT struct cf_stmt *rows = NULL;
    CF_CLEANUP_STMT struct cf_stmt *into = NULL;
    int status = cf_db_prepare(db,
                               "SELECT figure_id, source, name, copied_least_bytes,"
                               " copied_most_bytes, copied_bytes, more_bytes, less_bytes,"
                               " room_bytes, more_bytes = 0 AND less_bytes = 0 AS is_equal,"
                               " bytes IS NULL AS is_unset FROM kernel_figure",
                               &rows, err);
    if (status == CF_OK)
        status = cf_db_prepare(db, "UPDATE kernel_figure SET explanation = ?2 WHERE figure_id = ?1",
                               &into, err);
    bool row = true;
    while (status == CF_OK) {
        status = cf_stmt_step(rows, &row, err);
        if (status != CF_OK || !row)
            break;
        status = explain(rows, into, err);
    }
    return status;
}
