#include "core/rss_guard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t faults_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* Pages of files in our memory, the third number of /proc/self/statm. Without /proc nothing is ever
 * seen to grow, and nothing is dropped. */
static uint64_t file_bytes_now(void) {
    char text[128], *at = text;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    (void)strtoull(at, &at, 10);
    (void)strtoull(at, &at, 10);
    return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct cf_rss_guard cf_rss_guard_make(const struct cf_core *core, uint64_t bytes,
                                      unsigned rereads) {
    return (struct cf_rss_guard){
        .core = core,
        .until_look = CF_RSS_GUARD_STEPS,
        .faults_seen = faults_now(),
        .file_bytes = file_bytes_now(),
        .drops_max = 16 + rereads * (bytes / CF_RSS_GUARD_BYTES),
    };
}

void cf_rss_guard_look(struct cf_rss_guard *guard) {
    guard->until_look = CF_RSS_GUARD_STEPS;
    if (guard->drops >= guard->drops_max)
        return;
    uint64_t faults = faults_now();
    if (faults - guard->faults_seen < CF_RSS_GUARD_FAULTS)
        return;
    guard->faults_seen = faults;
    uint64_t file_bytes = file_bytes_now();
    if (file_bytes < guard->file_bytes) /* another pass has dropped them */
        guard->file_bytes = file_bytes;
    if (file_bytes - guard->file_bytes < CF_RSS_GUARD_BYTES)
        return;
    cf_core_drop(guard->core, 0, cf_core_file_bytes(guard->core));
    guard->file_bytes = file_bytes_now();
    guard->drops++;
}
