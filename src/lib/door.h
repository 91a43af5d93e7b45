/*
 * What every public call does first: it judges the caller's arguments, and takes copies of the
 * option structs, since a caller that was built with another version has others. All answers are
 * CF_OK or CF_EUSAGE.
 */
#ifndef CF_LIB_DOOR_H
#define CF_LIB_DOOR_H

#include <stdio.h>

#include "base/context.h"
#include "corefrag.h"

/* `given` may be NULL: then the callee's copy has the defaults. */
int cf_door_options(const struct cf_options *given, struct cf_options *out, struct cf_err *err);
int cf_door_report_options(const struct cf_report_options *given, struct cf_report_options *out,
                           struct cf_err *err);

/* What stands between the caller's context and the passes; `guard` must stay where it is. */
int cf_door_context(const struct cf_context *given, struct cf_guard *guard, struct cf_err *err);

/* A name must be there and not empty; `what` says whose ("the core"). */
int cf_door_path(const char *path, const char *what, struct cf_err *err);

/* A pointer that the call cannot do without. */
int cf_door_pointer(const void *pointer, const char *what, struct cf_err *err);

/* Flushes the sink and checks it: CF_EOUTPUT where what was written did not arrive. */
int cf_door_close_sink(FILE *sink, const char *what, struct cf_err *err);

#endif
