/*
 * Who wrote the core, by the way it is laid out and by its notes:
 *
 * - createdump: EI_OSABI is Linux and the program headers stand behind a section header, or the
 *   notes' padding bears its tags.
 * - valgrind: PRPSINFO first, with no process id in it, right behind the headers; no sections, no
 *   AUXV.
 * - gcore (BFD): a table of sections, or the notes behind the data, or PRPSINFO before PRSTATUS.
 * - qemu-user: laid out as the kernel does, but no other notes than PRSTATUS, PRPSINFO and AUXV.
 * - kernel: notes right behind the headers, data page-aligned and in the order of the headers, and
 *   notes that qemu-user does not write (SIGINFO, FILE, registers).
 */
#include <elf.h>

#include "base/checked.h"
#include "core/core_private.h"

static bool is_createdump(const struct cf_core *core) {
    return core->evidence.createdump_tag ||
           (core->os_abi == ELFOSABI_LINUX && core->table_offset > core->header_bytes);
}

static bool is_gcore(const struct cf_core *core) {
    if (core->nr_sections > 1 || core->evidence.first_is_psinfo)
        return true;
    if (core->notes.len == 0 || core->nr_entries < core->declared_segments)
        return false;
    uint64_t notes_at = core->notes.items[0].offset;
    for (size_t i = 0; i < core->segments.len; i++) {
        const struct cf_segment *segment = &core->segments.items[i];
        if (segment->file_bytes > 0 && segment->offset < notes_at)
            return true;
    }
    return false;
}

/* The notes stand behind the table, the data page by page in the order of the table. */
static bool is_laid_out_by_kernel(const struct cf_core *core) {
    enum { DATA_ALIGN = 4096 };
    uint64_t table_end;
    if (core->table_offset != core->header_bytes || core->notes.len == 0 ||
        !cf_mul_u64(core->declared_segments, core->entry_bytes, &table_end) ||
        !cf_add_u64(table_end, core->table_offset, &table_end) ||
        core->notes.items[0].offset != table_end)
        return false;
    uint64_t expected = 0;
    for (size_t i = 0; i < core->segments.len; i++) {
        const struct cf_segment *segment = &core->segments.items[i];
        if (segment->offset % DATA_ALIGN != 0 || (i > 0 && segment->offset != expected))
            return false;
        expected = segment->offset + segment->file_bytes;
    }
    return true;
}

static bool is_valgrind(const struct cf_core *core) {
    return core->evidence.first_is_psinfo && core->pid == 0 && core->evidence.nr_auxv == 0 &&
           core->nr_sections == 0 && is_laid_out_by_kernel(core);
}

enum cf_producer cf_core_judge_producer(const struct cf_core *core) {
    const struct note_evidence *evidence = &core->evidence;
    if (is_createdump(core))
        return CF_PRODUCER_CREATEDUMP;
    if (is_valgrind(core))
        return CF_PRODUCER_VALGRIND;
    if (is_gcore(core))
        return CF_PRODUCER_GCORE;
    if (!is_laid_out_by_kernel(core))
        return CF_PRODUCER_UNKNOWN;
    if (evidence->siginfo_after_psinfo || evidence->nr_others > 0)
        return CF_PRODUCER_KERNEL;
    if (core->threads.len > 0 && evidence->nr_psinfo > 0 && evidence->nr_auxv > 0 &&
        core->notes.items[0].present_bytes == core->notes.items[0].file_bytes)
        return CF_PRODUCER_QEMU;
    return CF_PRODUCER_UNKNOWN;
}

/*
 * createdump's mini and triage dumps hold the threads' stacks, each from the page of its stack
 * pointer on, and single pages that the runtime's debugger needs; its heap and full dumps hold
 * whole mappings, and so what lies below the stack pointers. The main thread at least has been
 * deeper once than where it stands, so that the pages below were in memory.
 */
void cf_core_judge_content(struct cf_core *core) {
    enum { THREADS_MAX = 64 };
    uint64_t page_bytes = cf_core_page_bytes(core);
    size_t nr_stacks = 0;
    if (core->producer != CF_PRODUCER_CREATEDUMP)
        return;
    for (size_t i = 0; i < core->threads.len && i < THREADS_MAX; i++) {
        uint64_t sp = core->threads.items[i].sp;
        const struct cf_segment *segment = cf_core_segment_at(core, sp);
        if (segment == NULL)
            continue;
        if (segment->vaddr != cf_align_down(sp, page_bytes))
            return;
        nr_stacks++;
    }
    if (nr_stacks == 0)
        return;
    core->left_out = "a mini or triage dump: the threads' stacks and little else, no heap";
    cf_core_add_flaw(core, "mini-dump", 0, "createdump wrote %s", core->left_out);
}
