/* The environment block on the stack, and what mp_ and it say of malloc's settings. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_malloc.h"
#include "libc/tunables.h"

enum { ENTRIES_MAX = 8 };

static const uint64_t STACK = 0x7ffc00000000, STACK_BYTES = 0x21000;

/* As the kernel lays it: argc, argv, NULL, envp, NULL, auxv, AT_RANDOM, strings. */
static void put_environment(struct fake *fake, const char *const *entries) {
    uint64_t word = fake->word, at = STACK + 0x10000, text = STACK + 0x18000;
    const uint64_t auxv[] = {AT_PAGESZ, 4096, AT_RANDOM, STACK + 0x17f00, AT_NULL, 0};
    synth_segment(fake->synth, STACK, STACK_BYTES, SYNTH_RW);
    synth_put_word(fake->synth, at, 1);
    at += 3 * word; /* argc, one argument, NULL */
    synth_put_word(fake->synth, at - 2 * word, text);
    for (size_t i = 0; entries[i] != NULL; i++, at += word) {
        synth_put(fake->synth, text, entries[i], strlen(entries[i]) + 1);
        synth_put_word(fake->synth, at, text);
        text += strlen(entries[i]) + 1;
    }
    at += word;
    for (size_t i = 0; i < 6; i += 2) {
        synth_put_word(fake->synth, at, auxv[i]);
        synth_put_word(fake->synth, at + word, auxv[i + 1]);
        at += 2 * word;
        if (auxv[i] != AT_NULL)
            synth_auxv(fake->synth, auxv[i], auxv[i + 1]);
    }
}

static const struct cf_tunable *find(const struct cf_tunables *tunables, const char *name) {
    for (size_t i = 0; i < tunables->nr_rows; i++)
        if (strcmp(tunables->rows[i].name, name) == 0)
            return &tunables->rows[i];
    return NULL;
}

static void assert_row(const struct cf_tunables *tunables, const char *name, const char *value,
                       const char *source) {
    const struct cf_tunable *row = find(tunables, name);
    if (row == NULL)
        fail_msg("no row of %s", name);
    assert_string_equal(row->value, value);
    assert_string_equal(row->source, source);
}

static void the_environment_says_why_and_mp_says_what(void **state) {
    (void)state;
    static const char *const entries[] = {
        "HOME=/", "MALLOC_ARENA_MAX=3",
        "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536:glibc.malloc.mxfast=0",
        "LD_PRELOAD=/lib/x.so\033[31m", NULL,
    };
    struct fake fake;
    struct cf_environ *env;
    struct cf_tunables tunables;
    fake_init(&fake, 8, "2.36");
    fake_build(&fake);
    put_environment(&fake, entries);
    synth_put_word(fake.synth, fake.mp + 32, 2);     /* arena_max: mp_ is the truth */
    synth_put_word(fake.synth, fake.mp + 16, 65536); /* mmap_threshold */
    synth_put_u32(fake.synth, fake.mp + fake.par->no_dyn_threshold, 1);
    fake_open(&fake);
    assert_int_equal(cf_environ_read(fake.mem, &env, NULL), CF_OK);
    assert_string_equal(cf_environ_value(env, "HOME"), "/");
    assert_string_equal(cf_environ_value(env, "MALLOC_ARENA_MAX"), "3");
    assert_null(cf_environ_value(env, "MALLOC_ARENA"));
    cf_tunables_read(fake.m, env, &tunables);
    assert_row(&tunables, "arena_max", "2", "environment");
    assert_string_equal(find(&tunables, "arena_max")->note, "the environment asked for 3");
    assert_row(&tunables, "mmap_threshold", "65536", "environment");
    assert_non_null(strstr(find(&tunables, "mmap_threshold")->note, "fixed"));
    assert_row(&tunables, "mxfast", "0", "environment");
    assert_row(&tunables, "top_pad", "131072", "default");
    assert_row(&tunables, "LD_PRELOAD", "/lib/x.so?[31m", "environment");
    assert_null(find(&tunables, "perturb"));
    cf_environ_free(env);
    fake_close(&fake);
}

static void a_grown_threshold_is_told_from_a_set_one(void **state) {
    (void)state;
    struct fake fake;
    struct cf_tunables tunables;
    fake_init(&fake, 8, "2.31");
    fake_build(&fake);
    synth_put_word(fake.synth, fake.mp, 2 * 1048576);
    synth_put_word(fake.synth, fake.mp + 16, 1048576);
    fake_open(&fake);
    cf_tunables_read(fake.m, NULL, &tunables);
    assert_row(&tunables, "mmap_threshold", "1048576", "mp_");
    assert_string_equal(find(&tunables, "mmap_threshold")->note,
                        "dynamic: has grown from 128 KiB to 1024 KiB");
    assert_row(&tunables, "trim_threshold", "2097152", "mp_");
    assert_row(&tunables, "arena_max", "0", "default");
    fake_close(&fake);
}

static void a_core_without_the_block_has_no_environment(void **state) {
    (void)state;
    struct fake fake;
    struct cf_environ *env;
    fake_init(&fake, 4, "2.36");
    fake_build(&fake);
    fake_open(&fake);
    assert_int_equal(cf_environ_read(fake.mem, &env, NULL), CF_OK);
    assert_null(cf_environ_value(env, "HOME"));
    cf_environ_free(env);
    fake_close(&fake);
}

/* arena_get2() of each release: 8 or 2 times the cores, from 2.44 on the cores themselves. */
static void the_arena_limit_is_that_of_the_release(void **state) {
    (void)state;
    static const struct {
        const char *release;
        unsigned word;
        uint64_t arena_max;
        unsigned cpus;
        uint64_t limit;
    } cases[] = {
        {"2.36", 8, 0, 4, 32}, {"2.36", 4, 0, 4, 8},  {"2.36", 8, 0, 0, 0},
        {"2.36", 8, 5, 4, 5},  {"2.36", 8, 5, 0, 5},  {"2.17", 8, 0, 2, 16},
        {"2.44", 8, 0, 2, 8},  {"2.44", 8, 0, 12, 12}, {"2.44", 4, 0, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        const char *formula = NULL;
        fake_init(&fake, cases[i].word, cases[i].release);
        fake_build(&fake);
        synth_put_word(fake.synth, fake.mp + 4 * fake.word, cases[i].arena_max);
        fake_open(&fake);
        if (cf_tunables_arena_limit(fake.m, cases[i].cpus, &formula) != cases[i].limit)
            fail_msg("case %zu: %llu", i,
                     (unsigned long long)cf_tunables_arena_limit(fake.m, cases[i].cpus, &formula));
        assert_non_null(formula);
        /* And back, where it is a multiple of the cores. */
        bool is_multiple = cases[i].arena_max == 0 && strcmp(cases[i].release, "2.44") != 0;
        assert_int_equal(cf_tunables_cores(fake.m, cases[i].limit),
                         is_multiple ? cases[i].cpus : 0);
        assert_int_equal(cf_tunables_cores(fake.m, cases[i].limit + 1), 0);
        assert_int_equal(cf_tunables_cores(fake.m, UINT64_MAX - 7), 0);
        fake_close(&fake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_says_why_and_mp_says_what),
        cmocka_unit_test(a_grown_threshold_is_told_from_a_set_one),
        cmocka_unit_test(a_core_without_the_block_has_no_environment),
        cmocka_unit_test(the_arena_limit_is_that_of_the_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
