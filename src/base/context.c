/*
 * The guard between the passes and a caller's callbacks. Threads of a pass report at once, so that
 * one lock is around all three callbacks; progress only tries to take it, since a thread that finds
 * another one telling has nothing to add. What the caller answered is kept: cancelled is for good.
 */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/texts.h"

void cf_log(const struct cf_context *ctx, const char *format, ...) {
    if (ctx == NULL || ctx->log == NULL)
        return;
    char raw[1024], text[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    (void)cf_harmless(raw, text, sizeof text);
    ctx->log(ctx->user, text);
}

static void on_log(void *user, const char *text) {
    struct cf_guard *guard = user;
    (void)pthread_mutex_lock(&guard->lock);
    guard->outer.log(guard->outer.user, text);
    (void)pthread_mutex_unlock(&guard->lock);
}

static void on_temporary(void *user, const char *path, bool exists) {
    struct cf_guard *guard = user;
    (void)pthread_mutex_lock(&guard->lock);
    guard->outer.temporary(guard->outer.user, path, exists);
    (void)pthread_mutex_unlock(&guard->lock);
}

static int on_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct cf_guard *guard = user;
    if (atomic_load(&guard->cancelled))
        return 1;
    /* While one thread is telling, the others have nothing to wait for. */
    if (pthread_mutex_trylock(&guard->lock) != 0)
        return 0;
    if (stage != NULL) {
        guard->stage = stage;
        guard->done = done;
        guard->total = total;
    }
    if (guard->stage != NULL && guard->outer.progress(guard->outer.user, guard->stage,
                                                       guard->done, guard->total) != 0)
        atomic_store(&guard->cancelled, true);
    (void)pthread_mutex_unlock(&guard->lock);
    return atomic_load(&guard->cancelled);
}

void cf_guard_init(struct cf_guard *guard, const struct cf_context *outer) {
    *guard = (struct cf_guard){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (outer != NULL)
        guard->outer = *outer;
    guard->context = (struct cf_context){
        .size = sizeof guard->context,
        .user = guard,
        .log = guard->outer.log != NULL ? on_log : NULL,
        .progress = guard->outer.progress != NULL ? on_progress : NULL,
        .temporary = guard->outer.temporary != NULL ? on_temporary : NULL,
    };
}
