/*
 * The whole way on hostile bytes: cf_analyze() into a database, cf_report() from it. A core that
 * is refused leaves no database; one that is accepted gives a report.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "corefrag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const unsigned fuzz_variants;
const unsigned fuzz_variants = 4;

static void report(const char *db_path) {
    CF_CLEANUP_FCLOSE FILE *sink = fopen("/dev/null", "w");
    struct cf_report_options options = {0};
    struct cf_err err;
    if (sink != NULL && cf_report(NULL, db_path, &options, sink, &err) != CF_OK &&
        err.status != CF_ENOMEM)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CF_CLEANUP_CLOSE int fd = memfd_create("seed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    char core_path[64];
    char db_path[64];
    (void)snprintf(core_path, sizeof core_path, "/proc/self/fd/%d", fd);
    (void)snprintf(db_path, sizeof db_path, "/tmp/corefrag-fuzz.%d.db", (int)getpid());
    (void)unlink(db_path);
    struct cf_options options = {.force = true};
    enum cf_outcome outcome;
    struct cf_err err;
    int status = cf_analyze(NULL, core_path, db_path, &options, &outcome, &err);
    if ((status == CF_OK) != (access(db_path, F_OK) == 0))
        abort();
    if (status == CF_OK)
        report(db_path);
    (void)unlink(db_path);
    return 0;
}
