/* Finds the command, and sees to it that what was printed has arrived. */
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/temporary.h"

static const struct cli_command commands[] = {
    {"analyze", cli_cmd_analyze},
    {"report", cli_cmd_report},
    {"check", cli_cmd_check},
    {"schema", cli_cmd_schema},
    {"explain", cli_cmd_explain},
    {"diff", cli_cmd_diff},
};

/* Names that came from a core may stand in a message: nothing in it shall drive the terminal. */
static void print_harmless(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (*at < 0x20 || *at == 0x7f || is_c1)
            (void)fprintf(stderr, "\\x%02x", *at);
        else
            (void)fputc(*at, stderr);
    }
}

void cli_say(const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fputs("corefrag: ", stderr);
    print_harmless(text);
    (void)fputc('\n', stderr);
}

/* Drops what stdout could not take: a failure is said once, what follows an error is no data. */
static void forget_stdout(void) {
    __fpurge(stdout);
    clearerr(stdout);
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

/* argp ends the program by itself after --help and --version, so this stands at the exit. */
static void check_stdout(void) {
    bool failed = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !failed)
        return;
    cli_say("standard output could not be written");
    _exit(CLI_EXIT_OUTPUT);
}

static void print_version(FILE *stream, struct argp_state *state) {
    (void)state;
    (void)fprintf(stream, "corefrag %s\n", cf_version());
}

/* "corefrag report", which argp puts before its messages; NULL when memory is out. */
static char *command_title(const char *name) {
    char *title;
    return asprintf(&title, "corefrag %s", name) < 0 ? NULL : title;
}

static int run_command(const struct cli_command *command, int argc, char **argv) {
    char *title = command_title(command->name);
    if (title != NULL)
        argv[0] = title;
    int code = command->run(argc, argv);
    free(title);
    return code;
}

int main(int argc, char **argv) {
    argp_err_exit_status = CLI_EXIT_USAGE;
    argp_program_version_hook = print_version;
    cli_temporary_catch_signals();
    if (atexit(check_stdout) != 0)
        return CLI_EXIT_INTERNAL;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    argv[0] = (char *)"corefrag";
    return cli_cmd_run(argc, argv);
}
