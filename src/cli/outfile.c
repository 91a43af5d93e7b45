#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/temporary.h"

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
