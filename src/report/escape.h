/*
 * Names that came from the core (paths, command lines, symbols, thread names) are hostile: they may
 * hold terminal escape sequences, line breaks, bytes that are no UTF-8, or characters that turn the
 * direction of writing around. Escaped, a name is one line of valid UTF-8 that shows what it is:
 *
 *     control characters, bytes that are no UTF-8   \x1b
 *     format and direction characters, separators   \u{202e}
 *     the backslash itself                          \\
 */
#ifndef CF_REPORT_ESCAPE_H
#define CF_REPORT_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/* One code point of `text` into `out`; returns its bytes, 0 at the end of the string or where the
 * bytes are no UTF-8 (overlong forms, surrogates and values above 0x10ffff are none). */
size_t cf_utf8_decode(const char *text, uint32_t *out);

/* The caller frees; NULL when memory is out. */
char *cf_escape_text(const char *raw);

/* The same for a line that is copied (SQL, a command): the backslash stays single. */
char *cf_escape_code(const char *raw);

/* One word for a POSIX shell (bash where control characters stand in it); the caller frees; NULL
 * when memory is out. Quoted only where needed. */
char *cf_escape_shell(const char *raw);

#endif
