/*
 * Zeros where data must be: the file has its full length, but whoever wrote or moved it stopped
 * early, and what lacks reads as zeros. The witnesses are pages that cannot be zeros in a kernel
 * core: the vdso, and the page that the kernel dumps of a mapped file because it saw an ELF header
 * in it. A stack of zeros at a thread's own stack pointer is told too, but gcore makes such ones
 * in a core that is whole otherwise (it cannot read over guard regions).
 */
#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "core/core_private.h"

enum { WITNESSES_MAX = 64, AUXV_SYSINFO_EHDR = 33 };

const struct cf_segment *cf_core_segment_at(const struct cf_core *core, uint64_t addr) {
    for (size_t i = 0; i < core->segments.len; i++) {
        const struct cf_segment *segment = &core->segments.items[i];
        if (addr >= segment->vaddr && addr - segment->vaddr < segment->mem_bytes)
            return segment;
    }
    return NULL;
}

/* The file's bytes of [addr, addr + bytes), or NULL where they were not dumped or are cut off. */
static const unsigned char *bytes_at(const struct cf_core *core, const struct cf_segment *segment,
                                     uint64_t addr, uint64_t bytes) {
    uint64_t at = addr - segment->vaddr;
    if (at > segment->present_bytes || bytes > segment->present_bytes - at)
        return NULL;
    return cf_core_bytes(core, segment->offset + at, bytes);
}

static bool is_zero(const unsigned char *bytes, size_t nr_bytes) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, nr_bytes - 1) == 0;
}

/* An ELF header must stand at `addr`; zeros do. */
static bool lost_header(const struct cf_core *core, const struct cf_segment *segment,
                        uint64_t addr) {
    const unsigned char *bytes = bytes_at(core, segment, addr, EI_NIDENT);
    return bytes != NULL && is_zero(bytes, EI_NIDENT);
}

static void look_at_header(struct cf_core *core, const struct cf_segment *segment, uint64_t addr,
                           const char *what) {
    if (core->is_blank || !lost_header(core, segment, addr))
        return;
    core->is_blank = true;
    core->blank_at = segment->offset + (addr - segment->vaddr);
    core->damaged = true;
    cf_core_add_flaw(core, "zero-filled", core->blank_at,
                     "zeros where the ELF header of %s must stand: the file was not filled to its "
                     "end",
                     what);
}

static void look_at_files(struct cf_core *core) {
    uint64_t page_bytes = cf_core_page_bytes(core);
    size_t witnesses = 0;
    /* The end of a file is lost first. */
    for (size_t i = core->files.len; i > 0 && witnesses < WITNESSES_MAX; i--) {
        const struct cf_core_file *file = &core->files.items[i - 1];
        if (file->offset_bytes != 0)
            continue;
        witnesses++;
        const struct cf_segment *segment = cf_core_segment_at(core, file->start);
        if (segment != NULL && segment->vaddr == file->start && segment->file_bytes == page_bytes &&
            segment->mem_bytes > page_bytes)
            look_at_header(core, segment, file->start, "a mapped file");
    }
}

static void look_at_vdso(struct cf_core *core) {
    uint64_t vdso;
    if (!cf_core_auxv(core, AUXV_SYSINFO_EHDR, &vdso) || vdso == 0)
        return;
    const struct cf_segment *segment = cf_core_segment_at(core, vdso);
    if (segment != NULL && segment->vaddr == vdso)
        look_at_header(core, segment, vdso, "the vdso");
}

static bool has_blank_stack(const struct cf_core *core, const struct cf_core_thread *thread) {
    uint64_t page_bytes = cf_core_page_bytes(core);
    uint64_t page = cf_align_down(thread->sp, page_bytes);
    const struct cf_segment *segment = cf_core_segment_at(core, thread->sp);
    if (segment == NULL || page < segment->vaddr)
        return false;
    const unsigned char *bytes = bytes_at(core, segment, page, page_bytes);
    return bytes != NULL && is_zero(bytes, (size_t)page_bytes);
}

static void look_at_stacks(struct cf_core *core) {
    size_t blank = 0;
    const struct cf_core_thread *first = NULL;
    for (size_t i = 0; i < core->threads.len && i < WITNESSES_MAX; i++) {
        const struct cf_core_thread *thread = &core->threads.items[i];
        if (!has_blank_stack(core, thread))
            continue;
        blank++;
        first = first == NULL ? thread : first;
    }
    if (blank > 0)
        cf_core_add_flaw(core, "stack-zero-filled", 0,
                         "the stacks of %zu threads are zeros at their stack pointers, the first "
                         "one that of thread %u at %#llx",
                         blank, first->tid, (unsigned long long)first->sp);
}

/* The end of the file's data, without the pages of zeros before it. */
static uint64_t end_of_content(const struct cf_core *core) {
    enum { STEP = 4096 };
    uint64_t end = cf_core_end_of_data(core);
    while (end > 0) {
        uint64_t start = cf_align_down(end - 1, STEP);
        if (!is_zero(core->map + start, (size_t)(end - start)))
            break;
        cf_core_drop(core, start, end - start);
        end = start;
    }
    return end;
}

/* The zeros up to the end of the file are no data: what stands there is cut off. */
static void cut_at(struct cf_core *core, uint64_t end) {
    core->usable_bytes = end;
    for (size_t i = 0; i < core->segments.len; i++) {
        struct cf_segment *segment = &core->segments.items[i];
        uint64_t present = cf_core_present(core, segment->offset, segment->file_bytes);
        cf_core_add_missing(core, segment->present_bytes - present);
        segment->present_bytes = present;
    }
}

void cf_core_look_for_blanks(struct cf_core *core) {
    if (core->producer == CF_PRODUCER_KERNEL) {
        look_at_vdso(core);
        look_at_files(core);
    }
    look_at_stacks(core);
    if (!core->is_blank)
        return;
    uint64_t end = end_of_content(core);
    if (end <= core->blank_at)
        cut_at(core, end);
}
