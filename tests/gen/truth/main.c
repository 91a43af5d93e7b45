/*
 * truth SCENARIO OUT [wait]: makes the heap of SCENARIO, writes the truth about it to OUT and
 * aborts (or, with `wait`, prints "ready" and pauses, for gcore). Alone: lists the scenarios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

static const struct truth_scenario *const files[] = {
    truth_main_heap, truth_arenas, truth_incidents, truth_trims, truth_leaks, truth_verdicts,
    truth_growth,
};

static void list_scenarios(void) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (const struct truth_scenario *s = files[i]; s->name; s++)
            printf("%-16s %s\n", s->name, s->text);
    }
}

static const struct truth_scenario *find_scenario(const char *name) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (const struct truth_scenario *s = files[i]; s->name; s++)
            if (!strcmp(s->name, name))
                return s;
    }
    return NULL;
}

/* Starts over with the scenario's setting in the environment: malloc reads it once, early. */
static void set_environment(const char *setting, char **argv) {
    char name[64] = "";
    size_t length = strcspn(setting, "=");
    if (length >= sizeof name)
        exit(2);
    memcpy(name, setting, length);
    const char *now = getenv(name);
    if (now && !strcmp(now, setting + length + 1))
        return;
    if (setenv(name, setting + length + 1, 1))
        exit(2);
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(2);
}

int main(int argc, char **argv) {
    if (argc == 1) {
        list_scenarios();
        return 0;
    }
    const struct truth_scenario *scenario = argc > 2 ? find_scenario(argv[1]) : NULL;
    if (!scenario) {
        fprintf(stderr, "usage: %s SCENARIO OUT [wait]\n", argv[0]);
        return 2;
    }
    if (scenario->env)
        set_environment(scenario->env, argv);
    truth_open(argv[1], argv[2], argc > 3 ? TRUTH_WAIT : TRUTH_ABORT);
    scenario->run();
    truth_finish();
}
