/*
 * Output is written into PATH.PID.tmp, which rename() puts in PATH's place: whoever reads PATH sees
 * the old file or the whole new one. The table of temporary files is read by a signal's handler, so
 * it is plain storage without locks.
 */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- temporary files and signals ---- */

enum { NR_SLOTS = 8 };

/* A slot is in use while its first byte is not zero; that byte is written last and cleared first,
 * so that the handler never sees half a path. */
static char slots[NR_SLOTS][PATH_MAX];

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
enum { NR_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static void remove_and_die(int signal_number) {
    for (size_t i = 0; i < NR_SLOTS; i++)
        if (*(volatile char *)slots[i] != '\0')
            (void)unlink(slots[i]);
    /* SA_RESETHAND has put the default back; it acts when this handler returns. */
    (void)raise(signal_number);
}

void cli_temporary_catch_signals(void) {
    struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < NR_SIGNALS; i++) {
        struct sigaction before;
        /* A signal that was ignored when we were started (nohup) stays so. */
        if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(fatal_signals[i], &action, NULL);
    }
    /* Over the limit of file sizes a write shall fail, not end us with a file left behind. */
    (void)signal(SIGXFSZ, SIG_IGN);
}

void cli_temporary_add(const char *path) {
    size_t len = strlen(path);
    if (len == 0 || len >= PATH_MAX)
        return;
    for (size_t i = 0; i < NR_SLOTS; i++) {
        if (slots[i][0] != '\0')
            continue;
        memcpy(slots[i] + 1, path + 1, len);
        *(volatile char *)slots[i] = path[0];
        return;
    }
}

void cli_temporary_remove(const char *path) {
    for (size_t i = 0; i < NR_SLOTS; i++)
        if (strcmp(slots[i], path) == 0)
            *(volatile char *)slots[i] = '\0';
}

/* ---- one file ---- */

static void say_failure(const char *path) {
    cli_say("%s cannot be written: %s", path, strerror(errno));
}

static bool open_in_place(struct cli_outfile *file) {
    file->stream = fopen(file->path, "we");
    if (file->stream == NULL)
        say_failure(file->path);
    return file->stream != NULL;
}

/* Announced before it is made, so that no signal comes between. */
static int make_temporary(struct cli_outfile *file) {
    if (asprintf(&file->temporary, "%s.%ld.tmp", file->path, (long)getpid()) < 0) {
        file->temporary = NULL;
        errno = ENOMEM;
        return -1;
    }
    cli_temporary_add(file->temporary);
    int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        cli_temporary_remove(file->temporary);
    return fd;
}

static bool open_beside(struct cli_outfile *file) {
    int fd = make_temporary(file);
    if (fd < 0) {
        say_failure(file->path);
        free(file->temporary);
        return false;
    }
    file->stream = fdopen(fd, "w");
    if (file->stream != NULL)
        return true;
    say_failure(file->path);
    (void)close(fd);
    cli_outfile_discard(file);
    return false;
}

bool cli_outfile_open(struct cli_outfile *file, const char *path) {
    *file = (struct cli_outfile){.path = path};
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return open_in_place(file);
    return open_beside(file);
}

static bool close_stream(struct cli_outfile *file) {
    bool failed = ferror(file->stream) != 0;
    if (fclose(file->stream) != 0)
        failed = true;
    file->stream = NULL;
    return !failed;
}

bool cli_outfile_commit(struct cli_outfile *file) {
    bool written = close_stream(file);
    if (written && file->temporary != NULL)
        written = rename(file->temporary, file->path) == 0;
    if (!written)
        say_failure(file->path);
    if (written && file->temporary != NULL) {
        cli_temporary_remove(file->temporary);
        free(file->temporary);
        file->temporary = NULL;
    }
    cli_outfile_discard(file);
    return written;
}

void cli_outfile_discard(struct cli_outfile *file) {
    if (file->stream != NULL)
        (void)fclose(file->stream);
    file->stream = NULL;
    if (file->temporary == NULL)
        return;
    (void)unlink(file->temporary);
    cli_temporary_remove(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
}
