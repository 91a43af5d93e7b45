/*
 * lib/standing: a fault in malloc, told by the registers where libc has no symbols. The synthetic
 * libc has none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_heap.h"
#include "lib/standing.h"

#define SP 0x7ff00000u /* far from all else */

/* Which registers a function keeps for its caller (one of them, and one that it does not), the
 * stack pointer and the program counter, as PRSTATUS counts them. */
struct numbers {
    unsigned kept, other, sp, pc;
};

static const struct numbers numbers[] = {{5, 8, 19, 16}, {3, 1, 15, 12}};

static struct numbers numbers_of(const struct fake *fake) {
    return numbers[fake->word == 8 ? 0 : 1];
}

static void fault(struct fake *fake, uint64_t addr) {
    synth_signal(fake->synth, SIGSEGV, SEGV_MAPERR, addr);
    synth_register(fake->synth, numbers_of(fake).sp, SP);
    synth_register(fake->synth, numbers_of(fake).pc, fake->mp);
}

/* In the middle of its functions av stays in such a register. */
static void fault_in_malloc(struct fake *fake) {
    fault(fake, 0x41414140);
    synth_register(fake->synth, numbers_of(fake).kept, fake->main_arena);
}

static void fault_in_a_cache(struct fake *fake) {
    fault(fake, 0);
    synth_register(fake->synth, numbers_of(fake).kept, fake->tcaches[0]);
}

/* strlen() right after free(), which leaves the arena in a register that it may spoil. */
static void fault_in_strlen(struct fake *fake) {
    fault(fake, 0x41414140);
    synth_register(fake->synth, numbers_of(fake).other, fake->main_arena);
}

static void fault_outside_libc(struct fake *fake) {
    fault_in_malloc(fake);
    synth_register(fake->synth, numbers_of(fake).pc, fake->main_arena + 0x100000);
}

static void end_of_the_stack(struct fake *fake) {
    fault_in_malloc(fake);
    synth_signal(fake->synth, SIGSEGV, SEGV_ACCERR, SP - 8);
}

static void a_signal_that_was_sent(struct fake *fake) {
    fault_in_malloc(fake);
    synth_signal(fake->synth, SIGSEGV, SI_USER, 0);
}

static void overwrite_a_chunk(struct fake *fake) {
    fault_in_malloc(fake);
    synth_put_word(fake->synth, fake->firsts[0] + fake->word, 0x41414141);
}

static const struct {
    void (*arrange)(struct fake *fake);
    const char *code; /* of the only corruption; "": none; NULL: there are others */
} cases[] = {
    {fault_in_malloc, "fault-in-malloc"}, {fault_in_a_cache, "fault-in-malloc"},
    {fault_in_strlen, ""},                {fault_outside_libc, ""},
    {end_of_the_stack, ""},               {a_signal_that_was_sent, ""},
    {overwrite_a_chunk, NULL},
};

static void open_reading(struct fake *fake, const struct cf_options *options,
                         struct cf_reading *reading) {
    struct cf_err err = {.text = ""};
    fake_open(fake);
    reading->core = fake->core;
    reading->mem = fake->mem;
    reading->found = fake->m;
    if (cf_modules_new(fake->mem, &reading->modules, &err) != CF_OK ||
        cf_symbols_open(NULL, fake->mem, reading->modules, options, &reading->symbols, &err) !=
            CF_OK ||
        cf_ptmalloc_walk(NULL, fake->m, 1, &reading->pt, &err) != CF_OK)
        fail_msg("%s", err.text);
}

static void close_reading(struct fake *fake, struct cf_reading *reading) {
    cf_ptmalloc_free(reading->pt);
    cf_symbols_free(reading->symbols);
    cf_modules_free(reading->modules);
    fake_close(fake);
}

static void assert_corruption(const struct cf_ptmalloc *pt, const char *code, size_t index) {
    size_t nr = 0, nr_faults = 0;
    for (size_t i = 0; i < cf_ptmalloc_nr_anomalies(pt); i++) {
        const struct cf_anomaly *row = cf_ptmalloc_anomaly(pt, i);
        nr += row->in_complete;
        nr_faults += strcmp(row->code, "fault-in-malloc") == 0;
    }
    bool is_wanted = code == NULL ? nr > 0 && nr_faults == 0
                                  : nr == (*code != 0) && nr_faults == nr;
    if (!is_wanted)
        fail_msg("case %zu: %zu corruptions, %zu of them faults", index, nr, nr_faults);
}

static void a_fault_in_malloc_is_corruption_without_symbols_too(void **state) {
    (void)state;
    enum { NR_CASES = sizeof cases / sizeof *cases };
    for (size_t i = 0; i < 2 * NR_CASES; i++) {
        struct fake fake;
        struct fake_heap heap;
        struct cf_reading reading = {0};
        static const struct cf_options options = {0};
        struct cf_err err = {.text = ""};
        fake_init(&fake, i < NR_CASES ? 8 : 4, "2.36");
        fake_build(&fake);
        fake_fill(&fake, &heap);
        cases[i % NR_CASES].arrange(&fake);
        open_reading(&fake, &options, &reading);
        assert_int_equal(cf_standing_judge(NULL, &reading, NULL, &err), CF_OK);
        assert_corruption(reading.pt, cases[i % NR_CASES].code, i);
        close_reading(&fake, &reading);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_in_malloc_is_corruption_without_symbols_too),
    };
    return cmocka_run_group_tests_name("standing", tests, NULL, NULL);
}
