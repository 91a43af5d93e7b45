/*
 * What the commands share: talk, which goes to stderr in one line each, and harmless; exit codes;
 * arguments that several commands read alike; and the options that name files of symbols.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>

/* ---- talk and exit codes ---- */

enum { TEXT_BYTES = 4096 };

static void write_harmless(char text[2 * TEXT_BYTES], const char *format, va_list args) {
    char raw[TEXT_BYTES];
    (void)vsnprintf(raw, sizeof raw, format, args);
    (void)cf_escape(raw, text, 2 * TEXT_BYTES);
}

void cli_say(const char *format, ...) {
    char text[2 * TEXT_BYTES];
    va_list args;
    va_start(args, format);
    write_harmless(text, format, args);
    va_end(args);
    (void)fprintf(stderr, "corefrag: %s\n", text);
}

void cli_usage_error(struct argp_state *state, const char *format, ...) {
    char text[2 * TEXT_BYTES];
    va_list args;
    va_start(args, format);
    write_harmless(text, format, args);
    va_end(args);
    argp_error(state, "%s", text);
}

int cli_outcome_exit(enum cf_outcome outcome) {
    switch (outcome) {
    case CF_OUTCOME_WHOLE:
        return CLI_EXIT_OK;
    case CF_OUTCOME_INCOMPLETE:
        return CLI_EXIT_INCOMPLETE;
    case CF_OUTCOME_NO_HEAP:
        return CLI_EXIT_NO_HEAP;
    case CF_OUTCOME_CORRUPT:
        return CLI_EXIT_CORRUPT;
    }
    return CLI_EXIT_INTERNAL;
}

/* Drops what stdout could not take: a failure is said once, what follows an error is no data. */
static void forget_stdout(void) {
    __fpurge(stdout);
    clearerr(stdout);
}

int cli_fail(const struct cf_err *err) {
    cli_say("%s", err->text);
    forget_stdout();
    switch (err->status) {
    case CF_EUSAGE:
        return CLI_EXIT_USAGE;
    case CF_EINPUT:
    case CF_ENOTDB:
        return CLI_EXIT_INPUT;
    case CF_EOUTPUT:
        return CLI_EXIT_OUTPUT;
    case CF_ENOMEM:
        return CLI_EXIT_MEMORY;
    default:
        return CLI_EXIT_INTERNAL;
    }
}

/* ---- arguments ---- */

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
