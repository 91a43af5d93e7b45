#include "core/thrift.h"

#include <sys/resource.h>

enum { FAULT_BYTES = 65536 }; /* fault_around_bytes: so much is mapped by one fault */

static uint64_t faults_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

struct cf_thrift cf_thrift_make(const struct cf_core *core, uint64_t bytes, unsigned rereads) {
    return (struct cf_thrift){
        .core = core,
        .until_look = CF_THRIFT_STEPS,
        .faults_seen = faults_now(),
        .drops_max = 16 + rereads * (bytes / CF_THRIFT_BYTES),
    };
}

void cf_thrift_look(struct cf_thrift *thrift) {
    thrift->until_look = CF_THRIFT_STEPS;
    if (thrift->drops >= thrift->drops_max)
        return;
    uint64_t faults = faults_now();
    if (faults - thrift->faults_seen < CF_THRIFT_BYTES / FAULT_BYTES)
        return;
    cf_core_drop(thrift->core, 0, cf_core_file_bytes(thrift->core));
    thrift->faults_seen = faults;
    thrift->drops++;
}
