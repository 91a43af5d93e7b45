/*
 * Temporary files that must not outlive us. The library and the report's -o announce them here; a
 * signal that ends the program (INT, TERM, HUP, PIPE, QUIT) removes them first and then does its
 * work. One process has one such table: signals know no context.
 */
#ifndef CF_CLI_TEMPORARY_H
#define CF_CLI_TEMPORARY_H

void cli_temporary_catch_signals(void);
void cli_temporary_add(const char *path);
void cli_temporary_remove(const char *path);

#endif
