#include "sym/unwind.h"

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"

enum { MODULES_MAX = 4096, REGISTERS_MAX = 32, I386_SYSCALL_WORDS = 4 };

struct cf_unwinder {
    const struct cf_mem *mem;
    struct cf_symbols *symbols;
    Dwfl *dwfl;
    /* Of the thread at hand. */
    size_t thread;
    struct cf_unwound *out;
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
    struct cf_unwinder *unwinder = arg;
    (void)dwfl;
    *thread_arg = unwinder;
    return tid == (pid_t)unwinder->thread + 1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg) {
    (void)dwfl, (void)arg, (void)thread_arg;
    return 0;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *out, void *arg) {
    const struct cf_unwinder *unwinder = arg;
    uint64_t word;
    (void)dwfl;
    if (!cf_mem_word(unwinder->mem, addr, &word))
        return false;
    *out = word;
    return true;
}

static bool register_of(const struct cf_unwinder *unwinder, unsigned index, uint64_t *out) {
    const struct cf_core *core = cf_mem_core(unwinder->mem);
    const struct cf_core_thread *thread = cf_core_thread(core, unwinder->thread);
    unsigned word = cf_core_word_bytes(core);
    struct cf_cursor cursor = cf_cursor_make(thread->regs, thread->regs_bytes, word);
    return cf_cursor_seek(&cursor, (uint64_t)index * word) && cf_cursor_word(&cursor, out);
}

static bool in_vdso(const struct cf_unwinder *unwinder, uint64_t pc) {
    struct cf_symbol symbol;
    return cf_symbols_lookup(unwinder->symbols, pc, &symbol) && symbol.module == NULL;
}

/*
 * Every i386 thread that sleeps does so in __kernel_vsyscall of the vdso, which is no file. It
 * pushes three registers before it enters the kernel (arch/x86/entry/vdso/vdso32/system_call.S):
 *
 *     esp -> ebp | edx | ecx | return address
 */
static void leave_vdso(struct cf_unwinder *unwinder, Dwarf_Word registers[REGISTERS_MAX]) {
    enum { ECX = 1, EDX = 2, ESP = 4, EBP = 5, EIP = 8 };
    uint64_t words[I386_SYSCALL_WORDS];
    for (unsigned i = 0; i < I386_SYSCALL_WORDS; i++)
        if (!cf_mem_word(unwinder->mem, registers[ESP] + 4 * i, &words[i]))
            return;
    if (unwinder->max == 0)
        return;
    unwinder->out[unwinder->nr++] = (struct cf_unwound){.pc = registers[EIP], .sp = registers[ESP]};
    registers[EBP] = words[0];
    registers[EDX] = words[1];
    registers[ECX] = words[2];
    registers[EIP] = words[3];
    registers[ESP] += sizeof(uint32_t) * I386_SYSCALL_WORDS;
}

static bool set_registers(Dwfl_Thread *thread, void *arg) {
    struct cf_unwinder *unwinder = arg;
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

static bool has_file(const struct cf_unwinder *unwinder, uint64_t pc) {
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(unwinder->symbols), pc);
    return module != NULL && cf_symbols_file(unwinder->symbols, module) != NULL;
}

static int take_frame(Dwfl_Frame *frame, void *arg) {
    struct cf_unwinder *unwinder = arg;
    const struct machine *machine = &machines[cf_core_machine(cf_mem_core(unwinder->mem))];
    Dwarf_Addr pc;
    bool is_activation = true;
    if (unwinder->nr == unwinder->max || !dwfl_frame_pc(frame, &pc, &is_activation))
        return DWARF_CB_ABORT;
    const struct cf_unwound taken = {
        .pc = pc,
        .sp = stack_pointer(frame, machine->sp),
        .is_return = !is_activation,
    };
    /* A stack that does not grow is none: the way is lost. */
    const struct cf_unwound *last = unwinder->nr > 0 ? &unwinder->out[unwinder->nr - 1] : NULL;
    if (pc == 0 || (last != NULL && taken.sp != 0 && taken.sp <= last->sp && last->is_return))
        return DWARF_CB_ABORT;
    unwinder->out[unwinder->nr++] = taken;
    return has_file(unwinder, taken.is_return ? pc - 1 : pc) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- the modules ---- */

static bool report_module(struct cf_unwinder *unwinder, const struct cf_module *module) {
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
    if (dwfl_report_elf(unwinder->dwfl, module->path, path, fd, bias, true) != NULL)
        return true;
    (void)close(fd);
    return false;
}

static bool report_modules(struct cf_unwinder *unwinder) {
    const struct cf_modules *modules = cf_symbols_modules(unwinder->symbols);
    size_t nr = 0;
    dwfl_report_begin(unwinder->dwfl);
    for (size_t i = 0; i < cf_modules_nr(modules) && nr < MODULES_MAX; i++)
        nr += report_module(unwinder, cf_modules_get(modules, i));
    return dwfl_report_end(unwinder->dwfl, NULL, NULL) == 0 && nr > 0;
}

static void freep(struct cf_unwinder **unwinder) {
    cf_unwinder_free(*unwinder);
}

static bool begin(struct cf_unwinder *unwinder) {
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

int cf_unwinder_new(const struct cf_mem *mem, struct cf_symbols *symbols, struct cf_unwinder **out,
                    struct cf_err *err) {
    CF_CLEANUP(freep) struct cf_unwinder *unwinder = calloc(1, sizeof *unwinder);
    if (unwinder == NULL)
        return cf_err_nomem(err, sizeof *unwinder, "unwinding");
    unwinder->mem = mem;
    unwinder->symbols = symbols;
    *out = begin(unwinder) ? cf_take(&unwinder) : NULL;
    return CF_OK;
}

void cf_unwinder_free(struct cf_unwinder *unwinder) {
    if (unwinder == NULL)
        return;
    dwfl_end(unwinder->dwfl);
    free(unwinder);
}

size_t cf_unwinder_thread(struct cf_unwinder *unwinder, size_t index, struct cf_unwound *out,
                          size_t max) {
    unwinder->thread = index;
    unwinder->out = out;
    unwinder->nr = 0;
    unwinder->max = max;
    (void)dwfl_getthread_frames(unwinder->dwfl, (pid_t)index + 1, take_frame, unwinder);
    return unwinder->nr;
}
