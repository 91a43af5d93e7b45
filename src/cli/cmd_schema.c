/* corefrag schema [VIEW] */
#include <stdio.h>

#include "cli/cli.h"

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    const char **view = state->input;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    cli_take_argument(state, view, arg);
    return 0;
}

int cli_cmd_schema(int argc, char **argv) {
    static const struct argp parser = {
        .parser = parse_command,
        .args_doc = "[VIEW]",
        .doc = "Print the database's documented schema: views, columns, units, example queries."
               "\vExit status: 0 done; 2 usage, or there is no such view.",
    };
    const char *view = NULL;
    if (argp_parse(&parser, argc, argv, 0, NULL, &view) != 0)
        return CLI_EXIT_USAGE;
    struct cf_err err;
    return cf_schema(view, stdout, &err) == CF_OK ? CLI_EXIT_OK : cli_fail(&err);
}
