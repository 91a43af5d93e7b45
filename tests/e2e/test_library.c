/*
 * The public calls as a stranger uses them: wrong arguments are refused before anything happens,
 * and a call that its caller cancels, at whichever moment, ends soon and leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "corefrag.h"

#define CORE "build/seeds/everything"

enum { MOST_TICKS = 100000 };

static char folder[] = "/tmp/corefrag-library.XXXXXX";
static char db_path[64], new_path[64];
static FILE *sink;

/* Everything that a call takes; each case spoils one thing of it. */
struct arguments {
    const struct cf_context *ctx;
    const char *core, *db, *old_db, *limit, *view;
    const struct cf_options *options;
    const struct cf_report_options *report;
    FILE *sink;
    enum cf_outcome *out;
    bool *crossed;
    char *says;
    size_t says_bytes;
    struct cf_err *err;
};

static enum cf_outcome outcome;
static bool crossed;
static char says[256];

static struct arguments good(struct cf_err *err) {
    return (struct arguments){
        .core = CORE, .db = db_path, .old_db = db_path, .limit = "leak=50%", .sink = sink,
        .out = &outcome, .crossed = &crossed, .says = says, .says_bytes = sizeof says, .err = err,
    };
}

/* ---- each public call ---- */

static int call_analyze(const struct arguments *with) {
    struct cf_options options = CF_OPTIONS_INIT;
    return cf_analyze(with->ctx, with->core, with->db == db_path ? new_path : with->db,
                      with->options != NULL ? with->options : &options, with->out, with->err);
}

static int call_check(const struct arguments *with) {
    return cf_check(with->ctx, with->core, with->options, with->sink, with->out, with->err);
}

static int call_report(const struct arguments *with) {
    return cf_report(with->ctx, with->db, with->report, with->sink, with->err);
}

static int call_diff(const struct arguments *with) {
    return cf_diff(with->ctx, with->old_db, with->db, with->report, false, with->sink, with->err);
}

static int call_explain(const struct arguments *with) {
    return cf_explain(with->ctx, with->db, 0x1000, with->core, with->options, with->sink,
                      with->err);
}

static int call_schema(const struct arguments *with) {
    return cf_schema(with->view, with->sink, with->err);
}

static int call_gate_check(const struct arguments *with) {
    return cf_gate_check(with->limit, with->err);
}

static int call_gate_measure(const struct arguments *with) {
    return cf_gate_measure(with->ctx, with->db, with->limit, with->crossed, with->says,
                           with->says_bytes, with->err);
}

enum takes {
    CORE_PATH = 1, DB = 2, OLD_DB = 4, LIMIT = 8, VIEW = 16, OPTIONS = 32, REPORT = 64, SINK = 128,
    OUT = 256, CROSSED = 512, SAYS = 1024, CONTEXT = 2048, NO_CORE = 4096,
};

static const struct call {
    const char *name;
    int (*call)(const struct arguments *with);
    unsigned takes;
} calls[] = {
    {"cf_analyze", call_analyze, CONTEXT | CORE_PATH | DB | OPTIONS | OUT},
    {"cf_check", call_check, CONTEXT | CORE_PATH | OPTIONS | SINK | OUT},
    {"cf_report", call_report, CONTEXT | DB | REPORT | SINK},
    {"cf_diff", call_diff, CONTEXT | DB | OLD_DB | REPORT | SINK},
    {"cf_explain", call_explain, CONTEXT | CORE_PATH | NO_CORE | DB | OPTIONS | SINK},
    {"cf_schema", call_schema, VIEW | SINK},
    {"cf_gate_check", call_gate_check, LIMIT},
    {"cf_gate_measure", call_gate_measure, CONTEXT | DB | LIMIT | CROSSED | SAYS},
};
enum { NR_CALLS = sizeof calls / sizeof calls[0] };

static void expect(const struct call *call, const struct arguments *with, int status,
                   const char *what) {
    if (with->err != NULL)
        *with->err = (struct cf_err){.status = -1};
    int got = call->call(with);
    if (got != status)
        fail_msg("%s, %s: status %d and not %d (%s)", call->name, what, got, status,
                 with->err != NULL ? with->err->text : "");
    if (status == CF_OK || with->err == NULL)
        return;
    assert_int_equal(with->err->status, status);
    if (with->err->text[0] == '\0' || strchr(with->err->text, '\n') != NULL)
        fail_msg("%s, %s: says '%s'", call->name, what, with->err->text);
}

/* ---- setting up ---- */

static int make_folder(void **state) {
    (void)state;
    struct cf_err err;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(db_path, sizeof db_path, "%s/a.db", folder);
    (void)snprintf(new_path, sizeof new_path, "%s/b.db", folder);
    sink = fopen("/dev/null", "w");
    return sink == NULL ? -1 : cf_analyze(NULL, CORE, db_path, NULL, &outcome, &err);
}

static int remove_folder(void **state) {
    (void)state;
    (void)fclose(sink);
    (void)unlink(db_path);
    return rmdir(folder); /* fails when a call left something behind */
}

static int remove_new(void **state) {
    (void)state;
    (void)unlink(new_path);
    return 0;
}

/* ---- the tests ---- */

static void good_arguments_are_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_CALLS; i++) {
        struct cf_err err;
        struct arguments with = good(&err);
        expect(&calls[i], &with, CF_OK, "good arguments");
        (void)unlink(new_path);
        with.err = NULL;
        expect(&calls[i], &with, CF_OK, "no struct for errors");
        (void)unlink(new_path);
    }
}

/* One argument of each kind spoilt, where the call takes it; with and without a cf_err. */
static void missing_and_empty_arguments_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_CALLS; i++) {
        struct cf_err err;
        struct arguments spoilt[] = {
            good(&err), good(&err), good(&err), good(&err), good(&err), good(&err),
            good(&err), good(&err), good(&err), good(&err), good(&err), good(&err),
        };
        static const unsigned takes[] = {CORE_PATH, CORE_PATH, DB,   DB,  OLD_DB,  OLD_DB,
                                         LIMIT,     LIMIT,     SINK, OUT, CROSSED, SAYS};
        spoilt[0].core = NULL;
        spoilt[1].core = "";
        spoilt[2].db = NULL;
        spoilt[3].db = "";
        spoilt[4].old_db = NULL;
        spoilt[5].old_db = "";
        spoilt[6].limit = NULL;
        spoilt[7].limit = "";
        spoilt[8].sink = NULL;
        spoilt[9].out = NULL;
        spoilt[10].crossed = NULL;
        spoilt[11].says = NULL;
        for (size_t k = 0; k < sizeof spoilt / sizeof spoilt[0]; k++) {
            if ((calls[i].takes & takes[k]) == 0 || (k == 0 && (calls[i].takes & NO_CORE)))
                continue;
            char what[32];
            (void)snprintf(what, sizeof what, "spoilt %zu", k);
            expect(&calls[i], &spoilt[k], CF_EUSAGE, what);
            spoilt[k].err = NULL;
            expect(&calls[i], &spoilt[k], CF_EUSAGE, what);
        }
    }
}

static void says_may_be_absent_or_short(void **state) {
    (void)state;
    struct cf_err err;
    struct arguments with = good(&err);
    with.says = NULL;
    with.says_bytes = 0;
    assert_int_equal(call_gate_measure(&with), CF_OK);
    char one[2] = "x";
    with.says = one;
    with.says_bytes = 1;
    assert_int_equal(call_gate_measure(&with), CF_OK);
    assert_int_equal(one[0], '\0');
    assert_int_equal(one[1], '\0');
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct cf_options wrong[] = {
        {.size = sizeof(struct cf_options), .chunks = 4},
        {.size = sizeof(struct cf_options), .chunks = 99},
        {.size = sizeof(struct cf_options), .chunks = 100000000},
        {.chunks = (enum cf_chunks)-1},
        {.depth = 2},
        {.depth = (enum cf_depth)INT32_MIN},
        {.size = 1},
        {.size = sizeof(struct cf_options) - 1},
        {.size = SIZE_MAX},
        {.size = 100000},
    };
    for (size_t i = 0; i < NR_CALLS; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            struct cf_err err;
            struct arguments with = good(&err);
            with.options = &wrong[k];
            if (calls[i].takes & OPTIONS)
                expect(&calls[i], &with, CF_EUSAGE, "options out of range");
        }
}

static void report_options_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct cf_report_options wrong[] = {
        {.format = 4},
        {.format = (enum cf_format)-1},
        {.width = 1},
        {.width = UINT32_MAX},
        {.size = 3},
        {.size = SIZE_MAX},
    };
    for (size_t i = 0; i < NR_CALLS; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            struct cf_err err;
            struct arguments with = good(&err);
            with.report = &wrong[k];
            if (calls[i].takes & REPORT)
                expect(&calls[i], &with, CF_EUSAGE, "options out of range");
        }
}

static void wild_contexts_are_refused(void **state) {
    (void)state;
    static const struct cf_context wrong[] = {{.size = 5}, {.size = SIZE_MAX}};
    for (size_t i = 0; i < NR_CALLS; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            struct cf_err err;
            struct arguments with = good(&err);
            with.ctx = &wrong[k];
            if (calls[i].takes & CONTEXT)
                expect(&calls[i], &with, CF_EUSAGE, "a wild context");
        }
}

/* What a newer program would hand over: members that we do not know, at their default or not. */
static void newer_callers_are_understood(void **state) {
    (void)state;
    struct {
        struct cf_options known;
        uint64_t more[4];
    } newer = {.known = {.size = sizeof newer}};
    for (size_t i = 0; i < NR_CALLS; i++) {
        struct cf_err err;
        struct arguments with = good(&err);
        if ((calls[i].takes & OPTIONS) == 0)
            continue;
        with.options = &newer.known;
        newer.more[3] = 0;
        expect(&calls[i], &with, CF_OK, "newer options at their defaults");
        newer.more[3] = 1;
        expect(&calls[i], &with, CF_EUSAGE, "a newer option");
        (void)unlink(new_path);
    }
}

static void a_sink_that_takes_nothing_is_told(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_CALLS; i++) {
        struct cf_err err;
        struct arguments with = good(&err);
        if ((calls[i].takes & SINK) == 0)
            continue;
        with.sink = fopen("/dev/full", "w");
        assert_non_null(with.sink);
        expect(&calls[i], &with, CF_EOUTPUT, "a full sink");
        (void)fclose(with.sink);
        with.sink = fopen("/dev/null", "r");
        assert_non_null(with.sink);
        expect(&calls[i], &with, CF_EOUTPUT, "a sink for reading");
        (void)fclose(with.sink);
    }
}

/* ---- what is never written over ---- */

static void check_stays(const char *path, bool is_report, const char *input, int status) {
    struct cf_err err = {0};
    int got = cf_output_check(path, is_report, &input, 1, &err);
    if (got != status)
        fail_msg("%s beside %s: status %d: %s", path, input == NULL ? "nothing" : input, got,
                 err.text);
}

static void inputs_cores_and_databases_are_never_written_over(void **state) {
    (void)state;
    char link_path[64], hard_path[64], text_path[64];
    (void)snprintf(link_path, sizeof link_path, "%s/symbolic", folder);
    (void)snprintf(hard_path, sizeof hard_path, "%s/hard", folder);
    (void)snprintf(text_path, sizeof text_path, "%s/text", folder);
    FILE *text = fopen(text_path, "w");
    assert_non_null(text);
    (void)fclose(text);
    assert_int_equal(symlink(text_path, link_path), 0);
    assert_int_equal(link(text_path, hard_path), 0);
    check_stays(new_path, true, CORE, CF_OK);
    check_stays("/dev/null", true, "/dev/null", CF_OK);
    check_stays(text_path, true, CORE, CF_OK);
    check_stays(text_path, true, NULL, CF_OK);
    check_stays(text_path, false, text_path, CF_EUSAGE);
    check_stays(link_path, false, text_path, CF_EUSAGE);
    check_stays(text_path, false, link_path, CF_EUSAGE);
    check_stays(hard_path, true, text_path, CF_EUSAGE);
    check_stays(CORE, false, NULL, CF_EUSAGE);
    check_stays(db_path, true, NULL, CF_EUSAGE);
    check_stays(db_path, false, NULL, CF_OK);
    check_stays(db_path, false, db_path, CF_EUSAGE);
    check_stays(NULL, false, NULL, CF_EUSAGE);
    struct cf_err err;
    assert_int_equal(cf_output_check(text_path, true, NULL, 1, &err), CF_EUSAGE);
    assert_int_equal(cf_output_check(text_path, true, NULL, 0, &err), CF_OK);
    const struct cf_options options = {.force = true, .smaps_path = text_path};
    assert_int_equal(cf_analyze(NULL, CORE, CORE, &options, &outcome, &err), CF_EUSAGE);
    assert_int_equal(cf_analyze(NULL, CORE, link_path, &options, &outcome, &err), CF_EUSAGE);
    assert_int_equal(access(CORE, R_OK), 0);
    assert_int_equal(unlink(link_path) | unlink(hard_path) | unlink(text_path), 0);
}

/* ---- cancelling ---- */

struct ticks {
    long left;  /* until progress() says that it is enough */
    long after; /* calls after that */
};

static int count_down(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct ticks *ticks = user;
    (void)done, (void)total;
    assert_non_null(stage);
    if (ticks->left <= 0)
        ticks->after++;
    return --ticks->left <= 0;
}

static size_t count_files(void) {
    DIR *open = opendir(folder);
    size_t nr = 0;
    assert_non_null(open);
    while (readdir(open) != NULL)
        nr++;
    (void)closedir(open);
    return nr;
}

/* Cancelled at the first call of progress, the second, ... until it ends before that. */
static long cancel_each_time(const struct call *call, struct cf_context *ctx) {
    struct cf_err err;
    struct ticks ticks;
    struct arguments with = good(&err);
    with.ctx = ctx;
    ctx->user = &ticks;
    size_t files = count_files();
    for (long n = 1; n < MOST_TICKS; n++) {
        ticks = (struct ticks){.left = n};
        if (call->call(&with) == CF_OK && ticks.left > 0)
            return n - 1;
        if (ticks.left > 0 || err.status != CF_ECANCELLED)
            fail_msg("%s: cancelled at call %ld: status %d: %s", call->name, n, err.status,
                     err.text);
        assert_int_equal(ticks.after, 0);
        assert_int_equal(count_files(), files);
    }
    fail_msg("%s is never done", call->name);
    return 0;
}

static void cancelling_leaves_nothing_behind(void **state) {
    (void)state;
    struct cf_context ctx = CF_CONTEXT_INIT;
    ctx.progress = count_down;
    assert_true(cancel_each_time(&calls[0], &ctx) > 10);
    (void)unlink(new_path);
    assert_true(cancel_each_time(&calls[1], &ctx) > 3);
    assert_true(cancel_each_time(&calls[2], &ctx) > 0);
    assert_true(cancel_each_time(&calls[3], &ctx) > 0);
    assert_true(cancel_each_time(&calls[7], &ctx) > 0);
}

static void the_version_is_that_of_the_header(void **state) {
    (void)state;
    char text[16];
    (void)snprintf(text, sizeof text, "%d.%d", CF_VERSION_MAJOR, CF_VERSION_MINOR);
    assert_string_equal(cf_version(), text);
    assert_int_equal(cf_version_number(), CF_VERSION_NUMBER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(good_arguments_are_taken, remove_new),
        cmocka_unit_test_teardown(missing_and_empty_arguments_are_refused, remove_new),
        cmocka_unit_test(says_may_be_absent_or_short),
        cmocka_unit_test_teardown(options_out_of_range_are_refused, remove_new),
        cmocka_unit_test(report_options_out_of_range_are_refused),
        cmocka_unit_test_teardown(wild_contexts_are_refused, remove_new),
        cmocka_unit_test_teardown(newer_callers_are_understood, remove_new),
        cmocka_unit_test(a_sink_that_takes_nothing_is_told),
        cmocka_unit_test(inputs_cores_and_databases_are_never_written_over),
        cmocka_unit_test_teardown(cancelling_leaves_nothing_behind, remove_new),
        cmocka_unit_test(the_version_is_that_of_the_header),
    };
    return cmocka_run_group_tests_name("library", tests, make_folder, remove_folder);
}
