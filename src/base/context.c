#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>

void cf_log(const struct cf_context *ctx, const char *format, ...) {
    if (ctx == NULL || ctx->log == NULL)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->log(ctx->user, text);
}
