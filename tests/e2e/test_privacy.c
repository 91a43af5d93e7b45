/* No text of the process is in its database, unless --previews asked for it. */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the scenario has in its heap, and what this test puts into its environment and on its
 * command line. */
#define HEAP_SECRET "request-39999-secret"
#define ANY_HEAP_SECRET "-secret"
#define ENVIRONMENT_SECRET "hush-this-is-nobodys-business"
#define ARGUMENT_SECRET "pass=nor-is-this-anybodys"

static struct e2e_run run = {.scenario = "contexts"};
static char command[PATH_ROOM + 128];

static int make_core(void **state) {
    (void)state;
    char program[PATH_ROOM];
    if (!process_generator("truth", program))
        return -1;
    snprintf(command, sizeof command, "exec '%s' contexts truth --" ARGUMENT_SECRET, program);
    run.command = command;
    return setenv("CF_TEST_TOKEN", ENVIRONMENT_SECRET, 1) == 0 && e2e_make_core(&run) ? 0 : -1;
}

static int remove_core(void **state) {
    (void)state;
    e2e_end(&run);
    return 0;
}

static bool file_has(const char *path, const char *text) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long bytes = ftell(file);
    assert_true(bytes > 0);
    rewind(file);
    char *all = malloc((size_t)bytes);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, (size_t)bytes, file), bytes);
    fclose(file);
    bool has = memmem(all, (size_t)bytes, text, strlen(text)) != NULL;
    free(all);
    return has;
}

static void analyze_with(const char *option) {
    snprintf(run.db_path, PATH_ROOM, "%.4000s/%s.db", run.folder, option ? "shown" : "hidden");
    char *argv[] = {(char *)process_corefrag(), "analyze", run.core, "-o", run.db_path,
                    (char *)option, NULL};
    assert_non_null(argv[0]);
    assert_int_equal(process_run(run.folder, argv), 0);
}

static void the_core_has_the_secrets(void **state) {
    (void)state;
    assert_true(file_has(run.core, HEAP_SECRET));
    assert_true(file_has(run.core, ENVIRONMENT_SECRET));
    assert_true(file_has(run.core, ARGUMENT_SECRET));
}

static void a_database_has_none_of_them(void **state) {
    (void)state;
    analyze_with(NULL);
    assert_false(file_has(run.db_path, ANY_HEAP_SECRET));
    assert_false(file_has(run.db_path, ENVIRONMENT_SECRET));
    assert_false(file_has(run.db_path, ARGUMENT_SECRET));
    assert_true(e2e_open(&run));
    e2e_no_rows(run.db, "SELECT * FROM v_preview");
    e2e_no_rows(run.db, "SELECT * FROM meta WHERE key = 'previews' AND value != 0");
    sqlite3_close(run.db);
    run.db = NULL;
}

/* Whatever else goes into it. */
static void no_option_but_previews_lets_one_in(void **state) {
    (void)state;
    static const char *const options[] = {"--chunks=free", "--no-reach"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        analyze_with(options[i]);
        assert_false(file_has(run.db_path, ANY_HEAP_SECRET));
        assert_false(file_has(run.db_path, ENVIRONMENT_SECRET));
        assert_false(file_has(run.db_path, ARGUMENT_SECRET));
        assert_int_equal(remove(run.db_path), 0);
    }
}

static void previews_show_the_texts_that_were_asked_for(void **state) {
    (void)state;
    analyze_with("--previews");
    assert_true(file_has(run.db_path, ANY_HEAP_SECRET));
    assert_false(file_has(run.db_path, ENVIRONMENT_SECRET));
    assert_false(file_has(run.db_path, ARGUMENT_SECRET));
    assert_true(e2e_open(&run));
    assert_true(e2e_number(run.db, "SELECT count(*) FROM v_preview WHERE type = '(text)' AND "
                                   "preview GLOB 'request-*-secret'", 0) > 0);
    e2e_no_rows(run.db, "SELECT * FROM v_preview WHERE length(preview) NOT BETWEEN 4 AND 64");
    e2e_no_rows(run.db, "SELECT * FROM meta WHERE key = 'previews' AND value != 1");
    sqlite3_close(run.db);
    run.db = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_core_has_the_secrets),
        cmocka_unit_test(a_database_has_none_of_them),
        cmocka_unit_test(no_option_but_previews_lets_one_in),
        cmocka_unit_test(previews_show_the_texts_that_were_asked_for),
    };
    return cmocka_run_group_tests_name("privacy", tests, make_core, remove_core);
}
