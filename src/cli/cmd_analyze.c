/* corefrag analyze CORE -o DB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum {
    KEY_CHUNKS = 256,
    KEY_FORCE,
    KEY_NO_REACH,
    KEY_THREADS,
    KEY_CPUS,
    KEY_SMAPS,
    KEY_CGROUP,
    KEY_PREVIEWS,
    THREADS_MAX = 1024,
    CPUS_MAX = 65536,
};

static enum cf_chunks parse_chunks(struct argp_state *state, const char *arg) {
    static const char *const names[] = {
        [CF_CHUNKS_ALL] = "all", [CF_CHUNKS_FREE] = "free", [CF_CHUNKS_NONE] = "none"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(arg, names[i]) == 0)
            return (enum cf_chunks)i;
    cli_usage_error(state, "--chunks is all, free or none, not '%s'", arg);
    return CF_CHUNKS_ALL;
}

static error_t parse_analysis(int key, char *arg, struct argp_state *state) {
    struct cli_analysis *analysis = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &analysis->options;
        return 0;
    case 'o':
        analysis->db = cli_parse_output(state, arg);
        return 0;
    case KEY_CHUNKS:
        analysis->options.chunks = parse_chunks(state, arg);
        return 0;
    case KEY_FORCE:
        analysis->options.force = true;
        return 0;
    case KEY_NO_REACH:
        analysis->options.depth = CF_DEPTH_MALLOC;
        return 0;
    case KEY_THREADS:
        analysis->options.threads = cli_parse_number(state, "--threads", arg, THREADS_MAX);
        return 0;
    case KEY_PREVIEWS:
        analysis->options.previews = true;
        return 0;
    case KEY_CPUS:
        analysis->options.cpus = cli_parse_number(state, "--cpus", arg, CPUS_MAX);
        return 0;
    case KEY_SMAPS:
        analysis->options.smaps_path = arg;
        return 0;
    case KEY_CGROUP:
        analysis->options.cgroup_path = arg;
        return 0;
    case ARGP_KEY_ARG:
        cli_take_argument(state, &analysis->core, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option analysis_options[] = {
    {"output", 'o', "DB", 0,
     "Write the database here (default: CORE's base name and .db, in the "
     "current folder)",
     0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite an existing database", 0},
    {"chunks", KEY_CHUNKS, "WHICH", 0,
     "Which chunks to list in v_chunk: all (default), free, none",
     0},
    {"no-reach", KEY_NO_REACH, NULL, 0, "Leave out reachability: no leaks, types or holders", 0},
    {"previews", KEY_PREVIEWS, NULL, 0,
     "Keep the first words of texts in the database (v_preview), which else holds no bytes of the "
     "process",
     0},
    {"cpus", KEY_CPUS, "N", 0, "Cores that the process could use: decides malloc's arena limit", 0},
    {"smaps", KEY_SMAPS, "FILE", 0,
     "Compare with the kernel's own count: /proc/PID/smaps or smaps_rollup, saved before the core",
     0},
    {"cgroup", KEY_CGROUP, "PATH", 0,
     "Compare with the cgroup's: its memory.stat, memory.max ..., one of them or the folder", 0},
    {"threads", KEY_THREADS, "N", 0, "Work with so many threads (default: one a core)", 0},
    {0},
};

static const struct argp_child analysis_children[] = {
    {&cli_files_argp, 0, "Files of symbols (used only with the build id that the core has):", 0},
    {0}};

const struct argp cli_analyze_argp = {
    .options = analysis_options, .parser = parse_analysis, .children = analysis_children};

bool cli_analysis_name_db(struct cli_analysis *analysis) {
    if (analysis->db != NULL)
        return true;
    const char *slash = strrchr(analysis->core, '/');
    const char *base = slash == NULL ? analysis->core : slash + 1;
    if (*base == '\0' || strcmp(base, "-") == 0) {
        cli_say("'%s' gives the database no name: use -o DB", analysis->core);
        return false;
    }
    if (asprintf(&analysis->db_owned, "%s.db", base) < 0) {
        analysis->db_owned = NULL;
        cli_say("out of memory");
        return false;
    }
    analysis->db = analysis->db_owned;
    return true;
}

void cli_analysis_fini(struct cli_analysis *analysis) {
    free(analysis->db_owned);
    analysis->db_owned = NULL;
}

static void say_outcome(enum cf_outcome outcome, const struct cli_analysis *analysis) {
    switch (outcome) {
    case CF_OUTCOME_WHOLE:
        return;
    case CF_OUTCOME_INCOMPLETE:
        cli_say("%s is incomplete: the figures are for what is in it (corefrag check %s)",
                analysis->core, analysis->core);
        return;
    case CF_OUTCOME_NO_HEAP:
        cli_say("%s holds no glibc malloc heap", analysis->core);
        return;
    case CF_OUTCOME_CORRUPT:
        cli_say("the heap in %s is corrupt: see v_verdict and v_anomaly in %s", analysis->core,
                analysis->db);
        return;
    }
}

int cli_analyze(const struct cli_analysis *analysis, struct cli_progress *progress, bool *written) {
    struct cf_context context = cli_progress_context(progress);
    enum cf_outcome outcome = CF_OUTCOME_WHOLE;
    struct cf_err err;
    int status =
        cf_analyze(&context, analysis->core, analysis->db, &analysis->options, &outcome, &err);
    cli_progress_clear(progress);
    *written = status == CF_OK;
    if (status != CF_OK)
        return cli_fail(&err);
    say_outcome(outcome, analysis);
    return cli_outcome_exit(outcome);
}

struct analyze_command {
    struct cli_analysis analysis;
    struct cli_progress progress;
};

static error_t parse_command(int key, char *arg, struct argp_state *state) {
    struct analyze_command *command = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->analysis;
        state->child_inputs[1] = &command->progress;
        return 0;
    case ARGP_KEY_END:
        if (command->analysis.core == NULL)
            cli_usage_error(state, "which core?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_cmd_analyze(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&cli_analyze_argp, 0, NULL, 0}, {&cli_progress_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .parser = parse_command,
        .args_doc = "CORE",
        .doc = "Analyze an ELF core into a new SQLite database, and print nothing."
               "\vExit status: 0 done; 2 usage; 3 CORE cannot be read or is no core; 4 done, but "
               "CORE is incomplete; 5 done, but there is no glibc malloc heap in it; 6 done, but "
               "the heap is inconsistent; 7 DB cannot be written, or exists and --force was not "
               "given.",
        .children = children,
    };
    struct analyze_command command = {.analysis.options = CF_OPTIONS_INIT};
    error_t parsed = argp_parse(&parser, argc, argv, 0, NULL, &command);
    if (parsed != 0)
        return CLI_EXIT_USAGE;
    bool written;
    int code = CLI_EXIT_USAGE;
    if (cli_analysis_name_db(&command.analysis))
        code = cli_analyze(&command.analysis, &command.progress, &written);
    cli_analysis_fini(&command.analysis);
    return code;
}
