/* What the process is made of: segments, modules, threads and the frames of their stacks. */
#include <elf.h>
#include <signal.h>

#include "store/insert.h"
#include "store/rows.h"
#include "sym/demangle.h"

static void flags_text(uint32_t flags, char out[4]) {
    out[0] = flags & PF_R ? 'r' : '-';
    out[1] = flags & PF_W ? 'w' : '-';
    out[2] = flags & PF_X ? 'x' : '-';
    out[3] = '\0';
}

static const char *region_kind_name(enum cf_region_kind kind) {
    switch (kind) {
    case CF_REGION_ANONYMOUS:
        return "anonymous";
    case CF_REGION_FILE:
        return "file";
    case CF_REGION_SHARED:
        return "shared";
    default:
        return "unknown";
    }
}

static void insert_build_id(struct cf_insert *in, const struct cf_module *module) {
    char text[2 * CF_BUILD_ID_MAX + 1];
    if (module == NULL || module->build_id_bytes == 0) {
        cf_insert_null(in);
        return;
    }
    cf_module_build_id_text(module, text);
    cf_insert_text(in, text);
}

static int insert_segment(struct cf_insert *in, const struct cf_mem *mem,
                          const struct cf_modules *modules, size_t index, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    const struct cf_segment *segment = cf_core_segment(core, index);
    const struct cf_region *region = cf_mem_find(mem, segment->vaddr);
    int32_t file = region != NULL ? region->file : -1;
    uint64_t end = segment->vaddr + segment->mem_bytes, resident = 0;
    char flags[4];
    flags_text(segment->flags, flags);
    cf_insert_u64(in, index);
    cf_insert_u64(in, segment->vaddr);
    cf_insert_u64(in, end);
    cf_insert_text(in, flags);
    cf_insert_text(in, region_kind_name(region != NULL ? region->kind : CF_REGION_UNKNOWN));
    cf_insert_text(in, file >= 0 ? cf_core_file(core, (size_t)file)->path : NULL);
    insert_build_id(in, file >= 0 ? cf_modules_of_file(modules, (size_t)file) : NULL);
    cf_insert_u64(in, segment->present_bytes);
    cf_insert_u64(in, segment->file_bytes - segment->present_bytes);
    /* What has nothing in the file may be full all the same (MADV_DONTDUMP). */
    bool is_unknown = (segment->flags & PF_W) != 0 && segment->file_bytes == 0;
    bool known = !is_unknown && cf_mem_resident_bytes(mem, segment->vaddr, end, &resident);
    cf_insert_u64_if(in, known, resident);
    return cf_insert_row(in, err);
}

static int insert_segments(struct cf_db *db, const struct cf_mem *mem,
                           const struct cf_modules *modules, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "segment",
                                 "segment_id, start, end, flags, kind, file, build_id,"
                                 " dumped_bytes, missing_bytes, resident_bytes",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_core_nr_segments(cf_mem_core(mem)); i++)
        status = insert_segment(&in, mem, modules, i, err);
    return status;
}

static const char *module_kind_name(enum cf_module_kind kind) {
    return kind == CF_MODULE_ELF ? "elf" : kind == CF_MODULE_FILE ? "file" : "unknown";
}

static int insert_module(struct cf_insert *in, size_t index, const struct cf_module *module,
                         struct cf_symbols *symbols, struct cf_err *err) {
    struct cf_symbols_source source = cf_symbols_source(symbols, module);
    bool is_good = cf_symbols_state_is_good(source.state);
    char flags[4];
    flags_text(module->flags, flags);
    cf_insert_u64(in, index);
    cf_insert_u64(in, module->start);
    cf_insert_u64(in, module->end);
    cf_insert_text(in, flags);
    cf_insert_text(in, module->path);
    insert_build_id(in, module);
    cf_insert_text(in, module_kind_name(module->kind));
    cf_insert_u64(in, module->mapped_bytes);
    cf_insert_text(in, cf_symbols_state_name(source.state));
    cf_insert_text(in, source.state == CF_SYMBOLS_DEBUG ? source.debug_file : source.file);
    cf_insert_u64_if(in, is_good, !source.unverified);
    return cf_insert_row(in, err);
}

static int insert_modules(struct cf_db *db, struct cf_symbols *symbols, struct cf_err *err) {
    const struct cf_modules *modules = cf_symbols_modules(symbols);
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "module",
                                 "module_id, start, end, flags, file, build_id, kind,"
                                 " mapped_bytes, symbols, symbols_file, symbols_verified",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_modules_nr(modules); i++)
        status = insert_module(&in, i, cf_modules_get(modules, i), symbols, err);
    return status;
}

static uint32_t arena_at(const struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; addr != 0 && i < cf_ptmalloc_nr_arenas(pt); i++)
        if (cf_ptmalloc_arena(pt, i)->addr == addr)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* The mapping around the stack pointer: its segment, of which dumped and cut parts are regions of
 * their own. */
static bool stack_of(const struct cf_mem *mem, uint64_t sp, uint64_t *start, uint64_t *end) {
    const struct cf_region *region = cf_mem_find(mem, sp);
    if (region == NULL)
        return false;
    const struct cf_segment *segment = cf_core_segment(cf_mem_core(mem), region->segment);
    *start = segment->vaddr;
    *end = segment->vaddr + segment->mem_bytes;
    return true;
}

/*
 * The dumping thread comes first. Of a snapshot the signal is that of the debugger (SIGSTOP,
 * SIGTRAP) or none: only those whose default action is a core end a process that way.
 */
static bool is_crashing(const struct cf_core *core, size_t index) {
    static const int with_core[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                    SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    int signal = cf_core_signal(core);
    if (index != 0 || (signal == SIGTRAP && cf_core_producer(core) == CF_PRODUCER_GCORE))
        return false;
    for (size_t i = 0; i < sizeof with_core / sizeof with_core[0]; i++)
        if (signal == with_core[i])
            return true;
    return false;
}

static int insert_thread(struct cf_insert *in, const struct cf_ptmalloc *pt, size_t index,
                         const char *top_frame, struct cf_err *err) {
    const struct cf_malloc *found = cf_ptmalloc_malloc(pt);
    const struct cf_mem *mem = cf_malloc_mem(found);
    const struct cf_core_thread *thread = cf_core_thread(cf_mem_core(mem), index);
    uint64_t start = 0, end = 0, resident = 0;
    bool has_stack = stack_of(mem, thread->sp, &start, &end);
    cf_insert_u64(in, index);
    cf_insert_u64(in, thread->tid);
    cf_insert_id(in, arena_at(pt, cf_malloc_thread(found, index)->thread_arena));
    cf_insert_u64(in, thread->sp);
    cf_insert_u64_if(in, has_stack, start);
    cf_insert_u64_if(in, has_stack, end);
    bool known = has_stack && cf_mem_resident_bytes(mem, start, end, &resident);
    cf_insert_u64_if(in, known, resident);
    cf_insert_u64(in, is_crashing(cf_mem_core(mem), index));
    cf_insert_text(in, top_frame);
    return cf_insert_row(in, err);
}

static int insert_threads(struct cf_db *db, const struct cf_ptmalloc *pt,
                          struct cf_symbols *symbols, const struct cf_frames *frames,
                          struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(cf_malloc_mem(cf_ptmalloc_malloc(pt)));
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "thread",
                                 "thread_id, tid, arena_id, stack_pointer, stack_start,"
                                 " stack_end, stack_resident_bytes, is_crashing, top_frame",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_core_nr_threads(core); i++) {
        char text[CF_FRAME_TEXT_MAX];
        bool has_frame = cf_frames_nr(frames, i) > 0;
        const char *top =
            has_frame ? cf_frame_text(symbols, cf_frames_get(frames, i, 0), text) : NULL;
        status = insert_thread(&in, pt, i, top, err);
    }
    return status;
}

static int insert_frame(struct cf_insert *in, size_t thread, size_t index,
                        const struct cf_frame *frame, struct cf_symbols *symbols,
                        struct cf_err *err) {
    char function[CF_FRAME_TEXT_MAX];
    struct cf_symbol symbol = {0};
    bool has_symbol = cf_frame_symbol(symbols, frame, &symbol);
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(symbols), frame->pc);
    cf_insert_u64(in, thread);
    cf_insert_u64(in, index);
    cf_insert_u64(in, frame->pc);
    cf_insert_u64_if(in, frame->sp != 0, frame->sp);
    cf_insert_text(in, has_symbol ? cf_demangle(symbol.name, function, sizeof function) : NULL);
    cf_insert_u64_if(in, has_symbol, frame->pc - symbol.addr);
    cf_insert_text(in, module != NULL ? module->path : has_symbol ? "[vdso]" : NULL);
    return cf_insert_row(in, err);
}

static int insert_frames(struct cf_db *db, size_t nr_threads, struct cf_symbols *symbols,
                         const struct cf_frames *frames, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "frame",
                                 "thread_id, frame, pc, stack_pointer, function, offset_bytes,"
                                 " module",
                                 err);
    for (size_t i = 0; i < nr_threads; i++)
        for (size_t j = 0; status == CF_OK && j < cf_frames_nr(frames, i); j++)
            status = insert_frame(&in, i, j, cf_frames_get(frames, i, j), symbols, err);
    return status;
}

int cf_rows_process(struct cf_db *db, const struct cf_ptmalloc *pt, struct cf_symbols *symbols,
                    const struct cf_frames *frames, struct cf_err *err) {
    const struct cf_mem *mem = cf_malloc_mem(cf_ptmalloc_malloc(pt));
    int status = insert_segments(db, mem, cf_symbols_modules(symbols), err);
    if (status == CF_OK)
        status = insert_modules(db, symbols, err);
    if (status == CF_OK)
        status = insert_threads(db, pt, symbols, frames, err);
    if (status == CF_OK)
        status = insert_frames(db, cf_core_nr_threads(cf_mem_core(mem)), symbols, frames, err);
    return status;
}
