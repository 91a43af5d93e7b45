/* Names of types, shortened as a person would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "types/typename.h"

enum { MAX = 60 };

static void names_are_short_and_say_the_same(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *wanted;
    } cases[] = {
        {"shop::Cart", "shop::Cart"},
        {"", ""},
        {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
         "std::string"},
        {"std::vector<int, std::allocator<int> >", "std::vector<int>"},
        {"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, "
         "std::allocator<int> > > >", "std::vector<std::vector<int>>"},
        {"std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
         ">, int, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
         "std::allocator<char> > >, std::allocator<int> >", "std::map<std::string, int>"},
        {"a<b<c<d<e> > > >", "a<b<c<d<e>>>>"},
        {"(anonymous namespace)::Job", "Job"},
        /* too long: the deepest go first */
        {"outer<middle<inner_of_many_words_that_nobody_reads>, another<also_long_and_deep_in_it>>",
         "outer<middle<...>, another<...>>"},
        {"outer<first_argument_of_many_words, second_argument_of_many_words, x<y>>", "outer<...>"},
        {"a_name_without_brackets_that_is_longer_than_anybody_should_have_to_read",
         "a_name_without_brackets_that_is_longer_than_anybody_shoul..."},
        /* brackets that do not match */
        {"a<b, std::allocator<c", "a<b, std::allocator<c"},
        {">>><<", ">>><<"},
        {"operator<", "operator<"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[512];
        (void)snprintf(name, sizeof name, "%s", cases[i].name);
        cf_typename_shorten(name, MAX);
        assert_string_equal(name, cases[i].wanted);
    }
}

/* Whatever the brackets, it ends, and is not longer than it may be. */
static void hostile_names_end(void **state) {
    (void)state;
    static const char letters[] = "<>a, :";
    uint32_t seed = 5;
    for (size_t round = 0; round < 20000; round++) {
        char name[200];
        size_t length = round % (sizeof name - 1);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525 + 1013904223;
            name[i] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        name[length] = '\0';
        cf_typename_shorten(name, MAX);
        assert_true(strlen(name) <= MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_short_and_say_the_same),
        cmocka_unit_test(hostile_names_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
