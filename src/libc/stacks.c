/*
 * Blocks of stacks by the words that glibc keeps of them: of live threads near their thread
 * pointers, of dead ones by following the lists of stacks. A struct pthread's `list` member is
 * linked into one of three rings; from any member the ring leads to a head, and heads stand side by
 * side. All rings and lists are followed with a bound and may lead anywhere.
 */
#include "libc/stacks.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/err.h"
#include "core/core.h"
#include "core/drop.h"

enum {
    PTHREAD_BYTES = 0x1400,    /* more than struct pthread had in any release */
    LIST_BEFORE_BYTES = 0x400, /* its `list` is not further from its start (0x2c0 on x86_64) */
    TCB_TAIL_MAX = 64 * 1024,  /* x86: what follows the thread pointer in the block */
    TLS_TAIL_MAX = 64 << 20,   /* aarch64: static TLS follows it too */
    RED_ZONE_BYTES = 128,      /* x86_64: a leaf's frame below the stack pointer */
    PTHREAD_USUAL_BYTES = 0x7c0, /* aarch64: where TLS is said to begin; only a label */
    STATIC_TLS_MAX = 16 << 20,
    DTV_MAX = 4096,            /* modules with thread-local storage */
    ZERO_PROBE_BYTES = 1024,
    HEADS_NEAR = 32,           /* list heads looked at around a known one */
    LIST_STEPS_MAX = 200000,
};

struct stack_finder {
    const struct cf_mem *mem;
    const struct cf_core *core;
    struct cf_stacks *stacks;
    struct cf_err *err;
    struct cf_rss_guard guard;
    unsigned word;
    bool tcb_first; /* struct pthread stands at the thread pointer, static TLS below (x86) */
    unsigned red_zone;
    unsigned steps;
};

struct stack_block {
    uint64_t start;
    uint64_t end;
};

static uint64_t word_at(const struct stack_finder *finder, uint64_t addr) {
    uint64_t value;
    return cf_mem_word(finder->mem, addr, &value) ? value : 0;
}

/* A pair of words that could be (stackblock, stackblock_size) of the struct pthread at `inside`.
 * glibc's own blocks are whole pages; one of the program's making is at least words, in the same
 * mapping, and holds the stack pointer. */
static bool is_block(const struct stack_finder *finder, const struct stack_block *pair,
                     uint64_t inside, uint64_t sp, bool whole_pages) {
    uint64_t bytes = pair->end - pair->start;
    if (pair->end < pair->start || bytes < 2048 || inside <= pair->start || inside >= pair->end)
        return false;
    if (pair->end - inside > (finder->tcb_first ? TCB_TAIL_MAX : TLS_TAIL_MAX))
        return false;
    uint64_t grain = whole_pages ? 4096 : finder->word;
    if (pair->start == 0 || ((pair->start | bytes) & (grain - 1)) != 0)
        return false;
    const struct cf_region *region = cf_mem_find(finder->mem, inside);
    return whole_pages || (sp > pair->start && sp < inside && region != NULL &&
                           pair->start >= region->start);
}

/* Words one after the other; those that cannot be read are 0. */
struct words {
    const struct stack_finder *finder;
    struct cf_cursor cursor; /* over what stands together in the core */
    uint64_t at;
};

static struct words words_from(const struct stack_finder *finder, uint64_t at) {
    uint64_t avail = 0;
    const unsigned char *bytes = cf_mem_span(finder->mem, at, &avail);
    return (struct words){
        .finder = finder, .at = at,
        .cursor = cf_cursor_make(bytes, bytes != NULL ? avail : 0, finder->word),
    };
}

static uint64_t next_word(struct words *words) {
    uint64_t value;
    if (!cf_cursor_word(&words->cursor, &value))
        value = word_at(words->finder, words->at);
    words->at += words->finder->word;
    return value;
}

static bool find_block(const struct stack_finder *finder, uint64_t low, uint64_t high,
                       uint64_t inside, uint64_t sp, struct stack_block *out) {
    for (int pass = 0; pass < 2; pass++) {
        struct words words = words_from(finder, low);
        uint64_t previous = next_word(&words);
        while (words.at < high) {
            uint64_t here = next_word(&words);
            struct stack_block pair = {previous, previous + here};
            previous = here;
            if (!is_block(finder, &pair, inside, sp, pass == 0))
                continue;
            *out = pair;
            return true;
        }
    }
    return false;
}

/* Where struct pthread can stand, seen from the thread pointer. */
static void pthread_range(const struct stack_finder *finder, uint64_t tp, uint64_t *low,
                          uint64_t *high) {
    *low = finder->tcb_first || tp < PTHREAD_BYTES ? tp : tp - PTHREAD_BYTES;
    *high = finder->tcb_first ? tp + PTHREAD_BYTES : tp;
    if (*high < *low)
        *high = *low;
}

/* gcore writes what it could not read as zeros; no stack in use is all zero at its pointer. */
static bool is_readable(const struct stack_finder *finder, uint64_t sp) {
    uint64_t avail;
    const unsigned char *bytes = cf_mem_span(finder->mem, sp, &avail);
    if (bytes == NULL)
        return false;
    for (uint64_t i = 0; i < avail && i < ZERO_PROBE_BYTES; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

static int push(const struct stack_finder *finder, const struct cf_stack *stack) {
    struct cf_stack *slot = cf_array_push(&finder->stacks->rows);
    if (slot == NULL)
        return cf_err_nomem(finder->err, sizeof *slot, "the table of stacks");
    *slot = *stack;
    return CF_OK;
}

static bool is_main_stack(const struct stack_finder *finder, const struct cf_region *region) {
    uint64_t random;
    return cf_core_auxv(finder->core, AT_RANDOM, &random) && random >= region->start &&
           random < region->end;
}

/* A stack whose block no struct pthread names: the main thread's, or one that the program
 * switched to. Only of the first is it known that below the pointer all is dead. */
static int add_unnamed(const struct stack_finder *finder, size_t index, uint64_t live,
                       uint64_t sp) {
    const struct cf_region *region = cf_mem_find(finder->mem, sp);
    if (region == NULL)
        return CF_OK;
    bool is_main = is_main_stack(finder, region);
    if (live < region->start)
        live = region->start;
    return push(finder, &(struct cf_stack){
        .start = is_main ? region->start : live, .live = live, .tcb = region->end,
        .end = region->end, .thread = (int32_t)index, .is_main = is_main, .in_block = is_main,
        .readable = is_readable(finder, sp),
    });
}

/* Where static TLS begins below an x86 thread pointer. The tcb's second word is the dtv, whose
 * entries name each module's part; _dl_allocate_tls_init fills in those of static TLS. */
static uint64_t tls_start(const struct stack_finder *finder, uint64_t tp, uint64_t low) {
    uint64_t dtv = word_at(finder, tp + finder->word);
    uint64_t nr = dtv < 2 * finder->word ? 0 : word_at(finder, dtv - 2 * finder->word);
    uint64_t start = tp;
    for (uint64_t i = 1; i <= nr && i < DTV_MAX; i++) {
        uint64_t part = word_at(finder, dtv + i * 2 * finder->word);
        if (part > low && part < start && tp - part < STATIC_TLS_MAX)
            start = part;
    }
    return start & ~(uint64_t)(finder->word - 1);
}

/* The thread's own block; all of it is in use when the stack pointer stands elsewhere (a signal's
 * alternate stack, a coroutine). */
static int add_block(const struct stack_finder *finder, size_t index,
                     const struct stack_block *block, uint64_t live) {
    const struct cf_core_thread *thread = cf_core_thread(finder->core, index);
    bool inside = thread->sp >= block->start && thread->sp < block->end;
    uint64_t tcb = thread->tp - PTHREAD_USUAL_BYTES;
    if (finder->tcb_first)
        tcb = tls_start(finder, thread->tp, inside ? thread->sp : block->start);
    else if (thread->tp - block->start < PTHREAD_USUAL_BYTES)
        tcb = block->start;
    if (inside && tcb < thread->sp)
        tcb = thread->sp;
    if (!inside)
        live = block->start;
    else if (live < block->start)
        live = block->start;
    return push(finder, &(struct cf_stack){
        .start = block->start, .live = live, .tcb = tcb, .end = block->end,
        .thread = (int32_t)index, .in_block = true,
        .readable = is_readable(finder, inside ? thread->sp : thread->tp),
    });
}

static int add_thread(const struct stack_finder *finder, size_t index) {
    const struct cf_core_thread *thread = cf_core_thread(finder->core, index);
    uint64_t live = thread->sp < finder->red_zone ? 0 : thread->sp - finder->red_zone;
    struct stack_block block;
    uint64_t low, high;
    if (thread->has_tp) {
        pthread_range(finder, thread->tp, &low, &high);
        if (find_block(finder, low, high, thread->tp, thread->sp, &block)) {
            int status = add_block(finder, index, &block, live);
            bool inside = thread->sp >= block.start && thread->sp < block.end;
            if (status != CF_OK || inside)
                return status;
            return add_unnamed(finder, index, live, thread->sp);
        }
    }
    return add_unnamed(finder, index, live, thread->sp);
}

static bool is_linked(const struct stack_finder *finder, uint64_t node) {
    uint64_t next = word_at(finder, node), previous = word_at(finder, node + finder->word);
    return next != 0 && next != node && previous != 0 &&
           word_at(finder, next + finder->word) == node && word_at(finder, previous) == node;
}

static bool in_module_data(const struct stack_finder *finder, uint64_t addr) {
    const struct cf_region *region = cf_mem_find(finder->mem, addr);
    return region != NULL && region->kind == CF_REGION_FILE;
}

/* From a node of a list of stacks to the list's head: the only one in a module's data. 0: none. */
static uint64_t head_of(struct stack_finder *finder, uint64_t node) {
    uint64_t at = word_at(finder, node);
    while (at != node && finder->steps < LIST_STEPS_MAX) {
        finder->steps++;
        if (in_module_data(finder, at))
            return at;
        if (!is_linked(finder, at))
            return 0;
        at = word_at(finder, at);
    }
    return 0;
}

static uint64_t find_head(struct stack_finder *finder) {
    for (size_t i = 0; i < cf_core_nr_threads(finder->core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(finder->core, i);
        uint64_t low, high;
        if (!thread->has_tp)
            continue;
        pthread_range(finder, thread->tp, &low, &high);
        for (uint64_t at = low; at < high; at += finder->word) {
            uint64_t head = is_linked(finder, at) ? head_of(finder, at) : 0;
            if (head != 0)
                return head;
        }
    }
    return 0;
}

static int compare_starts(const void *a, const void *b) {
    const struct cf_stack *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Stacks of the core's threads are the first `nr_known` rows, sorted by start. */
static bool is_known(const struct stack_finder *finder, size_t nr_known, uint64_t start) {
    struct cf_stack key = {.start = start};
    return nr_known > 0 && bsearch(&key, finder->stacks->rows.items, nr_known, sizeof key,
                                   compare_starts) != NULL;
}

/* Of a thread that is gone only struct pthread counts: it keeps the value for pthread_join(), and
 * the dtv for the next thread that gets this stack. */
static int add_list(struct stack_finder *finder, uint64_t head, size_t nr_known) {
    uint64_t node = word_at(finder, head), previous = head;
    while (node != head && node != 0 && finder->steps++ < LIST_STEPS_MAX) {
        if (word_at(finder, node + finder->word) != previous)
            return CF_OK;
        struct stack_block block;
        uint64_t low = node < LIST_BEFORE_BYTES ? node : node - LIST_BEFORE_BYTES;
        if (!in_module_data(finder, node) &&
            find_block(finder, low, node + PTHREAD_BYTES, node, 0, &block) &&
            !is_known(finder, nr_known, block.start)) {
            uint64_t tcb = low > block.start ? low : block.start;
            int status = push(finder, &(struct cf_stack){
                .start = block.start, .live = tcb, .tcb = tcb, .end = block.end, .thread = -1,
                .in_block = true, .readable = true,
            });
            if (status != CF_OK)
                return status;
        }
        previous = node;
        node = word_at(finder, node);
        cf_rss_guard_step(&finder->guard);
    }
    return CF_OK;
}

static int add_gone(struct stack_finder *finder) {
    uint64_t head = find_head(finder);
    if (head < HEADS_NEAR * finder->word)
        return CF_OK;
    size_t nr_known = finder->stacks->rows.len;
    if (nr_known > 0)
        qsort(finder->stacks->rows.items, nr_known, sizeof(struct cf_stack), compare_starts);
    for (uint64_t at = head - HEADS_NEAR * finder->word; at <= head + HEADS_NEAR * finder->word;
         at += finder->word) {
        int status = is_linked(finder, at) ? add_list(finder, at, nr_known) : CF_OK;
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

static int compare_live(const void *a, const void *b) {
    const struct cf_stack *left = a, *right = b;
    if (left->live != right->live)
        return left->live < right->live ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

/* Where stacks share a mapping and their blocks are not known, each ends where the next begins. */
static void clip(struct cf_stacks *stacks) {
    for (size_t i = 0; i + 1 < stacks->rows.len; i++) {
        struct cf_stack *stack = &stacks->rows.items[i];
        uint64_t next = stacks->rows.items[i + 1].live;
        if (stack->end > next)
            stack->end = next;
        if (stack->tcb > stack->end)
            stack->tcb = stack->end;
    }
}

int cf_stacks_find(struct cf_stacks *stacks, const struct cf_mem *mem, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    enum cf_machine machine = cf_core_machine(core);
    struct stack_finder finder = {
        .mem = mem,
        .core = core,
        .stacks = stacks,
        .err = err,
        .word = cf_mem_word_bytes(mem),
        .guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 2),
        .tcb_first = machine != CF_MACHINE_AARCH64,
        .red_zone = machine == CF_MACHINE_X86_64 ? RED_ZONE_BYTES : 0,
    };
    for (size_t i = 0; i < cf_core_nr_threads(core); i++) {
        cf_rss_guard_step(&finder.guard);
        int status = add_thread(&finder, i);
        if (status != CF_OK)
            return status;
    }
    int status = add_gone(&finder);
    if (status != CF_OK)
        return status;
    if (stacks->rows.len > 0)
        qsort(stacks->rows.items, stacks->rows.len, sizeof(struct cf_stack), compare_live);
    clip(stacks);
    return CF_OK;
}

void cf_stacks_fini(struct cf_stacks *stacks) {
    cf_array_free(&stacks->rows);
}
