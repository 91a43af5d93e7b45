/*
 * What the commands share. The command line stands on the public header alone.
 *
 * stdout is data, stderr is talk. Every command returns its exit code; main() flushes and checks
 * stdout before it exits, and a failed write turns the code into CLI_EXIT_OUTPUT.
 */
#ifndef CF_CLI_CLI_H
#define CF_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "corefrag.h"

/* The last two are those of sysexits.h. */
enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_CROSSED = 1, /* a --fail-on limit */
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INPUT = 3,
    CLI_EXIT_INCOMPLETE = 4, /* this and the next two: done, but ... (enum cf_outcome) */
    CLI_EXIT_NO_HEAP = 5,
    CLI_EXIT_CORRUPT = 6,
    CLI_EXIT_OUTPUT = 7,
    CLI_EXIT_INTERNAL = 70,
    CLI_EXIT_MEMORY = 71,
};

enum { CLI_GATES_MAX = 32 };

struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv);
};

int cli_cmd_run(int argc, char **argv); /* corefrag CORE */
int cli_cmd_analyze(int argc, char **argv);
int cli_cmd_report(int argc, char **argv);
int cli_cmd_check(int argc, char **argv);
int cli_cmd_schema(int argc, char **argv);
int cli_cmd_explain(int argc, char **argv);
int cli_cmd_diff(int argc, char **argv);

/* The exit code of an analysis or check that was done. */
int cli_outcome_exit(enum cf_outcome outcome);

/* Prints "corefrag: TEXT" to stderr, drops what stdout has not taken yet, and returns the exit code
 * for err->status. */
int cli_fail(const struct cf_err *err);
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* argp_error() for texts in which arguments stand: harmless. */
void cli_usage_error(struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Options that several commands have; argp children. Their input is the struct named. */
extern const struct argp cli_analyze_argp;  /* struct cli_analysis */
extern const struct argp cli_files_argp;    /* struct cf_options */
extern const struct argp cli_shape_argp;    /* struct cf_report_options */
extern const struct argp cli_report_argp;   /* struct cli_report */
extern const struct argp cli_progress_argp; /* struct cli_progress */

/*
 * Progress on stderr: one line, drawn only after the first second, only where stderr is a terminal
 * (or always, where the user says so), and gone before anything else is said.
 */
enum cli_progress_mode { CLI_PROGRESS_AUTO, CLI_PROGRESS_ALWAYS, CLI_PROGRESS_NEVER };

struct cli_progress {
    enum cli_progress_mode mode;
    bool is_drawn;
    uint64_t begin_ms;
    uint64_t drawn_ms;
};

/* Starts the clock and returns the context that draws with `progress` (borrowed by it), logs to
 * stderr, and keeps account of temporary files. */
struct cf_context cli_progress_context(struct cli_progress *progress);
void cli_progress_clear(struct cli_progress *progress);

/* How a core becomes a database. Strings are borrowed from argv, except `db_owned`. */
struct cli_analysis {
    const char *core;
    const char *db; /* NULL: the core's base name and ".db" in the current folder */
    char *db_owned;
    struct cf_options options;
};

/* Fills in the database's name where none was given. False: it cannot be had (said on stderr). */
bool cli_analysis_name_db(struct cli_analysis *analysis);
void cli_analysis_fini(struct cli_analysis *analysis);

/* Analyzes, with progress, and returns the exit code; what it means is said on stderr. `*written`
 * tells whether there is a database now. */
int cli_analyze(const struct cli_analysis *analysis, struct cli_progress *progress, bool *written);

/* A report, and the limits that must not be crossed. */
struct cli_report {
    struct cf_report_options options;
    const char *gates[CLI_GATES_MAX];
    size_t nr_gates;
};

/* What is written: the report of `db`, or what grew from `old_db` to it. */
struct cli_source {
    const char *db;
    const char *old_db; /* NULL: a report */
    bool any_program;
};

/* Writes it to `path`, whole or not at all, or to stdout where `path` is NULL; the exit code. */
int cli_write(const struct cli_source *source, const struct cf_report_options *options,
              const char *path);

/* Writes the report of `db` to `path`, whole or not at all, or to stdout where `path` is NULL; then
 * measures the limits and says on stderr which were crossed. */
int cli_report(const char *db, const struct cli_report *report, const char *path);

/* The name of a file to write, for -o; an empty one is a usage error. */
const char *cli_parse_output(struct argp_state *state, const char *arg);

/* One argument where there must be one: takes `arg` into `*slot`, or ends with a usage error. */
void cli_take_argument(struct argp_state *state, const char **slot, const char *arg);

/* A number from 1 to `max`, or a usage error that names the option. */
unsigned cli_parse_number(struct argp_state *state, const char *option, const char *arg,
                          unsigned max);

#endif
