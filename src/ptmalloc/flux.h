/*
 * Damaged, or caught in the middle of an operation? A thread that the core caught in malloc or free
 * leaves its arena as no thread outside ever sees it: a chunk taken from its list and not yet
 * marked, a link half made, a top that has moved and has no size yet. That is no corruption.
 *
 * What is asked of a deviation before it is taken for that:
 *  - a thread stands in malloc or free, and the arena is locked, or the process has one thread
 *    alone (SINGLE_THREAD_P takes no lock); a thread's cache needs no lock and is that thread's;
 *  - that thread has the chunk that deviates, or the one beside it, in its registers or in the
 *    frames of malloc: an operation changes nothing but the chunks that it has in hand;
 *  - counts differ by exactly the chunks that threads have in hand and that stand on no list;
 *  - an operation leaves a handful of deviations: an arena with more of them is damaged.
 * Whatever does not pass stays corruption, however busy the threads are.
 */
#ifndef CF_PTMALLOC_FLUX_H
#define CF_PTMALLOC_FLUX_H

#include <stddef.h>
#include <stdint.h>

#include "ptmalloc/heap.h"

/* A thread that stands in malloc or free: its registers, and the words of its stack from the
 * stack pointer to the end of malloc's frames. Borrowed. */
struct cf_standing {
    int32_t thread; /* index in the core's threads */
    const uint64_t *words;
    size_t nr_words;
};

/* Anomalies that such threads explain become `in_flux`, and no corruption any more. The last step
 * in making `pt`; before anybody reads its anomalies. */
void cf_flux_judge(struct cf_ptmalloc *pt, const struct cf_standing *standing, size_t nr);

/*
 * malloc stopped the program because a chunk was freed that was free: `standing` is the thread that
 * freed it, and has it in hand by its header and by its user memory. That chunk becomes a row, a
 * corruption, where there is just one. Before anybody reads the anomalies.
 */
void cf_flux_name_freed_twice(struct cf_ptmalloc *pt, const struct cf_standing *standing);

/*
 * The processor stopped a thread inside malloc: a link, a size, or the pointer that malloc was
 * given leads where nothing is. That is a row, a corruption, where the walk found no other.
 */
void cf_flux_add_fault(struct cf_ptmalloc *pt);

#endif
