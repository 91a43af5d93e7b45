#include "core/rss_guard.h"

#include <sys/resource.h>

enum { FAULT_BYTES = 65536 }; /* fault_around_bytes: so much is mapped by one fault */

static uint64_t faults_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

struct cf_rss_guard cf_rss_guard_make(const struct cf_core *core, uint64_t bytes,
                                      unsigned rereads) {
    return (struct cf_rss_guard){
        .core = core,
        .until_look = CF_RSS_GUARD_STEPS,
        .faults_seen = faults_now(),
        .drops_max = 16 + rereads * (bytes / CF_RSS_GUARD_BYTES),
    };
}

void cf_rss_guard_look(struct cf_rss_guard *guard) {
    guard->until_look = CF_RSS_GUARD_STEPS;
    if (guard->drops >= guard->drops_max)
        return;
    uint64_t faults = faults_now();
    if (faults - guard->faults_seen < CF_RSS_GUARD_BYTES / FAULT_BYTES)
        return;
    cf_core_drop(guard->core, 0, cf_core_file_bytes(guard->core));
    guard->faults_seen = faults;
    guard->drops++;
}
