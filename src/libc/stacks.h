/*
 * The stacks of the process, from its own records: where each thread's block lies, which part of
 * it is in use, and the blocks of threads that are gone (exited and not joined, or kept by glibc
 * in its cache of stacks).
 *
 *     start                live                       tcb             end
 *       | guard | dead      | in use by frames   | TLS | struct pthread |      x86
 *       | guard | dead      | in use by frames   | struct pthread | TLS |      aarch64
 *
 * A block is found without symbols: struct pthread holds the pair (stackblock, stackblock_size)
 * in every release, and it is the pair of words near the thread pointer that spans it. Blocks of
 * dead threads hang in glibc's lists of stacks, whose heads stand together in its data
 * (stack_cache and stack_used of libpthread up to 2.33, _dl_stack_used, _user and _cache of ld.so
 * since). The main thread's stack is the mapping that holds AT_RANDOM.
 */
#ifndef CF_LIBC_STACKS_H
#define CF_LIBC_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"
#include "mem/mem.h"

struct cf_stack {
    uint64_t start;  /* of the block, guard included; where that is not known, `live` */
    uint64_t live;   /* the stack pointer less the red zone; `tcb` where the thread is gone */
    uint64_t tcb;    /* thread-local storage and struct pthread: [tcb, end); `end`: none here */
    uint64_t end;
    int32_t thread;  /* index in the core's threads, or -1: the thread is gone */
    bool is_main;    /* the kernel made it, with the process */
    bool in_block;   /* `start` is known, so [start, live) is dead */
    bool readable;   /* the words at the stack pointer are in the core, and are not all zero */
};

struct cf_stacks {
    CF_ARRAY(struct cf_stack) rows; /* sorted by `live`, not overlapping from `live` to `end` */
};

/* `stacks` is all zero. Fails only for lack of memory. End with cf_stacks_fini(). */
int cf_stacks_find(struct cf_stacks *stacks, const struct cf_mem *mem, struct cf_err *err);
void cf_stacks_fini(struct cf_stacks *stacks);

#endif
