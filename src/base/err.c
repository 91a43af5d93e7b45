/*
 * Errors are built in place, in a text of fixed length, so that no error can fail. A context in
 * front takes half of the room at most: the cause, which stands behind it, is what people need.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"

/* Paths and names stand in the text: it is to be one line that drives no terminal. */
static void make_harmless(struct cf_err *err) {
    char raw[sizeof err->text];
    memcpy(raw, err->text, sizeof raw);
    (void)cf_harmless(raw, err->text, sizeof err->text);
}

int cf_err_set(struct cf_err *err, int status, const char *format, ...) {
    if (err == NULL)
        return status;
    err->status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    make_harmless(err);
    return status;
}

int cf_err_errno(struct cf_err *err, int status, int errno_value, const char *format, ...) {
    if (err == NULL)
        return status;
    err->status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errno_value));
    make_harmless(err);
    return status;
}

int cf_err_context(struct cf_err *err, const char *format, ...) {
    if (err == NULL)
        return CF_EINTERNAL;
    char context[sizeof err->text];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(context, sizeof context, format, args);
    va_end(args);
    char cause[sizeof err->text];
    memcpy(cause, err->text, sizeof cause);
    size_t used = strlen(context);
    if (used > sizeof context / 2)
        used = sizeof context / 2;
    (void)snprintf(err->text, sizeof err->text, "%.*s: %.*s", (int)used, context,
                   (int)(sizeof err->text - used - 3), cause);
    make_harmless(err);
    return err->status;
}

int cf_err_nomem(struct cf_err *err, unsigned long long bytes, const char *what) {
    return cf_err_set(err, CF_ENOMEM, "out of memory (%llu bytes for %s)", bytes, what);
}

int cf_err_cancelled(struct cf_err *err) {
    return cf_err_set(err, CF_ECANCELLED, "cancelled");
}
