/* corefrag check CORE */
#include <stdio.h>

#include "cli/cli.h"

struct check_command {
    const char *core;
    struct cf_options options;
    struct cli_progress progress;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct check_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->options;
        state->child_inputs[1] = &command->progress;
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, &command->core, arg);
        return 0;
    case ARGP_KEY_END:
        if (command->core == NULL)
            cli_usage_error(state, "which core?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_cmd_check(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&cli_files_argp, 0, NULL, 0}, {&cli_progress_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .parser = parse_command,
        .args_doc = "CORE",
        .doc = "Say in one screen what core this is, whether it is whole, whether glibc malloc is "
               "in it, and which files would give it more names. Writes no database."
               "\vExit status: as analyze would end: 0; 2 usage; 3 CORE cannot be read or is no "
               "core; 4 it is incomplete; 5 there is no glibc malloc heap in it; 6 the heap is "
               "inconsistent.",
        .children = children,
    };
    struct check_command command = {.options = CF_OPTIONS_INIT};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    struct cf_context context = cli_progress_context(&command.progress);
    enum cf_outcome outcome = CF_OUTCOME_WHOLE;
    struct cf_err err;
    int status = cf_check(&context, command.core, &command.options, stdout, &outcome, &err);
    cli_progress_clear(&command.progress);
    return status == CF_OK ? cli_outcome_exit(outcome) : cli_fail(&err);
}
