/*
 * Names that came from the core (paths, command lines, symbols, thread names) are hostile. Escaped,
 * a name is harmless (base/harmless.h), and each backslash of its own is doubled, so that it can be
 * told from ours.
 */
#ifndef CF_REPORT_ESCAPE_H
#define CF_REPORT_ESCAPE_H

/* The caller frees; NULL when memory is out. */
char *cf_escape_text(const char *raw);

/* The same for a line that is copied (SQL, a command): the backslash stays single. */
char *cf_escape_code(const char *raw);

/* One word for a POSIX shell (bash where control characters stand in it); the caller frees; NULL
 * when memory is out. Quoted only where needed. */
char *cf_escape_shell(const char *raw);

#endif
