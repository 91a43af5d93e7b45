/*
 * What glibc said before it stopped the program: __libc_message() maps a page for the text and
 * leaves its address in __abort_msg, a variable of libc (2.4 and later). Found by its shape, with
 * no symbols: a word in libc's own data that leads to a page which begins with its own size and
 * goes on with a text.
 *
 * The text is shown only where it is one of malloc's own, from a table: what another assertion
 * prints belongs to the program, and may hold its data.
 */
#ifndef CF_LIBC_ABORTMSG_H
#define CF_LIBC_ABORTMSG_H

#include "libc/malloc.h"

enum cf_abort_state {
    CF_ABORT_UNKNOWN, /* libc's data is not in the core, or not known */
    CF_ABORT_NONE,    /* malloc has not stopped the program */
    CF_ABORT_MALLOC,  /* it has */
};

struct cf_abort {
    enum cf_abort_state state;
    const char *text; /* malloc's own, static; NULL unless it stopped the program */
};

/* Reads libc's data around namespace 0's main arena; cheap. */
struct cf_abort cf_abort_find(const struct cf_malloc *m);

#endif
