/*
 * Symbols: a program whose file is gone when its core is analyzed, and the files that are offered
 * in its place. Each case is a command for the shell, run in a folder that holds
 *
 *     core      of app/truth, which is gone     image/   an unpacked image that has it
 *     truth     the same file                   forged/  an image whose file has another build id
 *     server/   what a debuginfod server would serve
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PATH_ROOM];

static int run_shell(const char *command) {
    char *const argv[] = {"sh", "-c", (char *)command, NULL};
    return process_run(folder, argv);
}

/* `has_main`: whether a frame of the program's main() gets its name. */
struct sym_case {
    const char *name;
    const char *options;
    bool has_main;
    const char *symbols; /* of the program's module; NULL: whatever the core itself has */
    const char *in_stderr;
};

static const struct sym_case cases[] = {
    {"without its file the program has no names", "", false, NULL, ""},
    {"the file is found in an unpacked image", "--sysroot image", true, "symtab", ""},
    {"the file is taken where the user says it is", "--exe truth", true, "symtab", ""},
    {"a folder of files will do for an image", "--sysroot .", true, "symtab", ""},
    {"another program is not taken for it", "--exe \"$C\"", false, NULL, "is not used"},
    {"a file with another build id is not used", "--sysroot forged", false, NULL, ""},
    {"neither is one that the user names", "--exe forged/truth", false, NULL, "is not used"},
    /* Names alone: a stack is unwound by what only the program's own file has. */
    {"debug files are found by build id", "--debuginfo debug", false, "debug", ""},
};

static char *analyze(const char *environment, const char *options) {
    char command[PATH_ROOM];
    snprintf(command, sizeof command, "rm -f x.db; %s $C analyze core -o x.db %s", environment,
             options);
    assert_int_equal(run_shell(command), 0);
    return process_text(folder, "stderr");
}

static sqlite3 *open_db(void) {
    char path[PATH_ROOM + 8];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/x.db", folder);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return db;
}

static bool names_main(sqlite3 *db) {
    return e2e_number(db, "SELECT count(*) FROM v_frame WHERE function = 'main'", -1) == 1;
}

static void run_case(void **state) {
    const struct sym_case *c = *state;
    char *talk = analyze("", c->options);
    assert_non_null(talk);
    assert_true(*c->in_stderr ? strstr(talk, c->in_stderr) != NULL : *talk == 0);
    free(talk);
    sqlite3 *db = open_db();
    assert_int_equal(names_main(db), c->has_main);
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT file, symbols, symbols_file, symbols_verified FROM v_module WHERE file LIKE"
             " '%%/app/truth%%' AND (symbols <> '%s' OR symbols_verified <> 1)",
             c->symbols ? c->symbols : "core");
    e2e_no_rows(db, sql);
    sqlite3_close(db);
}

static void servers_are_asked_only_on_request(void **state) {
    (void)state;
    /* Not loaded here: libraries that come and go are more than a search for leaks can follow. */
    if (run_shell("PATH=$PATH:/sbin:/usr/sbin; ldconfig -p | grep -q libdebuginfod.so.1") != 0)
        skip(); /* no client library on this machine */
    static const char *const options[] = {"", "--debuginfod"};
    for (int i = 0; i < 2; i++) {
        /* The client's libraries are unloaded with what they never free, which is not ours. */
        free(analyze("ASAN_OPTIONS=detect_leaks=0 DEBUGINFOD_URLS=file://$PWD/server"
                     " DEBUGINFOD_CACHE_PATH=$PWD/cache",
                     options[i]));
        sqlite3 *db = open_db();
        assert_int_equal(names_main(db), i == 1);
        sqlite3_close(db);
    }
}

static void frames_lead_from_the_signal_to_main(void **state) {
    (void)state;
    free(analyze("", "--exe truth"));
    sqlite3 *db = open_db();
    /* The whole way: the innermost frame is libc's, further out somebody calls abort, then main. */
    assert_int_equal(
        e2e_number(db,
                   "SELECT count(*) FROM v_frame a JOIN v_frame m USING (thread_id) WHERE thread_id"
                   " = 0 AND a.function = 'abort' AND m.function = 'main' AND a.frame < m.frame",
                   -1),
        1);
    e2e_no_rows(db, "SELECT * FROM v_frame a JOIN v_frame b ON b.thread_id = a.thread_id AND"
                    " b.frame = a.frame + 1 WHERE b.stack_pointer <= a.stack_pointer");
    e2e_no_rows(db, "SELECT tid, top_frame FROM v_thread WHERE thread_id NOT IN (SELECT thread_id"
                    " FROM v_frame WHERE frame = 0) OR top_frame IS NULL");
    e2e_no_rows(db,
                "SELECT top_frame, function FROM v_thread JOIN v_frame USING (thread_id) WHERE"
                " frame = 0 AND function IS NOT NULL AND instr(top_frame, function || '+') <> 1");
    /* Every thread of the scenario started in the program. */
    e2e_no_rows(db, "SELECT thread_id FROM v_thread WHERE thread_id NOT IN (SELECT thread_id FROM"
                    " v_frame WHERE module LIKE '%/app/truth%')");
    sqlite3_close(db);
}

/* Which of them speaks depends on what is installed here; none may contradict. */
static void symbols_agree_with_the_pattern(void **state) {
    (void)state;
    free(analyze("", "--exe truth"));
    sqlite3 *db = open_db();
    e2e_no_rows(db, "SELECT * FROM v_anomaly WHERE code = 'witness-disagrees'");
    e2e_no_rows(db, "SELECT value, symbols FROM meta JOIN v_module ON file LIKE '%/libc.so.6' WHERE"
                    " key = 'located_by' AND value <> iif(symbols = 'debug', 'dwarf', 'pattern')");
    sqlite3_close(db);
}

static void check_says_what_to_pass(void **state) {
    (void)state;
    assert_int_equal(run_shell("$C check core"), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(strstr(text, "--exe FILE gives the names of"));
    assert_non_null(strstr(text, "(--sysroot DIR)"));
    free(text);
    assert_int_equal(run_shell("$C check core --exe truth"), 0);
    text = process_text(folder, "stdout");
    assert_null(strstr(text, "--exe FILE"));
    assert_null(strstr(text, "--sysroot"));
    free(text);
    assert_int_equal(run_shell("$C check core --sysroot nowhere"), 3);
}

/* The file of a library that this test itself has mapped. */
static bool find_library(const char *name, char out[PATH_ROOM]) {
    char line[PATH_ROOM + 128];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        const char *path = strchr(line, '/');
        found = path != NULL && strstr(path, name) != NULL &&
                sscanf(path, "%4095[^\n]", out) == 1;
    }
    fclose(maps);
    return found;
}

/* A library that is mapped, and gone afterwards: a copy of one that this test has too. */
static void one_lost_library_asks_for_an_image(void **state) {
    (void)state;
    char path[PATH_ROOM], core[PATH_ROOM], lost[PATH_ROOM], command[2 * PATH_ROOM];
    if (!find_library("/libsqlite3.so", path))
        skip();
    snprintf(command, sizeof command, "mkdir lost && cp '%s' lost/liblost.so", path);
    assert_int_equal(run_shell(command), 0);
    snprintf(lost, sizeof lost, "%.4000s/lost", folder);
    snprintf(path, sizeof path, "%.4000s/truth", folder);
    snprintf(command, sizeof command, "%.4000s/liblost.so", lost);
    char *argv[] = {path, "idle-few", "out", NULL};
    assert_int_equal(setenv("LD_PRELOAD", command, 1), 0);
    bool has_core = process_kernel_core(lost, argv, core);
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    if (!has_core)
        skip(); /* gdb's core would be of another moment, and says nothing more */
    snprintf(command, sizeof command, "rm lost/liblost.so; $C check '%s' --exe truth", core);
    assert_int_equal(run_shell(command), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(strstr(text, "1 has no"));
    assert_non_null(strstr(text, "--sysroot DIR gives the names of the library"));
    free(text);
}

/* ---- the folder ---- */

/* The build id of the program in hex, as the core has it. */
static bool build_id(char out[64]) {
    free(analyze("", ""));
    sqlite3 *db = open_db();
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2(db, "SELECT build_id FROM v_module WHERE file LIKE '%/app/truth%'", -1,
                       &stmt, NULL);
    bool found = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0);
    if (found)
        snprintf(out, 64, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return found && strlen(out) == 40;
}

static bool make_core(void) {
    char program[PATH_ROOM], path[PATH_ROOM + 16], core[PATH_ROOM], command[PATH_ROOM + 64];
    if (!process_generator("truth", program))
        return false;
    snprintf(command, sizeof command, "mkdir app image forged; cp '%s' app/truth", program);
    snprintf(path, sizeof path, "%s/app/truth", folder);
    char *argv[] = {path, "idle-few", "out", NULL, NULL};
    if (run_shell(command))
        return false;
    if (process_kernel_core(folder, argv, core))
        return run_shell("[ -e core ] || mv core.* core") == 0;
    argv[3] = "wait";
    return process_gdb_core(folder, argv, core) && run_shell("mv core.* core") == 0;
}

static int set_up(void **state) {
    (void)state;
    char id[64], command[1024];
    if (!process_corefrag() || setenv("C", process_corefrag(), 1) || !process_folder_make(folder) ||
        !make_core() ||
        run_shell("mkdir -p image$PWD/app && cp app/truth image$PWD/app && mv app/truth truth") ||
        !build_id(id))
        return -1;
    /* The forged file differs in the last byte of its build id alone. */
    snprintf(command, sizeof command,
             "set -e; id=%s; mkdir -p debug/.build-id/%.2s server/buildid/$id;"
             " cp truth debug/.build-id/%.2s/%s.debug; cp truth server/buildid/$id/executable;"
             " cp truth forged/truth; bytes=$(printf %%s $id | sed 's/../\\\\x&/g');"
             " at=$(LC_ALL=C grep -obUaP \"$bytes\" truth | head -n 1 | cut -d: -f1);"
             " printf X | dd of=forged/truth bs=1 seek=$((at + 19)) conv=notrunc 2>dd.log",
             id, id, id, id + 2);
    return run_shell(command);
}

static int tear_down(void **state) {
    (void)state;
    run_shell("rm -rf ./*");
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    enum { NR = sizeof cases / sizeof *cases, OTHERS = 5 };
    struct CMUnitTest tests[NR + OTHERS] = {
        cmocka_unit_test(servers_are_asked_only_on_request),
        cmocka_unit_test(frames_lead_from_the_signal_to_main),
        cmocka_unit_test(symbols_agree_with_the_pattern),
        cmocka_unit_test(check_says_what_to_pass),
        cmocka_unit_test(one_lost_library_asks_for_an_image),
    };
    for (size_t i = 0; i < NR; i++) {
        tests[i + OTHERS] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = run_case, .initial_state = (void *)&cases[i]};
    }
    return _cmocka_run_group_tests("sym", tests, NR + OTHERS, set_up, tear_down) != 0;
}
