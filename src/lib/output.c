/* cf_output_check(): what may not be written over, by what it is and not by its name. */
#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/door.h"

/* A database of SQLite has the number of its application in bytes 68 to 71 of its file; ours is
 * that of schema/00-meta.sql. */
enum { HEAD_BYTES = 72, APPLICATION_AT = 68 };
static const char sqlite_magic[16] = "SQLite format 3";
static const char our_magic[4] = {'c', 'f', 'r', 'g'};

static void closep(FILE **file) {
    if (*file != NULL)
        (void)fclose(*file);
}

static size_t read_head(const char *path, char head[HEAD_BYTES]) {
    CF_CLEANUP(closep) FILE *file = fopen(path, "re");
    return file == NULL ? 0 : fread(head, 1, HEAD_BYTES, file);
}

/* Links lead to the same file as its name does. */
static bool is_input(const struct stat *there, const char *input) {
    struct stat st;
    if (input == NULL || (strcmp(input, "-") == 0 ? fstat(0, &st) : stat(input, &st)) != 0)
        return false;
    return st.st_dev == there->st_dev && st.st_ino == there->st_ino;
}

static int check_content(const char *path, bool is_report, struct cf_err *err) {
    char head[HEAD_BYTES];
    size_t bytes = read_head(path, head);
    if (bytes >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        return cf_err_set(err, CF_EUSAGE,
                          "%s: is a core, a program or a library, and is never written over: "
                          "choose another name", path);
    if (is_report && bytes == HEAD_BYTES &&
        memcmp(head, sqlite_magic, sizeof sqlite_magic) == 0 &&
        memcmp(head + APPLICATION_AT, our_magic, sizeof our_magic) == 0)
        return cf_err_set(err, CF_EUSAGE,
                          "%s: is a database of corefrag, and no report is written over it: "
                          "choose another name", path);
    return CF_OK;
}

int cf_output_check(const char *path, bool is_report, const char *const *inputs, size_t nr_inputs,
                    struct cf_err *err) {
    int status = cf_door_path(path, "the output", err);
    if (status == CF_OK && nr_inputs > 0)
        status = cf_door_pointer(inputs, "the list of inputs", err);
    struct stat there;
    if (status != CF_OK || stat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return status;
    for (size_t i = 0; i < nr_inputs; i++)
        if (is_input(&there, inputs[i]))
            return cf_err_set(err, CF_EUSAGE,
                              "%s: is the same file as the input %s, and is never written over: "
                              "choose another name", path, inputs[i]);
    return check_content(path, is_report, err);
}
