/*
 * A thread stands in malloc or free where one of its innermost frames is a function of them, by
 * its symbol; without a symbol, where its program counter lies in libc (then the rules of
 * ptmalloc/flux.h still ask for the chunk in its hand and for the arena's lock). What it has in
 * hand: its registers, and its stack from the red zone below the stack pointer up to the frame
 * that called malloc.
 *
 * A fault in there is corruption, unless the stack had come to its end. Without symbols a fault in
 * libc could be strlen()'s as well: then a register that a function keeps for its caller has to
 * lead into an arena or a thread's cache, which malloc's own functions alone leave there.
 */
#include "lib/standing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "libc/abortmsg.h"
#include "ptmalloc/flux.h"

enum {
    INNERMOST = 8,         /* frames in which malloc is looked for */
    RED_ZONE_BYTES = 128,  /* below the stack pointer, of a function that calls no other */
    STACK_WORDS_MAX = 1024,
    UNKNOWN_BYTES = 512,   /* of the stack, where no caller tells how far the frames go */
    OVERFLOW_BYTES = 64 << 10, /* from the stack pointer: an access that ran into its guard page */
};

struct thread_hands {
    CF_ARRAY(struct cf_standing) rows;
};

static void free_hands(struct thread_hands *hands) {
    for (size_t i = 0; i < hands->rows.len; i++)
        free((void *)hands->rows.items[i].words);
    cf_array_free(&hands->rows);
}

/* "__libc_malloc", "_int_free", "tcache_put.part.0": names of glibc, 2.17 to 2.44. */
static bool is_of_malloc(const char *name) {
    static const char *const functions[] = {
        "malloc", "free", "cfree", "calloc", "realloc", "reallocarray", "memalign",
        "aligned_alloc", "posix_memalign", "valloc", "pvalloc", "free_check", "malloc_check",
        "malloc_consolidate", "malloc_trim", "unlink_chunk", "sysmalloc", "sysmalloc_mmap",
        "systrim", "heap_trim", "grow_heap", "shrink_heap", "new_heap", "alloc_new_heap",
        "arena_get2", "arena_get_retry", "munmap_chunk", "mremap_chunk", "free_perturb",
        "free_merge_chunk", "free_create_chunk", "free_maybe_trim", "free_chunk",
        "tcache_get", "tcache_put", "tcache_get_n", "tcache_put_n", "tcache_init",
        "tcache_malloc_init", "tcache_thread_shutdown", "arena_thread_freeres",
    };
    static const char *const prefixes[] = {"__libc_", "__GI___libc_", "__GI_", "_int_", "__"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            name += strlen(prefixes[i]);
            break;
        }
    size_t length = strcspn(name, ".@");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i]) == length && memcmp(functions[i], name, length) == 0)
            return true;
    return false;
}

/* How many of the innermost frames are malloc's and of what it called; 0: it is not there. */
static size_t frames_of_malloc(const struct cf_reading *reading, const struct cf_frames *frames,
                               size_t thread) {
    size_t nr = cf_frames_nr(frames, thread), found = 0;
    for (size_t i = 0; i < nr && i < INNERMOST; i++) {
        const struct cf_frame *frame = cf_frames_get(frames, thread, i);
        struct cf_symbol symbol;
        if (cf_frame_symbol(reading->symbols, frame, &symbol)) {
            if (is_of_malloc(symbol.name))
                found = i + 1;
        } else if (i == 0 && cf_modules_find(reading->modules, frame->pc) != NULL &&
                   cf_modules_find(reading->modules, frame->pc) == cf_reading_libc(reading)) {
            found = 1;
        }
    }
    return found;
}

static size_t take_registers(const struct cf_core_thread *thread, unsigned word_bytes,
                             uint64_t *words) {
    struct cf_cursor cursor = cf_cursor_make(thread->regs, thread->regs_bytes, word_bytes);
    size_t nr = 0;
    while (nr < STACK_WORDS_MAX && cf_cursor_word(&cursor, &words[nr]))
        nr++;
    return nr;
}

static int add_standing(const struct cf_reading *reading, const struct cf_frames *frames,
                        size_t index, size_t nr_frames, struct thread_hands *hands,
                        struct cf_err *err) {
    const struct cf_core_thread *thread = cf_core_thread(reading->core, index);
    const unsigned word = cf_mem_word_bytes(reading->mem);
    uint64_t *words = calloc(2 * STACK_WORDS_MAX, sizeof *words);
    struct cf_standing *row = words != NULL ? cf_array_push(&hands->rows) : NULL;
    if (row == NULL) {
        free(words);
        return cf_err_nomem(err, 2 * STACK_WORDS_MAX * sizeof *words, "what threads have in hand");
    }
    size_t nr = take_registers(thread, word, words);
    const struct cf_frame *caller = nr_frames < cf_frames_nr(frames, index)
                                        ? cf_frames_get(frames, index, nr_frames)
                                        : NULL;
    uint64_t start = thread->sp - RED_ZONE_BYTES, end = thread->sp + UNKNOWN_BYTES;
    if (caller != NULL && caller->sp > thread->sp)
        end = caller->sp;
    for (uint64_t at = start - start % word; at < end && nr < 2 * STACK_WORDS_MAX; at += word)
        if (cf_mem_word(reading->mem, at, &words[nr]))
            nr++;
    *row = (struct cf_standing){.thread = (int32_t)index, .words = words, .nr_words = nr};
    return CF_OK;
}

/* ---- a fault ---- */

/* Registers that a function gives back as it got them, as PRSTATUS counts them. */
static bool is_kept_register(enum cf_machine machine, size_t index) {
    switch (machine) {
    case CF_MACHINE_X86_64:
        return index <= 5; /* r15 r14 r13 r12 rbp rbx */
    case CF_MACHINE_I386:
        return index == 0 || (index >= 3 && index <= 5); /* ebx, esi edi ebp */
    default:
        return index >= 19 && index <= 28; /* x19 ... x28 */
    }
}

static bool is_of_arena(const struct cf_malloc *m, uint64_t word) {
    const struct cf_state_layout *layout = cf_malloc_state_layout(m);
    for (size_t i = 0; layout != NULL && i < cf_malloc_nr_arenas(m); i++)
        if (word - cf_malloc_arena(m, i)->addr < layout->bytes)
            return true;
    const struct cf_tcache_layout *cache = cf_malloc_tcache_layout(m);
    for (size_t i = 0; cache != NULL && i < cf_malloc_nr_tcaches(m); i++)
        if (word - cf_malloc_tcache(m, i)->addr < cache->bytes)
            return true;
    return false;
}

static bool keeps_an_arena(const struct cf_reading *reading, const struct cf_core_thread *thread) {
    uint64_t words[STACK_WORDS_MAX];
    enum cf_machine machine = cf_core_machine(reading->core);
    size_t nr = take_registers(thread, cf_mem_word_bytes(reading->mem), words);
    for (size_t i = 0; i < nr; i++)
        if (is_kept_register(machine, i) && words[i] != 0 && is_of_arena(reading->found, words[i]))
            return true;
    return false;
}

/* The thread that dumped stands in malloc itself, and not in another's function of that name. */
static bool is_in_malloc(const struct cf_reading *reading, const struct cf_frames *frames) {
    const struct cf_core_thread *thread = cf_core_thread(reading->core, 0);
    const struct cf_module *libc = cf_reading_libc(reading);
    struct cf_symbol symbol;
    if (libc == NULL || cf_frames_nr(frames, 0) == 0 ||
        cf_modules_find(reading->modules, thread->pc) != libc)
        return false;
    return cf_frame_symbol(reading->symbols, cf_frames_get(frames, 0, 0), &symbol)
               ? frames_of_malloc(reading, frames, 0) > 0
               : keeps_an_arena(reading, thread);
}

/* A fault that is no overflow of the stack. */
static bool has_faulted(const struct cf_core *core) {
    uint64_t addr, sp = cf_core_thread(core, 0)->sp;
    return cf_core_fault(core, &addr) &&
           (addr == 0 || addr - (sp - OVERFLOW_BYTES) >= 2 * OVERFLOW_BYTES);
}

/* ---- operations ---- */

/* What free() says of a chunk that was free; the last one when that has become part of another. */
static bool is_of_twice(const char *text) {
    return strstr(text, "double free") != NULL || strstr(text, "freed twice") != NULL ||
           strcmp(text, "corrupted size vs. prev_size while consolidating") == 0;
}

/* The thread that was dumped freed a chunk that was free: which one? */
static int name_freed_twice(struct cf_reading *reading, const struct cf_frames *frames,
                            struct thread_hands *hands, struct cf_err *err) {
    size_t nr_frames = frames_of_malloc(reading, frames, 0);
    int status = nr_frames == 0 ? CF_OK : add_standing(reading, frames, 0, nr_frames, hands, err);
    if (status == CF_OK && hands->rows.len > 0)
        cf_flux_name_freed_twice(reading->pt, &hands->rows.items[0]);
    return status;
}

/* All threads but the one that ended the process by a fault: that is no operation under way, it
 * never came to its end. */
static int judge_operations(struct cf_reading *reading, const struct cf_frames *frames,
                            struct thread_hands *hands, struct cf_err *err) {
    int status = CF_OK;
    size_t nr = cf_core_nr_threads(reading->core);
    for (size_t i = has_faulted(reading->core); status == CF_OK && i < nr; i++) {
        size_t nr_frames = frames_of_malloc(reading, frames, i);
        if (nr_frames > 0)
            status = add_standing(reading, frames, i, nr_frames, hands, err);
    }
    if (status == CF_OK)
        cf_flux_judge(reading->pt, hands->rows.items, hands->rows.len);
    return status;
}

int cf_standing_judge(const struct cf_context *ctx, struct cf_reading *reading,
                      const struct cf_frames *frames, struct cf_err *err) {
    CF_CLEANUP(free_hands) struct thread_hands hands = {0};
    struct cf_frames *own = NULL;
    const struct cf_abort abort = cf_abort_find(reading->found);
    bool is_twice = abort.text != NULL && is_of_twice(abort.text);
    bool has_threads = cf_core_nr_threads(reading->core) > 0;
    bool is_fault = abort.state != CF_ABORT_MALLOC && has_threads && has_faulted(reading->core);
    bool has_work = abort.state == CF_ABORT_MALLOC ? is_twice : cf_reading_is_corrupt(reading);
    int status = CF_OK;
    if ((!has_work && !is_fault) || !has_threads)
        return CF_OK;
    if (frames == NULL) {
        status = cf_frames_find(ctx, reading->mem, reading->symbols, &own, err);
        frames = own;
    }
    if (status == CF_OK && has_work)
        status = is_twice ? name_freed_twice(reading, frames, &hands, err)
                          : judge_operations(reading, frames, &hands, err);
    if (status == CF_OK && is_fault && is_in_malloc(reading, frames))
        cf_flux_add_fault(reading->pt);
    cf_frames_free(own);
    return status;
}
