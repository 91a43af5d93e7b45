/* Arguments that several commands read alike, and the options that name files of symbols. */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"

enum { KEY_EXE = 512, KEY_SYSROOT, KEY_DEBUGINFO, KEY_DEBUGINFOD };

const char *cli_parse_output(struct argp_state *state, const char *arg) {
    if (*arg == '\0')
        cli_usage_error(state, "-o takes the name of a file");
    return arg;
}

void cli_take_argument(struct argp_state *state, const char **slot, const char *arg) {
    if (*slot != NULL)
        cli_usage_error(state, "one argument too many: '%s'", arg);
    else if (*arg == '\0')
        cli_usage_error(state, "an empty name");
    else
        *slot = arg;
}

unsigned cli_parse_number(struct argp_state *state, const char *option, const char *arg,
                          unsigned max) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(arg, &end, 10);
    if (*arg < '0' || *arg > '9' || *end != '\0' || errno != 0 || value == 0 || value > max)
        cli_usage_error(state, "%s takes a number from 1 to %u, not '%s'", option, max, arg);
    return (unsigned)value;
}

static error_t parse_file(int key, char *arg, struct argp_state *state) {
    struct cf_options *options = state->input;
    switch (key) {
    case KEY_EXE:
        options->exe = arg;
        return 0;
    case KEY_SYSROOT:
        options->sysroot = arg;
        return 0;
    case KEY_DEBUGINFO:
        options->debuginfo = arg;
        return 0;
    case KEY_DEBUGINFOD:
        options->debuginfod = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option file_options[] = {
    {"exe", KEY_EXE, "FILE", 0, "The program's file, where the core's path does not lead to it", 0},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "The container's image, unpacked", 0},
    {"debuginfo", KEY_DEBUGINFO, "DIR", 0, "Debug files, by build id below DIR/.build-id", 0},
    {"debuginfod", KEY_DEBUGINFOD, NULL, 0,
     "Ask the servers of DEBUGINFOD_URLS for files that are missing (nothing else ever uses a "
     "network)",
     0},
    {0},
};

const struct argp cli_files_argp = {.options = file_options, .parser = parse_file};
