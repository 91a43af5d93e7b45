/*
 * The rules of ptmalloc/damage.h. A header begins with prev_size, which is user memory of the
 * chunk below while that is in use; its size word is the first that an overrun hits:
 *
 *     below ...                 | prev_size | size | fd   bk ...
 *     user memory of below      ............|      | of the chunk that was hit
 *                                           ^ an overrun begins here
 *
 * A chain that breaks at X may do so because the header at X was overwritten, or because the size
 * of the chunk P before it was: by a single byte it still looks like one, and the walk went into
 * the middle of P. The place R where the chain goes on tells what P's size was, if that differs in
 * the lowest byte alone. It was that byte if X..R is too small for a chunk, if a cache has P among
 * those of another size, if P is free and its true size stands at its end, or if what stands around
 * X is of one piece up to R.
 */
#include "ptmalloc/damage.h"

#include <string.h>

#include "ptmalloc/planes.h"
#include "ptmalloc/state.h"

enum { RUN_BYTES_MAX = 1 << 20, BYTE_VALUES = 256 };

/* What a code says was hit. */
static enum cf_damage_kind kind_of(const char *code) {
    static const struct {
        const char *code;
        enum cf_damage_kind kind;
    } kinds[] = {
        {"bad-chunk-size", CF_DAMAGE_HEADER},     {"prev-size", CF_DAMAGE_HEADER},
        {"top-size", CF_DAMAGE_HEADER},           {"main-arena-size", CF_DAMAGE_HEADER},
        {"tcache-not-met", CF_DAMAGE_DEAD_CHUNK}, {"tcache-size", CF_DAMAGE_DEAD_CHUNK},
        {"fast-not-met", CF_DAMAGE_DEAD_CHUNK},   {"fast-size", CF_DAMAGE_DEAD_CHUNK},
        {"bin-link", CF_DAMAGE_DEAD_CHUNK},       {"half-link", CF_DAMAGE_DEAD_CHUNK},
        {"tcache-twice", CF_DAMAGE_TWICE},        {"fast-twice", CF_DAMAGE_TWICE},
        {"freed-twice", CF_DAMAGE_TWICE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].code, code) == 0)
            return kinds[i].kind;
    return CF_DAMAGE_OTHER;
}

const char *cf_damage_kind_name(enum cf_damage_kind kind) {
    static const char *const names[] = {
        [CF_DAMAGE_HEADER] = "header",         [CF_DAMAGE_ZERO_BYTE] = "zero-byte",
        [CF_DAMAGE_BYTE] = "byte",             [CF_DAMAGE_DEAD_CHUNK] = "dead-chunk",
        [CF_DAMAGE_LIST_HEAD] = "list-head",   [CF_DAMAGE_TWICE] = "freed-twice",
        [CF_DAMAGE_OTHER] = "other",
    };
    return kind == CF_DAMAGE_NONE ? NULL : names[kind];
}

static bool is_arena(const struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; i < pt->arenas.len; i++)
        if (pt->arenas.items[i].addr == addr)
            return true;
    return false;
}

/* The first that names a chunk; sums name their arena. */
static const struct cf_anomaly *first_corruption(const struct cf_ptmalloc *pt) {
    const struct cf_anomaly *first = NULL;
    for (size_t i = 0; i < pt->anomalies.rows.len; i++) {
        const struct cf_anomaly *row = &pt->anomalies.rows.items[i];
        if (!row->in_complete || row->addr == 0)
            continue;
        if (!is_arena(pt, row->addr))
            return row;
        if (first == NULL)
            first = row;
    }
    return first;
}

/* Where the walk found its way again behind the header at `addr`; 0: it did not. */
static uint64_t resumed_behind(const struct cf_ptmalloc *pt, const struct cf_anomaly *row) {
    const struct cf_anomaly *next = row + 1;
    return next < pt->anomalies.rows.items + pt->anomalies.rows.len &&
                   next->heap_id == row->heap_id && strcmp(next->code, "walk-resumed") == 0
               ? next->addr
               : 0;
}

static bool is_led_to(const struct cf_ptmalloc *pt, uint64_t addr) {
    for (size_t i = 0; i < pt->anomalies.rows.len; i++)
        if (pt->anomalies.rows.items[i].target == addr)
            return true;
    return false;
}

/* A free chunk of such a size ends there: its size stands behind it once more. */
static bool ends_as_free(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t size) {
    uint64_t prev_size, word;
    return cf_mem_word(pt->mem, addr + size, &prev_size) && prev_size == size &&
           cf_mem_word(pt->mem, addr + size + pt->word_bytes, &word) && (word & PREV_INUSE) == 0;
}

/* All words of [start, end) are one and the same. */
static bool is_of_one_piece(const struct cf_ptmalloc *pt, uint64_t start, uint64_t end) {
    uint64_t first, word;
    if (!cf_mem_word(pt->mem, start, &first))
        return false;
    for (uint64_t at = start; at < end; at += pt->word_bytes)
        if (!cf_mem_word(pt->mem, at, &word) || word != first)
            return false;
    return true;
}

/* By what stands behind it or leads to it, a chunk had another size, of which only the lowest byte
 * differs. `resumed` is where the walk found its way again; 0: it did not. */
static bool had_another_size(const struct cf_ptmalloc *pt, const struct cf_chunk *chunk,
                             uint64_t resumed) {
    uint64_t bad = chunk->addr + chunk->bytes, size = chunk->bytes - chunk->bytes % BYTE_VALUES;
    for (uint64_t end = size + BYTE_VALUES; size < end; size += pt->alignment)
        if (size != chunk->bytes && size >= pt->min_chunk && ends_as_free(pt, chunk->addr, size))
            return true;
    return resumed != 0 &&
           (resumed - chunk->addr) / BYTE_VALUES == chunk->bytes / BYTE_VALUES &&
           (resumed - bad < pt->min_chunk || is_led_to(pt, chunk->addr) ||
            is_of_one_piece(pt, bad - pt->word_bytes, resumed));
}

/* The header at `addr` is what it should be, but for a lowest byte of 0. */
static bool is_zero_byte(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t resumed) {
    uint64_t word;
    return resumed != 0 && resumed - addr >= pt->min_chunk &&
           cf_mem_word(pt->mem, addr + pt->word_bytes, &word) &&
           word == (resumed - addr) / BYTE_VALUES * BYTE_VALUES;
}

/* The chunk whose size leads to the bad header at `addr`, if its lowest byte was hit. */
static bool find_changed_size(const struct cf_ptmalloc *pt, uint64_t addr, uint64_t resumed,
                              struct cf_chunk *out) {
    struct cf_chunk before;
    if (is_zero_byte(pt, addr, resumed) ||
        !cf_chunkmap_find(pt->map, addr - 1, &before) || before.addr + before.bytes != addr ||
        before.state > CF_CHUNK_TCACHE || !had_another_size(pt, &before, resumed))
        return false;
    *out = before;
    return true;
}

/* ---- how far ---- */

/* Bytes up to the highest in which the two words differ. */
static uint64_t differing_bytes(uint64_t a, uint64_t b) {
    uint64_t bits = a ^ b, bytes = 0;
    for (; bits != 0; bits >>= 8)
        bytes++;
    return bytes;
}

static bool is_one_byte(uint64_t word, unsigned word_bytes) {
    uint64_t ones = word_bytes == 8 ? 0x0101010101010101ull : 0x01010101ull;
    return word == (word & 0xff) * ones;
}

/* How far the word at `addr` goes on from there, as the same word and then as the same byte. */
static uint64_t run_bytes(const struct cf_ptmalloc *pt, uint64_t addr) {
    uint64_t first, word, at = addr;
    if (!cf_mem_word(pt->mem, addr, &first))
        return 0;
    if (first == 0)
        return pt->word_bytes; /* zeros go on in memory that nobody has used */
    do
        at += pt->word_bytes;
    while (at - addr < RUN_BYTES_MAX && cf_mem_word(pt->mem, at, &word) && word == first);
    unsigned char byte;
    while (is_one_byte(first, pt->word_bytes) && at - addr < RUN_BYTES_MAX &&
           cf_mem_read(pt->mem, at, &byte, 1) && byte == (first & 0xff))
        at++;
    return at - addr;
}

/* `size` is what the header's should be; 0: not known. */
static uint64_t overrun_of(const struct cf_ptmalloc *pt, uint64_t header, uint64_t size) {
    uint64_t word;
    if (!cf_mem_word(pt->mem, header + pt->word_bytes, &word))
        return 0;
    uint64_t bytes = differing_bytes(word, size | (word & SIZE_FLAGS) | PREV_INUSE);
    return bytes == pt->word_bytes ? run_bytes(pt, header + pt->word_bytes) : bytes;
}

/* ---- all ---- */

static void find_below(const struct cf_ptmalloc *pt, struct cf_damage *out) {
    out->has_below = cf_chunkmap_find(pt->map, out->addr - 1, &out->below) &&
                     out->below.state != CF_CHUNK_GAP;
}

/* What its header should have; 0: not known. */
static uint64_t size_of(const struct cf_ptmalloc *pt, const struct cf_anomaly *row, uint64_t addr,
                        uint64_t resumed) {
    const struct cf_heap *heap = cf_chunkmap_find_heap(pt->map, addr);
    if (heap != NULL && heap->top == addr)
        return heap->end - addr;
    if (strcmp(row->code, "bad-chunk-size") != 0)
        return 0;
    return resumed == 0 ? 0 : resumed - addr;
}

/* A free chunk whose size the next header does not repeat. Either that was overwritten, by whoever
 * still writes into the chunk, or the chunk is in use and the next header's flag was cleared. */
static void judge_prev_size(const struct cf_ptmalloc *pt, struct cf_damage *out) {
    uint64_t word;
    if (!out->has_below || !cf_mem_word(pt->mem, out->addr + pt->word_bytes, &word))
        return;
    if (cf_is_binned(pt, out->below.addr)) {
        out->kind = CF_DAMAGE_DEAD_CHUNK;
        out->addr = out->below.addr;
        out->has_below = false;
        return;
    }
    out->kind = (word & 0xff) == 0 ? CF_DAMAGE_ZERO_BYTE : CF_DAMAGE_BYTE;
    out->overrun_bytes = 1;
}

static void judge_header(const struct cf_ptmalloc *pt, const struct cf_anomaly *row,
                         struct cf_damage *out) {
    struct cf_chunk changed;
    uint64_t resumed = resumed_behind(pt, row), word;
    if (strcmp(row->code, "bad-chunk-size") == 0 &&
        find_changed_size(pt, row->addr, resumed, &changed))
        out->addr = changed.addr;
    find_below(pt, out);
    if (strcmp(row->code, "prev-size") == 0) {
        judge_prev_size(pt, out);
        return;
    }
    if (!out->has_below)
        return;
    uint64_t bytes = out->addr == row->addr
                         ? overrun_of(pt, out->addr, size_of(pt, row, out->addr, resumed))
                         : 0;
    out->overrun_bytes = bytes > 1 ? bytes : 1;
    if (out->overrun_bytes == 1 && cf_mem_word(pt->mem, out->addr + pt->word_bytes, &word))
        out->kind = (word & 0xff) == 0 ? CF_DAMAGE_ZERO_BYTE : CF_DAMAGE_BYTE;
}

/* A list leads to what is none of its chunks: the link was overwritten; or the size of the chunk
 * that it leads to was, since garbage meets no chunk's start; or that was freed once more when it
 * was part of a free chunk already. */
static void judge_link(const struct cf_ptmalloc *pt, const struct cf_anomaly *row,
                       struct cf_damage *out) {
    struct cf_chunk around;
    uint64_t size;
    bool is_chunk = row->target != 0 && cf_chunkmap_find(pt->map, row->target, &around);
    if (is_chunk && around.addr == row->target) {
        out->kind = CF_DAMAGE_BYTE;
        out->addr = row->target;
        out->overrun_bytes = 1;
    } else if (is_chunk && (cf_chunk_is_dead(around.state) || around.state == CF_CHUNK_TOP) &&
               row->target % pt->alignment == around.addr % pt->alignment &&
               cf_chunk_size(pt, row->target, &size) && size >= pt->min_chunk &&
               size <= around.addr + around.bytes - row->target) {
        out->kind = CF_DAMAGE_TWICE;
        out->addr = row->target;
    } else if (is_arena(pt, row->addr) || row->addr + 2 * pt->word_bytes == row->tcache) {
        out->kind = CF_DAMAGE_LIST_HEAD;
    }
}

void cf_damage_find(const struct cf_ptmalloc *pt, struct cf_damage *out) {
    const struct cf_anomaly *row = first_corruption(pt);
    *out = (struct cf_damage){.kind = CF_DAMAGE_NONE};
    if (row == NULL)
        return;
    out->kind = kind_of(row->code);
    out->addr = row->addr;
    if (out->kind == CF_DAMAGE_DEAD_CHUNK)
        judge_link(pt, row, out);
    if (out->kind == CF_DAMAGE_HEADER)
        judge_header(pt, row, out);
    else if (out->kind == CF_DAMAGE_BYTE)
        find_below(pt, out);
}
