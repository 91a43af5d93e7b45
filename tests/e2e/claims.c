#include "claims.h"

#include <stdio.h>
#include <stdlib.h>

#include "e2e.h"

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

static int run_program(const struct claims_program *program) {
    struct CMUnitTest tests[CLAIMS_MAX];
    char path[PATH_ROOM] = "";
    size_t nr = 0;
    for (; nr < CLAIMS_MAX && program->claims[nr].text != NULL; nr++)
        tests[nr] = (struct CMUnitTest){.name = program->claims[nr].text, .test_func = holds,
                                        .initial_state = (void *)&program->claims[nr]};
    if (program->needs != NULL && system(program->needs) != 0) {
        print_message("%s: not installed, left out\n", program->name);
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

int claims_run(const struct claims_program *programs, size_t nr) {
    int failed = 0;
    for (size_t i = 0; i < nr; i++)
        failed += run_program(&programs[i]);
    return failed;
}
