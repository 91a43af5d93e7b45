/* Numbers for people: report/format.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/format.h"

static void bytes_are_rounded_to_the_largest_unit(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *rounded;
        const char *exact;
    } cases[] = {
        {0, "0 B", "0 B"},
        {1023, "1,023 B", "1,023 B"},
        {1024, "1.0 KiB", "1,024 B"},
        {1075, "1.0 KiB", "1,075 B"},
        {1076, "1.1 KiB", "1,076 B"},
        {1048524, "1023.9 KiB", "1,048,524 B"},
        {1048525, "1.0 MiB", "1,048,525 B"},
        {117859942, "112.4 MiB", "117,859,942 B"},
        {1073741823, "1.00 GiB", "1,073,741,823 B"},
        {3554213888, "3.31 GiB", "3,554,213,888 B"},
        {UINT64_C(1) << 40, "1.00 TiB", "1,099,511,627,776 B"},
        {UINT64_MAX, "16.00 EiB", "18,446,744,073,709,551,615 B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CF_FORMAT_MAX];
        assert_string_equal(cf_format_bytes(text, cases[i].bytes, false), cases[i].rounded);
        assert_string_equal(cf_format_bytes(text, cases[i].bytes, true), cases[i].exact);
    }
}

static void counts_are_grouped(void **state) {
    (void)state;
    static const struct {
        int64_t count;
        const char *text;
    } cases[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {61204, "61,204"},
        {-1234567, "-1,234,567"},
        {INT64_MIN, "-9,223,372,036,854,775,808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CF_FORMAT_MAX];
        assert_string_equal(cf_format_count(text, cases[i].count), cases[i].text);
    }
}

static void a_share_is_never_rounded_to_nothing_or_all(void **state) {
    (void)state;
    static const struct {
        double percent;
        const char *text;
    } cases[] = {
        {0, "0.0 %"},        {0.01, "< 0.1 %"}, {11.46, "11.5 %"},
        {99.97, "> 99.9 %"}, {100, "100.0 %"},  {1.0 / 0.0, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CF_FORMAT_MAX];
        assert_string_equal(cf_format_percent(text, cases[i].percent), cases[i].text);
    }
}

static void a_cell_shows_its_unit_and_its_mark(void **state) {
    (void)state;
    static const struct {
        enum cf_unit unit;
        struct cf_datum cell;
        const char *text;
    } cases[] = {
        {CF_UNIT_BYTES, {.kind = CF_CELL_INTEGER, .integer = 2048}, "2.0 KiB"},
        {CF_UNIT_BYTES,
         {.kind = CF_CELL_INTEGER, .integer = 2048, .mark = CF_MARK_AT_LEAST},
         "≥ 2.0 KiB"},
        {CF_UNIT_BYTES,
         {.kind = CF_CELL_INTEGER, .integer = 2048, .mark = CF_MARK_BOUND},
         "≤ 2.0 KiB"},
        {CF_UNIT_BYTES, {.kind = CF_CELL_UNKNOWN}, "unknown"},
        {CF_UNIT_BYTES, {.kind = CF_CELL_EMPTY}, ""},
        {CF_UNIT_COUNT, {.kind = CF_CELL_INTEGER, .integer = 12345}, "12,345"},
        {CF_UNIT_PERCENT, {.kind = CF_CELL_REAL, .real = 12.34}, "12.3 %"},
        {CF_UNIT_ADDRESS, {.kind = CF_CELL_INTEGER, .integer = -4096}, "0xfffffffffffff000"},
        {CF_UNIT_TEXT, {.kind = CF_CELL_TEXT, .text = (char *)"main"}, "main"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cf_column column = {"name", "key", cases[i].unit, false};
        char text[CF_FORMAT_MAX];
        assert_string_equal(cf_format_cell(text, &column, &cases[i].cell, false), cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_rounded_to_the_largest_unit),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(a_share_is_never_rounded_to_nothing_or_all),
        cmocka_unit_test(a_cell_shows_its_unit_and_its_mark),
    };
    return cmocka_run_group_tests_name("report/format", tests, NULL, NULL);
}
