/*
 * An error that a person can act on.
 *
 * A call that can fail returns an int: 0, or one of enum cf_status, and fills the caller's
 * struct cf_err, whose text names the file, the offset or address, and what to try. The first
 * cause is written where it is known; callers put what they know in front with cf_err_context().
 * A struct cf_err needs no initialisation and owns nothing; NULL is allowed everywhere.
 */
#ifndef CF_BASE_ERR_H
#define CF_BASE_ERR_H

#include "corefrag.h"

/* Fills `err` and returns `status`, so that `return cf_err_set(...)` reads well. */
int cf_err_set(struct cf_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with ": strerror(errno_value)" at the end of the text. */
int cf_err_errno(struct cf_err *err, int status, int errno_value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "CONTEXT: " in front of the text; returns err->status (CF_EINTERNAL for NULL). */
int cf_err_context(struct cf_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "out of memory (BYTES bytes for WHAT)"; returns CF_ENOMEM. */
int cf_err_nomem(struct cf_err *err, unsigned long long bytes, const char *what);

/* The caller's progress() said that it is enough; returns CF_ECANCELLED. */
int cf_err_cancelled(struct cf_err *err);

#endif
