/*
 * Notes of one thread: elf_prstatus; the thread pointer, which is a register on x86_64 and a note
 * of its own behind the thread's PRSTATUS on i386 and aarch64; and the vector registers. Those of
 * x86 stand in up to three notes, each of which begins with what the one before has (FXSAVE in
 * NT_PRXFPREG or NT_FPREGSET, then XSAVE in NT_X86_XSTATE): the longest says all.
 */
#include <elf.h>

#include "base/err.h"
#include "core/core_private.h"

/* Where elf_prstatus and its user_regs have what is wanted. */
struct status_layout {
    unsigned pid;
    unsigned regs;
    unsigned nr_regs;
    unsigned sp;
    unsigned pc;
    int tp; /* register that is the thread pointer, or -1 */
};

static const struct status_layout layouts[] = {
    /* r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss
     * fs_base gs_base ds es fs gs */
    [CF_MACHINE_X86_64] = {.pid = 32, .regs = 112, .nr_regs = 27, .sp = 19, .pc = 16, .tp = 21},
    /* ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs eflags esp ss */
    [CF_MACHINE_I386] = {.pid = 24, .regs = 72, .nr_regs = 17, .sp = 15, .pc = 12, .tp = -1},
    /* x0 ... x30 sp pc pstate */
    [CF_MACHINE_AARCH64] = {.pid = 32, .regs = 112, .nr_regs = 34, .sp = 31, .pc = 32, .tp = -1},
};

enum { I386_GS = 10 };

static bool read_register(const struct cf_core *core, const struct cf_core_thread *thread,
                          unsigned index, uint64_t *out) {
    struct cf_cursor cursor = cf_cursor_make(thread->regs, thread->regs_bytes, core->word_bytes);
    return cf_cursor_seek(&cursor, (uint64_t)index * core->word_bytes) &&
           cf_cursor_word(&cursor, out);
}

static void read_registers(const struct cf_core *core, const struct status_layout *layout,
                           struct cf_cursor body, struct cf_core_thread *thread) {
    size_t bytes = (size_t)layout->nr_regs * core->word_bytes;
    if (!cf_cursor_seek(&body, layout->regs))
        return;
    thread->regs = cf_cursor_take(&body, bytes);
    if (thread->regs == NULL)
        return;
    thread->regs_bytes = bytes;
    (void)read_register(core, thread, layout->sp, &thread->sp);
    (void)read_register(core, thread, layout->pc, &thread->pc);
    if (layout->tp >= 0 && read_register(core, thread, (unsigned)layout->tp, &thread->tp))
        thread->has_tp = thread->tp != 0;
}

int cf_core_note_prstatus(struct cf_core *core, struct cf_cursor body, struct cf_err *err) {
    enum { CURSIG = 12 };
    const struct status_layout *layout = &layouts[core->machine];
    struct cf_cursor cursor = body;
    uint16_t signal;
    uint32_t tid;
    if (!cf_cursor_seek(&cursor, CURSIG) || !cf_cursor_u16(&cursor, &signal) ||
        !cf_cursor_seek(&cursor, layout->pid) || !cf_cursor_u32(&cursor, &tid))
        return CF_OK; /* Cut before the thread has a name; the walk over the notes says so. */
    struct cf_core_thread *thread = cf_array_push(&core->threads);
    if (thread == NULL)
        return cf_err_nomem(err, (core->threads.len + 1) * sizeof *thread, "threads");
    thread->signal = signal;
    thread->tid = tid;
    read_registers(core, layout, body, thread);
    return CF_OK;
}

/* user_desc: entry_number, base_addr, limit, flags, 4 bytes each. The selector in gs names the
 * entry. */
static void read_i386_tls(const struct cf_core *core, struct cf_cursor body,
                          struct cf_core_thread *thread) {
    uint64_t gs;
    uint32_t entry[4];
    if (!read_register(core, thread, I386_GS, &gs))
        return;
    while (cf_cursor_u32(&body, &entry[0]) && cf_cursor_u32(&body, &entry[1]) &&
           cf_cursor_u32(&body, &entry[2]) && cf_cursor_u32(&body, &entry[3])) {
        if (entry[0] != (gs & 0xffff) >> 3)
            continue;
        thread->tp = entry[1];
        thread->has_tp = entry[1] != 0;
        return;
    }
}

void cf_core_note_fp_registers(struct cf_core *core, struct cf_cursor body) {
    if (core->threads.len == 0)
        return;
    struct cf_core_thread *thread = &core->threads.items[core->threads.len - 1];
    size_t bytes = (size_t)cf_cursor_left(&body);
    if (bytes <= thread->fp_regs_bytes)
        return;
    thread->fp_regs = cf_cursor_take(&body, bytes);
    thread->fp_regs_bytes = thread->fp_regs != NULL ? bytes : 0;
}

void cf_core_note_thread_area(struct cf_core *core, uint32_t type, struct cf_cursor body) {
    if (core->threads.len == 0)
        return;
    if (type == NT_X86_XSTATE || type == NT_PRXFPREG) {
        cf_core_note_fp_registers(core, body);
        return;
    }
    struct cf_core_thread *thread = &core->threads.items[core->threads.len - 1];
    if (core->machine == CF_MACHINE_I386 && type == NT_386_TLS) {
        read_i386_tls(core, body, thread);
        return;
    }
    uint64_t tp;
    if (core->machine == CF_MACHINE_AARCH64 && type == NT_ARM_TLS && cf_cursor_word(&body, &tp)) {
        thread->tp = tp;
        thread->has_tp = tp != 0;
    }
}
