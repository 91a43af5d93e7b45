/* libc: what malloc said before it stopped the program, and nobody else's words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_malloc.h"
#include "libc/abortmsg.h"

enum { PAGE_AT = 0x70000000, PAGE_BYTES = 4096 };

struct message {
    const char *text;   /* in the page */
    uint32_t mapped;    /* what the page says of its size */
    const char *wanted; /* NULL: nothing is shown */
};

static struct cf_abort find(unsigned word, const char *release, const struct message *message) {
    struct fake fake;
    fake_init(&fake, word, release);
    fake_build(&fake);
    synth_segment(fake.synth, PAGE_AT, PAGE_BYTES, SYNTH_RW);
    synth_put_u32(fake.synth, PAGE_AT, message->mapped);
    synth_put(fake.synth, PAGE_AT + 4, message->text, strlen(message->text) + 1);
    synth_put_word(fake.synth, fake.break_word + 8 * word, PAGE_AT);
    fake_open(&fake);
    struct cf_abort abort = cf_abort_find(fake.m);
    fake_close(&fake);
    return abort;
}

static void only_mallocs_own_texts_are_shown(void **state) {
    (void)state;
    static const struct message messages[] = {
        {"free(): invalid next size (normal)\n", 4096, "free(): invalid next size (normal)"},
        {"double free or corruption (!prev)\n", 4096, "double free or corruption (!prev)"},
        {"malloc(): corrupted unsorted chunks 2\n", 4096, "malloc(): corrupted unsorted chunks 2"},
        {"*** Error in `./server': free(): invalid pointer: 0x00007ffd1234 ***\n", 4096,
         "free(): invalid pointer"},
        {"Fatal glibc error: malloc.c:2617 (sysmalloc): assertion failed: old_top\n", 4096,
         "an assertion of malloc failed"},
        /* near misses: another program's words, more than a text, and no page of glibc's */
        {"server.c:12: main: Assertion `password != secret' failed.\n", 4096, NULL},
        {"free(): invalid pointer of my own\n", 4096, NULL},
        {"say free(): invalid pointer\n", 4096, NULL},
        {"free(): invalid pointer\n", 4097, NULL},
        {"free(): invalid pointer\n", 0, NULL},
    };
    for (unsigned word = 4; word <= 8; word += 4)
        for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
            struct cf_abort abort = find(word, "2.36", &messages[i]);
            assert_int_equal(abort.state,
                             messages[i].wanted != NULL ? CF_ABORT_MALLOC : CF_ABORT_NONE);
            if (messages[i].wanted != NULL)
                assert_string_equal(abort.text, messages[i].wanted);
        }
}

static void a_core_without_libcs_data_says_unknown(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake, 8, "2.36");
    fake.no_libc_data = true;
    fake_build(&fake);
    fake_open(&fake);
    struct cf_abort abort = cf_abort_find(fake.m);
    assert_int_equal(abort.state, CF_ABORT_UNKNOWN);
    assert_null(abort.text);
    fake_close(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_mallocs_own_texts_are_shown),
        cmocka_unit_test(a_core_without_libcs_data_says_unknown),
    };
    return cmocka_run_group_tests_name("libc/abortmsg", tests, NULL, NULL);
}
