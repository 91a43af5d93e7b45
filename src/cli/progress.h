/*
 * Progress on stderr: one line, drawn only after the first second, only where stderr is a terminal
 * (or always, where the user says so), and gone before anything else is said.
 */
#ifndef CF_CLI_PROGRESS_H
#define CF_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "corefrag.h"

enum cli_progress_mode { CLI_PROGRESS_AUTO, CLI_PROGRESS_ALWAYS, CLI_PROGRESS_NEVER };

struct cli_progress {
    enum cli_progress_mode mode;
    bool is_drawn;
    uint64_t begin_ms;
    uint64_t drawn_ms;
};

/* Starts the clock and returns the context that draws with `progress` (borrowed by it), logs to
 * stderr, and keeps account of temporary files. */
struct cf_context cli_progress_context(struct cli_progress *progress);
void cli_progress_clear(struct cli_progress *progress);

#endif
