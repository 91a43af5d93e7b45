/*
 * Headers, notes and the address space on hostile bytes, with what both promise held against every
 * object: regions are sorted, disjoint and of one state each, spans lie in the file, residency adds
 * up. A broken promise aborts.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "core/core.h"
#include "mem/mem.h"
#include "../unit/whole_mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept) {
    if (!kept)
        abort();
}

static void check_core(const struct cf_core *core) {
    uint64_t present = 0;
    for (size_t i = 0; i < cf_core_nr_segments(core); i++) {
        const struct cf_segment *segment = cf_core_segment(core, i);
        promise(segment->file_bytes <= segment->mem_bytes);
        promise(segment->present_bytes <= segment->file_bytes);
        promise(segment->mem_bytes <= UINT64_MAX - segment->vaddr);
        promise(segment->present_bytes == 0 ||
                cf_core_bytes(core, segment->offset, segment->present_bytes) != NULL);
        present += segment->file_bytes - segment->present_bytes;
    }
    promise(present == 0 || cf_core_missing_bytes(core) > 0);
    for (size_t i = 0; i < cf_core_nr_files(core); i++)
        (void)strlen(cf_core_file(core, i)->path);
    for (size_t i = 0; i < cf_core_nr_threads(core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(core, i);
        unsigned char copy[512];
        promise(thread->regs_bytes <= sizeof copy);
        if (thread->regs_bytes > 0)
            memcpy(copy, thread->regs, thread->regs_bytes);
    }
    promise(strlen(cf_core_command(core)) <= 16 && strlen(cf_core_arguments(core)) <= 80);
}

static void check_region(const struct cf_mem *mem, const struct cf_region *region) {
    uint64_t bytes = region->end - region->start;
    uint64_t avail = 0;
    unsigned char byte;
    promise(region->start < region->end);
    promise(region->data_bytes == 0 || region->data_bytes == bytes);
    promise(region->cut_bytes == 0 || region->cut_bytes == bytes);
    promise(region->data_bytes == 0 || region->cut_bytes == 0);
    promise(cf_mem_find(mem, region->start) == region);
    promise(cf_mem_find(mem, region->end - 1) == region);
    bool is_readable = region->data_bytes > 0;
    promise((cf_mem_span(mem, region->start, &avail) != NULL) == is_readable);
    promise(!is_readable || avail >= bytes);
    promise(cf_mem_read(mem, region->end - 1, &byte, 1) == is_readable);
    promise(region->kind != CF_REGION_FILE || region->file >= 0);
}

/* Residency of the parts against that of the whole. */
static void check_residency(const struct cf_mem *mem) {
    uint64_t total = 0;
    uint64_t parts = 0;
    uint64_t runs = 0;
    uint64_t start;
    uint64_t end = 0;
    bool known = cf_mem_resident_bytes(mem, 0, UINT64_MAX, &total);
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        uint64_t bytes = 0;
        promise(!cf_mem_resident_bytes(mem, region->start, region->end, &bytes) || known);
        promise(bytes <= region->data_bytes);
        parts += bytes;
    }
    for (uint64_t at = 0; cf_mem_next_resident(mem, at, &start, &end); at = end) {
        promise(start >= at && start < end);
        promise(cf_mem_page_state(mem, start) == CF_PAGE_RESIDENT);
        runs += end - start;
    }
    promise(total == parts && total == runs);
}

static void check_mem(const struct cf_mem *mem) {
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        promise(i == 0 || cf_mem_region(mem, i - 1)->end <= cf_mem_region(mem, i)->start);
        check_region(mem, cf_mem_region(mem, i));
    }
    check_residency(mem);
    cf_mem_drop(mem, 0, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CF_CLEANUP_CLOSE int fd = memfd_create("seed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    struct cf_core *core = NULL;
    struct cf_mem *mem = NULL;
    struct cf_err err;
    if (cf_core_open(NULL, fd, "seed", NULL, &core, &err) == 0) {
        check_core(core);
        if (whole_mem(NULL, core, &mem, &err) == 0)
            check_mem(mem);
    }
    cf_mem_free(mem);
    cf_core_free(core);
    return 0;
}
