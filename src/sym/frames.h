/*
 * What the threads were doing: the frames of each, innermost first. Where files are at hand the
 * stack is unwound, for the first 1,000 threads, up to 64 frames each; for all
 * others there is the one frame that the registers tell.
 *
 * A frame has the part of the stack from its stack pointer up to that of its caller.
 */
#ifndef CF_SYM_FRAMES_H
#define CF_SYM_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "sym/symbols.h"

enum { CF_FRAMES_MAX = 64, CF_FRAMES_THREADS_MAX = 1000, CF_FRAME_TEXT_MAX = 256 };

struct cf_frame {
    uint64_t pc;
    uint64_t sp;    /* 0: not known */
    bool is_return; /* pc is where a call returns to */
};

struct cf_frames;

/* Fails only for lack of memory; a thread that cannot be unwound has fewer frames. */
int cf_frames_find(const struct cf_context *ctx, const struct cf_mem *mem,
                   struct cf_symbols *symbols, struct cf_frames **out, struct cf_err *err);
void cf_frames_free(struct cf_frames *frames);

/* How many threads were unwound; the others have one frame. */
size_t cf_frames_nr_unwound(const struct cf_frames *frames);
size_t cf_frames_nr(const struct cf_frames *frames, size_t thread);
const struct cf_frame *cf_frames_get(const struct cf_frames *frames, size_t thread, size_t index);

/* The frame of `thread` that has the word of the stack at `addr`; NULL: none, or not known. */
const struct cf_frame *cf_frames_at(const struct cf_frames *frames, size_t thread, uint64_t addr);

/* The function that a frame is in. False: no symbol. */
bool cf_frame_symbol(struct cf_symbols *symbols, const struct cf_frame *frame,
                     struct cf_symbol *out);
/* "handle_request+0x1c (libfoo.so)", "libfoo.so+0x1234", "0x7f12..."; returns `out`. */
const char *cf_frame_text(struct cf_symbols *symbols, const struct cf_frame *frame,
                          char out[CF_FRAME_TEXT_MAX]);

#endif
