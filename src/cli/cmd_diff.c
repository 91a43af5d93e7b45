/* corefrag diff OLD.db NEW.db */
#include "cli/cli.h"

enum { KEY_ANY_PROGRAM = 256 + 32 };

struct diff_command {
    struct cli_source source;
    const char *output;
    struct cf_report_options options;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct diff_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->options;
        return 0;
    case 'o':
        command->output = cli_parse_output(state, arg);
        return 0;
    case KEY_ANY_PROGRAM:
        command->source.any_program = true;
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, command->source.old_db == NULL ? &command->source.old_db
                                                                : &command->source.db, arg);
        return 0;
    case ARGP_KEY_END:
        if (command->source.db == NULL)
            cli_usage_error(state, "two databases are compared: the older one, then the newer one");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_cmd_diff(int argc, char **argv) {
    static const struct argp_child children[] = {{&cli_shape_argp, 0, NULL, 0}, {0}};
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "Write the comparison here instead of to standard output", 0},
        {"any-program", KEY_ANY_PROGRAM, NULL, 0,
         "Compare even where the databases are of different programs or builds", 0},
        {0},
    };
    static const struct argp parser = {
        .options = options,
        .parser = parse_command,
        .args_doc = "OLD.db NEW.db",
        .doc = "Show what grew between two cores of one program, from their databases."
               "\vExit status: 0 done; 2 usage, or different programs; 3 not our databases; 7 the "
               "comparison cannot be written.",
        .children = children,
    };
    struct diff_command command = {.options = CF_REPORT_OPTIONS_INIT};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    return cli_write(&command.source, &command.options, command.output);
}
