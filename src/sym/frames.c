/*
 * Threads are unwound with libdwfl: registers and stack from the core, .eh_frame from the files of
 * modules whose build id is the core's. libdwfl is told of these modules only and reads memory
 * through cf_mem; it never sees the core. What it cannot know it does not guess: where a frame's
 * module has no file, the frames end.
 */
#include "sym/frames.h"

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/texts.h"
#include "sym/demangle.h"

enum { RED_ZONE_BYTES = 128, FUNCTION_MAX = 160 };

enum { MODULES_MAX = 4096, REGISTERS_MAX = 32, I386_SYSCALL_WORDS = 4 };

/* A file that libdwfl has mapped. */
struct mapped {
    const struct cf_elf_file *file;
    struct cf_bus_guard *guard;
};

struct unwinder {
    const struct cf_mem *mem;
    struct cf_symbols *symbols;
    Dwfl *dwfl;
    CF_ARRAY(struct mapped) mapped;
    /* Of the thread at hand. */
    size_t thread;
    struct cf_frame *out;
    size_t nr, max;
};

/* For each DWARF register the register of elf_prstatus that it is. */
struct machine {
    unsigned nr;
    unsigned char registers[REGISTERS_MAX];
    unsigned pc, sp; /* of elf_prstatus, of DWARF */
};

static const struct machine machines[] = {
    /* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
    [CF_MACHINE_X86_64] = {17, {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16}, 16, 7},
    /* eax ecx edx ebx esp ebp esi edi eip */
    [CF_MACHINE_I386] = {9, {6, 1, 2, 0, 15, 5, 3, 4, 12}, 12, 4},
    /* x0 ... x30 sp; pc has no number */
    [CF_MACHINE_AARCH64] = {32,
                            {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                             16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
                            32,
                            31},
};

/* ---- callbacks ---- */

static int no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                  char **file_name, Elf **elf) {
    (void)module, (void)user, (void)name, (void)base, (void)file_name, (void)elf;
    return -1;
}

/* The standard callback would look at paths by itself, and ask servers. */
static int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                        const char *file_name, const char *link, GElf_Word crc, char **debug) {
    (void)module, (void)user, (void)name, (void)base, (void)file_name, (void)link, (void)crc;
    (void)debug;
    return -1;
}

/* Threads go by their place in the core and 1, since tids of a damaged core may be anything. */
static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg) {
    struct unwinder *unwinder = arg;
    (void)dwfl;
    *thread_arg = unwinder;
    return tid == (pid_t)unwinder->thread + 1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg) {
    (void)dwfl, (void)arg, (void)thread_arg;
    return 0;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *out, void *arg) {
    const struct unwinder *unwinder = arg;
    uint64_t word;
    (void)dwfl;
    if (!cf_mem_word(unwinder->mem, addr, &word))
        return false;
    *out = word;
    return true;
}

static bool register_of(const struct unwinder *unwinder, unsigned index, uint64_t *out) {
    const struct cf_core *core = cf_mem_core(unwinder->mem);
    const struct cf_core_thread *thread = cf_core_thread(core, unwinder->thread);
    unsigned word = cf_core_word_bytes(core);
    struct cf_cursor cursor = cf_cursor_make(thread->regs, thread->regs_bytes, word);
    return cf_cursor_seek(&cursor, (uint64_t)index * word) && cf_cursor_word(&cursor, out);
}

static bool in_vdso(const struct unwinder *unwinder, uint64_t pc) {
    struct cf_symbol symbol;
    return cf_symbols_lookup(unwinder->symbols, pc, &symbol) && symbol.module == NULL;
}

/*
 * Every i386 thread that sleeps does so in __kernel_vsyscall of the vdso, which is no file. It
 * pushes three registers before it enters the kernel (arch/x86/entry/vdso/vdso32/system_call.S):
 *
 *     esp -> ebp | edx | ecx | return address
 */
static void leave_vdso(struct unwinder *unwinder, Dwarf_Word registers[REGISTERS_MAX]) {
    enum { ECX = 1, EDX = 2, ESP = 4, EBP = 5, EIP = 8 };
    uint64_t words[I386_SYSCALL_WORDS];
    for (unsigned i = 0; i < I386_SYSCALL_WORDS; i++)
        if (!cf_mem_word(unwinder->mem, registers[ESP] + 4 * i, &words[i]))
            return;
    if (unwinder->max == 0)
        return;
    unwinder->out[unwinder->nr++] = (struct cf_frame){.pc = registers[EIP], .sp = registers[ESP]};
    registers[EBP] = words[0];
    registers[EDX] = words[1];
    registers[ECX] = words[2];
    registers[EIP] = words[3];
    registers[ESP] += sizeof(uint32_t) * I386_SYSCALL_WORDS;
}

static bool set_registers(Dwfl_Thread *thread, void *arg) {
    struct unwinder *unwinder = arg;
    enum cf_machine kind = cf_core_machine(cf_mem_core(unwinder->mem));
    const struct machine *machine = &machines[kind];
    Dwarf_Word registers[REGISTERS_MAX] = {0};
    uint64_t pc, value;
    if (!register_of(unwinder, machine->pc, &pc))
        return false;
    for (unsigned i = 0; i < machine->nr; i++) {
        if (!register_of(unwinder, machine->registers[i], &value))
            return false;
        registers[i] = value;
    }
    if (kind == CF_MACHINE_I386 && in_vdso(unwinder, pc))
        leave_vdso(unwinder, registers);
    if (kind == CF_MACHINE_AARCH64)
        dwfl_thread_state_register_pc(thread, pc);
    return dwfl_thread_state_registers(thread, 0, machine->nr, registers);
}

static uint64_t stack_pointer(Dwfl_Frame *frame, unsigned number) {
#if _ELFUTILS_PREREQ(0, 188)
    Dwarf_Word value;
    if (dwfl_frame_reg(frame, number, &value) == 0)
        return value;
#else
    (void)frame, (void)number;
#endif
    return 0;
}

static bool has_file(const struct unwinder *unwinder, uint64_t pc) {
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(unwinder->symbols), pc);
    return module != NULL && cf_symbols_file(unwinder->symbols, module) != NULL;
}

static int take_frame(Dwfl_Frame *frame, void *arg) {
    struct unwinder *unwinder = arg;
    const struct machine *machine = &machines[cf_core_machine(cf_mem_core(unwinder->mem))];
    Dwarf_Addr pc;
    bool is_activation = true;
    if (unwinder->nr == unwinder->max || !dwfl_frame_pc(frame, &pc, &is_activation))
        return DWARF_CB_ABORT;
    const struct cf_frame taken = {
        .pc = pc,
        .sp = stack_pointer(frame, machine->sp),
        .is_return = !is_activation,
    };
    /* A stack that does not grow is none: the frames end. */
    const struct cf_frame *last = unwinder->nr > 0 ? &unwinder->out[unwinder->nr - 1] : NULL;
    if (pc == 0 || (last != NULL && taken.sp != 0 && taken.sp <= last->sp && last->is_return))
        return DWARF_CB_ABORT;
    unwinder->out[unwinder->nr++] = taken;
    return has_file(unwinder, taken.is_return ? pc - 1 : pc) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- the modules ---- */

static bool guard_mapping(struct unwinder *unwinder, const struct cf_elf_file *file,
                          Dwfl_Module *told) {
    GElf_Addr bias;
    size_t bytes;
    Elf *elf = dwfl_module_getelf(told, &bias);
    const char *raw = elf == NULL ? NULL : elf_rawfile(elf, &bytes);
    struct mapped *mapped = raw == NULL ? NULL : cf_array_push(&unwinder->mapped);
    if (mapped == NULL)
        return false;
    mapped->file = file;
    return cf_elf_file_guard(raw, bytes, &mapped->guard, NULL) == CF_OK;
}

static bool report_module(struct unwinder *unwinder, const struct cf_module *module) {
    const struct cf_elf_file *file = cf_symbols_file(unwinder->symbols, module);
    unsigned word = cf_mem_word_bytes(unwinder->mem);
    uint64_t bias;
    if (file == NULL || !cf_elf_file_is_sound(file) || cf_elf_file_is_64(file) != (word == 8) ||
        !cf_symbols_bias(unwinder->symbols, module, &bias))
        return false;
    int fd = fcntl(cf_elf_file_fd(file), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const char *path = cf_elf_file_path(file);
    Dwfl_Module *told = dwfl_report_elf(unwinder->dwfl, module->path, path, fd, bias, true);
    if (told != NULL)
        return guard_mapping(unwinder, file, told);
    (void)close(fd);
    return false;
}

static bool report_modules(struct unwinder *unwinder) {
    const struct cf_modules *modules = cf_symbols_modules(unwinder->symbols);
    size_t nr = 0;
    dwfl_report_begin(unwinder->dwfl);
    for (size_t i = 0; i < cf_modules_nr(modules) && nr < MODULES_MAX; i++)
        nr += report_module(unwinder, cf_modules_get(modules, i));
    return dwfl_report_end(unwinder->dwfl, NULL, NULL) == 0 && nr > 0;
}

static void free_unwinder(struct unwinder *unwinder) {
    if (unwinder == NULL)
        return;
    for (size_t i = 0; i < unwinder->mapped.len; i++)
        cf_elf_file_unguard(unwinder->mapped.items[i].file, unwinder->mapped.items[i].guard);
    cf_array_free(&unwinder->mapped);
    dwfl_end(unwinder->dwfl);
    free(unwinder);
}

static void free_unwinderp(struct unwinder **unwinder) {
    free_unwinder(*unwinder);
}

static bool begin(struct unwinder *unwinder) {
    static const Dwfl_Callbacks callbacks = {.find_elf = no_elf, .find_debuginfo = no_debuginfo};
    static const Dwfl_Thread_Callbacks threads = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
    };
    unwinder->dwfl = dwfl_begin(&callbacks);
    return unwinder->dwfl != NULL && report_modules(unwinder) &&
           dwfl_attach_state(unwinder->dwfl, NULL, 1, &threads, unwinder);
}

/* `*out` is NULL where no module has a file that libdwfl can use. Fails only for lack of memory. */
static int new_unwinder(const struct cf_mem *mem, struct cf_symbols *symbols, struct unwinder **out,
                    struct cf_err *err) {
    CF_CLEANUP(free_unwinderp) struct unwinder *unwinder = calloc(1, sizeof *unwinder);
    if (unwinder == NULL)
        return cf_err_nomem(err, sizeof *unwinder, "unwinding");
    unwinder->mem = mem;
    unwinder->symbols = symbols;
    *out = begin(unwinder) ? cf_take(&unwinder) : NULL;
    return CF_OK;
}

/* The frames of thread `index` from the innermost on, at most `max`; returns their number. */
static size_t unwind(struct unwinder *unwinder, size_t index, struct cf_frame *out,
                          size_t max) {
    unwinder->thread = index;
    unwinder->out = out;
    unwinder->nr = 0;
    unwinder->max = max;
    (void)dwfl_getthread_frames(unwinder->dwfl, (pid_t)index + 1, take_frame, unwinder);
    return unwinder->nr;
}

/* ---- the frames of all threads ---- */

struct cf_frames {
    CF_ARRAY(struct cf_frame) rows;
    size_t *first; /* of each thread, and the end */
    size_t nr_threads, nr_unwound;
};

static bool add(struct cf_frames *frames, const struct cf_frame *unwound) {
    struct cf_frame *frame = cf_array_push(&frames->rows);
    if (frame != NULL)
        *frame = *unwound;
    return frame != NULL;
}

/* What the registers tell of a thread that nobody can unwind. */
static size_t from_registers(const struct cf_core_thread *thread, struct cf_frame *out) {
    if (thread->pc == 0)
        return 0;
    *out = (struct cf_frame){.pc = thread->pc, .sp = thread->sp};
    return 1;
}

static bool add_thread(struct cf_frames *frames, struct unwinder *unwinder,
                       const struct cf_core *core, size_t index) {
    struct cf_frame unwound[CF_FRAMES_MAX];
    size_t nr = 0;
    if (unwinder != NULL && index < CF_FRAMES_THREADS_MAX)
        nr = unwind(unwinder, index, unwound, CF_FRAMES_MAX);
    frames->nr_unwound += nr > 0;
    if (nr == 0)
        nr = from_registers(cf_core_thread(core, index), unwound);
    for (size_t i = 0; i < nr; i++)
        if (!add(frames, &unwound[i]))
            return false;
    return true;
}

static int add_threads(const struct cf_context *ctx, struct cf_frames *frames,
                       struct unwinder *unwinder, const struct cf_core *core,
                       struct cf_err *err) {
    for (size_t i = 0; i < frames->nr_threads; i++) {
        frames->first[i] = frames->rows.len;
        if (!add_thread(frames, unwinder, core, i))
            return cf_err_nomem(err, frames->rows.len * sizeof(struct cf_frame), "frames");
        if (cf_progress(ctx, "unwinding threads", i, frames->nr_threads))
            return cf_err_cancelled(err);
    }
    frames->first[frames->nr_threads] = frames->rows.len;
    return CF_OK;
}

int cf_frames_find(const struct cf_context *ctx, const struct cf_mem *mem,
                   struct cf_symbols *symbols, struct cf_frames **out, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    struct cf_frames *frames = calloc(1, sizeof *frames);
    if (frames == NULL)
        return cf_err_nomem(err, sizeof *frames, "frames");
    frames->nr_threads = cf_core_nr_threads(core);
    frames->first = calloc(frames->nr_threads + 1, sizeof *frames->first);
    struct unwinder *unwinder = NULL;
    int status = frames->first == NULL
                     ? cf_err_nomem(err, frames->nr_threads * sizeof *frames->first, "frames")
                     : new_unwinder(mem, symbols, &unwinder, err);
    if (status == CF_OK)
        status = add_threads(ctx, frames, unwinder, core, err);
    free_unwinder(unwinder);
    if (status != CF_OK) {
        cf_frames_free(frames);
        return status;
    }
    if (frames->nr_threads > CF_FRAMES_THREADS_MAX)
        cf_log(ctx, "only the first %d of %zu threads are unwound", CF_FRAMES_THREADS_MAX,
               frames->nr_threads);
    *out = frames;
    return CF_OK;
}

void cf_frames_free(struct cf_frames *frames) {
    if (frames == NULL)
        return;
    cf_array_free(&frames->rows);
    free(frames->first);
    free(frames);
}

size_t cf_frames_nr_unwound(const struct cf_frames *frames) {
    return frames->nr_unwound;
}

size_t cf_frames_nr(const struct cf_frames *frames, size_t thread) {
    return frames->first[thread + 1] - frames->first[thread];
}

const struct cf_frame *cf_frames_get(const struct cf_frames *frames, size_t thread, size_t index) {
    return &frames->rows.items[frames->first[thread] + index];
}

/* The outermost frame's end is not known, so that it has nothing but its own first word. */
const struct cf_frame *cf_frames_at(const struct cf_frames *frames, size_t thread, uint64_t addr) {
    size_t nr = thread < frames->nr_threads ? cf_frames_nr(frames, thread) : 0;
    for (size_t i = 0; i < nr; i++) {
        const struct cf_frame *frame = cf_frames_get(frames, thread, i);
        uint64_t start = frame->sp;
        uint64_t end = i + 1 < nr ? cf_frames_get(frames, thread, i + 1)->sp : start + 1;
        if (i == 0)
            start -= start < RED_ZONE_BYTES ? start : RED_ZONE_BYTES;
        if (frame->sp != 0 && addr >= start && addr < end)
            return frame;
    }
    return NULL;
}

/* A call that never returns may be the last instruction of its function. */
static uint64_t place_of(const struct cf_frame *frame) {
    return frame->is_return && frame->pc > 0 ? frame->pc - 1 : frame->pc;
}

bool cf_frame_symbol(struct cf_symbols *symbols, const struct cf_frame *frame,
                     struct cf_symbol *out) {
    return cf_symbols_lookup(symbols, place_of(frame), out);
}

static const char *name_of(const struct cf_module *module) {
    return module == NULL ? "vdso" : cf_base_name(module->path);
}

const char *cf_frame_text(struct cf_symbols *symbols, const struct cf_frame *frame,
                          char out[CF_FRAME_TEXT_MAX]) {
    char function[FUNCTION_MAX];
    struct cf_symbol symbol;
    uint64_t bias;
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(symbols), place_of(frame));
    if (cf_frame_symbol(symbols, frame, &symbol))
        (void)snprintf(out, CF_FRAME_TEXT_MAX, "%s+0x%" PRIx64 " (%.80s)",
                       cf_demangle(symbol.name, function, sizeof function), frame->pc - symbol.addr,
                       name_of(symbol.module));
    else if (module != NULL && cf_symbols_bias(symbols, module, &bias))
        (void)snprintf(out, CF_FRAME_TEXT_MAX, "%.80s+0x%" PRIx64, name_of(module),
                       frame->pc - bias);
    else
        (void)snprintf(out, CF_FRAME_TEXT_MAX, "0x%" PRIx64, frame->pc);
    return out;
}
