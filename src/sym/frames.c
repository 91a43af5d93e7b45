#include "sym/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/err.h"
#include "base/path.h"
#include "sym/demangle.h"
#include "sym/unwind.h"

enum { RED_ZONE_BYTES = 128, FUNCTION_MAX = 160 };

struct cf_frames {
    CF_ARRAY(struct cf_frame) rows;
    size_t *first; /* of each thread, and the end */
    size_t nr_threads, nr_unwound;
};

static bool add(struct cf_frames *frames, const struct cf_unwound *unwound) {
    struct cf_frame *frame = cf_array_push(&frames->rows);
    if (frame == NULL)
        return false;
    *frame =
        (struct cf_frame){.pc = unwound->pc, .sp = unwound->sp, .is_return = unwound->is_return};
    return true;
}

/* What the registers tell of a thread that nobody can unwind. */
static size_t from_registers(const struct cf_core_thread *thread, struct cf_unwound *out) {
    if (thread->pc == 0)
        return 0;
    *out = (struct cf_unwound){.pc = thread->pc, .sp = thread->sp};
    return 1;
}

static bool add_thread(struct cf_frames *frames, struct cf_unwinder *unwinder,
                       const struct cf_core *core, size_t index) {
    struct cf_unwound unwound[CF_FRAMES_MAX];
    size_t nr = 0;
    if (unwinder != NULL && index < CF_FRAMES_THREADS_MAX)
        nr = cf_unwinder_thread(unwinder, index, unwound, CF_FRAMES_MAX);
    frames->nr_unwound += nr > 0;
    if (nr == 0)
        nr = from_registers(cf_core_thread(core, index), unwound);
    for (size_t i = 0; i < nr; i++)
        if (!add(frames, &unwound[i]))
            return false;
    return true;
}

static int add_threads(const struct cf_context *ctx, struct cf_frames *frames,
                       struct cf_unwinder *unwinder, const struct cf_core *core,
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
    struct cf_unwinder *unwinder = NULL;
    int status = frames->first == NULL
                     ? cf_err_nomem(err, frames->nr_threads * sizeof *frames->first, "frames")
                     : cf_unwinder_new(mem, symbols, &unwinder, err);
    if (status == CF_OK)
        status = add_threads(ctx, frames, unwinder, core, err);
    cf_unwinder_free(unwinder);
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
