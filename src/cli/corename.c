/* The options that say where files of symbols are; those of analyze and check. */
#include "cli/cli.h"

enum { KEY_EXE = 512, KEY_SYSROOT, KEY_DEBUGINFO, KEY_DEBUGINFOD };

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
