/* Limits for soak tests: what is a limit, and when it is crossed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/gate.h"
#include "review.h"
#include "rules/rules.h"

static void a_limit_is_a_metric_and_a_number(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double limit; /* below 0: not a limit */
        bool is_percent;
    } cases[] = {
        {"retained=50%", 50, true},
        {"retained=0", 0, false},
        {"pinned=12.5%", 12.5, true},
        {"leak=10M", 10485760, false},
        {"leak=10MiB", 10485760, false},
        {"releasable=1.5G", 1610612736, false},
        {"leak=4096", 4096, false},
        {"leak=1T", 1099511627776, false},
        {"arenas=32", 32, false},
        {"anomalies=0", 0, false},
        {"", -1, false},
        {"retained", -1, false},
        {"retained=", -1, false},
        {"retaine=1", -1, false},
        {"retained1=1", -1, false},
        {"=1", -1, false},
        {"leak=10m", -1, false},
        {"leak=10MB", -1, false},
        {"leak=-1", -1, false},
        {"leak= 1", -1, false},
        {"leak=nan", -1, false},
        {"leak=0x10", -1, false},
        {"leak=1e3", -1, false},
        {"leak=1.2.3", -1, false},
        {"leak=.", -1, false},
        {"leak=50%%", -1, false},
        {"arenas=32M", -1, false},
        {"arenas=50%", -1, false},
        {"leak=1111111111111111111111111111111111111111111111111111111111111111", -1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_gate gate = {.metric = 77};
        struct cf_err err;
        int status = cf_gate_parse(cases[i].text, &gate, &err);
        if (status != (cases[i].limit < 0 ? CF_EUSAGE : CF_OK))
            fail_msg("%s: status %d", cases[i].text, status);
        if (status != CF_OK) {
            assert_int_equal(gate.metric, 77);
            continue;
        }
        assert_true(gate.limit == cases[i].limit);
        assert_int_equal(gate.is_percent, cases[i].is_percent);
        assert_string_equal(gate.text, cases[i].text);
    }
}

static void a_value_above_its_limit_crosses_it(void **state) {
    (void)state;
    static const struct {
        const char *gate;
        bool crossed;
        const char *says;
    } cases[] = {
        /* 11,530,240 of 12,582,912 bytes are free and kept */
        {"retained=50%", true, "retained=50%: 91.6 % of the resident heap is freed and kept (11.0"},
        {"retained=92%", false, "91.6 %"},
        {"retained=11530240", false, "(11,530,240 B)"},
        {"retained=11530239", true, "(11,530,240 B)"},
        {"releasable=1G", false, "8.1 MiB"},
        {"pinned=1M", true, "1.7 MiB"},
        {"leak=0", false, "0 B (0 B) are leaked"},
        {"arenas=3", false, "arenas=3: there are 3"},
        {"arenas=2", true, "arenas=2: there are 3"},
        {"anomalies=0", false, "there are 0"},
    };
    CF_CLEANUP_DB struct cf_db *db = review_db(review_complete, review_incident);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_gate gate;
        struct cf_err err;
        struct cf_gate_answer answer;
        assert_int_equal(cf_gate_parse(cases[i].gate, &gate, &err), CF_OK);
        assert_int_equal(cf_gate_ask(&gate, db, &answer, &err), CF_OK);
        if (answer.crossed != cases[i].crossed)
            fail_msg("%s", answer.says);
        review_says(answer.says, cases[i].says);
    }
}

static void what_was_never_touched_is_no_part_of_the_resident_heap(void **state) {
    (void)state;
    static const struct {
        const char *gate;
        bool crossed;
        const char *says;
    } cases[] = {
        /* 1 MiB of 12 is live and in memory; more than that cannot be leaked in memory */
        {"leak=50%", false, "8.3 % of the resident heap is leaked"},
        {"leak=8%", true, "8.3 % of the resident heap is leaked"},
        {"leak=100M", false, "1.0 MiB (1,048,576 B) are leaked"},
    };
    CF_CLEANUP_DB struct cf_db *db = review_db(review_complete, review_incident);
    struct cf_err lost;
    assert_int_equal(cf_db_exec(db, "INSERT INTO leak (size_bytes, chunks, bytes, root_chunks)"
                                    " VALUES (209715200, 1, 209715200, 1)", &lost), CF_OK);
    assert_int_equal(cf_rules_gather(db, &lost), CF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cf_gate gate;
        struct cf_err err;
        struct cf_gate_answer answer;
        assert_int_equal(cf_gate_parse(cases[i].gate, &gate, &err), CF_OK);
        assert_int_equal(cf_gate_ask(&gate, db, &answer, &err), CF_OK);
        review_says(answer.says, cases[i].says);
        assert_int_equal(answer.crossed, cases[i].crossed);
    }
}

static void what_is_not_known_is_under_no_limit(void **state) {
    (void)state;
    static const char *const gates[] = {"retained=100%", "releasable=1T", "pinned=100%"};
    CF_CLEANUP_DB struct cf_db *db = review_db(review_blind, review_incident);
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        struct cf_gate gate;
        struct cf_err err;
        struct cf_gate_answer answer;
        assert_int_equal(cf_gate_parse(gates[i], &gate, &err), CF_OK);
        assert_int_equal(cf_gate_ask(&gate, db, &answer, &err), CF_OK);
        assert_true(answer.crossed);
        review_says(answer.says, "does not tell");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_a_metric_and_a_number),
        cmocka_unit_test(a_value_above_its_limit_crosses_it),
        cmocka_unit_test(what_was_never_touched_is_no_part_of_the_resident_heap),
        cmocka_unit_test(what_is_not_known_is_under_no_limit),
    };
    return cmocka_run_group_tests_name("report/gate", tests, NULL, NULL);
}
