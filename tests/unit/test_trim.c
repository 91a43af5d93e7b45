/* malloc_trim(0) simulated: cases of the rule, and random heaps against glibc's own procedure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptmalloc/planes.h"
#include "retain/trim.h"
#include "toyheap.h"

static const struct toy_residency all_resident = {.page_bytes = 4096};

/* "m:ADDR+BYTES b:ADDR+BYTES ..." in hex. */
static void print_ranges(const struct cf_trim *trim, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < trim->ranges.len && used < size; i++) {
        const struct cf_trim_range *range = &trim->ranges.items[i];
        used += (size_t)snprintf(text + used, size - used, "%s%c:%llx+%llx", i > 0 ? " " : "",
                                 range->how == CF_TRIM_BRK ? 'b' : 'm',
                                 (unsigned long long)range->addr,
                                 (unsigned long long)range->bytes);
    }
}

struct rule_case {
    const char *name;
    uint32_t arena_id; /* 0 is main with the break at its top */
    const char *chunks; /* from 0x100000 */
    const char *ranges;
};

static const struct rule_case cases[] = {
    {"a free chunk inside one page gives nothing", 1, "L20 F1000 L20 T1000", ""},
    {"page + 6W - 1 is one byte too small to be looked at", 1, "Lfd0 F1020 L10 T1000", ""},
    {"the smallest chunk that gives a page starts 6W below it", 1, "Lfd0 F1030 L20 T1000",
     "m:101000+1000"},
    {"links at a page's end push the range up a page", 1, "Lfe0 F2000 L20 T1000", ""},
    {"links at a page's end cost that page only", 1, "Lfe0 F2020 L20 T1000", "m:102000+1000"},
    {"the tail below a page stays", 1, "L20 F5000 L20 T1000", "m:101000+4000"},
    {"a thread arena's top is never touched", 1, "L20 T10000", ""},
    {"main's top keeps MINSIZE and a byte", 0, "L20 T10fe0", "b:101000+10000"},
    {"main's top of a page and MINSIZE gives nothing", 0, "Lfe0 T1020", ""},
    {"main's top of one unit more gives a page", 0, "Lfd0 T1030", "b:101000+1000"},
    {"main's top of MINSIZE is left alone", 0, "Lfe0 T20", ""},
    {"a tcache chunk between free ones keeps them apart", 1, "L20 F800 t20 F800 L20 T1000", ""},
    {"a fast chunk between free ones joins them", 1, "L20 F1000 f20 F1000 L20 T1000",
     "m:101000+1000"},
    {"fast chunks join each other", 1, "L20 f1000 f1000 f1000 L20 T1000", "m:101000+2000"},
    {"free neighbours that no fast chunk joins stay apart", 1, "L20 F1800 F1800 L20 T1000",
     "m:102000+1000"},
    {"what joins a thread arena's top is not released", 1, "L20 F5000 f20 T1000", ""},
    {"what joins main's top is released by brk", 0, "L20 F5fc0 f20 T1000", "b:101000+6000"},
    {"a free chunk alone below top does not join it", 0, "L20 Ffe0 T2000", "b:102000+1000"},
    {"a fast chunk below a free one below top joins that one only", 1, "L20 f20 F4000 T1000",
     "m:101000+3000"},
    {"fences keep free chunks apart", 1, "L20 F1000 #10 #10 f1000 L20 T1000", ""},
    {"a gap keeps free chunks apart", 1, "L20 f1000 ~100 f1000 L20 T1000", ""},
    {"a fast chunk after a gap does not reach below it", 0, "L20 F2000 ~fd0 f20 Tff0",
     "m:101000+1000"},
};

static void one_case(const struct rule_case *c) {
    struct toy_heap heap = {.arena_id = c->arena_id, .start = 0x100000, .first_chunk = 0x100000,
                            .chunks = c->chunks};
    struct cf_chunkmap *map = toy_map(8, &heap, 1);
    struct cf_trim_rule rule = toy_rule(8, map, 2);
    struct cf_residency residency = toy_residency(&all_resident);
    struct cf_trim trim;
    assert_int_equal(cf_trim_simulate(map, &rule, &residency, &trim, NULL), CF_OK);
    char text[256];
    print_ranges(&trim, text, sizeof text);
    if (strcmp(text, c->ranges) != 0)
        fail_msg("%s: %s instead of %s", c->name, text, c->ranges);
    uint64_t sum = 0;
    for (size_t i = 0; i < trim.ranges.len; i++)
        sum += trim.ranges.items[i].bytes;
    assert_int_equal(trim.all.bytes, sum);
    assert_int_equal(trim.all.resident.bytes, sum);
    assert_true(trim.all.resident.known);
    assert_int_equal(trim.arenas[c->arena_id].bytes, sum);
    cf_trim_fini(&trim);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

static void the_rule_holds_at_its_edges(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        one_case(&cases[i]);
}

/* One heap of arena 0, its ranges after `change` of the rule. */
static void expect_with(unsigned word, const char *chunks, void (*change)(struct cf_trim_rule *),
                        const char *wanted) {
    struct toy_heap heap = {.start = 0x100000, .first_chunk = 0x100000, .chunks = chunks};
    struct cf_chunkmap *map = toy_map(word, &heap, 1);
    struct cf_trim_rule rule = toy_rule(word, map, 1);
    if (change != NULL)
        change(&rule);
    struct cf_residency residency = toy_residency(&all_resident);
    struct cf_trim trim;
    assert_int_equal(cf_trim_simulate(map, &rule, &residency, &trim, NULL), CF_OK);
    char text[256];
    print_ranges(&trim, text, sizeof text);
    assert_string_equal(text, wanted);
    cf_trim_fini(&trim);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

static void break_elsewhere(struct cf_trim_rule *rule) {
    rule->arenas[0].by_brk = false;
}

static void huge_tops(struct cf_trim_rule *rule) {
    rule->thp_bytes = 2 << 20;
}

static void other_ring(struct cf_trim_rule *rule) {
    rule->arenas[0].trimmed = false;
}

static void huge_mapping(struct cf_trim_rule *rule) {
    struct cf_trim_huge *huge = cf_array_push(&rule->huge);
    assert_non_null(huge);
    *huge = (struct cf_trim_huge){.start = 0x100000, .end = 0x400000};
    rule->hugetlb_bytes = 2 << 20;
    rule->arenas[0].by_brk = false;
}

static void the_situation_of_the_process_counts(void **state) {
    (void)state;
    expect_with(8, "L20 F2fe0 L20 T10fe0", NULL, "m:101000+2000 b:104000+10000");
    expect_with(8, "L20 F2fe0 L20 T10000", break_elsewhere, "m:101000+2000");
    expect_with(8, "L20 F2fe0 L20 T10000", other_ring, "");
    expect_with(8, "L20 F2fe0 L20 T1fffe0", huge_tops, "m:101000+2000");
    expect_with(8, "L20 F2fe0 L20 T200fe0", huge_tops, "m:101000+2000 b:104000+200000");
    expect_with(8, "L20 F2fe0 L20 T1000", huge_mapping, "");
    expect_with(8, "Lfff00 F200200 L20 T1000", huge_mapping, "m:200000+200000");
    expect_with(4, "Lfe8 F1018 L10 T1000", NULL, "m:101000+1000");
    expect_with(4, "Lff0 F2000 L10 T1000", NULL, "");
}

static void only_resident_bytes_are_promised(void **state) {
    (void)state;
    static const struct toy_residency pages = {0x100000, 4096, "RRNR??NR"};
    struct toy_heap heap = {.arena_id = 1, .start = 0x100000, .first_chunk = 0x100000,
                            .chunks = "L20 F2fe0 L20 F1fe0 L20 F1fe0 T1000"};
    struct cf_chunkmap *map = toy_map(8, &heap, 1);
    struct cf_trim_rule rule = toy_rule(8, map, 2);
    struct cf_residency residency = toy_residency(&pages);
    struct cf_trim trim;
    assert_int_equal(cf_trim_simulate(map, &rule, &residency, &trim, NULL), CF_OK);
    assert_int_equal(trim.ranges.len, 3);
    assert_int_equal(trim.ranges.items[0].resident.bytes, 4096);
    assert_true(trim.ranges.items[0].resident.known);
    assert_false(trim.ranges.items[1].resident.known);
    assert_int_equal(trim.ranges.items[2].resident.bytes, 0);
    assert_true(trim.ranges.items[2].resident.known);
    assert_int_equal(trim.all.resident.bytes, 4096);
    assert_true(trim.arenas[0].resident.known);
    assert_int_equal(trim.arenas[0].resident.bytes, 0);
    struct cf_resident_bytes part = cf_trim_resident_within(&trim, &residency, 0x101800, 0x105000);
    assert_int_equal(part.bytes, 0x800);
    cf_trim_fini(&trim);
    cf_trim_rule_fini(&rule);
    cf_chunkmap_free(map);
}

/* ---- glibc's procedure, chunk by chunk, on random heaps ---- */

enum { MOST = 600 };

struct piece {
    uint64_t addr;
    uint64_t bytes;
    char kind; /* as in toyheap.h; 0: merged away */
};

struct model {
    struct piece pieces[MOST];
    size_t nr;
    char text[MOST * 12];
};

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (*seed >> 33) % limit;
}

static void make_model(struct model *model, uint64_t *seed, uint64_t at) {
    size_t used = 0;
    model->nr = 1 + random_below(seed, MOST - 2);
    for (size_t i = 0; i < model->nr; i++) {
        char kind = "LLLFFFFfffftt#"[random_below(seed, 14)];
        uint64_t units = 2 + random_below(seed, random_below(seed, 4) == 0 ? 900 : 20);
        if (i + 1 == model->nr)
            kind = 'T';
        /* Free neighbours do not exist in a sound heap. */
        if (kind == 'F' && i > 0 && model->pieces[i - 1].kind == 'F')
            kind = 'L';
        if (kind == '#')
            units = 1;
        model->pieces[i] = (struct piece){.addr = at, .bytes = units * 16, .kind = kind};
        used += (size_t)snprintf(model->text + used, sizeof model->text - used, "%c%llx ", kind,
                                 (unsigned long long)units * 16);
        at += units * 16;
    }
}

static struct piece *neighbour(struct model *model, size_t index, int step) {
    for (size_t i = index + (size_t)step; i < model->nr; i += (size_t)step)
        if (model->pieces[i].kind != 0)
            return &model->pieces[i];
    return NULL;
}

/* malloc_consolidate()'s treatment of one fast chunk, in place. */
static void consolidate(struct model *model, size_t index) {
    struct piece *fast = &model->pieces[index];
    struct piece *below = neighbour(model, index, -1), *above = neighbour(model, index, 1);
    fast->kind = 'F';
    if (above != NULL && (above->kind == 'F' || above->kind == 'T')) {
        fast->bytes += above->bytes;
        fast->kind = above->kind;
        above->kind = 0;
    }
    if (below != NULL && below->kind == 'F') {
        fast->addr = below->addr;
        fast->bytes += below->bytes;
        below->kind = 0;
    }
}

static void consolidate_all(struct model *model, uint64_t *seed) {
    size_t order[MOST];
    size_t nr = 0;
    for (size_t i = 0; i < model->nr; i++)
        if (model->pieces[i].kind == 'f')
            order[nr++] = i;
    for (size_t i = nr; i > 1; i--) {
        size_t k = random_below(seed, i), kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
    for (size_t i = 0; i < nr; i++)
        consolidate(model, order[i]);
}

/* mtrim() and systrim(), as written there. */
static void trim_model(const struct model *model, bool by_brk, char *text) {
    const uint64_t psm1 = 4095;
    for (size_t i = 0; i < model->nr; i++) {
        const struct piece *p = &model->pieces[i];
        uint64_t size = p->bytes;
        const char *gap = *text != '\0' ? " " : "";
        char *end = text + strlen(text);
        if (p->kind == 'F' && size > psm1 + 48) {
            uint64_t paligned = (p->addr + 48 + psm1) & ~psm1;
            size -= paligned - p->addr;
            if (size > psm1)
                sprintf(end, "%sm:%llx+%llx", gap, (unsigned long long)paligned,
                        (unsigned long long)(size & ~psm1));
        }
        if (p->kind == 'T' && by_brk && size > 33 && ((size - 33) & ~psm1) != 0)
            sprintf(end, "%sb:%llx+%llx", gap,
                    (unsigned long long)(p->addr + size - ((size - 33) & ~psm1)),
                    (unsigned long long)((size - 33) & ~psm1));
    }
}

static void random_heaps_are_trimmed_as_glibc_does(void **state) {
    (void)state;
    struct model *model = calloc(1, sizeof *model);
    char *wanted = calloc(MOST, 64), *got = calloc(MOST, 64);
    assert_true(model != NULL && wanted != NULL && got != NULL);
    for (uint64_t round = 0; round < 400; round++) {
        uint64_t seed = round * 31 + 7;
        uint64_t start = 0x7f0000000000 + 16 * random_below(&seed, 256);
        make_model(model, &seed, start);
        struct toy_heap heap = {.arena_id = (uint32_t)(round & 1), .start = start,
                                .first_chunk = start, .chunks = model->text};
        struct cf_chunkmap *map = toy_map(8, &heap, 1);
        struct cf_trim_rule rule = toy_rule(8, map, 2);
        struct cf_residency residency = toy_residency(&all_resident);
        struct cf_trim trim;
        assert_int_equal(cf_trim_simulate(map, &rule, &residency, &trim, NULL), CF_OK);
        print_ranges(&trim, got, MOST * 64);
        /* Merging leaves pieces where their last part stood: sort is not needed, since a merged
         * piece keeps no other between its parts. */
        consolidate_all(model, &seed);
        wanted[0] = '\0';
        trim_model(model, (round & 1) == 0, wanted);
        assert_string_equal(got, wanted);
        cf_trim_fini(&trim);
        cf_trim_rule_fini(&rule);
        cf_chunkmap_free(map);
    }
    free(model);
    free(wanted);
    free(got);
}

/* Given back: what waits in thread caches, and each live chunk by chance. */
static uint64_t *give_back(struct model *model, const struct cf_chunkmap *map, uint64_t *seed) {
    const struct cf_planes *planes = cf_chunkmap_planes(map);
    const struct cf_heap *heap = cf_chunkmap_heap(map, 0);
    uint64_t *freed = calloc(planes->nr_words, sizeof *freed);
    assert_non_null(freed);
    for (size_t i = 0; i < model->nr; i++) {
        struct piece *piece = &model->pieces[i];
        if (piece->kind == 'L' && random_below(seed, 3) == 0) {
            uint64_t unit = (piece->addr - cf_planes_base(planes, heap)) >> planes->unit_shift;
            freed[heap->plane_word + (unit >> 6)] |= 1ull << (unit & 63);
            piece->kind = 'f';
        } else if (piece->kind == 't') {
            piece->kind = 'f';
        }
    }
    return freed;
}

static uint64_t sum_of_ranges(const char *text) {
    uint64_t sum = 0;
    for (const char *at = strchr(text, '+'); at != NULL; at = strchr(at + 1, '+'))
        sum += strtoull(at + 1, NULL, 16);
    return sum;
}

static void what_would_be_given_back_is_trimmed_as_glibc_does(void **state) {
    (void)state;
    struct model *model = calloc(1, sizeof *model);
    char *wanted = calloc(MOST, 64);
    assert_true(model != NULL && wanted != NULL);
    for (uint64_t round = 0; round < 400; round++) {
        uint64_t seed = round * 37 + 3;
        make_model(model, &seed, 0x7f0000000000);
        struct toy_heap heap = {.arena_id = (uint32_t)(round & 1), .start = 0x7f0000000000,
                                .first_chunk = 0x7f0000000000, .chunks = model->text};
        struct cf_chunkmap *map = toy_map(8, &heap, 1);
        struct cf_trim_rule rule = toy_rule(8, map, 2);
        struct cf_residency residency = toy_residency(&all_resident);
        uint64_t *freed = give_back(model, map, &seed);
        const struct cf_trim_change change = {.caches = true, .freed = freed};
        struct cf_trim trim;
        assert_int_equal(cf_trim_simulate_if(map, &rule, &residency, &change, &trim, NULL), CF_OK);
        consolidate_all(model, &seed);
        wanted[0] = '\0';
        trim_model(model, (round & 1) == 0, wanted);
        assert_int_equal(trim.all.resident.bytes, sum_of_ranges(wanted));
        cf_trim_fini(&trim);
        free(freed);
        cf_trim_rule_fini(&rule);
        cf_chunkmap_free(map);
    }
    free(model);
    free(wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_holds_at_its_edges),
        cmocka_unit_test(the_situation_of_the_process_counts),
        cmocka_unit_test(only_resident_bytes_are_promised),
        cmocka_unit_test(random_heaps_are_trimmed_as_glibc_does),
        cmocka_unit_test(what_would_be_given_back_is_trimmed_as_glibc_does),
    };
    return cmocka_run_group_tests_name("trim", tests, NULL, NULL);
}
