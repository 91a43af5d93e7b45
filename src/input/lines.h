/*
 * A text file of somebody else's, line by line, for the side files (smaps, cgroup). Lines are
 * bounded, bytes of value 0 are refused, and errors begin with FILE:LINE.
 */
#ifndef CF_INPUT_LINES_H
#define CF_INPUT_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "corefrag.h"

enum { CF_LINE_MAX = 8192 };

struct cf_lines {
    FILE *file;
    const char *path; /* borrowed */
    unsigned long number;
    char text[CF_LINE_MAX]; /* the current line, without its end */
};

/* `lines` is filled; end with cf_lines_close(). CF_EINPUT: cannot be opened, or is no file. */
int cf_lines_open(struct cf_lines *lines, const char *path, struct cf_err *err);
/* The same for a file that is open, from its beginning; `fd` stays the caller's, `name` is for
 * messages. */
int cf_lines_open_fd(struct cf_lines *lines, int fd, const char *name, struct cf_err *err);
void cf_lines_close(struct cf_lines *lines);
/* `*more` false: the end. CF_EINPUT: a line that is too long or no text, or a read that failed. */
int cf_lines_next(struct cf_lines *lines, bool *more, struct cf_err *err);
/* CF_EINPUT with "PATH:NUMBER: " in front of the text. */
int cf_lines_fault(const struct cf_lines *lines, struct cf_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A whole number in decimal or hex digits at `*text`, which moves behind it; false: there is none,
 * or it does not fit. */
bool cf_digits(const char **text, unsigned base, uint64_t *out);

#endif
