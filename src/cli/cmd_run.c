/* corefrag CORE: analyze, then report */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

struct run_command {
    struct cli_analysis analysis;
    struct cli_report report;
    struct cli_progress progress;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct run_command *command = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->analysis;
        state->child_inputs[1] = &command->report;
        state->child_inputs[2] = &command->progress;
        return 0;
    case ARGP_KEY_END:
        if (command->analysis.core == NULL)
            argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int analyze_and_report(struct run_command *command) {
    if (!cli_analysis_name_db(&command->analysis))
        return CLI_EXIT_USAGE;
    bool written;
    int analyzed = cli_analyze(&command->analysis, &command->progress, &written);
    if (!written)
        return analyzed;
    int reported = cli_report(command->analysis.db, &command->report, NULL);
    /* What is wrong with the core comes before what was measured in it. */
    return reported == CLI_EXIT_OK || (reported == CLI_EXIT_CROSSED && analyzed != CLI_EXIT_OK)
               ? analyzed
               : reported;
}

/* Whether it is a database (of SQLite; whose, the report finds out). */
static bool is_database(const char *path) {
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    struct stat there;
    bool is_file = strcmp(path, "-") != 0 && stat(path, &there) == 0 && S_ISREG(there.st_mode);
    FILE *file = is_file ? fopen(path, "re") : NULL;
    bool is = file != NULL && fread(head, 1, sizeof head, file) == sizeof head &&
              memcmp(head, magic, sizeof head) == 0;
    if (file != NULL)
        (void)fclose(file);
    return is;
}

static int report_database(const struct run_command *command) {
    const char *db = command->analysis.core;
    if (command->analysis.db == NULL)
        return cli_report(db, &command->report, NULL);
    cli_say("%s is a database already: corefrag report %s -o FILE writes its report", db, db);
    return CLI_EXIT_USAGE;
}

int cli_cmd_run(int argc, char **argv) {
    static const struct argp_child children[] = {{&cli_analyze_argp, 0, "Analysis:", 1},
                                                 {&cli_report_argp, 0, "Report:", 2},
                                                 {&cli_progress_argp, 0, "Talk:", 3},
                                                 {0}};
    static const struct argp parser = {
        .parser = parse_command,
        .args_doc = "CORE\nanalyze CORE -o DB\nreport DB\ncheck CORE\n"
                    "explain DB ADDRESS\ndiff OLD.db NEW.db\n"
                    "schema [VIEW]",
        .doc = "Say why the process behind an ELF core holds its memory: rebuild what glibc's "
               "malloc was doing, store it in an SQLite database, print the report."
               "\vcorefrag CORE writes CORE's base name and .db in the current folder, then prints "
               "the report; of a database that analyze made it prints the report. Each command has "
               "its own --help. A core whose name is that of a "
               "command is given as ./NAME.\n\n"
               "Exit status: 0 done; 1 a --fail-on limit was crossed; 2 usage; 3 the input cannot "
               "be read, or is no core or not one of our databases; 4 done, but the core is "
               "incomplete; 5 done, but there is no glibc malloc heap in it; 6 done, but the heap "
               "is inconsistent; 7 the output cannot be written, or exists and --force was not "
               "given.",
        .children = children,
    };
    struct run_command command = {.analysis.options = CF_OPTIONS_INIT,
                              .report.options = CF_REPORT_OPTIONS_INIT};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    int code = is_database(command.analysis.core) ? report_database(&command)
                                                  : analyze_and_report(&command);
    cli_analysis_fini(&command.analysis);
    return code;
}
