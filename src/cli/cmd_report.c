/* corefrag report DB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outfile.h"

enum { KEY_FORMAT = 256, KEY_TOP, KEY_FULL, KEY_FAIL_ON, TOP_MAX = 1000000 };

static void parse_format(struct argp_state *state, const char *arg, enum cf_format *out) {
    static const struct {
        const char *name;
        enum cf_format format;
    } formats[] = {
        {"text", CF_FORMAT_TEXT},
        {"markdown", CF_FORMAT_MARKDOWN},
        {"html", CF_FORMAT_HTML},
        {"json", CF_FORMAT_JSON},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(arg, formats[i].name) == 0) {
            *out = formats[i].format;
            return;
        }
    }
    cli_usage_error(state, "--format is text, markdown, html or json, not '%s'", arg);
}

static void parse_gate(struct argp_state *state, const char *arg, struct cli_report *report) {
    struct cf_err err;
    if (report->nr_gates == CLI_GATES_MAX)
        cli_usage_error(state, "--fail-on: %d limits are enough", CLI_GATES_MAX);
    else if (cf_gate_check(arg, &err) != CF_OK)
        cli_usage_error(state, "--fail-on: %s", err.text);
    else
        report->gates[report->nr_gates++] = arg;
}

static error_t parse_shape(int key, char *arg, struct argp_state *state) {
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

static error_t parse_report(int key, char *arg, struct argp_state *state) {
    struct cli_report *report = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &report->options;
        return 0;
    case KEY_FAIL_ON:
        parse_gate(state, arg, report);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option shape_options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default), markdown, html or json", 0},
    {"top", KEY_TOP, "N", 0, "Show N rows of each table", 0},
    {"full", KEY_FULL, NULL, 0, "Show all rows, and bytes unrounded", 0},
    {0},
};

const struct argp cli_shape_argp = {.options = shape_options, .parser = parse_shape};

static const struct argp_option report_options[] = {
    {"fail-on", KEY_FAIL_ON, "METRIC=LIMIT", 0,
     "Exit 1 where the value is above LIMIT: retained, releasable, pinned, leak (bytes as 10M, or "
     "50% of the resident heap), arenas, anomalies. May be repeated", 0},
    {0},
};

static const struct argp_child shape_child[] = {{&cli_shape_argp, 0, NULL, 0}, {0}};

const struct argp cli_report_argp = {
    .options = report_options, .parser = parse_report, .children = shape_child,
};

/* Colour where stdout is a terminal that can show it and the user has not said no (NO_COLOR). */
static bool wants_color(void) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (no_color != NULL && *no_color != '\0')
        return false;
    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static int write_to(const struct cli_source *source, const struct cf_report_options *options,
                    FILE *sink, struct cf_err *err) {
    if (source->old_db == NULL)
        return cf_report(NULL, source->db, options, sink, err);
    return cf_diff(NULL, source->old_db, source->db, options, source->any_program, sink, err);
}

static int write_to_stdout(const struct cli_source *source, struct cf_report_options options) {
    struct cf_err err;
    options.color = wants_color();
    if (write_to(source, &options, stdout, &err) != CF_OK)
        return cli_fail(&err);
    return CLI_EXIT_OK;
}

static int write_to_file(const struct cli_source *source, const struct cf_report_options *options,
                         const char *path) {
    struct cli_outfile file;
    if (!cli_outfile_open(&file, path))
        return CLI_EXIT_OUTPUT;
    struct cf_err err;
    int status = write_to(source, options, file.stream, &err);
    if (status == CF_OK)
        return cli_outfile_commit(&file) ? CLI_EXIT_OK : CLI_EXIT_OUTPUT;
    cli_outfile_discard(&file);
    return cli_fail(&err);
}

int cli_write(const struct cli_source *source, const struct cf_report_options *options,
              const char *path) {
    const char *const inputs[] = {source->db, source->old_db};
    struct cf_err err;
    if (path != NULL && cf_output_check(path, true, inputs, 2, &err) != CF_OK)
        return cli_fail(&err);
    return path == NULL ? write_to_stdout(source, *options)
                        : write_to_file(source, options, path);
}

static int measure(const char *db, const char *gate) {
    char says[256];
    struct cf_err err;
    bool crossed = false;
    if (cf_gate_measure(NULL, db, gate, &crossed, says, sizeof says, &err) != CF_OK)
        return cli_fail(&err);
    if (crossed)
        cli_say("--fail-on %s", says);
    return crossed ? CLI_EXIT_CROSSED : CLI_EXIT_OK;
}

int cli_report(const char *db, const struct cli_report *report, const char *path) {
    const struct cli_source source = {.db = db};
    int code = cli_write(&source, &report->options, path);
    for (size_t i = 0; i < report->nr_gates; i++) {
        int measured =
            code == CLI_EXIT_OK || code == CLI_EXIT_CROSSED ? measure(db, report->gates[i]) : code;
        code = measured == CLI_EXIT_OK ? code : measured;
    }
    return code;
}

struct report_command {
    const char *db;
    const char *output;
    struct cli_report report;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct report_command *command = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->report;
        return 0;
    case 'o':
        command->output = cli_parse_output(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, &command->db, arg);
        return 0;
    case ARGP_KEY_END:
        if (command->db == NULL)
            cli_usage_error(state, "which database?");
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
               "\vExit status: 0 done; 1 a --fail-on limit was crossed; 2 usage; 3 DB is not one "
               "of our databases; 7 the report cannot be written.",
        .children = children,
    };
    struct report_command command = {.report.options = CF_REPORT_OPTIONS_INIT};
    if (argp_parse(&parser, argc, argv, 0, NULL, &command) != 0)
        return CLI_EXIT_USAGE;
    return cli_report(command.db, &command.report, command.output);
}
