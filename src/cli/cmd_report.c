/* corefrag report DB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outfile.h"

enum { KEY_FORMAT = 256, KEY_TOP, KEY_FULL, TOP_MAX = 1000000 };

static void parse_format(struct argp_state *state, const char *arg, enum cf_format *out) {
    if (strcmp(arg, "text") == 0)
        *out = CF_FORMAT_TEXT;
    else
        argp_error(state, "--format is text, not '%s'", arg);
}

static error_t parse_report(int key, char *arg, struct argp_state *state) {
    struct cf_report_options *options = state->input;
    switch (key) {
    case KEY_FORMAT:
        parse_format(state, arg, &options->format);
        return 0;
    case KEY_TOP:
        options->top = cli_parse_number(state, "--top", arg, TOP_MAX);
        return 0;
    case KEY_FULL:
        options->full = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option report_options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default)", 0},
    {"top", KEY_TOP, "N", 0, "Show N rows of each table", 0},
    {"full", KEY_FULL, NULL, 0, "Show all rows, and bytes unrounded", 0},
    {0},
};

const struct argp cli_report_argp = {.options = report_options, .parser = parse_report};

/* Colour where stdout is a terminal that can show it and the user has not said no (NO_COLOR). */
static bool wants_color(void) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (no_color != NULL && *no_color != '\0')
        return false;
    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static int report_to_stdout(const char *db, struct cf_report_options options) {
    struct cf_err err;
    options.color = wants_color();
    if (cf_report(NULL, db, &options, stdout, &err) != CF_OK)
        return cli_fail(&err);
    return CLI_EXIT_OK;
}

static int report_to_file(const char *db, const struct cf_report_options *options,
                          const char *path) {
    struct cli_outfile file;
    if (!cli_outfile_open(&file, path))
        return CLI_EXIT_OUTPUT;
    struct cf_err err;
    int status = cf_report(NULL, db, options, file.stream, &err);
    if (status == CF_OK)
        return cli_outfile_commit(&file) ? CLI_EXIT_OK : CLI_EXIT_OUTPUT;
    cli_outfile_discard(&file);
    return cli_fail(&err);
}

int cli_report(const char *db, const struct cf_report_options *options, const char *path) {
    return path == NULL ? report_to_stdout(db, *options) : report_to_file(db, options, path);
}

struct command {
    const char *db;
    const char *output;
    struct cf_report_options options;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->options;
        return 0;
    case 'o':
        if (*arg == '\0')
            argp_error(state, "-o takes the name of a file");
        command->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, &command->db, arg);
        return 0;
    case ARGP_KEY_END:
        if (command->db == NULL)
            argp_error(state, "which database?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_cmd_report(int argc, char **argv) {
    static const struct argp_child children[] = {{&cli_report_argp, 0, NULL, 0}, {0}};
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "Write the report here instead of to standard output", 0},
        {0},
    };
    static const struct argp parser = {
        .options = options,
        .parser = parse_command,
        .args_doc = "DB",
        .doc = "Print the report of a database that analyze has made."
               "\vExit status: 0 done; 2 usage; 3 DB is not one of our databases; 7 the report "
               "cannot be written.",
        .children = children,
    };
    struct command command = {0};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    return cli_report(command.db, &command.options, command.output);
}
