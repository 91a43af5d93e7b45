/*
 * ptmalloc: the walk over heaps of every layout and both widths. The builder says what each chunk
 * is; the map must say the same of every one, and have no other. Releases that no package serves
 * are verified here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_heap.h"
#include "ptmalloc/binsum.h"
#include "ptmalloc/damage.h"
#include "ptmalloc/heap.h"
#include "ptmalloc/planes.h"

/* One for each shape that any struct ever had, and those between two packages. */
static const char *const releases[] = {"2.17", "2.22", "2.23", "2.24", "2.25", "2.26", "2.27",
                                       "2.28", "2.29", "2.30", "2.31", "2.32", "2.33", "2.34",
                                       "2.35", "2.37", "2.38", "2.39", "2.40", "2.41", "2.42",
                                       "2.43", "2.44"};
enum { NR_RELEASES = sizeof releases / sizeof *releases };

struct walked {
    struct fake fake;
    struct fake_heap heap;
    struct cf_ptmalloc *pt;
};

static void walk(struct walked *walked) {
    struct cf_err err = {.text = ""};
    fake_open(&walked->fake);
    if (cf_ptmalloc_walk(NULL, walked->fake.m, 1, &walked->pt, &err) != CF_OK)
        fail_msg("%s", err.text);
}

static void set_up(struct walked *walked, unsigned word, const char *release) {
    fake_init(&walked->fake, word, release);
    fake_build(&walked->fake);
    fake_fill(&walked->fake, &walked->heap);
}

static void tear_down(struct walked *walked) {
    cf_ptmalloc_free(walked->pt);
    fake_close(&walked->fake);
}

static const struct fake_chunk *noted_at(const struct fake_heap *heap, uint64_t addr) {
    for (unsigned i = 0; i < heap->nr_chunks; i++)
        if (heap->chunks[i].addr == addr)
            return &heap->chunks[i];
    return NULL;
}

static void assert_chunk(const struct fake_heap *heap, const struct cf_chunk *chunk,
                         const char *release, unsigned word) {
    const struct fake_chunk *noted = noted_at(heap, chunk->addr);
    if (noted == NULL || noted->bytes != chunk->bytes || noted->state != chunk->state)
        fail_msg("%s, %u bits: at 0x%llx %llu bytes %s, noted %llu bytes %s", release, 8 * word,
                 (unsigned long long)chunk->addr, (unsigned long long)chunk->bytes,
                 cf_chunk_state_name(chunk->state),
                 noted == NULL ? 0ull : (unsigned long long)noted->bytes,
                 noted == NULL ? "nothing" : cf_chunk_state_name(noted->state));
}

static void assert_nothing_wrong(const struct walked *walked, const char *release) {
    if (cf_ptmalloc_nr_anomalies(walked->pt) > 0)
        fail_msg("%s, %u bits: %s: %s", release, 8 * walked->fake.word,
                 cf_ptmalloc_anomaly(walked->pt, 0)->code,
                 cf_ptmalloc_anomaly(walked->pt, 0)->detail);
}

static void assert_heaps(const struct walked *walked, const char *release) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(walked->pt);
    unsigned met = 0;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++) {
        struct cf_chunk chunk;
        struct cf_planes_walk walk =
            cf_planes_walk(cf_chunkmap_planes(map), cf_chunkmap_heap(map, i));
        for (; cf_planes_walk_next(&walk, &chunk); met++)
            assert_chunk(&walked->heap, &chunk, release, walked->fake.word);
    }
    assert_int_equal(met, walked->heap.nr_chunks - walked->heap.nr_mmapped);
}

static void assert_mmapped(const struct walked *walked) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(walked->pt);
    assert_int_equal(cf_chunkmap_nr_mmapped(map), walked->heap.nr_mmapped);
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(map); i++) {
        const struct cf_mmapped *row = cf_chunkmap_mmapped(map, i);
        const struct fake_chunk *noted = noted_at(&walked->heap, row->addr);
        assert_non_null(noted);
        assert_int_equal(row->bytes, noted->bytes);
        assert_int_equal(row->usable_bytes, noted->usable_bytes);
        assert_int_equal(row->in_tcache, noted->state == CF_CHUNK_TCACHE);
    }
}

/* The lists' own sums, beside the map's. */
static void assert_lists(const struct walked *walked) {
    bool has_fast = walked->fake.state->nr_fastbins != 0;
    for (size_t i = 0; i < cf_ptmalloc_nr_arenas(walked->pt); i++) {
        const struct cf_arena *arena = cf_ptmalloc_arena(walked->pt, i);
        assert_int_equal(arena->nr_binned, 3);
        assert_int_equal(arena->binned_bytes, 6 * walked->fake.alignment + 0x250 + 0x1000);
        assert_int_equal(arena->nr_fast, has_fast ? 3 : 0);
    }
    size_t wanted = walked->fake.tcache == NULL ? 0 : walked->fake.nr_arenas + 1;
    assert_int_equal(cf_ptmalloc_nr_tcaches(walked->pt), wanted);
}

static void every_chunk_of_every_layout_is_what_it_is(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        const char *release = releases[i % NR_RELEASES];
        struct walked walked;
        set_up(&walked, i < NR_RELEASES ? 8 : 4, release);
        walk(&walked);
        assert_nothing_wrong(&walked, release);
        assert_heaps(&walked, release);
        assert_mmapped(&walked);
        assert_lists(&walked);
        tear_down(&walked);
    }
}

/* 2.43 and 2.44 add 2 words to mmapped_mem with each mremap; earlier that is a contradiction. */
static void only_late_releases_may_count_too_much(void **state) {
    static const char *const late[] = {"2.42", "2.43"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct walked walked;
        set_up(&walked, 8, late[i]);
        uint64_t sum = 0x21000 + 0x40000 + 0x22000 + 3 * 0x1000 * (i == 0) + 3 * 16 * (i == 1);
        synth_put_word(walked.fake.synth, walked.fake.mp + walked.fake.par->mmapped_mem, sum);
        synth_put_word(walked.fake.synth, walked.fake.mp + walked.fake.par->max_mmapped_mem, sum);
        walk(&walked);
        assert_int_equal(cf_ptmalloc_nr_anomalies(walked.pt), i == 0 ? 1 : 0);
        tear_down(&walked);
    }
}

/* A runtime's heap, in which pages begin as large mapped blocks do. */
static void a_block_larger_than_all_of_them_is_none(void **state) {
    (void)state;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct walked walked;
        set_up(&walked, word, "2.36");
        uint64_t heap = word == 8 ? UINT64_C(0x7a0000000000) : UINT64_C(0xa0000000);
        synth_segment(walked.fake.synth, heap, 0x301000, SYNTH_RW);
        for (uint64_t at = 0x1000; at < 0x301000; at += 0x100000)
            synth_put_word(walked.fake.synth, heap + at + word, 0x100000 | 2);
        walk(&walked);
        assert_nothing_wrong(&walked, "2.36");
        assert_mmapped(&walked);
        tear_down(&walked);
    }
}

/* Memory of somebody else's in which three pages look like mapped blocks; mp_ says how many there
 * are, and of how many bytes. Only where that leaves one choice is it made. */
static void false_blocks_are_dropped_where_only_they_can_be(void **state) {
    (void)state;
    static const uint64_t clear[] = {0x23000, 0x25000, 0x31000}, equal[] = {0x21000, 0x25000,
                                                                             0x31000};
    for (unsigned i = 0; i < 4; i++) {
        struct walked walked;
        unsigned word = i < 2 ? 8 : 4;
        const uint64_t *bytes = i % 2 == 0 ? clear : equal;
        set_up(&walked, word, "2.36");
        uint64_t at = word == 8 ? UINT64_C(0x7a0000000000) : UINT64_C(0xa0000000);
        uint64_t first = walked.fake.alignment > 2 * word ? walked.fake.alignment - 2 * word : 0;
        synth_segment(walked.fake.synth, at, 0x100000, SYNTH_RW);
        for (unsigned k = 0; k < 3; k++, at += 0x40000) {
            synth_put_word(walked.fake.synth, at + first, first);
            synth_put_word(walked.fake.synth, at + first + word, (bytes[k] - first) | 2);
        }
        walk(&walked);
        if (i % 2 == 0) {
            assert_nothing_wrong(&walked, "2.36");
            assert_mmapped(&walked);
        } else {
            assert_int_equal(cf_ptmalloc_nr_anomalies(walked.pt), 1);
            assert_string_equal(cf_ptmalloc_anomaly(walked.pt, 0)->code, "mmapped-count");
            assert_false(cf_ptmalloc_anomaly(walked.pt, 0)->in_complete);
        }
        tear_down(&walked);
    }
}

/* A libc whose data is not dumped, and the program, behind which the heap begins. */
static void add_what_names_the_heap(struct fake *fake) {
    uint64_t data = fake->mp - 0x200, program = fake->sbrk_base - 0x9000;
    synth_segment(fake->synth, data, 0x8000, SYNTH_RW)->file_bytes = 0;
    synth_file(fake->synth, data, data + 0x8000, 0x1c0000, "/lib/libc.so.6");
    synth_segment(fake->synth, program, 0x1000, SYNTH_R);
    synth_file(fake->synth, program, program + 0x1000, 0, "/bin/program");
    synth_auxv(fake->synth, 3, program + 0x40); /* AT_PHDR */
}

/* libc's data is not in the core: the main heap is known by its mapping, the others as ever. */
static void a_main_heap_is_found_without_its_arena(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2 * NR_RELEASES; i++) {
        struct walked walked;
        fake_init(&walked.fake, i < NR_RELEASES ? 8 : 4, releases[i % NR_RELEASES]);
        walked.fake.no_libc_data = true;
        fake_build(&walked.fake);
        add_what_names_the_heap(&walked.fake);
        walk(&walked);
        const struct cf_arena *main_arena = cf_ptmalloc_arena(walked.pt, 0);
        if (!main_arena->is_main)
            fail_msg("%s, %u bits: no main arena", releases[i % NR_RELEASES], 8 * walked.fake.word);
        assert_int_equal(main_arena->addr, 0);
        assert_int_equal(main_arena->top, walked.fake.tops[0]);
        assert_int_equal(main_arena->top_bytes, walked.fake.ends[0] - walked.fake.tops[0]);
        assert_int_equal(cf_chunkmap_nr_heaps(cf_ptmalloc_map(walked.pt)), 3);
        assert_int_equal(cf_ptmalloc_nr_anomalies(walked.pt), 1);
        assert_string_equal(cf_ptmalloc_anomaly(walked.pt, 0)->code, "main-arena-by-mapping");
        assert_false(cf_ptmalloc_anomaly(walked.pt, 0)->in_complete);
        tear_down(&walked);
    }
}

static const struct fake_chunk *first_free(const struct fake_heap *heap) {
    for (unsigned i = 0; i < heap->nr_chunks; i++)
        if (heap->chunks[i].state == CF_CHUNK_FREE)
            return &heap->chunks[i];
    fail_msg("no free chunk");
    return NULL;
}

static bool has_anomaly(const struct cf_ptmalloc *pt, const char *code, uint64_t addr) {
    for (size_t i = 0; i < cf_ptmalloc_nr_anomalies(pt); i++)
        if (strcmp(cf_ptmalloc_anomaly(pt, i)->code, code) == 0 &&
            (addr == 0 || cf_ptmalloc_anomaly(pt, i)->addr == addr))
            return true;
    return false;
}

/* The sums do not come out, so that the lists are followed, and say where. */
static void a_link_that_does_not_lead_back_is_found(void **state) {
    (void)state;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct walked walked;
        set_up(&walked, word, "2.36");
        uint64_t addr = first_free(&walked.heap)->addr;
        synth_put_word(walked.fake.synth, addr + 3 * word, addr + 0x100);
        walk(&walked);
        assert_true(has_anomaly(walked.pt, "bin-link", addr));
        tear_down(&walked);
    }
}

/* Its links agree with each other, but no bin leads to it. */
/* The first chunk of a heap that waits in such a list. */
static uint64_t waiting_chunk(const struct walked *walked, enum cf_chunk_state state) {
    for (unsigned i = 0; i < walked->heap.nr_chunks; i++)
        if (walked->heap.chunks[i].state == state && walked->heap.chunks[i].usable_bytes == 0)
            return walked->heap.chunks[i].addr;
    return 0;
}

/* The row names the chunk that holds the link, not the garbage that it leads to; with mangled links
 * and with plain ones. */
static void a_broken_link_of_the_cached_is_its_holders(void **state) {
    (void)state;
    static const struct {
        enum cf_chunk_state state;
        const char *code;
    } lists[] = {{CF_CHUNK_TCACHE, "tcache-not-met"}, {CF_CHUNK_FAST, "fast-not-met"}};
    unsigned nr_plain = 0, nr_mangled = 0;
    for (unsigned i = 0; i < 4 * NR_RELEASES; i++) {
        struct walked walked;
        set_up(&walked, i % 2 == 0 ? 8 : 4, releases[i / 4]);
        uint64_t addr = waiting_chunk(&walked, lists[i / 2 % 2].state);
        unsigned word = walked.fake.word;
        if (addr != 0)
            synth_put_word(walked.fake.synth, addr + 2 * word, 0x41414141);
        walk(&walked);
        if (addr != 0) {
            const struct cf_anomaly *row = cf_ptmalloc_anomaly(walked.pt, 0);
            assert_int_equal(cf_ptmalloc_nr_anomalies(walked.pt), 1);
            assert_string_equal(row->code, lists[i / 2 % 2].code);
            assert_int_equal(row->addr, addr);
            assert_true(row->in_complete);
            nr_mangled += walked.fake.mangled;
            nr_plain += !walked.fake.mangled;
        }
        tear_down(&walked);
    }
    assert_true(nr_plain > 0 && nr_mangled > 0);
}

/* A live chunk with another one right below it. */
static const struct fake_chunk *live_above_live(const struct fake_heap *heap,
                                                const struct fake_chunk **below) {
    for (unsigned i = 1; i < heap->nr_chunks - heap->nr_mmapped; i++)
        for (unsigned k = 0; k < heap->nr_chunks - heap->nr_mmapped; k++) {
            *below = &heap->chunks[k];
            if (heap->chunks[i].state == CF_CHUNK_LIVE && (*below)->state == CF_CHUNK_LIVE &&
                (*below)->addr + (*below)->bytes == heap->chunks[i].addr)
                return &heap->chunks[i];
        }
    return NULL;
}

static void an_overrun_has_its_place_its_suspect_and_its_length(void **state) {
    static const unsigned lengths[] = {0, 1, 3, 4, 8, 20}; /* 0: a byte that is zero */
    enum { NR_LENGTHS = sizeof lengths / sizeof *lengths };
    (void)state;
    for (unsigned i = 0; i < 2 * NR_RELEASES * NR_LENGTHS; i++) {
        struct walked walked;
        unsigned word = i % 2 == 0 ? 8 : 4, length = lengths[i / 2 % NR_LENGTHS];
        set_up(&walked, word, releases[i / 2 / NR_LENGTHS]);
        const struct fake_chunk *below, *hit = live_above_live(&walked.heap, &below);
        assert_non_null(hit);
        synth_fill(walked.fake.synth, hit->addr + 2 * word, 0x5a, 2 * word); /* its own content */
        synth_fill(walked.fake.synth, hit->addr + word, length == 0 ? 0 : 'A',
                   length == 0 ? 1 : length);
        walk(&walked);
        struct cf_damage damage;
        cf_damage_find(walked.pt, &damage);
        if (length != 1) { /* which may leave a size that can be */
            assert_int_equal(damage.kind, length == 0 ? CF_DAMAGE_ZERO_BYTE : CF_DAMAGE_HEADER);
            assert_int_equal(damage.addr, hit->addr);
            assert_true(damage.has_below);
            assert_int_equal(damage.below.addr, below->addr);
            assert_int_equal(damage.below.state, CF_CHUNK_LIVE);
            assert_int_equal(damage.overrun_bytes, length == 0 ? 1 : length);
        }
        tear_down(&walked);
    }
}

static void a_sound_heap_has_no_damage(void **state) {
    (void)state;
    struct walked walked;
    struct cf_damage damage;
    set_up(&walked, 8, "2.36");
    walk(&walked);
    cf_damage_find(walked.pt, &damage);
    assert_int_equal(damage.kind, CF_DAMAGE_NONE);
    tear_down(&walked);
}

static void a_chunk_that_only_links_to_itself_is_not_binned(void **state) {
    (void)state;
    for (unsigned word = 4; word <= 8; word += 4) {
        struct walked walked;
        set_up(&walked, word, "2.36");
        const struct fake *fake = &walked.fake;
        const struct fake_chunk *chunk = first_free(&walked.heap);
        const struct cf_bin_shape shape = {
            .first_head = fake->main_arena + fake->state->bins - 2 * word, .word_bytes = word,
            .alignment_shift = (unsigned)__builtin_ctz(fake->alignment),
        };
        uint64_t head = cf_bin_head(&shape, cf_bin_of(&shape, chunk->bytes));
        for (unsigned i = 2; i <= 3; i++) {
            synth_put_word(fake->synth, head + i * word, head);
            synth_put_word(fake->synth, chunk->addr + i * word, chunk->addr);
        }
        walk(&walked);
        assert_int_equal(cf_ptmalloc_arena(walked.pt, 0)->nr_binned, 2);
        assert_true(has_anomaly(walked.pt, "free-not-binned", 0));
        tear_down(&walked);
    }
}

/* smallbin_index and largebin_index of malloc.c: 64 bits, 32 bits, 32 bits with wide alignment. */
static void a_size_has_its_bin(void **state) {
    static const struct { unsigned word, shift; uint64_t bytes; unsigned bin; } rows[] = {
        {8, 4, 0x20, 2},     {8, 4, 0x3f0, 63},   {8, 4, 0x400, 64},  {8, 4, 0xc30, 96},
        {8, 4, 0xc40, 97},   {8, 4, 0x2a00, 112}, {8, 4, 0xb000, 120}, {8, 4, 0x28000, 124},
        {8, 4, 0xc0000, 126}, {4, 3, 0x10, 2},    {4, 3, 0x1f8, 63},  {4, 3, 0x200, 64},
        {4, 3, 0x9c0, 95},   {4, 4, 0x10, 2},     {4, 4, 0x3e0, 63},  {4, 4, 0x3f0, 64},
        {4, 4, 0xb40, 94},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cf_bin_shape shape = {.word_bytes = rows[i].word,
                                           .alignment_shift = rows[i].shift};
        if (cf_bin_of(&shape, rows[i].bytes) != rows[i].bin)
            fail_msg("row %zu: bin %u", i, cf_bin_of(&shape, rows[i].bytes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_of_every_layout_is_what_it_is),
        cmocka_unit_test(only_late_releases_may_count_too_much),
        cmocka_unit_test(a_link_that_does_not_lead_back_is_found),
        cmocka_unit_test(a_broken_link_of_the_cached_is_its_holders),
        cmocka_unit_test(an_overrun_has_its_place_its_suspect_and_its_length),
        cmocka_unit_test(a_sound_heap_has_no_damage),
        cmocka_unit_test(a_chunk_that_only_links_to_itself_is_not_binned),
        cmocka_unit_test(a_size_has_its_bin),
        cmocka_unit_test(false_blocks_are_dropped_where_only_they_can_be),
        cmocka_unit_test(a_block_larger_than_all_of_them_is_none),
        cmocka_unit_test(a_main_heap_is_found_without_its_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
