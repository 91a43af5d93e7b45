/*
 * Texts on their way out. Names that came from the core (paths, command lines, symbols, thread
 * names) are hostile. Escaped, a name is harmless (base/harmless.h), and each backslash of its own
 * is doubled, so that it can be told from ours. Escaped texts are then broken into lines for a
 * terminal of fixed width; widths are those of wcwidth() in the calling thread's locale, which
 * emit_text.c sets to UTF-8 for as long as it runs.
 */
#ifndef CF_REPORT_TEXT_H
#define CF_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* The caller frees; NULL when memory is out. */
char *cf_escape_text(const char *raw);

/* The same for a line that is copied (SQL, a command): the backslash stays single. */
char *cf_escape_code(const char *raw);

/* One word for a POSIX shell (bash where control characters stand in it); the caller frees; NULL
 * when memory is out. Quoted only where needed. */
char *cf_escape_shell(const char *raw);

/* Columns that `text` takes. */
size_t cf_text_width(const char *text);

/* Prints `text` in lines of at most `width` columns: `first` stands before the first line, `rest`
 * before the others; both count. */
void cf_text_wrap(FILE *sink, const char *text, size_t width, const char *first, const char *rest);

#endif
