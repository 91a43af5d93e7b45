/*
 * Lines for a terminal of fixed width. Texts are escaped UTF-8 (escape.h). Widths are those of
 * wcwidth() in the calling thread's locale, which emit_text.c sets to UTF-8 for as long as it runs.
 */
#ifndef CF_REPORT_WRAP_H
#define CF_REPORT_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Columns that `text` takes. */
size_t cf_text_width(const char *text);

/* The first line of `text` that fits into `width` columns: its bytes, broken at a space where there
 * is one, else after a slash, else anywhere between characters; at least one character. `*next` is
 * where the following line begins, with the spaces between left out. */
size_t cf_text_line(const char *text, size_t width, const char **next);

/* Prints `text` in lines of at most `width` columns: `first` stands before the first line, `rest`
 * before the others; both count. */
void cf_text_wrap(FILE *sink, const char *text, size_t width, const char *first, const char *rest);

#endif
