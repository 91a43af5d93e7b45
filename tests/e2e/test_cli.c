/*
 * The command line: exit codes, what goes to stdout and what to stderr, which files appear. Each
 * case is a command for the shell, run in a folder that holds
 *
 *     core        a whole core          cut     its first half
 *     text        no core               done.db an analysis of core
 *     smaps       the kernel's, of the same process
 *
 * $C is the program, $T the folder of the tests.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A NULL pattern says nothing; "" says that nothing may be printed. */
struct cli_case {
    const char *name;
    const char *command;
    int exit_code;
    const char *in_stdout;
    const char *in_stderr;
};

static const struct cli_case cases[] = {
    /* usage */
    {"no argument is a usage error", "$C", 2, "", "usage"},
    {"an unknown option is a usage error", "$C analyze --nope core", 2, "", "nope"},
    {"an option without its value is a usage error", "$C analyze core -o", 2, "", NULL},
    {"two cores are a usage error", "$C analyze core core -o x.db", 2, "", NULL},
    {"a wrong word for --chunks is a usage error", "$C analyze core -o x.db --chunks some", 2, "",
     "some"},
    {"a wrong format is a usage error", "$C report done.db --format yaml", 2, "", "yaml"},
    {"help goes to stdout", "$C --help", 0, "Usage", ""},
    {"the version goes to stdout", "$C --version", 0, "corefrag", ""},
    {"-h, help and help of a command are what --help is",
     "$C --help >r.txt && $C -h | diff r.txt - && $C help | diff r.txt - && $C report --help >r.txt"
     " && $C help report | diff r.txt - && $C report -h | diff r.txt -", 0, "", ""},
    /* mistyped */
    {"a mistyped command is named with what is near",
     "$C analyse core -o x.db 2>r.txt; s=$?; cat r.txt >&2; grep -q \"'analyse'\" r.txt &&"
     " [ $(wc -l <r.txt) -le 5 ] && exit $s", 2, "", "the nearest command is 'analyze'"},
    {"letters that changed places are near", "$C reprot done.db", 2, "", "'report'"},
    {"a beginning is near", "$C expl done.db 0x1", 2, "", "'explain'"},
    {"what is near nothing is named with the commands", "$C frobnicate core", 2, "",
     "analyze, report, check"},
    {"a core that is missing is no mistyped command", "$C nowhere", 3, "", "nowhere"},
    {"a core may have a name that is near a command",
     "mkdir d; cd d; cp ../core chek; $C chek && ls", 0, "chek.db", NULL},
    {"a mistyped option is named", "$C analyze core --chuncks all 2>r.txt; s=$?; cat r.txt >&2;"
     " [ $(wc -l <r.txt) -le 5 ] && exit $s", 2, "", "--chuncks"},
    {"a database alone is reported", "$C done.db", 0, "arena", ""},
    {"a database alone takes limits", "$C done.db --fail-on arenas=0", 1, "arena", "arenas=0"},
    {"a database is not analyzed", "$C done.db -o x.db; s=$?; ls; exit $s", 2, "done.db",
     "is a database already"},
    {"another database is told from ours", "sqlite3 o.db 'CREATE TABLE t(a)' && $C o.db", 3, "",
     "not a database that corefrag wrote"},
    /* talk */
    {"names in messages drive no terminal",
     "$C analyze \"$(printf 'a\\302\\233b\\342\\200\\256c\\377d\\033[31m')\" -o x.db", 3, "",
     "a\\u{9b}b\\u{202e}c\\xffd\\x1b[31m"},
    {"nor do arguments that are wrong", "$C analyze core \"$(printf '\\342\\200\\256')\"", 2, "",
     "\\u{202e}"},
    {"servers that are not named are missed",
     "DEBUGINFOD_URLS=' ' $C analyze core -o x.db --debuginfod", 0, "",
     "DEBUGINFOD_URLS names no server"},
    /* input */
    {"a missing core is named", "$C analyze nowhere -o x.db", 3, "", "nowhere"},
    {"a text is no core", "$C analyze text -o x.db", 3, "", "text"},
    {"an empty file is no core", ": >empty; $C analyze empty -o x.db", 3, "", "empty"},
    {"a folder is no core", "$C analyze . -o x.db", 3, "", NULL},
    {"a program is no core", "$C analyze \"$C\" -o x.db", 3, "", NULL},
    {"an input that fails leaves no database", "$C analyze text -o x.db; ls", 0, "text", NULL},
    {"check of a text says that it is no core", "$C check text", 3, "", "text"},
    {"report of a core is told from a database", "$C report core", 3, "", "core"},
    {"report of a text is told from a database", "$C report text", 3, "", "text"},
    {"report of another database is refused", "sqlite3 o.db 'CREATE TABLE t(a)' && $C report o.db",
     3, "", "o.db"},
    {"a missing database is named", "$C report nowhere.db", 3, "", "nowhere.db"},
    /* done */
    {"analyze prints nothing", "$C analyze core -o x.db", 0, "", ""},
    {"check says what the core is", "$C check core", 0, "glibc", ""},
    {"check writes no file", "$C check core >/dev/null; ls *.db", 0, "done.db\n", ""},
    {"a report goes to stdout", "$C report done.db", 0, "arena", ""},
    {"a report goes to a file", "$C report done.db -o r.txt && cat r.txt", 0, "arena", ""},
    {"a report in Markdown has headings and tables", "$C report done.db --format markdown", 0,
     "\n## What would help\n", ""},
    {"a report in JSON fits its schema",
     "$C report done.db --format json >r.txt && python3 \"$T/e2e/validate.py\" "
     "\"$T/../schema/report.schema.json\" r.txt",
     0, "", ""},
    {"the whole report in JSON fits its schema",
     "$C report done.db --format json --full >r.txt && python3 \"$T/e2e/validate.py\" "
     "\"$T/../schema/report.schema.json\" r.txt",
     0, "", ""},
    {"a comparison in JSON fits the schema too",
     "$C diff done.db done.db --format json >r.txt && python3 \"$T/e2e/validate.py\" "
     "\"$T/../schema/report.schema.json\" r.txt && grep -c '\"key\": \"growth\"' r.txt >/dev/null",
     0, "", ""},
    {"what does not fit the schema is found",
     "echo '{\"format\": 1}' >r.txt; python3 \"$T/e2e/validate.py\" "
     "\"$T/../schema/report.schema.json\" r.txt",
     1, "", "ValidationError"},
    {"a file gets no colour", "TERM=xterm $C report done.db | grep -c \"$(printf '\\033')\"", 1,
     "0\n", ""},
    {"a terminal gets colour", "TERM=xterm script -qec \"$C report done.db\" /dev/null", 0,
     "\033[1m", NULL},
    {"NO_COLOR is honoured",
     "NO_COLOR=1 TERM=xterm script -qec \"$C report done.db\" /dev/null | grep -c "
     "\"$(printf '\\033')\"", 1, "0\n", NULL},
    {"a limit that holds is silent", "$C report done.db --fail-on anomalies=0 -o r.txt", 0, "", ""},
    {"a limit that is crossed is told with its value",
     "$C report done.db --fail-on arenas=0 --fail-on retained=100% -o r.txt", 1, "",
     "arenas=0: there is 1"},
    {"a crossed limit does not keep the report back", "$C report done.db --fail-on arenas=0", 1,
     "arena", "arenas=0"},
    {"a core alone can have limits", "mkdir d; cd d; $C ../core --fail-on arenas=0", 1, "arena",
     "arenas=0"},
    {"what is wrong with the core comes before a limit",
     "mkdir d; cd d; $C ../cut --fail-on arenas=0 --fail-on retained=0", 4, NULL, NULL},
    {"a wrong limit is a usage error, before any work",
     "mkdir d; cd d; $C ../core --fail-on x=1; ls", 0, "", "no METRIC=LIMIT"},
    {"a core alone is analyzed and reported", "mkdir d; cd d; $C ../core && ls", 0, "core.db",
     NULL},
    {"half a core is analyzed as far as it goes", "$C analyze cut -o x.db", 4, "", "incomplete"},
    {"check of half a core says that it is cut", "$C check cut", 4, NULL, NULL},
    {"the core comes by standard input", "$C analyze - -o x.db <core", 0, "", ""},
    {"standard input gives the database no name", "$C analyze - <core", 2, "", "-o"},
    {"schema lists the views", "$C schema", 0, "v_arena", ""},
    {"schema shows the columns of a view", "$C schema v_chunk", 0, "user_address", ""},
    {"schema of what is no view is a usage error", "$C schema v_nope", 2, "", "v_nope"},
    /* output */
    {"an existing file is not overwritten", "echo mine >x.db; $C analyze core -o x.db", 7, "",
     "--force"},
    {"what was there stays", "echo mine >x.db; $C analyze core -o x.db; cat x.db", 0, "mine", NULL},
    {"force overwrites", "echo mine >x.db; $C analyze core -o x.db --force && $C report x.db", 0,
     "arena", ""},
    {"a folder that does not exist is an output error", "$C analyze core -o no/x.db", 7, "",
     "no/x.db"},
    {"a full disk under a report is an output error", "$C report done.db >/dev/full", 7, NULL,
     NULL},
    {"a full disk under the help is an output error", "$C --help >/dev/full", 7, NULL, NULL},
    {"nothing but the database appears", "ls >before; $C analyze core -o x.db; ls | diff before -",
     1, "> x.db\n", ""},
    {"the database is for its owner alone", "umask 0; $C analyze core -o x.db && stat -c %a x.db",
     0, "600\n", ""},
    {"one that is overwritten is for its owner alone",
     "umask 0; echo mine >x.db; $C analyze core -o x.db --force && stat -c %a x.db", 0, "600\n",
     ""},
    {"a signal leaves nothing behind",
     "ls >before; $C analyze core -o x.db & sleep 0.02; kill $!; wait $!; rm -f x.db;"
     " ls | diff before -",
     0, "", NULL},
    /* never destroys */
    {"the core is no place for its database",
     "cp core k; $C analyze k -o k --force; s=$?; cmp core k && exit $s", 2, "", "same file"},
    {"nor is a link to it, nor the other way round",
     "cp core k; ln -s k l; ln k h; for o in l h; do $C analyze k -o $o --force; [ $? = 2 ] || exit"
     " 9; done; $C analyze l -o k --force; s=$?; cmp core k && exit $s", 2, "", "same file"},
    {"nor is what comes by standard input",
     "cp core k; $C analyze - -o k --force <k; s=$?; cmp core k && exit $s", 2, "", "same file"},
    {"another core is not overwritten",
     "cp core k; $C analyze cut -o k --force; s=$?; cmp core k && exit $s", 2, "", "is a core"},
    {"nor is a file of smaps",
     "cp smaps k; $C analyze core --smaps k -o k --force; s=$?; cmp smaps k && exit $s", 2, "",
     "same file"},
    {"a report does not go over its database",
     "cp done.db x.db; $C report x.db -o x.db; s=$?; cmp done.db x.db && exit $s", 2, "",
     "same file"},
    {"nor over another one",
     "cp done.db x.db; $C report done.db -o x.db; s=$?; cmp done.db x.db && exit $s", 2, "",
     "is a database"},
    {"nor over a core", "cp core k; $C report done.db -o k; s=$?; cmp core k && exit $s", 2, "",
     "is a core"},
    {"a comparison does not go over what it compares",
     "cp done.db x.db; $C diff done.db x.db -o x.db; s=$?; $C diff x.db done.db -o x.db;"
     " [ $? = $s ] && cmp done.db x.db && exit $s", 2, "", "same file"},
    {"a report goes over an older report",
     "echo old >r.txt; $C report done.db -o r.txt && cat r.txt", 0, "arena", ""},
    /* packed */
    {"a core inside gzip, zstd, tar or tar inside zstd has the same chunks",
     "n() { $C analyze \"$1\" -o x.db --force && sqlite3 x.db 'SELECT sum(chunks) FROM"
     " v_size_class'; }; n core >before; for p in 'gzip -c core' 'zstd -qc core' 'tar -cf - core'"
     " 'tar -cSf - core | zstd -q'; do eval \"$p\" >packed; n packed | diff before - || exit 1; "
     "done",
     0, "", ""},
    {"from tar -S the holes are believed, from gzip they are not",
     "r() { $C analyze packed -o x.db --force && sqlite3 x.db \"SELECT value FROM meta WHERE key ="
     " 'residency_exact'\"; }; tar -cSf - core | gzip -c >packed; r; gzip -c core >packed; r",
     0, "1\n0\n", ""},
    {"tar -S and mv keep what says which pages were resident, a copy without zero pages does not",
     "r() { $C analyze $1 -o x.db --force && sqlite3 x.db \"SELECT value FROM meta WHERE key ="
     " 'residency_exact'\" && $C report x.db | grep -o -m1 'exact: the kernel left holes' ||"
     " $C report x.db | grep -o -m1 'at least: only pages full of zeros can be missing'; };"
     "mkdir m; tar -cSf - core | tar -xSf - -C m; mv m/core moved; r moved;"
     "cp --sparse=always core copied; r copied",
     0, "1\nexact: the kernel left holes\n"
     "0\nat least: only pages full of zeros can be missing\n", ""},
    {"without room for temporary files the rest stands, and it is said what is missing",
     "TMPDIR=/proc/nowhere $C analyze core -o x.db && sqlite3 x.db 'SELECT what, (SELECT count(*)"
     " FROM v_leak), (SELECT count(*) > 0 FROM v_arena), (SELECT count(*) FROM v_finding WHERE code"
     " = \"not-computed\") FROM v_not_computed' && $C report x.db | grep -A3 'not computed'",
     0, "reachability|0|1|1\n", "reachability is not computed"},
    /* options */
    {"without reachability nothing is called reached or leaked",
     "$C analyze core -o x.db --no-reach && sqlite3 x.db 'SELECT count(reachable) FROM v_chunk;"
     " SELECT count(*) FROM v_leak'",
     0, "0\n0\n", ""},
    {"the number of cores decides the limit of arenas",
     "$C analyze core -o x.db --cpus 4 && sqlite3 x.db \"SELECT value FROM meta WHERE key ="
     " 'arena_limit'\"",
     0, "32\n", ""},
    {"a number of cores that is none is a usage error", "$C analyze core -o x.db --cpus x", 2, "",
     "cpus"},
    {"the kernel's figures stand beside ours",
     "$C analyze core -o x.db --smaps smaps && sqlite3 x.db 'SELECT count(*) > 0 FROM v_kernel'", 0,
     "1\n", ""},
    {"a file of smaps that is missing is named", "$C analyze core -o x.db --smaps nowhere", 3, "",
     "nowhere"},
    /* what is in the database */
    {"no chunks are listed when none are asked for",
     "$C analyze core -o x.db --chunks none && sqlite3 x.db 'SELECT count(*) FROM v_chunk;"
     " SELECT sum(chunks) > 1000 FROM v_size_class'",
     0, "0\n1\n", ""},
    {"only dead chunks are listed when free is asked for",
     "$C analyze core -o x.db --chunks free && sqlite3 x.db \"SELECT count(*) > 100, sum(state ="
     " 'live') FROM v_chunk\"",
     0, "1|0\n", ""},
};

static char folder[PATH_ROOM];

static int run_shell(const char *command) {
    char *const argv[] = {"sh", "-c", (char *)command, NULL};
    return process_run(folder, argv);
}

/* What a command may leave behind for the next one. */
static void tidy(void) {
    run_shell("rm -rf x.db before d r.txt o.db empty core.db x.db-journal packed k l h");
}

static void check_text(const char *which, const char *pattern) {
    char *text = process_text(folder, which);
    assert_non_null(text);
    if (pattern && !pattern[0] && text[0])
        fail_msg("%s should be empty: %s", which, text);
    if (pattern && !strstr(text, pattern))
        fail_msg("%s lacks '%s': %s", which, pattern, text);
    free(text);
}

static void run_case(void **state) {
    const struct cli_case *c = *state;
    tidy();
    int code = run_shell(c->command);
    if (code != c->exit_code) {
        char *talk = process_text(folder, "stderr");
        print_error("%s: %s\n", c->command, talk ? talk : "");
        free(talk);
    }
    assert_int_equal(code, c->exit_code);
    check_text("stdout", c->in_stdout);
    check_text("stderr", c->in_stderr);
}

/* Rows of `table` that one database has and the other lacks, apart from those that say when; of
 * the schema all but where things stand in the file. */
static void compare_table(sqlite3 *db, const char *table) {
    static const char *const format =
        "SELECT '%w', * FROM (SELECT %s FROM main.\"%w\" EXCEPT SELECT %s FROM other.\"%w\""
        " UNION ALL SELECT * FROM (SELECT %s FROM other.\"%w\""
        " EXCEPT SELECT %s FROM main.\"%w\"))%s";
    const char *what = strcmp(table, "sqlite_schema") == 0 ? "type, name, tbl_name, sql"
                                                            : "*";
    const char *but = strcmp(table, "meta") == 0 ? " WHERE key NOT LIKE 'analyzed%'" : "";
    char *sql = sqlite3_mprintf(format, table, what, table, what, table, what, table, what,
                                table, but);
    e2e_no_rows(db, sql);
    sqlite3_free(sql);
}

/* `options` must not change a row. */
static void compare_with_done(const char *options) {
    tidy();
    char command[128];
    snprintf(command, sizeof command, "$C analyze core -o x.db %s", options);
    assert_int_equal(run_shell(command), 0);
    char path[PATH_ROOM + 16];
    snprintf(path, sizeof path, "%s/done.db", folder);
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    char *attach = sqlite3_mprintf("ATTACH '%q/x.db' AS other", folder);
    assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(attach);
    compare_table(db, "sqlite_schema");
    sqlite3_stmt *tables;
    sqlite3_prepare_v2(db, "SELECT name FROM main.sqlite_schema WHERE type = 'table'", -1, &tables,
                       NULL);
    int nr = 0;
    for (; sqlite3_step(tables) == SQLITE_ROW; nr++)
        compare_table(db, (const char *)sqlite3_column_text(tables, 0));
    sqlite3_finalize(tables);
    sqlite3_close(db);
    assert_true(nr > 10);
}

static void two_runs_make_the_same_database(void **state) {
    (void)state;
    compare_with_done("");
}

static void one_thread_makes_the_same_database(void **state) {
    (void)state;
    compare_with_done("--threads 1");
}

/* The sample is a tar inside zstd; its holes say exactly what was resident, if they survive. */
static void the_sample_is_analyzed_as_it_is_packed(void **state) {
    (void)state;
    tidy();
    char sample[PATH_ROOM], command[PATH_ROOM + 200];
    assert_non_null(realpath("samples/session_server.tar.zst", sample));
    snprintf(command, sizeof command,
             "$C analyze '%s' -o x.db && sqlite3 x.db \"SELECT value FROM meta WHERE key ="
             " 'residency_exact'; SELECT count(*) > 40 FROM v_arena\"",
             sample);
    assert_int_equal(run_shell(command), 0);
    check_text("stdout", "1\n1\n");
}

static int set_up(void **state) {
    (void)state;
    struct e2e_run run = {.scenario = "bins"};
    char tests[PATH_ROOM];
    if (!process_corefrag() || setenv("C", process_corefrag(), 1) || !e2e_make_core(&run) ||
        !realpath("tests", tests) || setenv("T", tests, 1))
        return -1;
    strcpy(folder, run.folder);
    return run_shell("[ -e core ] || mv core.* core; mv truth.smaps smaps; rm -f truth*; echo no "
                     "core >text;"
                     " head -c $(($(stat -c %s core) / 2)) core >cut;"
                     " $C analyze core -o done.db") == 0
               ? 0
               : -1;
}

static int tear_down(void **state) {
    (void)state;
    run_shell("rm -rf ./*");
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    enum { NR = sizeof cases / sizeof *cases };
    enum { NR_FIRST = 4 };
    struct CMUnitTest tests[NR_FIRST + NR] = {
        cmocka_unit_test(two_runs_make_the_same_database),
        cmocka_unit_test(one_thread_makes_the_same_database),
        cmocka_unit_test(the_sample_is_analyzed_as_it_is_packed)};
    for (size_t i = 0; i < NR; i++) {
        tests[NR_FIRST + i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = run_case, .initial_state = (void *)&cases[i]};
    }
    return _cmocka_run_group_tests("cli", tests, NR_FIRST + NR, set_up, tear_down) != 0;
}
