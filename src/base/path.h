/* Names of files, as they stand in cores and on our own command line. */
#ifndef CF_BASE_PATH_H
#define CF_BASE_PATH_H

#include <string.h>

/* What stands behind the last slash; all of it where there is none. Borrowed from `path`. */
static inline const char *cf_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

#endif
