/* Finds the command, and sees to it that what was printed has arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outfile.h"

static const struct cli_command commands[] = {
    {"analyze", cli_cmd_analyze},
    {"report", cli_cmd_report},
    {"check", cli_cmd_check},
    {"schema", cli_cmd_schema},
    {"explain", cli_cmd_explain},
    {"diff", cli_cmd_diff},
};
enum { NR_COMMANDS = sizeof commands / sizeof commands[0] };

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

static const struct cli_command *find_command(const char *name) {
    for (size_t i = 0; i < NR_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* ---- a mistyped command ---- */

enum { NAME_MOST = 24, NEAR_MOST = 2, PREFIX_LEAST = 3 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters to change, add, leave out or swap with their neighbour until `a` is `b`: the distance of
 * Damerau and Levenshtein in which no piece is changed twice. Both are NAME_MOST long at most. */
static unsigned distance(const char *a, const char *b) {
    unsigned rows[3][NAME_MOST + 1];
    size_t nr_a = strlen(a), nr_b = strlen(b);
    for (size_t j = 0; j <= nr_b; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= nr_a; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nr_b; j++) {
            bool same = a[i - 1] == b[j - 1];
            row[j] = least(above[j - 1] + !same, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[nr_a % 3][nr_b];
}

/* The command that was meant, or NULL: none is near. */
static const struct cli_command *nearest_command(const char *name) {
    size_t len = strlen(name);
    const struct cli_command *nearest = NULL;
    unsigned best = NEAR_MOST + 1;
    if (len > NAME_MOST || len < 2)
        return NULL;
    for (size_t i = 0; i < NR_COMMANDS; i++) {
        bool begins = len >= PREFIX_LEAST && strncmp(commands[i].name, name, len) == 0;
        unsigned away = begins ? 1 : distance(name, commands[i].name);
        if (away >= best || away >= len)
            continue;
        best = away;
        nearest = &commands[i];
    }
    return nearest;
}

/* A word that names no file, where a command stands: it is near one, or files follow it. */
static bool is_mistyped(int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0' || strchr(argv[1], '/') != NULL ||
        access(argv[1], F_OK) == 0)
        return false;
    return nearest_command(argv[1]) != NULL || (argc > 2 && argv[2][0] != '-');
}

static int say_mistyped(const char *word) {
    const struct cli_command *meant = nearest_command(word);
    char names[256] = "";
    for (size_t i = 0; i < NR_COMMANDS; i++) {
        (void)strncat(names, i == 0 ? "" : ", ", sizeof names - strlen(names) - 1);
        (void)strncat(names, commands[i].name, sizeof names - strlen(names) - 1);
    }
    cli_say("'%s' is neither a command nor a file", word);
    if (meant != NULL)
        cli_say("the nearest command is '%s'", meant->name);
    cli_say("the commands are %s (corefrag --help)", names);
    return CLI_EXIT_USAGE;
}

/* ---- running ---- */

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

/* "help", "help report", "-h", "report -h": as people type it. */
static bool asks_for_help(const char *word) {
    return strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int run(int argc, char **argv) {
    static char help[] = "--help", corefrag[] = "corefrag";
    const struct cli_command *command = argc > 1 ? find_command(argv[1]) : NULL;
    if (command == NULL && argc > 1 && asks_for_help(argv[1])) {
        argv[1] = help;
        command = argc > 2 ? find_command(argv[2]) : NULL;
        if (command != NULL)
            return run_command(command, 2, argv);
    }
    if (command != NULL && argc == 3 && strcmp(argv[2], "-h") == 0)
        argv[2] = help;
    if (command != NULL)
        return run_command(command, argc - 1, argv + 1);
    if (is_mistyped(argc, argv))
        return say_mistyped(argv[1]);
    argv[0] = corefrag;
    return cli_cmd_run(argc, argv);
}

int main(int argc, char **argv) {
    argp_err_exit_status = CLI_EXIT_USAGE;
    argp_program_version_hook = print_version;
    cli_temporary_catch_signals();
    if (atexit(check_stdout) != 0)
        return CLI_EXIT_INTERNAL;
    return run(argc, argv);
}
