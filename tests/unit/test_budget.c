/* Claims, uses and the budget: whose bytes are whose, and that they add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/budget.h"
#include "space/unclaimed.h"
#include "base/cleanup.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096, BASE = 0x100000 };

struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_claims claims;
    struct cf_budget budget;
    const struct cf_smaps *smaps; /* or NULL */
};

static void open_space(struct space *space) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(space->synth), "toy", NULL, &space->core, &err),
                     0);
    assert_int_equal(whole_mem(NULL, space->core, &space->mem, &err), 0);
}

static void close_space(struct space *space) {
    cf_budget_fini(&space->budget);
    cf_claims_fini(&space->claims);
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static void claim(struct space *space, enum cf_claim_kind kind, uint64_t start, uint64_t end,
                  const char *label) {
    assert_int_equal(cf_claims_add(&space->claims, kind, start, end, label, NULL), CF_OK);
}

static void make_budget(struct space *space) {
    assert_int_equal(cf_budget_claim_bss(&space->claims, space->mem, NULL), CF_OK);
    assert_int_equal(cf_claims_seal(&space->claims, NULL), CF_OK);
    assert_int_equal(cf_budget_make(&space->budget, space->mem, &space->claims, space->smaps, NULL),
                     CF_OK);
}

static const struct cf_budget_row *row_of(const struct space *space, enum cf_claim_kind kind,
                                          const char *label) {
    for (size_t i = 0; i < space->budget.rows.len; i++) {
        const struct cf_budget_row *row = &space->budget.rows.items[i];
        if (row->kind == kind && strcmp(row->label, label) == 0)
            return row;
    }
    fail_msg("no row of kind %d and label '%s'", (int)kind, label);
    return NULL;
}

/* ---- claims ---- */

struct range {
    enum cf_claim_kind kind;
    uint64_t start, end;
};

static void an_overlap_goes_to_the_better_claim(void **state) {
    (void)state;
    static const struct {
        struct range add[3];
        struct range sealed[4];
    } cases[] = {
        {{{CF_CLAIM_STACK, 0, 10}}, {{CF_CLAIM_STACK, 0, 10}}},
        {{{CF_CLAIM_STACK, 5, 5}, {CF_CLAIM_STACK, 9, 7}}, {{0, 0, 0}}}, /* empty ones */
        /* the kind that stands first, whichever was added first */
        {{{CF_CLAIM_STACK, 0, 10}, {CF_CLAIM_MANAGED, 5, 20}},
         {{CF_CLAIM_STACK, 0, 5}, {CF_CLAIM_MANAGED, 5, 20}}},
        {{{CF_CLAIM_MANAGED, 5, 20}, {CF_CLAIM_STACK, 0, 10}},
         {{CF_CLAIM_STACK, 0, 5}, {CF_CLAIM_MANAGED, 5, 20}}},
        /* one inside the other */
        {{{CF_CLAIM_STACK, 0, 30}, {CF_CLAIM_MMAPPED, 10, 20}},
         {{CF_CLAIM_STACK, 0, 10}, {CF_CLAIM_MMAPPED, 10, 20}, {CF_CLAIM_STACK, 20, 30}}},
        {{{CF_CLAIM_MMAPPED, 0, 30}, {CF_CLAIM_STACK, 10, 20}}, {{CF_CLAIM_MMAPPED, 0, 30}}},
        /* a third shows up where the two others end */
        {{{CF_CLAIM_STACK, 0, 40}, {CF_CLAIM_MANAGED, 10, 30}, {CF_CLAIM_MAIN_HEAP, 20, 35}},
         {{CF_CLAIM_STACK, 0, 10},
          {CF_CLAIM_MANAGED, 10, 20},
          {CF_CLAIM_MAIN_HEAP, 20, 35},
          {CF_CLAIM_STACK, 35, 40}}},
        {{{CF_CLAIM_STACK, UINT64_MAX - 4, UINT64_MAX}},
         {{CF_CLAIM_STACK, UINT64_MAX - 4, UINT64_MAX}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(cf_claims_fini) struct cf_claims claims = {.rows = {0}};
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(cf_claims_add(&claims, cases[i].add[j].kind, cases[i].add[j].start,
                                           cases[i].add[j].end, NULL, NULL),
                             CF_OK);
        assert_int_equal(cf_claims_seal(&claims, NULL), CF_OK);
        size_t nr = 0;
        while (nr < 4 && cases[i].sealed[nr].start < cases[i].sealed[nr].end)
            nr++;
        assert_int_equal(claims.rows.len, nr);
        for (size_t j = 0; j < nr; j++) {
            assert_int_equal(claims.rows.items[j].kind, cases[i].sealed[j].kind);
            assert_int_equal(claims.rows.items[j].start, cases[i].sealed[j].start);
            assert_int_equal(claims.rows.items[j].end, cases[i].sealed[j].end);
        }
    }
}

static void of_one_kind_the_earlier_claim_wins_also_after_sealing(void **state) {
    (void)state;
    CF_CLEANUP(cf_claims_fini) struct cf_claims claims = {.rows = {0}};
    CF_CLEANUP(cf_claims_fini) struct cf_claims more = {.rows = {0}};
    assert_int_equal(cf_claims_add(&claims, CF_CLAIM_MANAGED, 10, 20, "first", NULL), CF_OK);
    assert_int_equal(cf_claims_seal(&claims, NULL), CF_OK);
    assert_int_equal(cf_claims_add(&more, CF_CLAIM_MANAGED, 0, 30, "second", NULL), CF_OK);
    assert_int_equal(cf_claims_append(&claims, &more, NULL), CF_OK);
    assert_int_equal(cf_claims_seal(&claims, NULL), CF_OK);
    assert_int_equal(claims.rows.len, 3);
    assert_string_equal(claims.rows.items[0].label, "second");
    assert_string_equal(claims.rows.items[1].label, "first");
    assert_string_equal(claims.rows.items[2].label, "second");
    assert_int_equal(cf_claims_above(&claims, 0), 0);
    assert_int_equal(cf_claims_above(&claims, 10), 1);
    assert_int_equal(cf_claims_above(&claims, 29), 2);
    assert_int_equal(cf_claims_above(&claims, 30), 3);
}

static void a_long_label_is_cut(void **state) {
    (void)state;
    CF_CLEANUP(cf_claims_fini) struct cf_claims claims = {.rows = {0}};
    char label[3 * CF_CLAIM_LABEL_BYTES];
    memset(label, 'x', sizeof label);
    label[sizeof label - 1] = '\0';
    assert_int_equal(cf_claims_add(&claims, CF_CLAIM_MANAGED, 0, 1, label, NULL), CF_OK);
    assert_int_equal(strlen(claims.rows.items[0].label), CF_CLAIM_LABEL_BYTES - 1);
}

static void every_kind_has_a_name_of_its_own(void **state) {
    (void)state;
    for (int i = 0; i < CF_NR_CLAIM_KINDS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(cf_claim_kind_name((enum cf_claim_kind)i),
                                    cf_claim_kind_name((enum cf_claim_kind)j));
}

/* ---- what a mapping is by its own nature ---- */

/* exe: header, constants, RELRO and data, .bss behind it; a data file; shared memory; anonymous. */
static void fill_process(struct synth *synth) {
    static const char elf[] = "\x7f" "ELF";
    synth_segment(synth, BASE, PAGE, SYNTH_R);
    synth_put(synth, BASE, elf, 4);
    synth_segment(synth, BASE + 1 * PAGE, 4 * PAGE, SYNTH_RX)->file_bytes = 0;
    synth_segment(synth, BASE + 5 * PAGE, 2 * PAGE, SYNTH_R);
    synth_fill(synth, BASE + 5 * PAGE, 1, 2 * PAGE);
    synth_segment(synth, BASE + 7 * PAGE, PAGE, SYNTH_RW);
    synth_fill(synth, BASE + 7 * PAGE, 1, PAGE);
    synth_segment(synth, BASE + 8 * PAGE, 3 * PAGE, SYNTH_RW);
    synth_fill(synth, BASE + 8 * PAGE, 1, PAGE);
    synth_segment(synth, BASE + 0x20000, 2 * PAGE, SYNTH_R);
    synth_segment(synth, BASE + 0x30000, 5 * PAGE, SYNTH_RW);
    synth_segment(synth, BASE + 0x40000, 7 * PAGE, SYNTH_RW);
    synth_fill(synth, BASE + 0x40000, 1, 3 * PAGE);
    synth_file(synth, BASE, BASE + PAGE, 0, "/opt/server");
    synth_file(synth, BASE + PAGE, BASE + 5 * PAGE, PAGE, "/opt/server");
    synth_file(synth, BASE + 5 * PAGE, BASE + 7 * PAGE, 5 * PAGE, "/opt/server");
    synth_file(synth, BASE + 7 * PAGE, BASE + 8 * PAGE, 7 * PAGE, "/opt/server");
    synth_file(synth, BASE + 0x20000, BASE + 0x22000, 0, "/opt/server.data");
    synth_file(synth, BASE + 0x30000, BASE + 0x35000, 0, "/memfd:queue (deleted)");
}

static void unclaimed_memory_falls_to_its_mapping_s_nature(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    fill_process(space.synth);
    open_space(&space);
    make_budget(&space);
    static const struct {
        enum cf_claim_kind kind;
        uint64_t pages, resident_pages;
        bool is_known, is_anonymous;
    } rows[] = {
        {CF_CLAIM_MODULE, 7, 0, false, false},     {CF_CLAIM_MODULE_DATA, 1, 0, false, false},
        {CF_CLAIM_MODULE_BSS, 3, 1, true, true},   {CF_CLAIM_FILE, 2, 0, false, false},
        {CF_CLAIM_SHARED, 5, 0, false, false},     {CF_CLAIM_ANONYMOUS, 7, 3, true, true},
        {CF_CLAIM_UNATTRIBUTED, 0, 0, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_bss = rows[i].kind == CF_CLAIM_MODULE_BSS; /* of which there is no header */
        const struct cf_budget_row *row =
            row_of(&space, rows[i].kind, is_bss ? "end not in the core (guess)" : "");
        assert_int_equal(row->mapped_bytes, rows[i].pages * PAGE);
        assert_int_equal(row->resident.known, rows[i].is_known);
        assert_int_equal(row->resident.bytes, rows[i].resident_pages * PAGE);
        assert_int_equal(row->is_anonymous, rows[i].is_anonymous);
    }
    assert_int_equal(space.budget.mapped_bytes, 25 * PAGE);
    assert_int_equal(space.budget.anonymous_resident_bytes, 4 * PAGE);
}

/* The kernel merges what is mapped behind a .bss with it, the rights being the same. */
static void a_bss_ends_where_the_module_says(void **state) {
    (void)state;
    static const struct {
        uint64_t last_byte, bss_pages;
    } cases[] = {
        {8 * PAGE + 1, 1}, {9 * PAGE, 1}, {9 * PAGE + 1, 2}, {11 * PAGE, 3}, {40 * PAGE, 3},
        {7 * PAGE + 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
        struct {
            Elf64_Ehdr header;
            Elf64_Phdr phdrs[2];
        } image = {
            .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 2},
            .phdrs = {{.p_type = PT_LOAD, .p_memsz = PAGE},
                      {.p_type = PT_LOAD, .p_vaddr = 5 * PAGE, .p_filesz = 3 * PAGE,
                       .p_memsz = cases[i].last_byte - 5 * PAGE}},
        };
        memcpy(image.header.e_ident, ELFMAG, SELFMAG);
        image.header.e_ident[EI_CLASS] = ELFCLASS64;
        image.header.e_ident[EI_DATA] = ELFDATA2LSB;
        fill_process(space.synth);
        synth_put(space.synth, BASE, &image, sizeof image);
        open_space(&space);
        make_budget(&space);
        uint64_t bss = cases[i].bss_pages;
        if (bss > 0)
            assert_int_equal(row_of(&space, CF_CLAIM_MODULE_BSS, "")->mapped_bytes, bss * PAGE);
        assert_int_equal(row_of(&space, CF_CLAIM_ANONYMOUS, "")->mapped_bytes,
                         (7 + 3 - bss) * PAGE);
        assert_int_equal(space.budget.mapped_bytes, 25 * PAGE);
    }
}

/* RELRO and data were written, so both are dumped; the kernel counts some of their pages. */
static void written_pages_of_files_have_bounds(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    fill_process(space.synth);
    open_space(&space);
    make_budget(&space);
    assert_int_equal(space.budget.copied_max_bytes, 3 * PAGE);
    assert_int_equal(space.budget.nr_copied, 2);
    assert_int_equal(row_of(&space, CF_CLAIM_MODULE, "")->copied_max_bytes, 2 * PAGE);
    assert_int_equal(row_of(&space, CF_CLAIM_MODULE_DATA, "")->copied_max_bytes, PAGE);
}

static void a_claim_on_shared_memory_does_not_make_it_anonymous(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    fill_process(space.synth);
    open_space(&space);
    claim(&space, CF_CLAIM_MANAGED, BASE + 0x31000, BASE + 0x42000, "heap");
    make_budget(&space);
    unsigned nr_rows = 0;
    for (size_t i = 0; i < space.budget.rows.len; i++) {
        const struct cf_budget_row *row = &space.budget.rows.items[i];
        if (row->kind != CF_CLAIM_MANAGED)
            continue;
        nr_rows++;
        assert_string_equal(row->label, "heap");
        assert_int_equal(row->mapped_bytes, row->is_anonymous ? 2 * PAGE : 4 * PAGE);
        assert_int_equal(row->resident.known, row->is_anonymous);
    }
    assert_int_equal(nr_rows, 2);
}

static void the_largest_anonymous_mappings_stand_alone(void **state) {
    (void)state;
    enum { NR = 40, MIB = 1 << 20 };
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    for (uint64_t i = 0; i < NR; i++)
        synth_segment(space.synth, 0x10000000 + i * 64 * MIB, (i + 1) * MIB, SYNTH_RW)
            ->file_bytes = 0;
    synth_file(space.synth, 0x1000, 0x2000, 0, "/none"); /* that there is a list of files */
    open_space(&space);
    make_budget(&space);
    uint64_t bytes = 0;
    unsigned alone = 0;
    for (size_t i = 0; i < space.budget.rows.len; i++) {
        const struct cf_budget_row *row = &space.budget.rows.items[i];
        if (row->kind != CF_CLAIM_ANONYMOUS)
            continue;
        bytes += row->mapped_bytes;
        alone += *row->label != '\0';
        if (*row->label != '\0')
            assert_true(row->mapped_bytes > (NR - 17) * MIB);
    }
    assert_int_equal(alone, 16);
    assert_int_equal(bytes, NR * (NR + 1) / 2 * (uint64_t)MIB);
}

/* A reservation of which no page is in memory, among many small mappings that are. */
static void a_large_reservation_stands_alone_too(void **state) {
    (void)state;
    enum { NR = 40, MIB = 1 << 20 };
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    for (uint64_t i = 0; i < NR; i++) {
        synth_segment(space.synth, 0x10000000 + i * 64 * MIB, 2 * MIB, SYNTH_RW);
        synth_put_word(space.synth, 0x10000000 + i * 64 * MIB, 1);
    }
    synth_segment(space.synth, UINT64_C(0x7f0000000000), 64 * MIB, SYNTH_R);
    synth_file(space.synth, 0x1000, 0x2000, 0, "/none"); /* that there is a list of files */
    open_space(&space);
    make_budget(&space);
    unsigned found = 0, alone = 0;
    for (size_t i = 0; i < space.budget.rows.len; i++) {
        const struct cf_budget_row *row = &space.budget.rows.items[i];
        alone += row->kind == CF_CLAIM_ANONYMOUS && *row->label != '\0';
        found += row->kind == CF_CLAIM_ANONYMOUS && *row->label != '\0' &&
                 row->mapped_bytes == 64 * MIB && row->resident.known &&
                 row->resident.bytes == 0;
    }
    assert_int_equal(found, 1);
    assert_int_equal(alone, 17);
}

/* ---- against an oracle that goes byte by byte, in grains of 256 ---- */

enum { GRAIN = 256, NR_PAGES = 48, NR_GRAINS = NR_PAGES * PAGE / GRAIN, NR_CLAIMS = 24 };

struct oracle {
    bool mapped[NR_PAGES];
    bool is_file[NR_PAGES];
    bool resident[NR_PAGES];
    struct cf_claim claims[NR_CLAIMS];
};

static unsigned long long random_state;

static unsigned random_below(unsigned limit) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((random_state >> 33) % limit);
}

/* Regions of one to six pages, some with a gap before them. */
static void make_regions(struct space *space, struct oracle *oracle) {
    for (unsigned page = random_below(3); page < NR_PAGES;) {
        unsigned nr = 1 + random_below(6);
        nr = page + nr > NR_PAGES ? NR_PAGES - page : nr;
        uint64_t start = BASE + (uint64_t)page * PAGE;
        bool is_file = random_below(4) == 0;
        synth_segment(space->synth, start, (uint64_t)nr * PAGE, is_file ? SYNTH_R : SYNTH_RW);
        if (is_file)
            synth_file(space->synth, start, start + (uint64_t)nr * PAGE, 0, "/data");
        for (unsigned i = page; i < page + nr; i++) {
            oracle->mapped[i] = true;
            oracle->is_file[i] = is_file;
            oracle->resident[i] = random_below(2) == 0;
            if (oracle->resident[i])
                synth_fill(space->synth, BASE + (uint64_t)i * PAGE, 7, PAGE);
        }
        page += nr + random_below(3);
    }
}

static void make_claims(struct space *space, struct oracle *oracle) {
    static const char *const labels[] = {"", "a", "b"};
    for (unsigned i = 0; i < NR_CLAIMS; i++) {
        struct cf_claim *one = &oracle->claims[i];
        one->kind = (enum cf_claim_kind)random_below(CF_CLAIM_STACK_CACHED + 1);
        one->start = BASE + (uint64_t)random_below(NR_GRAINS) * GRAIN;
        one->end = one->start + (uint64_t)random_below(6 * PAGE / GRAIN) * GRAIN;
        (void)strcpy(one->label, labels[random_below(3)]);
        claim(space, one->kind, one->start, one->end, one->label);
    }
}

static const struct cf_claim *owner(const struct oracle *oracle, uint64_t addr) {
    const struct cf_claim *best = NULL;
    for (unsigned i = 0; i < NR_CLAIMS; i++) {
        const struct cf_claim *one = &oracle->claims[i];
        if (addr >= one->start && addr < one->end && (best == NULL || one->kind < best->kind))
            best = one;
    }
    return best;
}

/* Takes every grain out of the budget's row that it must be in. */
static void subtract(struct space *space, const struct oracle *oracle) {
    for (unsigned i = 0; i < NR_GRAINS; i++) {
        unsigned page = i * GRAIN / PAGE;
        uint64_t addr = BASE + (uint64_t)i * GRAIN;
        if (!oracle->mapped[page])
            continue;
        const struct cf_claim *one = owner(oracle, addr);
        enum cf_claim_kind kind = one != NULL              ? one->kind
                                  : oracle->is_file[page] ? CF_CLAIM_FILE
                                                           : CF_CLAIM_ANONYMOUS;
        bool is_anonymous = !oracle->is_file[page];
        struct cf_budget_row *row = NULL;
        for (size_t j = 0; j < space->budget.rows.len; j++) {
            struct cf_budget_row *candidate = &space->budget.rows.items[j];
            if (candidate->kind == kind && candidate->is_anonymous == is_anonymous &&
                strcmp(candidate->label, one != NULL ? one->label : "") == 0)
                row = candidate;
        }
        if (row == NULL)
            fail_msg("0x%llx is in no row", (unsigned long long)addr);
        row->mapped_bytes -= GRAIN;
        if (is_anonymous && oracle->resident[page])
            row->resident.bytes -= GRAIN;
    }
}

static void the_rows_are_what_a_walk_over_all_bytes_finds(void **state) {
    (void)state;
    for (random_state = 1; random_state < 61; random_state++) {
        unsigned long long seed = random_state;
        struct oracle oracle = {.mapped = {false}};
        CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
        make_regions(&space, &oracle);
        synth_file(space.synth, 0x1000, 0x2000, 0, "/none");
        open_space(&space);
        make_claims(&space, &oracle);
        make_budget(&space);
        uint64_t mapped = 0;
        for (unsigned i = 0; i < NR_PAGES; i++)
            mapped += oracle.mapped[i] ? PAGE : 0;
        assert_int_equal(space.budget.mapped_bytes, mapped);
        subtract(&space, &oracle);
        for (size_t i = 0; i < space.budget.rows.len; i++) {
            const struct cf_budget_row *row = &space.budget.rows.items[i];
            if (row->mapped_bytes != 0 || row->resident.bytes != 0)
                fail_msg("seed %llu: %s '%s' has bytes that are nobody's", seed,
                         cf_claim_kind_name(row->kind), row->label);
        }
        random_state = seed;
    }
}

/* ---- what nobody claims ---- */

static void unclaimed_memory_is_walked_in_pieces_and_runs(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(space.synth, BASE, 4 * PAGE, SYNTH_RW)->file_bytes = 0;
    synth_segment(space.synth, BASE + 4 * PAGE, 4 * PAGE, SYNTH_NONE)->file_bytes = 0;
    synth_segment(space.synth, BASE + 8 * PAGE, PAGE, SYNTH_R)->file_bytes = 0;
    synth_segment(space.synth, BASE + 9 * PAGE, PAGE, SYNTH_RX | 2)->file_bytes = 0;
    synth_file(space.synth, BASE + 8 * PAGE, BASE + 9 * PAGE, 0, "/some.dll");
    open_space(&space);
    claim(&space, CF_CLAIM_STACK, BASE + PAGE, BASE + 2 * PAGE, NULL);
    assert_int_equal(cf_claims_seal(&space.claims, NULL), CF_OK);
    static const struct cf_piece pieces[] = {
        {BASE, BASE + PAGE, SYNTH_RW},
        {BASE + 2 * PAGE, BASE + 4 * PAGE, SYNTH_RW},
        {BASE + 4 * PAGE, BASE + 8 * PAGE, SYNTH_NONE},
        {BASE + 9 * PAGE, BASE + 10 * PAGE, 7},
    };
    struct cf_unclaimed walk = cf_unclaimed_from(space.mem, &space.claims, 0);
    struct cf_piece piece;
    for (size_t i = 0; i < 4; i++) {
        assert_true(cf_unclaimed_next(&walk, &piece));
        assert_int_equal(piece.start, pieces[i].start);
        assert_int_equal(piece.end, pieces[i].end);
        assert_int_equal(piece.flags, pieces[i].flags);
    }
    assert_false(cf_unclaimed_next(&walk, &piece));
    for (int across = 0; across < 2; across++) {
        CF_CLEANUP(cf_runs_fini) struct cf_runs runs = {.rows = {0}};
        assert_int_equal(cf_runs_find(&runs, space.mem, &space.claims, across, NULL), CF_OK);
        assert_int_equal(runs.rows.len, across ? 2 : 3);
        const struct cf_run *run = &runs.rows.items[1];
        assert_int_equal(run->start, BASE + 2 * PAGE);
        assert_int_equal(run->end, BASE + (across ? 10 : 8) * PAGE);
        assert_int_equal(run->usable_bytes, (across ? 3 : 2) * PAGE);
        assert_int_equal(run->reserve_bytes, 4 * PAGE);
        assert_int_equal(run->code_bytes, (across ? 1 : 0) * PAGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overlap_goes_to_the_better_claim),
        cmocka_unit_test(of_one_kind_the_earlier_claim_wins_also_after_sealing),
        cmocka_unit_test(a_long_label_is_cut),
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
        cmocka_unit_test(unclaimed_memory_falls_to_its_mapping_s_nature),
        cmocka_unit_test(a_bss_ends_where_the_module_says),
        cmocka_unit_test(written_pages_of_files_have_bounds),
        cmocka_unit_test(a_claim_on_shared_memory_does_not_make_it_anonymous),
        cmocka_unit_test(the_largest_anonymous_mappings_stand_alone),
        cmocka_unit_test(a_large_reservation_stands_alone_too),
        cmocka_unit_test(the_rows_are_what_a_walk_over_all_bytes_finds),
        cmocka_unit_test(unclaimed_memory_is_walked_in_pieces_and_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
