#include "fake_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NON_MAIN = NON_MAIN_ARENA, PAGE = 4096, FOREIGN_BYTES = 0x1234 };

/* Chunks that are put one behind the other into one arena. */
struct filler {
    struct fake *fake;
    struct fake_heap *out;
    uint64_t arena;
    uint64_t at;
    uint64_t free_bytes; /* of the chunk before `at` when it is free, else 0 */
    bool is_main;
};

static void note(struct fake_heap *out, uint64_t addr, uint64_t bytes, enum cf_chunk_state state,
                 uint64_t usable) {
    assert_true(out->nr_chunks < FAKE_CHUNKS_MAX);
    out->chunks[out->nr_chunks++] = (struct fake_chunk){addr, bytes, state, usable};
}

static void put(const struct filler *filler, uint64_t addr, uint64_t value) {
    synth_put_word(filler->fake->synth, addr, value);
}

/* The header says of the chunk before whether it is in use; a chunk in use of a thread arena
 * carries its flag, a free one and the top do not. */
static uint64_t put_chunk(struct filler *filler, uint64_t bytes, enum cf_chunk_state state) {
    uint64_t addr = filler->at;
    uint64_t flags = filler->free_bytes == 0 ? PREV_INUSE : 0;
    bool is_used = state == CF_CHUNK_LIVE || state == CF_CHUNK_FAST || state == CF_CHUNK_TCACHE;
    if (is_used && !filler->is_main)
        flags |= NON_MAIN;
    if (filler->free_bytes != 0)
        put(filler, addr, filler->free_bytes);
    put(filler, addr + filler->fake->word, bytes | flags);
    note(filler->out, addr, bytes, state, 0);
    filler->free_bytes = state == CF_CHUNK_FREE ? bytes : 0;
    filler->at += bytes;
    return addr;
}

/* A free chunk, the only one of its bin. */
static void put_free(struct filler *filler, uint64_t bytes, unsigned bin) {
    const struct fake *fake = filler->fake;
    uint64_t addr = put_chunk(filler, bytes, CF_CHUNK_FREE);
    uint64_t pair = fake_bin(fake, filler->arena, bin);
    uint64_t head = pair - 2 * fake->word;
    put(filler, pair, addr);
    put(filler, pair + fake->word, addr);
    put(filler, addr + 2 * fake->word, head);
    put(filler, addr + 3 * fake->word, head);
    if (bin >= 64) {
        put(filler, addr + 4 * fake->word, addr); /* fd_nextsize, bk_nextsize */
        put(filler, addr + 5 * fake->word, addr);
    }
}

/* smallbin_index(): where the alignment is twice the word pair's, one bin is left out. */
static unsigned small_bin(const struct fake *fake, uint64_t bytes) {
    unsigned correction = fake->alignment > 2 * fake->word;
    return (unsigned)(bytes / fake->alignment) + correction;
}

static void put_fast(struct filler *filler) {
    const struct fake *fake = filler->fake;
    const struct cf_state_layout *l = fake->state;
    uint64_t bytes = 4 * fake->word + fake->alignment, next = 0;
    unsigned index = (unsigned)(bytes >> (fake->word == 8 ? 4 : 3)) - 2;
    if (l->nr_fastbins == 0)
        return;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t addr = put_chunk(filler, bytes, CF_CHUNK_FAST);
        uint64_t link = addr + 2 * fake->word;
        put(filler, link, fake->mangled ? next ^ link >> 12 : next);
        next = addr;
    }
    put(filler, filler->arena + l->fastbins + index * fake->word, next);
}

/* The main thread's cache may hold large chunks from 2.42 on: bin 64 has those below 2048. */
static void put_large_cached(struct filler *filler) {
    const struct fake *fake = filler->fake;
    const struct cf_tcache_layout *l = fake->tcache;
    if (!filler->is_main || l == NULL || l->nr_large == 0)
        return;
    uint64_t user = put_chunk(filler, 0x500, CF_CHUNK_TCACHE) + 2 * fake->word;
    synth_put_u16(fake->synth, fake->tcaches[0] + 2 * 64, (uint16_t)(fake->tcache_count - 1));
    put(filler, fake->tcaches[0] + l->entries + 64 * fake->word, user);
    put(filler, user, fake->mangled ? user >> 12 : 0);
}

/* Bins of all kinds, each free chunk between two in use. */
static void put_bins(struct filler *filler) {
    uint64_t small = 6 * filler->fake->alignment;
    (void)put_chunk(filler, 0x40, CF_CHUNK_LIVE);
    put_free(filler, small, small_bin(filler->fake, small));
    (void)put_chunk(filler, 0x60, CF_CHUNK_LIVE);
    put_fast(filler);
    put_large_cached(filler);
    (void)put_chunk(filler, 0x50, CF_CHUNK_LIVE);
    put_free(filler, 0x250, 1);
    (void)put_chunk(filler, 0x80, CF_CHUNK_LIVE);
    put_free(filler, 0x1000, 99); /* largebin_index() of all three kinds */
    (void)put_chunk(filler, 0x70, CF_CHUNK_LIVE);
}

static void put_top(struct filler *filler, uint64_t end) {
    put(filler, filler->at + filler->fake->word, (end - filler->at) | PREV_INUSE);
    note(filler->out, filler->at, end - filler->at, CF_CHUNK_TOP, 0);
    put(filler, filler->arena + filler->fake->state->top, filler->at);
}

/* Two headers of 2 words each, at the old break; then somebody's bytes, of no size that malloc
 * knows; malloc goes on at the next place that fits. */
static void put_foreign_gap(struct filler *filler) {
    unsigned header = 2 * filler->fake->word;
    for (unsigned i = 0; i < 2; i++) {
        put(filler, filler->at + filler->fake->word, header | PREV_INUSE);
        note(filler->out, filler->at, header, CF_CHUNK_FENCE, 0);
        filler->at += header;
    }
    uint64_t gap = filler->at;
    synth_fill(filler->fake->synth, gap, 0x5a, FOREIGN_BYTES);
    uint64_t user = gap + FOREIGN_BYTES + header + filler->fake->alignment - 1;
    filler->at = user / filler->fake->alignment * filler->fake->alignment - header;
    note(filler->out, gap, filler->at - gap, CF_CHUNK_GAP, 0);
    (void)put_chunk(filler, 0x300, CF_CHUNK_LIVE);
}

static void fill_arena(struct fake *fake, struct fake_heap *out, unsigned index) {
    struct filler filler = {
        .fake = fake, .out = out, .at = fake->tops[index], .is_main = index == 0,
        .arena = index == 0 ? fake->main_arena : fake->arenas[index - 1],
    };
    put_bins(&filler);
    if (filler.is_main)
        put_foreign_gap(&filler);
    put_top(&filler, fake->ends[index]);
}

/* ---- chunks in mappings of their own ---- */

/* A header `offset` bytes into the block, as its release writes it. */
static uint64_t put_mmapped_header(struct fake *fake, uint64_t block, uint64_t bytes,
                                   uint64_t offset) {
    bool is_short = fake->state->nr_fastbins == 0;
    uint64_t addr = block + offset;
    synth_put_word(fake->synth, addr, offset);
    synth_put_word(fake->synth, addr + fake->word,
                   (bytes - offset - (is_short ? 2 * fake->word : 0)) | IS_MMAPPED);
    return addr;
}

static void note_mmapped(struct fake *fake, struct fake_heap *out, uint64_t addr, uint64_t end,
                         enum cf_chunk_state state) {
    unsigned words = fake->state->nr_fastbins == 0 ? 3 : 2;
    note(out, addr, end - addr, state, end - addr - words * fake->word);
    out->nr_mmapped++;
}

/* The mmapped chunk at `addr` waits in the main thread's cache: bin 71 has 128 KiB up to 256. */
static void cache_mmapped(struct fake *fake, uint64_t addr) {
    const struct cf_tcache_layout *l = fake->tcache;
    uint64_t user = addr + 2 * fake->word, tcache = fake->tcaches[0];
    synth_put_u16(fake->synth, tcache + 2 * 71, (uint16_t)(fake->tcache_count - 1));
    synth_put_word(fake->synth, tcache + l->entries + 71 * fake->word, user);
    synth_put_word(fake->synth, user, fake->mangled ? user >> 12 : 0);
}

static void fill_mmapped(struct fake *fake, struct fake_heap *out) {
    static const uint64_t bytes[] = {0x21000, 0x40000, 0x22000};
    uint64_t block = fake->word == 8 ? UINT64_C(0x7c0000000000) : UINT64_C(0xc0000000);
    uint64_t first = fake->alignment > 2 * fake->word ? fake->alignment - 2 * fake->word : 0;
    uint64_t sum = 0;
    for (unsigned i = 0; i < 3; i++) {
        synth_segment(fake->synth, block, bytes[i], SYNTH_RW);
        uint64_t addr = put_mmapped_header(fake, block, bytes[i], first);
        if (i == 1) /* memalign leaves the first header where it was */
            addr = put_mmapped_header(fake, block, bytes[i], PAGE - 2 * fake->word);
        bool is_cached = i == 2 && fake->state->nr_fastbins == 0;
        if (is_cached)
            cache_mmapped(fake, addr);
        note_mmapped(fake, out, addr, block + bytes[i],
                     is_cached ? CF_CHUNK_TCACHE : CF_CHUNK_MMAPPED);
        sum += bytes[i];
        block += bytes[i] + PAGE;
    }
    const struct cf_par_layout *l = fake->par;
    synth_put_u32(fake->synth, fake->mp + l->n_mmaps, 3);
    synth_put_u32(fake->synth, fake->mp + l->max_n_mmaps, 3);
    synth_put_word(fake->synth, fake->mp + l->mmapped_mem, sum);
    synth_put_word(fake->synth, fake->mp + l->max_mmapped_mem, sum);
}

/* What fake_build() left between the start of the arena's heap and its top. */
static void note_built(struct fake *fake, struct fake_heap *out, unsigned index) {
    uint64_t addr = fake->firsts[index];
    uint64_t sizes[8];
    unsigned nr = 0;
    if (fake->tcache != NULL) {
        sizes[nr++] = fake->tcache->chunk_bytes;
        sizes[nr++] = 4 * fake->word + 3 * fake->alignment;
        sizes[nr++] = 4 * fake->word + 3 * fake->alignment;
        sizes[nr++] = 4 * fake->word + 5 * fake->alignment;
    }
    for (unsigned i = 0; i < 3; i++)
        sizes[nr++] = 0x100;
    for (unsigned i = 0; i < nr; i++) {
        bool is_cached = fake->tcache != NULL && i >= 1 && i <= 3;
        note(out, addr, sizes[i], is_cached ? CF_CHUNK_TCACHE : CF_CHUNK_LIVE, 0);
        addr += sizes[i];
    }
    assert_int_equal(addr, fake->tops[index]);
}

void fake_fill(struct fake *fake, struct fake_heap *out) {
    *out = (struct fake_heap){.nr_chunks = 0};
    for (unsigned i = 0; i <= fake->nr_arenas; i++) {
        note_built(fake, out, i);
        fill_arena(fake, out, i);
    }
    fill_mmapped(fake, out);
}
