/*
 * Files that are to be whole or not at all.
 *
 * A cli_outfile is written beside its name, then renamed. What exists under the name and is no
 * regular file (a pipe, /dev/null) is written to as it stands.
 *
 * Temporary files must not outlive us: the library and cli_outfile announce theirs here, and
 * a signal that ends the program (INT, TERM, HUP, PIPE, QUIT) removes them first and then does its
 * work. One process has one such table: signals know no context.
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

void cli_temporary_catch_signals(void);
void cli_temporary_add(const char *path);
void cli_temporary_remove(const char *path);

#endif
