/* Talk: what goes to stderr, in one line each, and harmless. */
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "cli/cli.h"

enum { TEXT_BYTES = 4096 };

void cli_say(const char *format, ...) {
    char raw[TEXT_BYTES], text[2 * TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    (void)cf_escape(raw, text, sizeof text);
    (void)fprintf(stderr, "corefrag: %s\n", text);
}

void cli_usage_error(struct argp_state *state, const char *format, ...) {
    char raw[TEXT_BYTES], text[2 * TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    (void)cf_escape(raw, text, sizeof text);
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
