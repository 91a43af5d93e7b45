/* Stacks: which part of which block is in use, and whose block it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>

#include "libc/stacks.h"
#include "core/core.h"
#include "mem/mem.h"
#include "synth.h"
#include "whole_mem.h"

enum {
    MAIN_STACK = 0x7ff00000, /* two pages, at their end the bytes of AT_RANDOM */
    BLOCKS = 0x40000000,     /* thread blocks of BLOCK_BYTES side by side */
    BLOCK_BYTES = 0x10000,
    LD_DATA = 0x20000000,
    LIST_AT = 0x2c0,         /* in struct pthread, as on x86_64 */
    BLOCK_AT = 0x690,
};

struct world {
    struct synth *synth;
    unsigned word;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_stacks stacks;
};

static void world_init(struct world *w, enum cf_machine machine, unsigned nr_blocks) {
    *w = (struct world){.synth = synth_new(machine), .word = machine == CF_MACHINE_I386 ? 4 : 8};
    synth_segment(w->synth, LD_DATA, 0x1000, SYNTH_RW);
    synth_segment(w->synth, BLOCKS, (uint64_t)nr_blocks * BLOCK_BYTES, SYNTH_RW);
    synth_segment(w->synth, MAIN_STACK, 0x2000, SYNTH_RW);
    synth_file(w->synth, LD_DATA, LD_DATA + 0x1000, 0, "/lib/ld.so");
    synth_auxv(w->synth, AT_RANDOM, MAIN_STACK + 0x1f00);
    synth_fill(w->synth, MAIN_STACK + 0x1000, 7, 0x1000);
}

static void world_fini(struct world *w) {
    cf_stacks_fini(&w->stacks);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
}

static void find(struct world *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    assert_int_equal(cf_stacks_find(&w->stacks, w->mem, &err), CF_OK);
}

static uint64_t block_start(unsigned index) {
    return BLOCKS + (uint64_t)index * BLOCK_BYTES;
}

/* Block `index` with struct pthread 0x900 below its end and its own record of itself. */
static uint64_t put_pthread(struct world *w, unsigned index) {
    uint64_t pd = block_start(index) + BLOCK_BYTES - 0x900;
    synth_put_word(w->synth, pd + BLOCK_AT, block_start(index));
    synth_put_word(w->synth, pd + BLOCK_AT + w->word, BLOCK_BYTES);
    return pd;
}

static void link_two(struct world *w, uint64_t from, uint64_t to) {
    synth_put_word(w->synth, from, to);
    synth_put_word(w->synth, to + w->word, from);
}

static const struct cf_stack *stack_of(const struct world *w, int32_t thread) {
    for (size_t i = 0; i < w->stacks.rows.len; i++)
        if (w->stacks.rows.items[i].thread == thread)
            return &w->stacks.rows.items[i];
    return NULL;
}

static void a_thread_s_block_comes_from_its_struct_pthread(void **state) {
    (void)state;
    static const struct {
        enum cf_machine machine;
        unsigned red_zone;
    } cases[] = {{CF_MACHINE_X86_64, 128}, {CF_MACHINE_I386, 0}};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        world_init(&w, cases[i].machine, 2);
        uint64_t pd = put_pthread(&w, 1), sp = block_start(1) + 0x8000;
        synth_put_word(w.synth, sp, 1);
        synth_thread(w.synth, 10, 6, 0, MAIN_STACK + 0x1100);
        synth_thread(w.synth, 11, 0, pd, sp);
        find(&w);
        const struct cf_stack *own = stack_of(&w, 1), *first = stack_of(&w, 0);
        assert_non_null(own);
        assert_int_equal(own->start, block_start(1));
        assert_int_equal(own->live, sp - cases[i].red_zone);
        assert_int_equal(own->tcb, pd);
        assert_int_equal(own->end, block_start(2));
        assert_true(own->in_block && own->readable && !own->is_main);
        assert_non_null(first);
        assert_true(first->is_main && first->in_block);
        assert_int_equal(first->start, MAIN_STACK);
        assert_int_equal(first->live, MAIN_STACK + 0x1100 - cases[i].red_zone);
        assert_int_equal(first->end, MAIN_STACK + 0x2000);
        world_fini(&w);
    }
}

/* One VMA with a stack, something else below it and the next stack above it. */
static void what_lies_below_an_unnamed_stack_is_not_called_dead(void **state) {
    (void)state;
    struct world w;
    world_init(&w, CF_MACHINE_X86_64, 3);
    uint64_t sp = block_start(1) + 0x100;
    synth_put_word(w.synth, sp, 1);
    synth_thread(w.synth, 10, 6, 0, sp);
    find(&w);
    const struct cf_stack *own = stack_of(&w, 0);
    assert_non_null(own);
    assert_false(own->in_block);
    assert_int_equal(own->start, own->live);
    assert_int_equal(own->live, sp - 128);
    assert_int_equal(own->end, block_start(3));
    world_fini(&w);
}

static void on_a_signal_s_stack_all_of_the_own_block_is_in_use(void **state) {
    (void)state;
    struct world w;
    world_init(&w, CF_MACHINE_X86_64, 2);
    uint64_t pd = put_pthread(&w, 0), sp = block_start(1) + 0x2000;
    synth_put_word(w.synth, sp, 1);
    synth_thread(w.synth, 10, 6, pd, sp);
    find(&w);
    assert_int_equal(w.stacks.rows.len, 2);
    assert_int_equal(w.stacks.rows.items[0].live, block_start(0));
    assert_int_equal(w.stacks.rows.items[0].end, block_start(1));
    assert_int_equal(w.stacks.rows.items[1].live, sp - 128);
    world_fini(&w);
}

/* used: block 0, whose thread runs, and block 1, exited and not joined; cache: block 2. */
static void blocks_of_threads_that_are_gone_hang_in_glibc_s_lists(void **state) {
    (void)state;
    struct world w;
    world_init(&w, CF_MACHINE_X86_64, 3);
    uint64_t used = LD_DATA + 0x800, cache = used + 4 * w.word, pd[3];
    for (unsigned i = 0; i < 3; i++)
        pd[i] = put_pthread(&w, i);
    link_two(&w, used, pd[1] + LIST_AT);
    link_two(&w, pd[1] + LIST_AT, pd[0] + LIST_AT);
    link_two(&w, pd[0] + LIST_AT, used);
    link_two(&w, cache, pd[2] + LIST_AT);
    link_two(&w, pd[2] + LIST_AT, cache);
    synth_put_word(w.synth, block_start(0) + 0x8000, 1);
    synth_thread(w.synth, 11, 6, pd[0], block_start(0) + 0x8000);
    find(&w);
    assert_int_equal(w.stacks.rows.len, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct cf_stack *stack = &w.stacks.rows.items[i];
        assert_int_equal(stack->start, block_start(i));
        assert_int_equal(stack->end, block_start(i + 1));
        assert_int_equal(stack->thread, i == 0 ? 0 : -1);
        if (i > 0)
            assert_true(stack->live <= pd[i] && stack->live + 0x400 >= pd[i]);
    }
    world_fini(&w);
}

static void a_stack_of_zeros_is_said_to_be_unreadable(void **state) {
    (void)state;
    struct world w;
    world_init(&w, CF_MACHINE_X86_64, 1);
    synth_fill(w.synth, BLOCKS, 0, BLOCK_BYTES);
    synth_thread(w.synth, 10, 6, 0, BLOCKS + 0x1000);
    find(&w);
    assert_int_equal(w.stacks.rows.len, 1);
    assert_false(w.stacks.rows.items[0].readable);
    world_fini(&w);
}

/* Damaged lists: a ring without a head, a link to nowhere, a node that names itself. */
static void damaged_lists_end_the_search_and_nothing_else(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct world w;
        world_init(&w, CF_MACHINE_X86_64, 2);
        uint64_t pd[2] = {put_pthread(&w, 0), put_pthread(&w, 1)};
        uint64_t node[2] = {pd[0] + LIST_AT, pd[1] + LIST_AT};
        if (kind == 0) {
            link_two(&w, node[0], node[1]);
            link_two(&w, node[1], node[0]);
        } else if (kind == 1) {
            link_two(&w, LD_DATA + 0x800, node[0]);
            synth_put_word(w.synth, node[0], 0xdead0000);
        } else {
            link_two(&w, node[0], node[0]);
        }
        synth_put_word(w.synth, block_start(0) + 0x8000, 1);
        synth_thread(w.synth, 11, 6, pd[0], block_start(0) + 0x8000);
        find(&w);
        assert_int_equal(w.stacks.rows.len, 1);
        world_fini(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_s_block_comes_from_its_struct_pthread),
        cmocka_unit_test(what_lies_below_an_unnamed_stack_is_not_called_dead),
        cmocka_unit_test(on_a_signal_s_stack_all_of_the_own_block_is_in_use),
        cmocka_unit_test(blocks_of_threads_that_are_gone_hang_in_glibc_s_lists),
        cmocka_unit_test(a_stack_of_zeros_is_said_to_be_unreadable),
        cmocka_unit_test(damaged_lists_end_the_search_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
