/*
 * A file that appears whole or not at all: written beside its name, then renamed. What exists under
 * the name and is no regular file (a pipe, /dev/null) is written to as it stands.
 */
#ifndef CF_CLI_OUTFILE_H
#define CF_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct cli_outfile {
    FILE *stream;
    const char *path; /* borrowed */
    char *temporary;  /* NULL: written in place */
};

/* False: said on stderr, nothing is left open. */
bool cli_outfile_open(struct cli_outfile *file, const char *path);
/* Flushes, checks, renames and closes; on false (said on stderr) nothing is left behind. */
bool cli_outfile_commit(struct cli_outfile *file);
void cli_outfile_discard(struct cli_outfile *file);

#endif
