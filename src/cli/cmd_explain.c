/* corefrag explain DB ADDRESS [--core CORE] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { KEY_CORE = 256 };

struct explain_command {
    const char *db;
    const char *address_text;
    uint64_t address;
    const char *core;
    struct cf_options options;
    struct cli_progress progress;
};

/* Hex with 0x in front, as all our texts have it, or decimal, as SQL has it (negative above
 * 2^63). */
static uint64_t parse_address(struct argp_state *state, const char *text) {
    bool is_hex = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
    char *end;
    errno = 0;
    uint64_t value =
        *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, is_hex ? 16 : 10);
    if (errno != 0 || end == text || *end != '\0')
        cli_usage_error(state, "'%s' is no address: hex with 0x in front, or decimal", text);
    return value;
}

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct explain_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->options;
        state->child_inputs[1] = &command->progress;
        return 0;
    case KEY_CORE:
        command->core = arg;
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, command->db == NULL ? &command->db : &command->address_text, arg);
        return 0;
    case ARGP_KEY_END:
        if (command->address_text == NULL)
            cli_usage_error(state, "a database and an address are needed");
        else
            command->address = parse_address(state, command->address_text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_cmd_explain(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&cli_files_argp, 0, "With --core, files of symbols:", 1},
        {&cli_progress_argp, 0, "Talk:", 2},
        {0}};
    static const struct argp_option options[] = {
        {"core", KEY_CORE, "CORE", 0,
         "The core that DB was made of: adds the symbol, and what the words there look like "
         "(never their bytes)",
         0},
        {0},
    };
    static const struct argp parser = {
        .options = options,
        .parser = parse_command,
        .args_doc = "DB ADDRESS",
        .doc = "Say what stands at an address of the process: mapping, heap, chunk and its "
               "neighbours, hole, page, who holds it."
               "\vExit status: 0 done, also where nothing is mapped; 2 usage, or CORE is another "
               "process's; 3 DB is not one of our databases, or CORE cannot be read; 7 the answer "
               "cannot be written.",
        .children = children,
    };
    struct explain_command command = {.options = CF_OPTIONS_INIT};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    struct cf_context context = cli_progress_context(&command.progress);
    struct cf_err err;
    int status = cf_explain(&context, command.db, command.address, command.core, &command.options,
                            stdout, &err);
    cli_progress_clear(&command.progress);
    return status == CF_OK ? CLI_EXIT_OK : cli_fail(&err);
}
