/*
 * How the library talks: through the caller's struct cf_context, which may be NULL and whose
 * callbacks may be NULL. Progress is a stage's name (a literal) with done and total in one unit of
 * the stage's choice (bytes, rows); total 0 means that it is not known.
 *
 * Whatever takes longer than some 20 ms calls cf_progress() or cf_tick() that often, also in a
 * thread of its own, and returns cf_err_cancelled() (base/err.h) once either says true. A public
 * call hands its passes the context of a struct cf_guard: then "cancelled" is for good, and
 * threads that report at once do not disturb the caller.
 */
#ifndef CF_BASE_CONTEXT_H
#define CF_BASE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "corefrag.h"

void cf_log(const struct cf_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True: cancelled. */
static inline bool cf_progress(const struct cf_context *ctx, const char *stage, uint64_t done,
                               uint64_t total) {
    return ctx != NULL && ctx->progress != NULL &&
           ctx->progress(ctx->user, stage, done, total) != 0;
}

/* The same where there is nothing new to say: the guard says again what was said last. */
static inline bool cf_tick(const struct cf_context *ctx) {
    return cf_progress(ctx, NULL, 0, 0);
}

/* Tells the caller of a temporary file: before it is made (`exists`), and after it was renamed or
 * removed. */
static inline void cf_temporary(const struct cf_context *ctx, const char *path, bool exists) {
    if (ctx != NULL && ctx->temporary != NULL)
        ctx->temporary(ctx->user, path, exists);
}

/* Stands between the passes and the caller's context for the time of one public call. */
struct cf_guard {
    struct cf_context context; /* for the passes */
    struct cf_context outer;   /* the caller's */
    pthread_mutex_t lock; /* around the caller's callbacks */
    atomic_bool cancelled;
    const char *stage; /* as told last */
    uint64_t done, total;
};

/* `outer` is copied, and may be NULL. `guard` must stay where it is, and needs no end. */
void cf_guard_init(struct cf_guard *guard, const struct cf_context *outer);

#endif
