/* The culprit stands in the first row: programs of C, C++, Rust's manner and Python. */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A query that must return 1. */
struct claim {
    const char *text;
    const char *sql;
};

struct program {
    const char *name;
    const char *command; /* NULL: the generated program `name`; "": the truth program's scenario */
    const char *needs;   /* a file without which it cannot run; NULL: none */
    struct claim claims[10];
};

#define TYPE_IS(type, evidence, chunks)                                                           \
    "SELECT count(*) FROM v_type WHERE type = '" type "' AND evidence = '" evidence               \
    "' AND chunks = " #chunks " AND unreachable_chunks = 0"
#define FIRST_TYPE "(SELECT type FROM v_type ORDER BY bytes DESC LIMIT 1)"
#define HELD_BY(type, root)                                                                       \
    "SELECT holder LIKE '" root "%' FROM v_type WHERE type = '" type "'"

static const struct program programs[] = {
    {"tables", NULL, NULL, {
        {"a table in the first word names an object", TYPE_IS("tcp_ops", "vtable", 4000)},
        {"so does one behind the links of a list", TYPE_IS("mail_job_ops", "vtable", 3000)},
        {"a trait object is known by its holder", TYPE_IS("session_table", "vtable", 5000)},
        {"texts are texts, and other bytes are not", TYPE_IS("(text)", "text", 2000)},
        {"the largest stands first", "SELECT " FIRST_TYPE " = 'session_table'"},
        {"connections are held by their table", HELD_BY("tcp_ops", "global connections (tables)")},
        {"jobs are held by their ring", HELD_BY("mail_job_ops", "global jobs (tables)")},
        {"what has no name has a holder, by its size",
         "SELECT count(*) > 0 FROM v_holder a JOIN v_holder b USING (chunk_address) "
         "WHERE a.hop = 0 AND a.label LIKE 'plains%(tables)' AND b.hop = 1 "
         "AND b.label LIKE '720%'"},
        {"each root keeps its own alive",
         "SELECT count(*) FROM v_held WHERE label = 'sessions (tables)' AND chunks = 5001"},
    }},
    {"objects", NULL, NULL, {
        {"a class names its objects", TYPE_IS("shop::Book", "vtable", 50000)},
        {"a template is told without its defaults",
         TYPE_IS("shop::Shelf<std::map<std::string, int>>", "vtable", 10000)},
        {"buffers are their owner's",
         "SELECT chunks BETWEEN 50990 AND 51000 FROM v_type WHERE type = 'std::string buffer'"},
        {"the largest stands first", "SELECT " FIRST_TYPE " = 'shop::Book'"},
        {"the inventory holds them", HELD_BY("shop::Book", "global inventory (objects)")},
    }},
    {"objects-stripped", NULL, NULL, {
        {"without symbols RTTI names the class", TYPE_IS("shop::Book", "vtable", 50000)},
        {"the largest stands first", "SELECT " FIRST_TYPE " = 'shop::Book'"},
        {"a place holds them", HELD_BY("shop::Book", "global objects-stripped+0x")},
    }},
    {"contexts-later", "", NULL, {
        {"the contexts that pile up are the first type", "SELECT " FIRST_TYPE " = 'file_log_ops'"},
        {"none is missed", TYPE_IS("file_log_ops", "vtable", 120000)},
        {"their registry holds them", HELD_BY("file_log_ops", "global log_registry (truth)")},
        {"with their names, it alone does",
         "SELECT count(*) FROM v_held WHERE label = 'log_registry (truth)' AND chunks = 240001"},
        {"the sessions beside them are another's",
         "SELECT count(*) FROM v_held WHERE label = 'sessions (truth)' AND chunks = 2000"},
        {"the verdict names the holder and the type",
         "SELECT detail LIKE '%Held by global log_registry (truth)%file_log_ops%' FROM v_finding "
         "WHERE code = 'retention-suspected'"},
    }},
    {"python3", "exec /usr/bin/python3 -c 'import time\n"
                "kept = [bytes([i % 256]) * 2000 for i in range(3000)]\n"
                "print(\"ready\", flush=True)\n"
                "time.sleep(100)'", "/usr/bin/python3", {
        {"python objects are called as in python",
         "SELECT count(*) FROM v_type WHERE type = 'python bytes' AND chunks >= 3000"},
        {"the largest stands first", "SELECT " FIRST_TYPE " = 'python bytes'"},
        {"somebody holds them",
         "SELECT holder IS NOT NULL FROM v_type WHERE type = 'python bytes'"},
    }},
};

/* cmocka hands a test one state; what is under test stands here. */
static struct e2e_run run;
static char command[PATH_ROOM + 8];

static void holds(void **state) {
    const struct claim *claim = *state;
    if (e2e_number(run.db, claim->sql, 0) != 1)
        fail_msg("%s", claim->sql);
}

static int set_up(void **state) {
    (void)state;
    bool is_done = e2e_make_core(&run) && e2e_analyze(&run) && run.exit_code == 0;
    return is_done && e2e_open(&run) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    e2e_end(&run);
    return 0;
}

static int run_program(const struct program *program) {
    struct CMUnitTest tests[sizeof program->claims / sizeof program->claims[0]];
    char path[PATH_ROOM] = "";
    size_t nr = 0;
    for (; nr < sizeof tests / sizeof tests[0] && program->claims[nr].text != NULL; nr++)
        tests[nr] = (struct CMUnitTest){.name = program->claims[nr].text, .test_func = holds,
                                        .initial_state = (void *)&program->claims[nr]};
    if (program->needs != NULL && access(program->needs, X_OK) != 0) {
        print_message("%s: not here, passed over\n", program->name);
        return 0;
    }
    if (program->command == NULL && !process_generator(program->name, path))
        return 1;
    snprintf(command, sizeof command, "exec %s", path);
    run = (struct e2e_run){.scenario = program->name, .command = program->command};
    if (run.command == NULL)
        run.command = command;
    else if (*run.command == '\0')
        run.command = NULL;
    return _cmocka_run_group_tests(program->name, tests, nr, set_up, tear_down);
}

int main(void) {
    int failed = 0;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        failed += run_program(&programs[i]);
    return failed != 0;
}
