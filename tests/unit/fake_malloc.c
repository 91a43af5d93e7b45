#include "fake_malloc.h"
#include "whole_mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE = 4096, DATA_BYTES = 0x8000, TLS_BYTES = 0x3000, TLS_TP = 0x2000 };

/* ---- which layouts a release has ---- */

static bool is_release_in(const char *release, const char *range) {
    unsigned wanted = (unsigned)strtoul(release + 2, NULL, 10);
    unsigned from = (unsigned)strtoul(range + 2, NULL, 10);
    const char *dash = strchr(range, '-');
    unsigned to = dash == NULL ? from : (unsigned)strtoul(dash + 3, NULL, 10);
    return strstr(range, "without") == NULL && wanted >= from && wanted <= to;
}

#define PICK(table, count)                                                                        \
    for (size_t i = 0; i < (count); i++)                                                          \
        if ((table)[i].word_bytes == word && is_release_in(release, (table)[i].releases))         \
    return &(table)[i]

static const struct cf_state_layout *pick_state(unsigned word, const char *release) {
    PICK(cf_state_layouts, cf_nr_state_layouts);
    return NULL;
}

static const struct cf_par_layout *pick_par(unsigned word, const char *release) {
    PICK(cf_par_layouts, cf_nr_par_layouts);
    return NULL;
}

static const struct cf_heap_info_layout *pick_heap_info(unsigned word, const char *release) {
    PICK(cf_heap_info_layouts, cf_nr_heap_info_layouts);
    return NULL;
}

static const struct cf_tcache_layout *pick_tcache(unsigned word, const char *release) {
    PICK(cf_tcache_layouts, cf_nr_tcache_layouts);
    return NULL;
}

void fake_init(struct fake *fake, unsigned word, const char *release) {
    unsigned minor = (unsigned)strtoul(release + 2, NULL, 10);
    *fake = (struct fake){
        .word = word,
        .state = pick_state(word, release),
        .par = pick_par(word, release),
        .heap_info = pick_heap_info(word, release),
        .tcache = pick_tcache(word, release),
        .mangled = minor >= 32,
        .alignment = word == 8 || minor >= 26 ? 16 : 8,
        .heap_max = word == 8 ? UINT64_C(64) << 20 : UINT64_C(1) << 20,
        .nr_arenas = 2,
        .heaps_each = 1,
        .tcache_count = minor >= 43 ? 16 : 7,
        .machine = word == 8 ? CF_MACHINE_X86_64 : CF_MACHINE_I386,
    };
    assert_non_null(fake->state);
    assert_non_null(fake->par);
    assert_non_null(fake->heap_info);
}

/* ---- pieces ---- */

static void put(struct fake *fake, uint64_t addr, uint64_t value) {
    synth_put_word(fake->synth, addr, value);
}

static void put_field(struct fake *fake, uint64_t base, uint16_t offset, uint64_t value) {
    if (offset != CF_ABSENT)
        put(fake, base + offset, value);
}

static void put_int(struct fake *fake, uint64_t base, uint16_t offset, uint32_t value) {
    if (offset != CF_ABSENT)
        synth_put_u32(fake->synth, base + offset, value);
}

uint64_t fake_bin(const struct fake *fake, uint64_t arena, unsigned index) {
    return arena + fake->state->bins + (uint64_t)(index - 1) * 2 * fake->word;
}

static void put_state(struct fake *fake, uint64_t arena, uint64_t next, uint64_t top,
                      uint64_t system_mem) {
    const struct cf_state_layout *l = fake->state;
    for (unsigned i = 1; i <= CF_NR_BINS; i++) {
        uint64_t pair = fake_bin(fake, arena, i);
        put(fake, pair, pair - 2 * fake->word);
        put(fake, pair + fake->word, pair - 2 * fake->word);
    }
    put(fake, arena + l->top, top);
    put(fake, arena + l->next, next);
    put_field(fake, arena, l->attached_threads, 1);
    put(fake, arena + l->system_mem, system_mem);
    put(fake, arena + l->max_system_mem, system_mem);
}

static void put_par(struct fake *fake, uint64_t mp, uint64_t sbrk_base) {
    const struct cf_par_layout *l = fake->par;
    unsigned word = fake->word;
    put(fake, mp, 131072);
    put(fake, mp + word, 131072);
    put(fake, mp + 2 * word, 131072);
    if (!l->has_no_arenas)
        put(fake, mp + 3 * word, word == 8 ? 8 : 2);
    put_int(fake, mp, l->n_mmaps_max, 65536);
    put_field(fake, mp, l->sbrk_base, sbrk_base);
    if (l->pagesize != 0)
        put_int(fake, mp, l->pagesize, 4096);
    put_field(fake, mp, l->tcache_bins, 64);
    put_field(fake, mp, l->tcache_max_bytes,
              fake->tcache_count == 16 ? (word == 8 ? 1041 : 1025) : (word == 8 ? 1032 : 1020));
    put_field(fake, mp, l->tcache_count, fake->tcache_count);
    /* 2.43's "unsupported". */
    if (l->thp_mode != CF_ABSENT && l->tcache_unsorted_limit != CF_ABSENT)
        put_int(fake, mp, l->thp_mode, 3);
}

static uint64_t chunk_at(const struct fake *fake, uint64_t addr) {
    uint64_t user = addr + 2 * fake->word;
    return (user + fake->alignment - 1) / fake->alignment * fake->alignment - 2 * fake->word;
}

static void put_link(struct fake *fake, uint64_t user, uint64_t next) {
    put(fake, user, fake->mangled ? next ^ user >> 12 : next);
}

/* A chunk with PREV_INUSE; returns where the next one starts. */
static uint64_t put_chunk(struct fake *fake, uint64_t addr, uint64_t bytes) {
    put(fake, addr + fake->word, bytes | 1);
    return addr + bytes;
}

static void put_count(struct fake *fake, uint64_t tcache, unsigned bin, unsigned count) {
    const struct cf_tcache_layout *l = fake->tcache;
    unsigned stored = l->counts_are_slots ? (unsigned)fake->tcache_count - count : count;
    unsigned char byte = (unsigned char)stored;
    if (l->count_bytes == 1)
        synth_put(fake->synth, tcache + bin, &byte, 1);
    else
        synth_put_u16(fake->synth, tcache + 2 * bin, (uint16_t)stored);
}

/* A tcache whose bin 3 has two chunks and bin 5 one; returns where the next chunk starts. */
static uint64_t put_tcache(struct fake *fake, uint64_t addr, uint64_t *tcache) {
    const struct cf_tcache_layout *l = fake->tcache;
    uint64_t user = addr + 2 * fake->word;
    uint64_t next = put_chunk(fake, addr, l->chunk_bytes);
    uint64_t size3 = 4 * fake->word + 3 * fake->alignment;
    uint64_t size5 = 4 * fake->word + 5 * fake->alignment;
    uint64_t users[3];
    for (unsigned i = 0; i < 3; i++) {
        users[i] = next + 2 * fake->word;
        next = put_chunk(fake, next, i < 2 ? size3 : size5);
    }
    put_link(fake, users[0], 0);
    put_link(fake, users[1], users[0]);
    put_link(fake, users[2], 0);
    for (unsigned bin = 0; bin < (unsigned)l->nr_small + l->nr_large; bin++)
        put_count(fake, user, bin, bin == 3 ? 2 : bin == 5 ? 1 : 0);
    put(fake, user + l->entries + 3 * fake->word, users[1]);
    put(fake, user + l->entries + 5 * fake->word, users[2]);
    *tcache = user;
    return next;
}

/* Chunks from `addr` on: a tcache, three in use, the top up to `end`. Returns the top. */
static uint64_t put_chunks(struct fake *fake, uint64_t addr, uint64_t end, uint64_t *tcache) {
    addr = chunk_at(fake, addr);
    if (fake->tcache != NULL && tcache != NULL)
        addr = put_tcache(fake, addr, tcache);
    for (unsigned i = 0; i < 3; i++)
        addr = put_chunk(fake, addr, 0x100);
    put(fake, addr + fake->word, (end - addr) | 1);
    return addr;
}

static void put_heap_info(struct fake *fake, uint64_t heap, uint64_t arena, uint64_t prev) {
    put(fake, heap, arena);
    put(fake, heap + fake->word, prev);
    put(fake, heap + 2 * fake->word, FAKE_HEAP_BYTES);
    put(fake, heap + 3 * fake->word, FAKE_HEAP_BYTES);
    put_field(fake, heap, fake->heap_info->pagesize, PAGE);
}

static void note_bounds(struct fake *fake, unsigned index, uint64_t start, uint64_t top,
                        uint64_t end) {
    fake->firsts[index] = chunk_at(fake, start);
    fake->tops[index] = top;
    fake->ends[index] = end;
}

/* One thread arena; the newest of its heaps has the top. */
static void put_thread_arena(struct fake *fake, unsigned index, uint64_t next) {
    uint64_t region = fake->word == 8 ? UINT64_C(0x7e0000000000) : UINT64_C(0xe0000000);
    uint64_t arena = fake->arenas[index];
    uint64_t prev = 0;
    uint64_t top = 0;
    for (unsigned k = 0; k < fake->heaps_each; k++) {
        uint64_t heap = region + (index * fake->heaps_each + k) * fake->heap_max;
        uint64_t first = heap + fake->heap_info->bytes;
        synth_segment(fake->synth, heap, FAKE_HEAP_BYTES, SYNTH_RW);
        put_heap_info(fake, heap, arena, prev);
        first += k == 0 ? fake->state->bytes : 0;
        top = put_chunks(fake, first, heap + FAKE_HEAP_BYTES,
                         k == 0 ? &fake->tcaches[index + 1] : NULL);
        note_bounds(fake, index + 1, first, top, heap + FAKE_HEAP_BYTES);
        prev = heap;
    }
    put_state(fake, arena, next, top, (uint64_t)fake->heaps_each * FAKE_HEAP_BYTES);
}

/* The thread's TLS: `thread_arena` and, two words below, `tcache`. */
static void put_thread(struct fake *fake, unsigned index, uint64_t arena) {
    uint64_t region = fake->word == 8 ? UINT64_C(0x7d0000000000) : UINT64_C(0xd0000000);
    uint64_t tls = region + (uint64_t)index * 2 * TLS_BYTES;
    bool above = fake->machine == CF_MACHINE_AARCH64;
    uint64_t slot = above ? tls + TLS_TP + 0x80 : tls + TLS_TP - 8 * fake->word;
    fake->tps[index] = tls + TLS_TP;
    synth_segment(fake->synth, tls, TLS_BYTES, SYNTH_RW);
    put(fake, slot, arena);
    if (fake->tcache != NULL)
        put(fake, slot - 2 * fake->word, fake->tcaches[index]);
    /* The TLS of every thread also has a pointer to itself and some numbers. */
    put(fake, tls + TLS_TP, tls + TLS_TP);
    put(fake, slot - 4 * fake->word, 0x1234 + index);
    synth_thread(fake->synth, 100 + index, index == 0 ? 6 : 0,
                 fake->no_thread_pointers ? 0 : fake->tps[index], tls + 0x100);
}

static void put_libc(struct fake *fake, uint64_t data, uint64_t next, uint64_t top,
                     uint64_t system_mem, uint64_t sbrk_base) {
    synth_segment(fake->synth, data, DATA_BYTES, SYNTH_RW);
    if (!fake->no_file_rows)
        synth_file(fake->synth, data, data + DATA_BYTES, 0x1c0000, "/lib/libc.so.6");
    put_par(fake, data + 0x200, sbrk_base);
    put_state(fake, data + 0xb40, next, top, system_mem);
}

void fake_second_libc(struct fake *fake, uint64_t data, bool pristine) {
    uint64_t arena = data + 0xb40;
    uint64_t heap = data + 0x100000;
    if (pristine) {
        put_libc(fake, data, arena, fake_bin(fake, arena, 1) - 2 * fake->word, 0, 0);
        return;
    }
    synth_segment(fake->synth, heap, FAKE_HEAP_BYTES, SYNTH_RW);
    uint64_t top = put_chunks(fake, heap, heap + FAKE_HEAP_BYTES, NULL);
    put_libc(fake, data, arena, top, FAKE_HEAP_BYTES, heap);
    synth_put_u32(fake->synth, arena + 4, 2); /* a second libc never uses brk */
}

/* ---- all together ---- */

static void put_main(struct fake *fake) {
    uint64_t data = fake->mp - 0x200;
    uint64_t next = fake->nr_arenas > 0 ? fake->arenas[0] : fake->main_arena;
    if (fake->uninitialised) {
        synth_segment(fake->synth, data, DATA_BYTES, SYNTH_RW);
        return;
    }
    if (fake->pristine) {
        put_libc(fake, data, next, fake_bin(fake, fake->main_arena, 1) - 2 * fake->word, 0, 0);
        return;
    }
    synth_segment(fake->synth, fake->sbrk_base, FAKE_HEAP_BYTES, SYNTH_RW);
    uint64_t end = fake->sbrk_base + FAKE_HEAP_BYTES;
    uint64_t top = put_chunks(fake, fake->sbrk_base, end, &fake->tcaches[0]);
    note_bounds(fake, 0, fake->sbrk_base, top, end);
    if (fake->no_libc_data)
        return;
    put_libc(fake, data, next, top, FAKE_HEAP_BYTES, fake->sbrk_base);
    put(fake, fake->break_word, end);
}

void fake_build(struct fake *fake) {
    uint64_t data = fake->word == 8 ? UINT64_C(0x7f0000000000) : UINT64_C(0xf7f00000);
    fake->synth = synth_new(fake->machine);
    synth_options(fake->synth)->no_file_note = fake->no_file_rows;
    fake->mp = data + 0x200;
    fake->main_arena = data + 0xb40;
    fake->break_word = data + 0x6000;
    fake->sbrk_base = fake->word == 8 ? UINT64_C(0x555555559000) : UINT64_C(0x56559000);
    uint64_t region = fake->word == 8 ? UINT64_C(0x7e0000000000) : UINT64_C(0xe0000000);
    assert_true(fake->nr_arenas <= FAKE_ARENAS_MAX);
    for (unsigned i = 0; i < fake->nr_arenas; i++)
        fake->arenas[i] =
            region + (uint64_t)i * fake->heaps_each * fake->heap_max + fake->heap_info->bytes;
    put_main(fake);
    for (unsigned i = 0; i < fake->nr_arenas; i++) {
        uint64_t next = i + 1 < fake->nr_arenas ? fake->arenas[i + 1] : fake->main_arena;
        put_thread_arena(fake, i, next);
    }
    put_thread(fake, 0, fake->uninitialised ? 0 : fake->main_arena);
    for (unsigned i = 0; i < fake->nr_arenas; i++)
        put_thread(fake, i + 1, fake->arenas[i]);
}

void fake_open(struct fake *fake) {
    struct cf_err err = {.text = ""};
    int status = cf_core_open(NULL, synth_fd(fake->synth), "fake", NULL, &fake->core, &err);
    if (status == CF_OK)
        status = whole_mem(NULL, fake->core, &fake->mem, &err);
    if (status == CF_OK)
        status = cf_malloc_find(NULL, fake->mem, &fake->m, &err);
    if (status != CF_OK)
        fail_msg("%s", err.text);
}

void fake_close(struct fake *fake) {
    cf_malloc_free(fake->m);
    cf_mem_free(fake->mem);
    cf_core_free(fake->core);
    synth_free(fake->synth);
}
