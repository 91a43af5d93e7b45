/*
 * The line on stderr while a core is analyzed. It is drawn ten times a second at most, over itself
 * (carriage return, erase to the end of the line), and wiped before other talk.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outfile.h"

enum { KEY_PROGRESS = 300, FIRST_MS = 1000, AGAIN_MS = 100, BAR_CELLS = 30 };

static uint64_t now_ms(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_wanted(enum cli_progress_mode mode) {
    const char *term = getenv("TERM");
    if (mode != CLI_PROGRESS_AUTO)
        return mode == CLI_PROGRESS_ALWAYS;
    return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

static void draw(const char *stage, uint64_t done, uint64_t total) {
    if (total == 0) {
        (void)fprintf(stderr, "\r\033[K%-24s", stage);
        return;
    }
    double share = done >= total ? 1 : (double)done / (double)total;
    int cells = (int)(share * BAR_CELLS);
    char bar[BAR_CELLS + 1];
    memset(bar, ' ', BAR_CELLS);
    memset(bar, '#', (size_t)cells);
    bar[BAR_CELLS] = '\0';
    (void)fprintf(stderr, "\r\033[K%-24s [%s] %3.0f %%", stage, bar, share * 100);
}

static int on_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct cli_progress *progress = user;
    uint64_t now = now_ms();
    bool is_lazy = progress->mode == CLI_PROGRESS_AUTO;
    if (is_lazy && now - progress->begin_ms < FIRST_MS)
        return 0;
    if (progress->is_drawn && now - progress->drawn_ms < AGAIN_MS)
        return 0;
    draw(stage, done, total);
    (void)fflush(stderr);
    progress->is_drawn = true;
    progress->drawn_ms = now;
    return 0;
}

static void on_log(void *user, const char *text) {
    cli_progress_clear(user);
    cli_say("%s", text);
}

static void on_temporary(void *user, const char *path, bool exists) {
    (void)user;
    if (exists)
        cli_temporary_add(path);
    else
        cli_temporary_remove(path);
}

struct cf_context cli_progress_context(struct cli_progress *progress) {
    progress->begin_ms = now_ms();
    return (struct cf_context){
        .size = sizeof(struct cf_context),
        .user = progress,
        .log = on_log,
        .progress = is_wanted(progress->mode) ? on_progress : NULL,
        .temporary = on_temporary,
    };
}

void cli_progress_clear(struct cli_progress *progress) {
    if (!progress->is_drawn)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->is_drawn = false;
}

static error_t parse_progress(int key, char *arg, struct argp_state *state) {
    static const char *const names[] = {"auto", "always", "never"};
    struct cli_progress *progress = state->input;
    if (key != KEY_PROGRESS)
        return ARGP_ERR_UNKNOWN;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(arg, names[i]) == 0) {
            progress->mode = (enum cli_progress_mode)i;
            return 0;
        }
    }
    cli_usage_error(state, "--progress is auto, always or never, not '%s'", arg);
    return 0;
}

static const struct argp_option progress_options[] = {
    {"progress", KEY_PROGRESS, "WHEN", 0, "Draw progress on stderr: auto (default), always, never",
     0},
    {0},
};

const struct argp cli_progress_argp = {.options = progress_options, .parser = parse_progress};
