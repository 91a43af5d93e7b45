/*
 * Unwinds a thread of the core with libdwfl: registers and stack from the core, .eh_frame from the
 * files of modules whose build id is the core's. libdwfl is told of these modules only and reads
 * memory through cf_mem; it never sees the core.
 *
 * What it cannot know it does not guess: where a frame's module has no file, the way ends there.
 */
#ifndef CF_SYM_UNWIND_H
#define CF_SYM_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "sym/symbols.h"

struct cf_unwinder;

struct cf_unwound {
    uint64_t pc;
    uint64_t sp;    /* what the stack pointer was in this frame; 0: not known */
    bool is_return; /* pc is a return address: the call stands before it */
};

/* Tells libdwfl of the modules; `*out` is NULL where none has a file that it can use. Borrows both.
 * Fails only for lack of memory. */
int cf_unwinder_new(const struct cf_mem *mem, struct cf_symbols *symbols, struct cf_unwinder **out,
                    struct cf_err *err);
void cf_unwinder_free(struct cf_unwinder *unwinder);

/* The frames of thread `index` from the innermost on, at most `max`; returns their number. */
size_t cf_unwinder_thread(struct cf_unwinder *unwinder, size_t index, struct cf_unwound *out,
                          size_t max);

#endif
