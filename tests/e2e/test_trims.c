/* Heaps for which a careless rule would promise what malloc_trim(0) does not give back. */
#include "e2e.h"

static const char *const scenarios[] = {
    "trim-again", "trim-untouched", "trim-fast-top", "trim-fast-main", "trim-tcache", "trim-fast",
    "trim-break", "trim-pad",       "trim-holes",    "trim-thp",       "trim-huge",
};

int main(void) {
    int failed = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failed += e2e_scenario(scenarios[i], E2E_ANY);
    return failed != 0;
}
