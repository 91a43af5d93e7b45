/*
 * Runs programs for the end-to-end tests, and makes cores of them.
 *
 * Everything happens in a folder of the test's own below $TMPDIR (or /tmp). A program that does not
 * end by itself is killed after two minutes.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_ROOM = 4096 };

/* The absolute path of the corefrag under test ($COREFRAG, else build/corefrag); NULL: absent. */
const char *process_corefrag(void);

/* Puts the absolute path of program `name` of $GEN (else build/gen) into `out`; false: absent. */
bool process_generator(const char *name, char out[PATH_ROOM]);

/* Makes an empty folder and puts its path into `out`. False, with a message, if it cannot. */
bool process_folder_make(char out[PATH_ROOM]);

/* Removes a folder that process_folder_make() made, with the files in it. */
void process_folder_remove(const char *folder);

/*
 * Runs argv[0] with `argv` in `folder`; its stdout goes to `folder`/stdout, its stderr to
 * `folder`/stderr. Returns the exit code, 128 + N for signal N, or -1 if it could not be started.
 */
int process_run(const char *folder, char *const argv[]);

/*
 * Runs a truth program in `folder` until it aborts or faults, and puts the path of the kernel's
 * core into `core`. False if the kernel wrote none there (it may pipe cores elsewhere, or forbid
 * them).
 */
bool process_kernel_core(const char *folder, char *const argv[], char core[PATH_ROOM]);

/*
 * Starts a program that prints "ready" and goes on, kills it with SIGABRT, and puts the path of the
 * kernel's core into `core`. Before that it is stopped and its smaps saved as
 * `folder`/stopped.smaps. False if the kernel wrote none there.
 */
bool process_killed_core(const char *folder, char *const argv[], char core[PATH_ROOM]);

/*
 * The same, where gdb writes its core. False if there is no gdb or it may not attach.
 */
bool process_gdb_core(const char *folder, char *const argv[], char core[PATH_ROOM]);

/* The whole text of `folder`/`name`; the caller frees it with free(). NULL if there is none. */
char *process_text(const char *folder, const char *name);

#endif
