/* Pages, waste, runs and page pins: every byte once, against a slow count byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retain/pagepin.h"
#include "retain/pages.h"
#include "retain/trim.h"
#include "retain/waste.h"
#include "toyheap.h"

enum { PAGE = 4096, NR_ARENAS = 3 };

struct result {
    struct cf_waste waste;
    struct cf_page_runs runs;
    struct cf_page_pins *pins;
    struct cf_trim trim;
    uint64_t pinned[64]; /* of the first live chunks, in order of address */
    uint64_t addrs[64];
    size_t nr_pinned;
};

static int on_span(void *user, const struct cf_page_span *span, struct cf_err *err) {
    struct result *result = user;
    cf_waste_add(&result->waste, span);
    return cf_page_runs_add(&result->runs, span, err);
}

static int on_pins(void *user, const struct cf_heap *heap, const struct cf_pinner *pinners,
                   size_t nr, struct cf_err *err) {
    struct result *result = user;
    int status = CF_OK;
    for (size_t i = 0; i < nr && status == CF_OK; i++) {
        if (pinners[i].pinned_bytes == 0)
            continue;
        if (result->nr_pinned < 64) {
            result->addrs[result->nr_pinned] = pinners[i].addr;
            result->pinned[result->nr_pinned++] = pinners[i].pinned_bytes;
        }
        status = cf_page_pins_add(result->pins, heap->arena_id, CF_NO_TYPE, pinners[i].addr,
                                  pinners[i].bytes,
                                  pinners[i].pinned_bytes, err);
    }
    return status;
}

static struct result *run(const struct cf_chunkmap *map, const struct cf_residency *residency) {
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    struct cf_trim_rule rule = toy_rule(8, map, NR_ARENAS);
    result->runs.page_bytes = residency->page_bytes;
    assert_int_equal(cf_trim_simulate(map, &rule, residency, &result->trim, NULL), CF_OK);
    assert_int_equal(cf_waste_init(&result->waste, NR_ARENAS, NULL), CF_OK);
    assert_int_equal(cf_page_pins_new(&result->pins, NULL), CF_OK);
    struct cf_page_visitor visitor = {.user = result, .span = on_span, .pins = on_pins};
    assert_int_equal(cf_pages_sweep(map, residency, &result->trim, &visitor, NULL), CF_OK);
    cf_page_pins_seal(result->pins);
    cf_trim_rule_fini(&rule);
    return result;
}

static void result_free(struct result *result) {
    cf_waste_fini(&result->waste);
    cf_array_free(&result->runs.runs);
    cf_page_pins_free(result->pins);
    cf_trim_fini(&result->trim);
    free(result);
}

/* ---- cases ---- */

struct page_case {
    const char *name;
    uint32_t arena_id;
    const char *chunks; /* from 0x100010 in a heap from 0x100000 */
    uint64_t end;
    const char *resident;
    const char *runs;  /* class, pages, residency, live bytes */
    uint64_t waste[CF_NR_WASTE_CLASSES];
};

static const struct page_case cases[] = {
    {"a page of live chunks is live", 1, "Lff0 T1000", 0, "R", "live1R4080 top1R0",
     {0xff0, 0x10, 0, 0, 0x1000, 0, 0}},
    {"a free page between live ones is released", 1, "Lfc0 F1030 L1000 T1000", 0, "RRRR",
     "mixed1R4032 releasable1R0 live1R4096 top1R0", {0x1fc0, 0x10, 0x1000, 0x30, 0x1000, 0, 0}},
    {"the edges of a hole are pinned", 1, "L20 F2fb0 L20 T1000", 0, "RRR",
     "mixed1R32 releasable1R0 mixed1R32 top1R0",
     {0x40, 0x10, 0x1000, 0x1fb0, 0x1000, 0, 0}},
    {"a page that is not resident pins and costs nothing", 1, "L20 F2fb0 L20 T1000", 0, "NNRR",
     "mixed1N32 releasable1N0 mixed1R32 top1R0", {0x20, 0, 0, 0xfe0, 0x1000, 0, 0}},
    {"unknown pages are in no figure", 1, "L20 F2fb0 L20 T1000", 0, "??RR",
     "mixed1?32 releasable1?0 mixed1R32 top1R0", {0x20, 0, 0, 0xfe0, 0x1000, 0, 0}},
    {"a live chunk of many pages is one run", 1, "L5ff0 T1000", 0, "RRNNRR",
     "live2R8176 live2N8192 live2R8192 top1R0", {0x3ff0, 0x10, 0, 0, 0x1000, 0, 0}},
    {"cached chunks have their class where nothing lives beside them", 1, "Lff0 t800 t800 T1000",
     0, "", "live1R4080 dead1R0 top1R0", {0xff0, 0x10, 0, 0, 0x1000, 0x1000, 0, 0}},
    {"top beside a live chunk is pinned", 1, "L20 T1fd0", 0, "", "mixed1R32 top1R0",
     {0x20, 0x10, 0, 0xfd0, 0x1000, 0, 0}},
    {"main's top goes by brk but for its first bytes", 0, "Lff0 T2000", 0, "",
     "live1R4080 top1R0 releasable1R0", {0xff0, 0x10, 0x1000, 0, 0x1000, 0, 0}},
    {"fences and what is beyond are overhead", 1, "Lff0 Ffe0 #10 #10", 0x103000, "",
     "live1R4080 dead1R0 overhead1R0", {0xff0, 0x1030, 0, 0, 0, 0, 0, 0xfe0}},
    {"beside a cached chunk alone the rest is pinned by the cache", 1, "Lff0 ~1000 t20 Ffe0 L1000",
     0, "", "live1R4080 overhead1R0 dead1R0 live1R4096",
     {0x1ff0, 0x1010, 0, 0, 0, 0x20, 0xfe0, 0}},
};

static void print_runs(const struct cf_page_runs *runs, char *text) {
    *text = '\0';
    for (size_t i = 0; i < runs->runs.len; i++) {
        const struct cf_page_run *run = &runs->runs.items[i];
        sprintf(text + strlen(text), "%s%s%llu%c%llu", i > 0 ? " " : "",
                cf_page_class_name(run->page_class), (unsigned long long)run->pages,
                "?NR"[run->resident], (unsigned long long)run->live_bytes);
    }
}

static void one_case(const struct page_case *c) {
    struct toy_heap heap = {.arena_id = c->arena_id, .start = 0x100000, .first_chunk = 0x100010,
                            .chunks = c->chunks, .end = c->end};
    struct cf_chunkmap *map = toy_map(8, &heap, 1);
    struct toy_residency pages = {0x100000, PAGE, c->resident};
    struct cf_residency residency = toy_residency(&pages);
    struct result *result = run(map, &residency);
    char text[512];
    print_runs(&result->runs, text);
    if (strcmp(text, c->runs) != 0)
        fail_msg("%s: %s", c->name, text);
    for (int i = 0; i < CF_NR_WASTE_CLASSES; i++)
        if (result->waste.arenas[c->arena_id].bytes[i] != c->waste[i])
            fail_msg("%s: %s is 0x%llx", c->name, cf_waste_class_name(i),
                     (unsigned long long)result->waste.arenas[c->arena_id].bytes[i]);
    result_free(result);
    cf_chunkmap_free(map);
}

static void pages_have_their_class(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        one_case(&cases[i]);
}

static void odd_pinned_bytes_go_to_the_lowest_addresses(void **state) {
    (void)state;
    /* Page 0: 0xf10 dead bytes and seven live chunks. Page 1: one, and no dead byte beside the
     * chunk that fills the pages above. */
    struct toy_heap heap = {.arena_id = 1, .start = 0x100000, .first_chunk = 0x100010,
                            .chunks = "L20 L20 L20 L20 L20 L20 L20 F1ef0 L20 L2000 T20"};
    struct cf_chunkmap *map = toy_map(8, &heap, 1);
    struct toy_residency pages = {0x100000, PAGE, NULL};
    struct cf_residency residency = toy_residency(&pages);
    struct result *result = run(map, &residency);
    assert_int_equal(result->nr_pinned, 8);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(result->addrs[i], 0x100010 + 0x20 * i);
        assert_int_equal(result->pinned[i], 0xf10 / 7 + (i < 0xf10 % 7));
    }
    assert_int_equal(result->addrs[7], 0x101fe0);
    assert_int_equal(result->pinned[7], 0xfe0);
    result_free(result);
    cf_chunkmap_free(map);
}

static void rows_of_page_pins_are_sorted_and_add_up(void **state) {
    (void)state;
    struct cf_page_pins *pins;
    assert_int_equal(cf_page_pins_new(&pins, NULL), CF_OK);
    uint64_t chunks = 0, pinned = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t size = 32 + 16 * ((i * 7919) % 3001);
        int32_t type = (int32_t)(i % 2) - 1;
        assert_int_equal(cf_page_pins_add(pins, (uint32_t)(i % 5), type, i * 64, size, i,
                                          NULL), CF_OK);
        chunks++;
        pinned += i;
    }
    cf_page_pins_seal(pins);
    for (size_t i = 0; i < cf_page_pins_nr(pins); i++) {
        const struct cf_page_pin *row = cf_page_pins_row(pins, i);
        assert_int_equal(row->live_bytes, row->chunks * row->size_bytes);
        chunks -= row->chunks;
        pinned -= row->pinned_bytes;
        if (i == 0)
            continue;
        const struct cf_page_pin *before = row - 1;
        assert_true(before->arena_id < row->arena_id ||
                    (before->arena_id == row->arena_id &&
                     (before->type < row->type ||
                      (before->type == row->type && before->size_bytes < row->size_bytes))));
    }
    assert_int_equal(chunks, 0);
    assert_int_equal(pinned, 0);
    cf_page_pins_free(pins);
}

/* ---- byte by byte ---- */

enum { HEAP_BYTES = 40 * PAGE, MOST_CHUNKS = 4000 };

struct slow {
    char byte[HEAP_BYTES];     /* letter of the chunk that has it, 'O' overhead, 0 not the heap's */
    uint16_t owner[HEAP_BYTES]; /* number of the live chunk */
    uint64_t addrs[MOST_CHUNKS];
    uint64_t pinned[MOST_CHUNKS];
    size_t nr_live;
    uint64_t base;
    uint64_t top_start; /* with what merges into it */
    uint64_t waste[CF_NR_WASTE_CLASSES];
    struct cf_kept_pages keepers[CF_NR_KEEPERS];
    uint64_t live_of_class[CF_NR_PAGE_CLASSES];
    uint64_t pages_of_class[CF_NR_PAGE_CLASSES];
    char text[MOST_CHUNKS * 8];
    char pages[64];
};

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (*seed >> 33) % limit;
}

/* Chunks from `at` on, up to near the heap's end; returns where they end. */
static uint64_t make_chunks(struct slow *slow, uint64_t at, uint64_t *seed) {
    size_t used = 0;
    uint64_t limit = slow->base + HEAP_BYTES - 3 * PAGE, before = 'L';
    bool last = false;
    while (!last) {
        char kind = "LLLLLLFFFfftt#~"[random_below(seed, 15)];
        uint64_t units = 2 + random_below(seed, random_below(seed, 8) == 0 ? 1200 : 12);
        if (kind == 'F' && before == 'F')
            kind = 'L';
        if (at + units * 16 > limit || slow->nr_live + 2 > MOST_CHUNKS) {
            last = true;
            kind = random_below(seed, 4) != 0 ? 'T' : '#';
            units = 2 + random_below(seed, 200);
        }
        if (kind == '#')
            units = 1;
        used += (size_t)sprintf(slow->text + used, "%c%llx ", kind,
                                (unsigned long long)units * 16);
        if (kind == 'L')
            slow->addrs[slow->nr_live++] = at;
        memset(slow->byte + (at - slow->base), kind == '#' || kind == '~' ? 'O' : kind,
               units * 16);
        for (uint64_t i = 0; i < units * 16; i++)
            slow->owner[at - slow->base + i] = (uint16_t)(slow->nr_live - 1);
        at += units * 16;
        before = (unsigned char)kind;
    }
    return at;
}

static bool is_dead(char byte) {
    return byte == 'F' || byte == 'f' || byte == 't' || byte == 'T' || byte == 'r';
}

static void share_page(struct slow *slow, size_t page, uint64_t dead) {
    uint16_t owners[PAGE / 32 + 2];
    size_t nr = 0;
    for (size_t i = page; i < page + PAGE; i++)
        if (slow->byte[i] == 'L' && (nr == 0 || owners[nr - 1] != slow->owner[i]))
            owners[nr++] = slow->owner[i];
    for (uint64_t given = 0; given < dead; given++)
        slow->pinned[owners[given % nr]]++;
}

static enum cf_waste_class waste_of(char byte, bool page_lives, enum cf_waste_class free_class) {
    return byte == 'L'   ? CF_WASTE_LIVE
           : byte == 'O' ? CF_WASTE_OVERHEAD
           : byte == 'r' ? CF_WASTE_RELEASABLE
           : page_lives  ? CF_WASTE_PINNED
           : byte == 'T' ? CF_WASTE_TOP
           : byte == 'F' ? free_class
                         : CF_WASTE_CACHED;
}

static void count_keeper(struct slow *slow, const uint64_t of[256], uint64_t dead, bool joins) {
    unsigned beside = of['T'] > 0 || joins ? CF_KEEPER_TOP
                      : of['O'] > 0        ? CF_KEEPER_OVERHEAD
                                           : CF_KEEPER_HEADER;
    unsigned chunks = (of['L'] > 0) * CF_KEEPER_LIVE + (of['t'] > 0) * CF_KEEPER_TCACHE +
                      (of['f'] > 0 && !joins) * CF_KEEPER_FAST;
    struct cf_kept_pages *kept = &slow->keepers[chunks > 0 ? chunks : beside];
    kept->pages++;
    kept->dead_bytes += dead;
}

static void count_page(struct slow *slow, size_t page, char resident) {
    uint64_t of[256] = {0}, dead = 0;
    for (size_t i = page; i < page + PAGE; i++) {
        of[(unsigned char)slow->byte[i]]++;
        dead += is_dead(slow->byte[i]);
    }
    if (of[0] == PAGE)
        return;
    bool lives = of['L'] > 0;
    enum cf_page_class class = lives && dead > 0           ? CF_PAGES_MIXED
                               : lives                     ? CF_PAGES_LIVE
                               : dead == 0                 ? CF_PAGES_OVERHEAD
                               : of['r'] + of[0] == PAGE   ? CF_PAGES_RELEASABLE
                               : of['T'] == dead           ? CF_PAGES_TOP
                                                           : CF_PAGES_DEAD;
    slow->pages_of_class[class]++;
    slow->live_of_class[class] += of['L'];
    if (resident != 'R')
        return;
    enum cf_waste_class free_class =
        of['t'] + of['f'] > 0 ? CF_WASTE_CACHE_PINNED : CF_WASTE_EDGE;
    if (dead > of['r'])
        count_keeper(slow, of, dead - of['r'], slow->base + page + PAGE > slow->top_start);
    for (size_t i = page; i < page + PAGE; i++)
        if (slow->byte[i] != 0)
            slow->waste[waste_of(slow->byte[i], lives, free_class)]++;
    if (lives && dead > of['r'])
        share_page(slow, page, dead - of['r']);
}

static void count_slowly(struct slow *slow, const struct cf_trim *trim, uint32_t arena_id) {
    for (size_t r = 0; r < trim->ranges.len; r++) {
        const struct cf_trim_range *range = &trim->ranges.items[r];
        memset(slow->byte + (range->addr - slow->base), 'r', range->bytes);
    }
    uint64_t top_start = trim->arenas[arena_id].top_start;
    slow->top_start = top_start != 0 ? top_start : UINT64_MAX;
    for (size_t page = 0; page < HEAP_BYTES; page += PAGE)
        count_page(slow, page, slow->pages[page / PAGE]);
}

static void compare(const struct slow *slow, const struct result *result, uint32_t arena_id) {
    const struct cf_waste_sum *sum = &result->waste.arenas[arena_id];
    uint64_t all = 0;
    for (int i = 0; i < CF_NR_WASTE_CLASSES; i++) {
        assert_int_equal(sum->bytes[i], slow->waste[i]);
        assert_int_equal(result->waste.all.bytes[i], slow->waste[i]);
        all += slow->waste[i];
    }
    assert_int_equal(sum->resident.bytes, all);
    assert_memory_equal(sum->keepers, slow->keepers, sizeof slow->keepers);
    assert_int_equal(sum->bytes[CF_WASTE_RELEASABLE], result->trim.all.resident.bytes);
    uint64_t pages[CF_NR_PAGE_CLASSES] = {0}, live[CF_NR_PAGE_CLASSES] = {0};
    for (size_t i = 0; i < result->runs.runs.len; i++) {
        pages[result->runs.runs.items[i].page_class] += result->runs.runs.items[i].pages;
        live[result->runs.runs.items[i].page_class] += result->runs.runs.items[i].live_bytes;
    }
    assert_memory_equal(pages, slow->pages_of_class, sizeof pages);
    assert_memory_equal(live, slow->live_of_class, sizeof live);
    size_t at = 0;
    for (size_t i = 0; i < slow->nr_live && at < result->nr_pinned; i++) {
        if (slow->pinned[i] == 0)
            continue;
        assert_int_equal(result->addrs[at], slow->addrs[i]);
        assert_int_equal(result->pinned[at++], slow->pinned[i]);
    }
    uint64_t pinned = 0;
    for (size_t i = 0; i < cf_page_pins_nr(result->pins); i++)
        pinned += cf_page_pins_row(result->pins, i)->pinned_bytes;
    assert_int_equal(pinned, slow->waste[CF_WASTE_PINNED]);
}

static void random_heaps_are_counted_as_byte_by_byte(void **state) {
    (void)state;
    struct slow *slow = malloc(sizeof *slow);
    assert_non_null(slow);
    for (uint64_t round = 0; round < 150; round++) {
        uint64_t seed = round * 131 + 5;
        memset(slow, 0, sizeof *slow);
        slow->base = 0x7f0000000000;
        for (size_t i = 0; i < HEAP_BYTES / PAGE; i++)
            slow->pages[i] = "RRRRN?"[random_below(&seed, 6)];
        struct toy_heap heap = {.arena_id = (uint32_t)(round % NR_ARENAS), .chunks = slow->text};
        heap.start = slow->base + random_below(&seed, 2 * PAGE);
        heap.first_chunk = ((heap.start + 15) & ~15ull) + 16 * random_below(&seed, 300);
        uint64_t chunks_end = make_chunks(slow, heap.first_chunk, &seed);
        heap.end = chunks_end + (random_below(&seed, 2) != 0 ? random_below(&seed, 2 * PAGE) : 0);
        memset(slow->byte + (heap.start - slow->base), 'O', heap.first_chunk - heap.start);
        memset(slow->byte + (chunks_end - slow->base), 'O', heap.end - chunks_end);
        struct cf_chunkmap *map = toy_map(8, &heap, 1);
        struct toy_residency pages = {slow->base, PAGE, slow->pages};
        struct cf_residency residency = toy_residency(&pages);
        struct result *result = run(map, &residency);
        count_slowly(slow, &result->trim, heap.arena_id);
        compare(slow, result, heap.arena_id);
        result_free(result);
        cf_chunkmap_free(map);
    }
    free(slow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_their_class),
        cmocka_unit_test(odd_pinned_bytes_go_to_the_lowest_addresses),
        cmocka_unit_test(rows_of_page_pins_are_sorted_and_add_up),
        cmocka_unit_test(random_heaps_are_counted_as_byte_by_byte),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
