/* Hostile names: report/text.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/text.h"

static void a_hostile_name_becomes_one_harmless_line(void **state) {
    (void)state;
    static const struct {
        const char *raw;
        const char *escaped;
    } cases[] = {
        {"", ""},
        {"/usr/bin/python3", "/usr/bin/python3"},
        {"größe/€/日本/😀", "größe/€/日本/😀"},
        {"a\033[31mred\033[0m", "a\\x1b[31mred\\x1b[0m"},
        {"two\nlines\r\tand a tab", "two\\x0alines\\x0d\\x09and a tab"},
        {"del\177", "del\\x7f"},
        {"c1 \302\233"
         "31m",
         "c1 \\u{9b}31m"},
        {"\342\200\256txt.exe", "\\u{202e}txt.exe"},
        {"zero\342\200\213width", "zero\\u{200b}width"},
        {"bad \377\376", "bad \\xff\\xfe"},
        {"cut \342\202", "cut \\xe2\\x82"},
        {"overlong \300\257", "overlong \\xc0\\xaf"},
        {"surrogate \355\240\200", "surrogate \\xed\\xa0\\x80"},
        {"beyond \364\220\200\200", "beyond \\xf4\\x90\\x80\\x80"},
        {"back\\slash", "back\\\\slash"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *escaped = cf_escape_text(cases[i].raw);
        assert_non_null(escaped);
        assert_string_equal(escaped, cases[i].escaped);
        free(escaped);
    }
}

static void code_keeps_its_backslashes(void **state) {
    (void)state;
    char *escaped = cf_escape_code("LIKE '\\_%' ESCAPE '\\'\033");
    assert_non_null(escaped);
    assert_string_equal(escaped, "LIKE '\\_%' ESCAPE '\\'\\x1b");
    free(escaped);
}

static void a_shell_reads_the_word_back(void **state) {
    (void)state;
    static const struct {
        const char *raw;
        const char *word;
    } cases[] = {
        {"core.1.db", "core.1.db"},
        {"", "''"},
        {"my core.db", "'my core.db'"},
        {"it's.db", "'it'\\''s.db'"},
        {"$(reboot).db", "'$(reboot).db'"},
        {"-rf", "./'-rf'"},
        {"a\nb", "$'a\\x0ab'"},
        {"esc\033'\\.db", "$'esc\\x1b\\'\\\\.db'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *word = cf_escape_shell(cases[i].raw);
        assert_non_null(word);
        assert_string_equal(word, cases[i].word);
        free(word);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_name_becomes_one_harmless_line),
        cmocka_unit_test(code_keeps_its_backslashes),
        cmocka_unit_test(a_shell_reads_the_word_back),
    };
    return cmocka_run_group_tests_name("report/escape", tests, NULL, NULL);
}
