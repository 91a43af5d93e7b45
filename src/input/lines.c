/*
 * Lines are of bounded length and have no byte 0: the side files are written by the kernel and
 * copied by people, so that whatever else is met is another file.
 */
#include "input/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/err.h"

static int take_stream(struct cf_lines *lines, FILE *file, const char *path, struct cf_err *err) {
    struct stat about;
    lines->path = path;
    lines->number = 0;
    lines->text[0] = '\0';
    lines->file = file;
    if (file == NULL)
        return cf_err_errno(err, CF_EINPUT, errno, "%s cannot be opened", path);
    if (fstat(fileno(lines->file), &about) != 0 || S_ISDIR(about.st_mode)) {
        cf_lines_close(lines);
        return cf_err_set(err, CF_EINPUT, "%s is a folder, not a file", path);
    }
    return CF_OK;
}

int cf_lines_open(struct cf_lines *lines, const char *path, struct cf_err *err) {
    return take_stream(lines, fopen(path, "re"), path, err);
}

int cf_lines_open_fd(struct cf_lines *lines, int fd, const char *name, struct cf_err *err) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = own < 0 || lseek(own, 0, SEEK_SET) != 0 ? NULL : fdopen(own, "r");
    if (file == NULL && own >= 0)
        (void)close(own);
    return take_stream(lines, file, name, err);
}

void cf_lines_close(struct cf_lines *lines) {
    if (lines->file != NULL)
        (void)fclose(lines->file);
    lines->file = NULL;
}

int cf_lines_fault(const struct cf_lines *lines, struct cf_err *err, const char *format, ...) {
    char text[768];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cf_err_set(err, CF_EINPUT, "%s:%lu: %s", lines->path, lines->number, text);
}

/* fgets() cannot tell a byte 0 from the end of the text, so bytes are read one by one. */
int cf_lines_next(struct cf_lines *lines, bool *more, struct cf_err *err) {
    size_t used = 0;
    int byte = 0;
    lines->number++;
    while ((byte = getc(lines->file)) != EOF && byte != '\n') {
        if (byte == '\0')
            return cf_lines_fault(lines, err, "this is no text");
        if (used + 1 == sizeof lines->text)
            return cf_lines_fault(lines, err, "the line is too long: this is another file");
        lines->text[used++] = (char)byte;
    }
    if (ferror(lines->file))
        return cf_err_errno(err, CF_EINPUT, errno, "%s cannot be read", lines->path);
    if (used > 0 && lines->text[used - 1] == '\r')
        used--;
    lines->text[used] = '\0';
    *more = byte != EOF || used > 0;
    return CF_OK;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

bool cf_digits(const char **text, unsigned base, uint64_t *out) {
    const char *at = *text;
    uint64_t value = 0;
    for (; digit_of(*at) < (int)base; at++)
        if (!cf_mul_u64(value, base, &value) ||
            !cf_add_u64(value, (uint64_t)digit_of(*at), &value))
            return false;
    if (at == *text)
        return false;
    *text = at;
    *out = value;
    return true;
}
