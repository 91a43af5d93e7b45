/*
 * Main arena's heap where libc's data is not in the core: a core that is cut off behind the heap, a
 * dump that leaves out files' data. The kernel lays the break area behind the program's own data,
 * and from its first chunk on headers lead to its very end, which the top touches:
 *
 *     | program: text, data, bss |  random gap  | chunk | chunk | ... | top    |
 *                                               ^ start                        ^ end of mapping
 *
 * Other memory has no such chain. Foreign sbrk areas end a chain with two fenceposts; behind them
 * the next sound place is searched.
 */
#include "base/checked.h"
#include "libc/found.h"

#include <string.h>

enum {
    AT_PHDR = 3,
    CHUNKS_ENOUGH = 8,    /* that make a place sound, where the end is not in sight */
    START_BYTES = 1 << 20, /* of a mapping, searched for its first chunk */
};
#define SEARCH_BYTES (UINT64_C(2) << 30) /* behind the program: the kernel's random gap is less */

/* ---- is libc's data missing? ---- */

/* A libc whose data is there has no main arena because malloc was never used. */
static bool lacks_libc_data(const struct cf_malloc *m) {
    const struct cf_core *core = cf_mem_core(m->mem);
    bool is_named = false;
    for (size_t i = 0; i < cf_mem_nr_regions(m->mem); i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (region->file < 0 || !cf_is_libc_path(cf_core_file(core, (size_t)region->file)->path))
            continue;
        is_named = true;
        if (cf_region_is_writable(region) && region->data_bytes > 0)
            return false;
    }
    return is_named || !cf_core_complete(core);
}

/* ---- the chain ---- */

struct chain {
    const struct cf_malloc *m;
    uint64_t at;
    uint64_t end; /* of the mapping */
    uint64_t previous;
    uint64_t top;
    uint64_t chunks;
};

enum step { STEP_ON, STEP_END, STEP_FENCES, STEP_UNREADABLE, STEP_BROKEN };

static enum step step(struct chain *chain) {
    unsigned word = chain->m->word;
    uint64_t header, second, prev_size;
    if (!cf_mem_word(chain->m->mem, chain->at + word, &header))
        return STEP_UNREADABLE;
    uint64_t size = cf_header_bytes(header), room = chain->end - chain->at;
    if (size == 2 * word && cf_mem_word(chain->m->mem, chain->at + 3 * word, &second) &&
        second == (2 * word | PREV_INUSE)) {
        chain->at += 4 * word;
        return STEP_FENCES;
    }
    struct cf_header_rule rule = cf_header_rule_make(word, chain->m->alignment, true);
    bool reaches_end = size == room;
    if (reaches_end)
        rule.alignment = 1; /* a top's size is as the page ends */
    if (!cf_header_can_be(rule, header, room))
        return STEP_BROKEN;
    if (!(header & PREV_INUSE) &&
        (!cf_mem_word(chain->m->mem, chain->at, &prev_size) || prev_size != chain->previous))
        return STEP_BROKEN;
    if (reaches_end) {
        chain->top = chain->at;
        return header & PREV_INUSE ? STEP_END : STEP_BROKEN;
    }
    chain->previous = size;
    chain->at += size;
    chain->chunks++;
    return STEP_ON;
}

/* Enough chunks follow, or the chain ends as glibc ends one. */
static bool is_sound(const struct cf_malloc *m, uint64_t at, uint64_t end) {
    struct chain chain = {.m = m, .at = at, .end = end};
    uint64_t header;
    if (!cf_mem_word(m->mem, at + m->word, &header) || !(header & PREV_INUSE))
        return false;
    enum step last = STEP_ON;
    for (unsigned i = 0; i < CHUNKS_ENOUGH && last == STEP_ON; i++)
        last = step(&chain);
    return last == STEP_ON || last == STEP_END || (last == STEP_FENCES && chain.chunks > 0);
}

/* The first sound place of [at, limit), or 0. */
static uint64_t sound_place(const struct cf_malloc *m, uint64_t at, uint64_t limit, uint64_t end) {
    for (at = cf_first_chunk_at(m, at); at != 0 && at < limit; at += m->alignment)
        if (is_sound(m, at, end))
            return at;
    return 0;
}

/* From chunk to chunk to the end of the mapping, or of what the core has of it. */
static bool follow(struct chain *chain) {
    struct cf_mem_trail trail = {chain->m->mem, chain->at};
    for (;;) {
        switch (step(chain)) {
        case STEP_ON:
            break;
        case STEP_END:
            return true;
        case STEP_UNREADABLE:
            return chain->chunks >= CHUNKS_ENOUGH;
        case STEP_FENCES:
            chain->previous = 0;
            chain->at = sound_place(chain->m, chain->at, chain->end, chain->end);
            if (chain->at == 0)
                return false;
            break;
        case STEP_BROKEN:
            return false;
        }
        (void)cf_mem_trail_to(&trail, chain->at);
    }
}

/* ---- the mapping ---- */

/* Where the program's own mappings end; 0: not known. */
static uint64_t program_end(const struct cf_malloc *m) {
    const struct cf_core *core = cf_mem_core(m->mem);
    uint64_t headers;
    if (!cf_core_auxv(core, AT_PHDR, &headers))
        return 0;
    const struct cf_region *home = cf_mem_find(m->mem, headers);
    if (home == NULL)
        return 0;
    uint64_t end = home->end;
    const char *path = home->file < 0 ? "" : cf_core_file(core, (size_t)home->file)->path;
    for (size_t i = 0; *path != '\0' && i < cf_core_nr_files(core); i++) {
        const struct cf_core_file *file = cf_core_file(core, i);
        if (strcmp(file->path, path) == 0 && file->end > end)
            end = file->end;
    }
    return end;
}

/* A segment that is cut off is two regions. */
static uint64_t mapping_end(const struct cf_mem *mem, size_t index) {
    const struct cf_region *region = cf_mem_region(mem, index);
    uint64_t end = region->end;
    for (size_t i = index + 1; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *next = cf_mem_region(mem, i);
        if (next->start != end || next->segment != region->segment)
            break;
        end = next->end;
    }
    return end;
}

static bool heap_in(const struct cf_malloc *m, size_t index, struct cf_bare_heap *out) {
    const struct cf_region *region = cf_mem_region(m->mem, index);
    uint64_t end = mapping_end(m->mem, index);
    uint64_t limit = region->start + region->data_bytes;
    if (limit - region->start > START_BYTES)
        limit = region->start + START_BYTES;
    uint64_t first = sound_place(m, region->start, limit, end);
    struct chain chain = {.m = m, .at = first, .end = end};
    if (first == 0 || !follow(&chain))
        return false;
    *out = (struct cf_bare_heap){
        .start = cf_align_down(first, cf_mem_page_bytes(m->mem)),
        .first_chunk = first,
        .end = end,
        .top = chain.top,
    };
    return true;
}

bool cf_bare_heap_find(struct cf_malloc *m) {
    uint64_t from = program_end(m);
    if (from == 0 || !lacks_libc_data(m))
        return false;
    for (size_t i = cf_mem_lower_bound(m->mem, from); i < cf_mem_nr_regions(m->mem); i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (region->start > from && region->start - from > SEARCH_BYTES)
            break;
        if (cf_region_is_writable(region) && region->data_bytes > 0 &&
            region->kind != CF_REGION_FILE && region->kind != CF_REGION_SHARED &&
            heap_in(m, i, &m->bare_heap))
            return true;
    }
    return false;
}
