/*
 * Which threads the core caught in malloc or free, and what they have in hand there: what
 * ptmalloc/flux.h judges deviations by.
 */
#ifndef CF_LIB_STANDING_H
#define CF_LIB_STANDING_H

#include "corefrag.h"
#include "lib/reading.h"
#include "sym/frames.h"

/* Where the walk met corruption, tells it from operations that were under way. `frames` of the
 * reading's threads, or NULL: found here, if they are needed. Fails as cf_frames_find() does. */
int cf_standing_judge(const struct cf_context *ctx, struct cf_reading *reading,
                      const struct cf_frames *frames, struct cf_err *err);

#endif
