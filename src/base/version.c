#include "corefrag.h"

const char *cf_version(void) {
    return CF_VERSION;
}
