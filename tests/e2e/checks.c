#include "checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

static void die(const char *file, const char *why) {
    fprintf(stderr, "tests/e2e/%s.sql: %s\n", file, why);
    exit(2);
}

static enum checks_need need_of(const char *file, const char *word) {
    if (!strcmp(word, "residency"))
        return CHECKS_RESIDENCY;
    if (!strcmp(word, "pagemap"))
        return CHECKS_PAGEMAP;
    if (!strcmp(word, "traced"))
        return CHECKS_TRACED;
    die(file, "a check needs something unknown");
    return CHECKS_ALWAYS;
}

/* Cuts the line at *at off and returns it; *at is then the next one. */
static char *take_line(char **at) {
    char *line = strsep(at, "\n");
    return line ? line : "";
}

/* `text` starts behind the dashes of a name. Returns what follows the check's semicolon. */
static char *read_check(const char *file, char *text, struct check *out) {
    char *at = text;
    out->name = take_line(&at);
    out->need = CHECKS_ALWAYS;
    if (at && !strncmp(at, "--- needs ", 10))
        out->need = need_of(file, take_line(&at) + 10);
    char *end = at ? strstr(at, ";\n") : NULL;
    if (!end)
        die(file, "a check does not end with a semicolon");
    out->sql = at;
    *end = 0;
    if (strstr(at, "\n---"))
        die(file, "a check has no query of its own");
    return end + 1;
}

void checks_read(struct checks *checks, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s.sql", name);
    char *text = process_text("tests/e2e", path);
    if (!text)
        die(name, "cannot be read (tests run in the project's own folder)");
    size_t before = checks->nr;
    for (char *at = text; (at = strstr(at, "\n--- "));) {
        if (checks->nr == CHECKS_MAX)
            die(name, "too many checks");
        at = read_check(name, at + 5, &checks->row[checks->nr++]);
    }
    if (checks->nr == before)
        die(name, "has no checks");
    checks->nr_files++;
}
