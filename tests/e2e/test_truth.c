/* Heaps of every shape: what the process said of itself is what we say of its core. */
#include "e2e.h"

static const char *const scenarios[] = {
    "bins",
    "caches",
    "no-tcache",
    "empty",
    "foreign",
    "no-brk",
    "no-brk-later",
    "mmapped",
    "arenas",
    "arena-max",
    "arena-limit",
    "threads-gone",
    "heaps",
    "deep-tcache",
    "no-fast",
    "perturb",
    "namespace",
    "huge-heaps",
    E2E_STATIC "bins",
    E2E_STATIC "arenas",
    E2E_STATIC "foreign",
    E2E_STATIC "mmapped",
};

/* gdb writes another kind of core of the same process. */
static const char *const by_gdb[] = {"bins", "arenas", "mmapped", "foreign", "heaps"};

int main(void) {
    int failed = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failed += e2e_scenario(scenarios[i], E2E_ANY);
    for (size_t i = 0; i < sizeof by_gdb / sizeof *by_gdb; i++)
        failed += e2e_scenario(by_gdb[i], E2E_GDB);
    return failed != 0;
}
