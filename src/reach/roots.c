/*
 * Two lists of ranges are laid over the core's writable regions, all three sorted by address, and
 * gone through side by side: what is malloc's own or dead is cut out, what is left is labelled as
 * a stack, as thread-local storage, or by its region. A module's .bss is the anonymous region
 * behind its data; foreign memory between chunks is looked for in the heaps' gaps afterwards.
 */
#include "reach/roots.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"
#include "reach/guards.h"
#include "core/core.h"
#include "core/drop.h"
#include "ptmalloc/planes.h"
#include "sym/bss.h"

enum { TLS_BELOW_BYTES = 16384, TLS_ABOVE_BYTES = 8192 }; /* only a label: the block is not known */

struct root_range {
    uint64_t start;
    uint64_t end;
    enum cf_root_kind kind;
    int32_t thread;
};

struct ranges {
    CF_ARRAY(struct root_range) rows;
    size_t cursor; /* regions are taken in the order of their addresses */
};

struct root_finder {
    struct cf_roots *roots;
    const struct cf_mem *mem;
    const struct cf_core *core;
    struct ranges skips;  /* malloc's memory, dead stacks */
    struct ranges labels; /* stacks and thread-local storage */
    const struct cf_region *region; /* at hand */
    int32_t file;         /* of the module that the region at hand belongs to, or -1 */
    uint64_t bss_end;     /* up to here it does, where it is a module's .bss; else its own end */
    bool has_anonymous;   /* the core holds private anonymous data at all */
    struct cf_err *err;
};

const char *cf_root_kind_name(enum cf_root_kind kind) {
    static const char *const names[CF_NR_ROOT_KINDS] = {
        "register", "stack", "tls", "global", "mapping",
    };
    return kind < CF_NR_ROOT_KINDS ? names[kind] : "unknown";
}

static int add_range(const struct root_finder *finder, struct ranges *ranges,
                     struct root_range range) {
    if (range.start >= range.end)
        return CF_OK;
    struct root_range *slot = cf_array_push(&ranges->rows);
    if (slot == NULL)
        return cf_err_nomem(finder->err, sizeof *slot, "the table of root ranges");
    *slot = range;
    return CF_OK;
}

static int skip(struct root_finder *finder, uint64_t start, uint64_t end) {
    return add_range(finder, &finder->skips, (struct root_range){.start = start, .end = end});
}

static int skip_bytes(struct root_finder *finder, uint64_t start, uint64_t bytes) {
    uint64_t end;
    return cf_add_u64(start, bytes, &end) ? skip(finder, start, end) : CF_OK;
}

static int skip_heaps(struct root_finder *finder, const struct cf_chunkmap *map) {
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < cf_chunkmap_nr_heaps(map); i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        uint64_t end = heap->reserved_end > heap->end ? heap->reserved_end : heap->end;
        status = skip(finder, heap->start, end);
    }
    for (size_t i = 0; status == CF_OK && i < cf_chunkmap_nr_mmapped(map); i++) {
        const struct cf_mmapped *mmapped = cf_chunkmap_mmapped(map, i);
        status = skip_bytes(finder, mmapped->addr, mmapped->bytes);
        if (status == CF_OK)
            status = skip(finder, mmapped->map_start, mmapped->map_end);
    }
    return status;
}

/* malloc_state of every arena and mp_ of every namespace: their bins and tops point at chunks. */
static int skip_structs(struct root_finder *finder, const struct cf_malloc *m) {
    int status = CF_OK;
    const struct cf_state_layout *state = cf_malloc_state_layout(m);
    for (size_t i = 0; status == CF_OK && state != NULL && i < cf_malloc_nr_arenas(m); i++)
        status = skip_bytes(finder, cf_malloc_arena(m, i)->addr, state->bytes);
    for (size_t i = 0; status == CF_OK && i < cf_malloc_nr_namespaces(m); i++) {
        const struct cf_namespace *ns = cf_malloc_namespace(m, i);
        if (state != NULL)
            status = skip_bytes(finder, ns->main_arena, state->bytes);
        if (status == CF_OK && ns->par.addr != 0 && ns->par.layout != NULL)
            status = skip_bytes(finder, ns->par.addr, ns->par.layout->bytes);
    }
    return status;
}

static int add_stacks(struct root_finder *finder, const struct cf_stacks *stacks) {
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < stacks->rows.len; i++) {
        const struct cf_stack *stack = &stacks->rows.items[i];
        if (stack->in_block)
            status = skip(finder, stack->start, stack->live);
        if (status == CF_OK)
            status = add_range(
                finder, &finder->labels,
                (struct root_range){stack->live, stack->tcb, CF_ROOT_STACK, stack->thread});
        if (status == CF_OK)
            status =
                add_range(finder, &finder->labels,
                          (struct root_range){stack->tcb, stack->end, CF_ROOT_TLS, stack->thread});
    }
    return status;
}

static bool in_a_stack(const struct cf_stacks *stacks, uint64_t addr) {
    size_t upto = cf_bound(stacks->rows.len, i, stacks->rows.items[i].live > addr);
    return upto > 0 && addr < stacks->rows.items[upto - 1].end;
}

/* The main thread's block of TLS, which ld.so or the start code of a static program allocated. */
static int add_tls(struct root_finder *finder, const struct cf_stacks *stacks) {
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < cf_core_nr_threads(finder->core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(finder->core, i);
        const struct cf_region *region =
            thread->has_tp ? cf_mem_find(finder->mem, thread->tp) : NULL;
        if (region == NULL || in_a_stack(stacks, thread->tp))
            continue;
        uint64_t below = thread->tp - region->start, above = region->end - thread->tp;
        status = add_range(finder, &finder->labels,
                           (struct root_range){
                               thread->tp - (below < TLS_BELOW_BYTES ? below : TLS_BELOW_BYTES),
                               thread->tp + (above < TLS_ABOVE_BYTES ? above : TLS_ABOVE_BYTES),
                               CF_ROOT_TLS,
                               (int32_t)i,
                           });
    }
    return status;
}

static int compare_ranges(const void *a, const void *b) {
    const struct root_range *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->end < right->end ? -1 : left->end > right->end;
}

/* Sorted and apart: where two overlap, the second begins where the first ends. */
static void settle(struct ranges *ranges) {
    if (ranges->rows.len == 0)
        return;
    qsort(ranges->rows.items, ranges->rows.len, sizeof *ranges->rows.items, compare_ranges);
    size_t kept = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < ranges->rows.len; i++) {
        struct root_range range = ranges->rows.items[i];
        if (range.start < end)
            range.start = end;
        if (range.start >= range.end)
            continue;
        end = range.end;
        ranges->rows.items[kept++] = range;
    }
    ranges->rows.len = kept;
}

/* The first range that ends above `addr`; addresses never go back. NULL: no more. */
static const struct root_range *next_range(struct ranges *ranges, uint64_t addr) {
    while (ranges->cursor < ranges->rows.len && ranges->rows.items[ranges->cursor].end <= addr)
        ranges->cursor++;
    return ranges->cursor < ranges->rows.len ? &ranges->rows.items[ranges->cursor] : NULL;
}

/* Nothing says so where a mapping was left out because it was never written, which is the
 * kernel's rule for private memory, so that is no gap; shared memory may be full. */
static uint64_t unreadable_bytes(const struct root_finder *finder, uint64_t start, uint64_t end) {
    const struct cf_region *region = finder->region;
    uint64_t data_end = region->start + region->data_bytes;
    uint64_t cut_end = data_end + region->cut_bytes;
    uint64_t bytes = cf_overlap(start, end, data_end, cut_end);
    bool writable = (region->flags & PF_W) != 0;
    if (writable && region->data_bytes == 0 && region->cut_bytes == 0 &&
        (region->kind == CF_REGION_SHARED || !finder->has_anonymous))
        bytes = end - start;
    return bytes;
}

static int add_root(struct root_finder *finder, uint64_t start, uint64_t end,
                    enum cf_root_kind kind, int32_t thread) {
    const struct cf_region *region = finder->region;
    uint64_t missing = unreadable_bytes(finder, start, end);
    if (missing > 0) {
        finder->roots->missing[kind].bytes += missing;
        finder->roots->missing[kind].places++;
    }
    uint64_t data_end = region->start + region->data_bytes;
    if (end > data_end)
        end = data_end;
    if (start >= end)
        return CF_OK;
    struct cf_root *slot = cf_array_push(&finder->roots->rows);
    if (slot == NULL)
        return cf_err_nomem(finder->err, sizeof *slot, "the table of roots");
    *slot = (struct cf_root){.kind = kind, .start = start, .end = end, .thread = thread,
                             .file = finder->file};
    finder->roots->bytes[kind] += end - start;
    return CF_OK;
}

/* What is left of a piece when malloc, stacks and TLS have theirs: a module's data, and behind its
 * .bss whatever else was mapped there. */
static int add_data(struct root_finder *finder, uint64_t start, uint64_t end) {
    int32_t file = finder->file;
    uint64_t until = finder->bss_end < end ? finder->bss_end : end;
    int status = CF_OK;
    if (file >= 0 && start < until) {
        status = add_root(finder, start, until, CF_ROOT_GLOBAL, -1);
        start = until;
    }
    finder->file = -1;
    if (status == CF_OK && start < end)
        status = add_root(finder, start, end, CF_ROOT_MAPPING, -1);
    finder->file = file;
    return status;
}

/* A piece of the region at hand that is not malloc's. */
static int add_piece(struct root_finder *finder, uint64_t start, uint64_t end) {
    int status = CF_OK;
    while (status == CF_OK && start < end) {
        const struct root_range *label = next_range(&finder->labels, start);
        if (label != NULL && label->start <= start) {
            uint64_t until = label->end < end ? label->end : end;
            status = add_root(finder, start, until, label->kind, label->thread);
            start = until;
        } else {
            uint64_t until = label != NULL && label->start < end ? label->start : end;
            status = add_data(finder, start, until);
            start = until;
        }
    }
    return status;
}

static int add_region(struct root_finder *finder) {
    uint64_t start = finder->region->start, end = finder->region->end;
    int status = CF_OK;
    while (status == CF_OK && start < end) {
        const struct root_range *skipped = next_range(&finder->skips, start);
        if (skipped != NULL && skipped->start <= start) {
            start = skipped->end;
            continue;
        }
        uint64_t until = skipped != NULL && skipped->start < end ? skipped->start : end;
        status = add_piece(finder, start, until);
        start = until;
    }
    return status;
}

static bool same_file(const struct root_finder *finder, const struct cf_region *a,
                      const struct cf_region *b) {
    if (a->file < 0 || b->file < 0)
        return a->file == b->file;
    return strcmp(cf_core_file(finder->core, (size_t)a->file)->path,
                  cf_core_file(finder->core, (size_t)b->file)->path) == 0;
}

/* Data of a module that ld.so protected after it had relocated it stands just below its .data. */
static bool is_relro(const struct root_finder *finder, const struct cf_region *next) {
    const struct cf_region *region = finder->region;
    return next != NULL && (region->flags & PF_X) == 0 && (next->flags & PF_W) != 0 &&
           next->start == region->end && same_file(finder, region, next);
}

static bool may_hold_pointers(const struct root_finder *finder, const struct cf_region *next) {
    if ((finder->region->flags & PF_W) != 0)
        return true;
    if (finder->region->kind == CF_REGION_ANONYMOUS)
        return finder->region->data_bytes > 0;
    return is_relro(finder, next);
}

/* The module whose data this is: the file's own, or, for a .bss, that of the region before. */
static int32_t module_of(const struct root_finder *finder, const struct cf_region *previous) {
    const struct cf_region *region = finder->region;
    if (region->kind == CF_REGION_FILE)
        return region->file;
    bool follows = previous != NULL && previous->end == region->start &&
                   region->kind == CF_REGION_ANONYMOUS && (region->flags & PF_W) != 0;
    return follows ? finder->file : -1;
}

static int add_regions(struct root_finder *finder) {
    size_t nr = cf_mem_nr_regions(finder->mem);
    const struct cf_region *previous = NULL;
    finder->file = -1;
    for (size_t i = 0; i < nr; i++) {
        finder->region = cf_mem_region(finder->mem, i);
        const struct cf_region *next = i + 1 < nr ? cf_mem_region(finder->mem, i + 1) : NULL;
        finder->file = module_of(finder, previous);
        finder->bss_end = finder->region->end;
        (void)cf_bss_of(finder->mem, i, &finder->bss_end);
        previous = finder->region;
        if (!may_hold_pointers(finder, next))
            continue;
        int status = add_region(finder);
        if (status != CF_OK)
            return status;
        if (finder->bss_end < finder->region->end)
            finder->file = -1; /* nor is what follows the module's */
    }
    return CF_OK;
}

/* Foreign memory inside a heap, which malloc's skips covered: what somebody else took from sbrk
 * between main arena's chunks, and what follows the last chunk. */
static int add_foreign(struct root_finder *finder, uint64_t start, uint64_t end) {
    int status = CF_OK;
    finder->file = -1;
    while (status == CF_OK && start < end) {
        size_t index = cf_mem_lower_bound(finder->mem, start);
        if (index == cf_mem_nr_regions(finder->mem))
            break;
        finder->region = cf_mem_region(finder->mem, index);
        if (start < finder->region->start)
            start = finder->region->start;
        uint64_t until = end < finder->region->end ? end : finder->region->end;
        if (start < until)
            status = add_root(finder, start, until, CF_ROOT_MAPPING, -1);
        start = until > start ? until : end;
    }
    return status;
}

static int add_gaps(struct root_finder *finder, const struct cf_chunkmap *map) {
    const struct cf_planes *planes = cf_chunkmap_planes(map);
    int status = CF_OK;
    for (size_t i = 0; status == CF_OK && i < planes->nr_odds; i++) {
        struct cf_chunk gap;
        if (planes->odds[i].state == CF_CHUNK_GAP &&
            cf_chunkmap_find(map, planes->odds[i].addr, &gap))
            status = add_foreign(finder, gap.addr, gap.addr + gap.bytes);
    }
    for (size_t i = 0; status == CF_OK && i < planes->nr_heaps; i++)
        status = add_foreign(finder, planes->heaps[i].chunks_end, planes->heaps[i].end);
    return status;
}

static int add_registers(struct root_finder *finder) {
    for (size_t i = 0; i < cf_core_nr_threads(finder->core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(finder->core, i);
        if (thread->regs == NULL)
            continue;
        struct cf_root *slot = cf_array_push(&finder->roots->rows);
        if (slot == NULL)
            return cf_err_nomem(finder->err, sizeof *slot, "the table of roots");
        *slot = (struct cf_root){.kind = CF_ROOT_REGISTER, .thread = (int32_t)i, .file = -1};
        finder->roots->bytes[CF_ROOT_REGISTER] += thread->regs_bytes + thread->fp_regs_bytes;
    }
    if (finder->roots->bytes[CF_ROOT_REGISTER] == 0)
        finder->roots->missing[CF_ROOT_REGISTER].places = 1;
    return CF_OK;
}

/* gcore keeps a stack that it could not read, full of zeros: its bytes are there and say nothing.
 * A thread pointer that leads nowhere means the same for its TLS. */
static void count_blank(struct root_finder *finder, const struct cf_stacks *stacks) {
    for (size_t i = 0; i < stacks->rows.len; i++)
        if (!stacks->rows.items[i].readable)
            finder->roots->missing[CF_ROOT_STACK].places++;
    uint64_t file_bytes = cf_core_file_bytes(finder->core);
    struct cf_rss_guard guard = cf_rss_guard_make(finder->core, file_bytes, 1);
    for (size_t i = 0; i < cf_core_nr_threads(finder->core); i++) {
        const struct cf_core_thread *thread = cf_core_thread(finder->core, i);
        uint64_t word;
        cf_rss_guard_step(&guard);
        if (cf_mem_find(finder->mem, thread->sp) == NULL)
            finder->roots->missing[CF_ROOT_STACK].places++;
        if (thread->has_tp && !cf_mem_word(finder->mem, thread->tp, &word))
            finder->roots->missing[CF_ROOT_TLS].places++;
    }
}

static bool has_anonymous_data(const struct cf_mem *mem) {
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        bool is_private = region->kind == CF_REGION_ANONYMOUS || region->kind == CF_REGION_UNKNOWN;
        if (is_private && (region->flags & PF_W) != 0 && region->data_bytes > 0)
            return true;
    }
    return false;
}

static int compare_roots(const void *a, const void *b) {
    const struct cf_root *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static int add_guards(struct root_finder *finder, const struct cf_chunkmap *map) {
    struct cf_guard_pages guards = {.rows = {0}};
    int status = cf_guard_pages_find(&guards, finder->mem, map, finder->err);
    for (size_t i = 0; i < guards.rows.len && status == CF_OK; i++) {
        struct cf_root *slot = cf_array_push(&finder->roots->rows);
        if (slot == NULL)
            status = cf_err_nomem(finder->err, sizeof *slot, "the table of roots");
        else
            *slot = (struct cf_root){.kind = CF_ROOT_MAPPING, .start = guards.rows.items[i].start,
                                     .end = guards.rows.items[i].end, .thread = -1, .file = -1,
                                     .is_guard = true};
    }
    cf_array_free(&guards.rows);
    return status;
}

static int find_all(struct root_finder *finder, const struct cf_ptmalloc *pt,
                    const struct cf_stacks *stacks) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    int status = skip_heaps(finder, map);
    if (status == CF_OK)
        status = skip_structs(finder, cf_ptmalloc_malloc(pt));
    if (status == CF_OK)
        status = add_stacks(finder, stacks);
    if (status == CF_OK)
        status = add_tls(finder, stacks);
    settle(&finder->skips);
    settle(&finder->labels);
    if (status == CF_OK)
        status = add_registers(finder);
    if (status == CF_OK)
        status = add_regions(finder);
    if (status == CF_OK)
        status = add_gaps(finder, map);
    return status == CF_OK ? add_guards(finder, map) : status;
}

int cf_roots_find(struct cf_roots *roots, const struct cf_mem *mem, const struct cf_ptmalloc *pt,
                  const struct cf_stacks *stacks, struct cf_err *err) {
    struct root_finder finder = {
        .roots = roots,
        .mem = mem,
        .core = cf_mem_core(mem),
        .err = err,
        .has_anonymous = has_anonymous_data(mem),
    };
    roots->mem = mem;
    int status = find_all(&finder, pt, stacks);
    cf_array_free(&finder.skips.rows);
    cf_array_free(&finder.labels.rows);
    if (status != CF_OK)
        return status;
    count_blank(&finder, stacks);
    if (roots->rows.len > 0)
        qsort(roots->rows.items, roots->rows.len, sizeof *roots->rows.items, compare_roots);
    return CF_OK;
}

void cf_roots_fini(struct cf_roots *roots) {
    cf_array_free(&roots->rows);
}

void cf_root_words_fini(struct cf_root_words *words) {
    cf_scratch_fini(&words->file);
    *words = (struct cf_root_words){0};
}

void cf_root_label(const struct cf_roots *roots, const struct cf_root *root, char *out,
                   size_t bytes) {
    const struct cf_core *core = cf_mem_core(roots->mem);
    if (root->thread >= 0) {
        (void)snprintf(out, bytes, "thread %" PRIu32,
                       cf_core_thread(core, (size_t)root->thread)->tid);
    } else if (root->file >= 0) {
        const char *path = cf_core_file(core, (size_t)root->file)->path;
        const char *slash = strrchr(path, '/');
        (void)snprintf(out, bytes, "%s", slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    } else if (root->kind == CF_ROOT_TLS || root->kind == CF_ROOT_STACK) {
        (void)snprintf(out, bytes, "a thread that is gone");
    } else if (root->is_guard) {
        (void)snprintf(out, bytes, "guard page of a stack that the kernel knows");
    } else {
        (void)snprintf(out, bytes, "anonymous mapping");
    }
}
