/* Whole incidents and near misses: the right verdict, and figures that the process confirms. */
#include "e2e.h"

static const char *const scenarios[] = {
    "server-few", "server-all",  "server-kept", "server-trimmed", "batch",      "idle",
    "idle-few",   "working-set", "leak",        "leak-small",     "leak-large",
};

static const char *const by_gdb[] = {"server-few", "leak"};

int main(void) {
    int failed = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failed += e2e_scenario(scenarios[i], E2E_ANY);
    for (size_t i = 0; i < sizeof by_gdb / sizeof *by_gdb; i++)
        failed += e2e_scenario(by_gdb[i], E2E_GDB);
    return failed != 0;
}
