/*
 * explain: what it says of addresses that the database itself names, with the core and without.
 * The folder holds a core and done.db made of it, and other.core and other.db of another process.
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

/* `sql` gives the address as text; each of `says` has to be in the answer. */
struct explain_case {
    const char *name;
    const char *sql;
    const char *options;
    const char *says[4];
};

static const struct explain_case cases[] = {
    {"a live chunk",
     "SELECT user_address_hex FROM v_chunk WHERE state = 'live' AND arena_id = 0 LIMIT 1 OFFSET 9",
     "",
     {"LIVE: in a chunk", "byte 0 of what malloc returned", "(main)", "<- here"}},
    {"the middle of a chunk",
     "SELECT user_address + 5 FROM v_chunk WHERE state = 'live' AND size_bytes > 64 LIMIT 1",
     "",
     {"LIVE: in a chunk", "byte 5 of what malloc returned"}},
    {"a size field",
     "SELECT address + 8 FROM v_chunk WHERE state = 'live' LIMIT 1",
     "",
     {"the chunk's size field"}},
    {"the first word of a chunk, where the one below is live",
     "SELECT b.address + 4 FROM v_chunk a JOIN v_chunk b ON b.address = a.address + a.size_bytes"
     " WHERE a.state = 'live' AND a.size_bytes = 32 LIMIT 1",
     "",
     {"the last usable word of the live chunk below: byte 20 of what malloc returned"}},
    {"the first word of a chunk, where the one below is free",
     "SELECT b.address FROM v_chunk a JOIN v_chunk b ON b.address = a.address + a.size_bytes"
     " WHERE a.state = 'free' LIMIT 1",
     "",
     {"no live chunk has it"}},
    {"the top's bytes, which malloc did not return",
     "SELECT address + 20 FROM v_chunk WHERE state = 'top' LIMIT 1",
     "",
     {"byte 4 behind the chunk's header"}},
    {"a free chunk",
     "SELECT user_address_hex FROM v_chunk WHERE state = 'free' LIMIT 1",
     "",
     {"FREE: in a chunk", "mapping", "rw- anonymous"}},
    {"the top",
     "SELECT user_address_hex FROM v_chunk WHERE state = 'top' LIMIT 1",
     "",
     {"TOP: in a chunk", "page"}},
    {"a hole", "SELECT address_hex FROM v_hole LIMIT 1", "", {"hole", "malloc_trim(0)"}},
    {"a top pin", "SELECT address_hex FROM v_top_pin WHERE rank = 1 LIMIT 1", "", {"top pin"}},
    {"a chunk that is held",
     "SELECT chunk_address_hex FROM v_holder WHERE hop = 1 LIMIT 1",
     "",
     {"held by", "-> chunk"}},
    {"a thread's cache",
     "SELECT address_hex FROM v_tcache WHERE thread_id = 0",
     "",
     {"it is the cache of thread 0"}},
    {"a stack",
     "SELECT stack_pointer_hex FROM v_thread WHERE thread_id = 0",
     "",
     {"STACK: of a thread", "of thread 0", "in use", "frame"}},
    {"a file", "SELECT start_hex FROM v_module WHERE kind = 'elf' LIMIT 1", "", {"FILE", "+0x0"}},
    {"nothing", "SELECT 16", "", {"NOTHING", "above"}},
    {"a symbol, by the core",
     "SELECT pc - 1 FROM v_frame WHERE function = 'main'", /* pc is where its call returns to */
     "--core core",
     {"symbol", "main+", "(truth)"}},
    {"words, by the core",
     "SELECT user_address_hex FROM v_chunk WHERE state = 'free' LIMIT 1",
     "--core core",
     {"at +0", "pointer to"}},
    /* A link of a bin leads to a header, which begins in the last word of what lies below. */
    {"a bin's link, by the core",
     "SELECT c.user_address_hex FROM v_chunk c JOIN v_chunk a ON a.address + a.size_bytes ="
     " c.address WHERE c.state = 'free' AND c.size_bytes > 1024 AND a.state = 'live' AND"
     " (SELECT count(*) FROM v_chunk o WHERE o.state = 'free' AND o.size_bytes = c.size_bytes) > 1"
     " LIMIT 1",
     "--core core",
     {"at +0", "of a live chunk of", "to the free chunk of"}},
    /* The program's own path is the last text on the stack of the main thread. */
    {"a text, by its length alone",
     "SELECT stack_end - 32 FROM v_thread WHERE thread_id = 0",
     "--core core",
     {"text, 8 bytes"}},
};

static void address_in(const char *name, const char *sql, char out[64]) {
    char path[PATH_ROOM + 64];
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("no address: %s", sql);
    snprintf(out, 64, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void address_of(const char *sql, char out[64]) {
    address_in("done.db", sql, out);
}

static void run_case(void **state) {
    const struct explain_case *c = *state;
    char address[64], command[256];
    address_of(c->sql, address);
    snprintf(command, sizeof command, "$C explain done.db %s %s", address, c->options);
    assert_int_equal(run_shell(command), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(text);
    for (size_t i = 0; i < sizeof c->says / sizeof *c->says && c->says[i]; i++)
        if (!strstr(text, c->says[i]))
            fail_msg("'%s' is not in:\n%s", c->says[i], text);
    if (strstr(c->name, "by its length alone"))
        assert_null(strstr(text, "truth"));
    free(text);
}

static void neighbours_are_those_of_the_database(void **state) {
    (void)state;
    char address[64], next[64], command[256];
    static const char *const chosen =
        "SELECT address FROM v_chunk WHERE heap_id = 0 AND state = 'live' ORDER BY address LIMIT 1"
        " OFFSET 20";
    address_of(chosen, address);
    snprintf(command, sizeof command,
             "SELECT address_hex FROM v_chunk WHERE heap_id = 0 AND address > %s ORDER BY address"
             " LIMIT 1 OFFSET 1",
             address);
    address_of(command, next);
    snprintf(command, sizeof command, "$C explain done.db %s", address);
    assert_int_equal(run_shell(command), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(text);
    assert_non_null(strstr(text, next));
    free(text);
}

static void an_mmapped_chunk_has_no_heap(void **state) {
    (void)state;
    char address[64], command[256];
    address_in("other.db", "SELECT user_address_hex FROM v_chunk WHERE state = 'mmapped' LIMIT 1",
               address);
    snprintf(command, sizeof command, "$C explain other.db %s", address);
    assert_int_equal(run_shell(command), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(strstr(text, "LIVE: in a chunk"));
    assert_non_null(strstr(text, "mmapped"));
    assert_null(strstr(text, "of arena"));
    free(text);
}

static void exit_codes_are_those_of_the_contract(void **state) {
    (void)state;
    static const struct {
        const char *command;
        int code;
    } commands[] = {
        {"$C explain done.db", 2},
        {"$C explain done.db 0xnope", 2},
        {"$C explain done.db 12ab", 2},
        {"$C explain done.db 0x1 0x2", 2},
        {"$C explain nowhere.db 0x1", 3},
        {"$C explain core 0x1", 3},
        {"$C explain done.db 0x1 --core nowhere", 3},
        {"$C explain done.db 0x1 --core done.db", 3},
        {"$C explain done.db 0x1 --core other.core", 2},
        {"$C explain done.db 0x1 >/dev/full", 7},
        {"$C explain done.db 0xffffffffffffffff", 0},
        {"$C explain done.db -- -4096", 0},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (run_shell(commands[i].command) != commands[i].code)
            fail_msg("%s", commands[i].command);
}

static void without_chunks_it_says_so(void **state) {
    (void)state;
    char address[64], command[256];
    address_of("SELECT user_address_hex FROM v_chunk WHERE heap_id = 0 AND state = 'live' LIMIT 1",
               address);
    snprintf(command, sizeof command,
             "$C analyze core -o none.db --chunks none && $C explain none.db %s", address);
    assert_int_equal(run_shell(command), 0);
    char *text = process_text(folder, "stdout");
    assert_non_null(strstr(text, "does not list all chunks"));
    free(text);
}

/* ---- the folder ---- */

static bool make_core(const char *scenario, const char *name) {
    char path[PATH_ROOM + 16], core[PATH_ROOM], command[128];
    snprintf(path, sizeof path, "%s/bin-truth/truth", folder);
    char *argv[] = {path, (char *)scenario, "out", NULL, NULL};
    if (!process_kernel_core(folder, argv, core)) {
        argv[3] = "wait";
        if (!process_gdb_core(folder, argv, core))
            return false;
    }
    snprintf(command, sizeof command, "mv core* %s.made", name);
    return run_shell(command) == 0;
}

static int set_up(void **state) {
    (void)state;
    char program[PATH_ROOM], command[PATH_ROOM + 64];
    if (!process_corefrag() || setenv("C", process_corefrag(), 1) ||
        !process_generator("truth", program) || !process_folder_make(folder))
        return -1;
    snprintf(command, sizeof command, "mkdir bin-truth && cp '%s' bin-truth/truth", program);
    if (run_shell(command) || !make_core("mmapped", "other") || !make_core("bins", "first"))
        return -1;
    return run_shell("mv first.made core; mv other.made other.core; $C analyze core -o done.db && "
                     "$C analyze other.core -o other.db");
}

static int tear_down(void **state) {
    (void)state;
    run_shell("rm -rf ./*");
    process_folder_remove(folder);
    return 0;
}

int main(void) {
    enum { NR = sizeof cases / sizeof *cases, OTHERS = 4 };
    struct CMUnitTest tests[NR + OTHERS] = {
        cmocka_unit_test(neighbours_are_those_of_the_database),
        cmocka_unit_test(an_mmapped_chunk_has_no_heap),
        cmocka_unit_test(exit_codes_are_those_of_the_contract),
        cmocka_unit_test(without_chunks_it_says_so),
    };
    for (size_t i = 0; i < NR; i++) {
        tests[i + OTHERS] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = run_case, .initial_state = (void *)&cases[i]};
    }
    return _cmocka_run_group_tests("explain", tests, NR + OTHERS, set_up, tear_down) != 0;
}
