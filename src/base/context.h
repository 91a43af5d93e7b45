/*
 * How the library talks: through the caller's struct cf_context, which may be NULL and whose
 * callbacks may be NULL. Progress is a stage's name with done and total in one unit of the
 * stage's choice (bytes, rows); total 0 means that it is not known.
 */
#ifndef CF_BASE_CONTEXT_H
#define CF_BASE_CONTEXT_H

#include <stdint.h>

#include "corefrag.h"

void cf_log(const struct cf_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void cf_progress(const struct cf_context *ctx, const char *stage, uint64_t done,
                               uint64_t total) {
    if (ctx != NULL && ctx->progress != NULL)
        ctx->progress(ctx->user, stage, done, total);
}

/* Tells the caller of a temporary file: before it is made (`exists`), and after it was renamed or
 * removed. */
static inline void cf_temporary(const struct cf_context *ctx, const char *path, bool exists) {
    if (ctx != NULL && ctx->temporary != NULL)
        ctx->temporary(ctx->user, path, exists);
}

#endif
