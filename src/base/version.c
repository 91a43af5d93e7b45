#include "corefrag.h"

#define TEXT(number) #number
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)

const char *cf_version(void) {
    return VERSION(CF_VERSION_MAJOR, CF_VERSION_MINOR);
}

int cf_version_number(void) {
    return CF_VERSION_NUMBER;
}
