/*
 * The client library is asked for by dlopen() each time and closed again: it is a question or two
 * for each module, and each of them may take seconds anyway.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The part of elfutils' debuginfod.h that is used; its ABI has been stable since 0.178. */
typedef void *begin_function(void);
typedef void end_function(void *client);
typedef int find_function(void *client, const unsigned char *build_id, int build_id_bytes,
                          char **path);

static void close_library(void **library) {
    if (*library != NULL)
        (void)dlclose(*library);
}

const char *cf_debuginfod_lacks(void) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (urls == NULL || urls[strspn(urls, " \t\n")] == '\0')
        return "DEBUGINFOD_URLS names no server";
    CF_CLEANUP(close_library) void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    return library == NULL ? "libdebuginfod.so.1 is not installed" : NULL;
}

bool cf_debuginfod_find(const unsigned char *build_id, size_t build_id_bytes,
                        enum cf_debuginfod_kind kind, char *path, size_t path_bytes) {
    CF_CLEANUP(close_library) void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    if (library == NULL || build_id_bytes == 0)
        return false;
    begin_function *begin = (begin_function *)dlsym(library, "debuginfod_begin");
    end_function *end = (end_function *)dlsym(library, "debuginfod_end");
    find_function *find = (find_function *)dlsym(library, kind == CF_DEBUGINFOD_EXECUTABLE
                                                              ? "debuginfod_find_executable"
                                                              : "debuginfod_find_debuginfo");
    void *client = begin != NULL && end != NULL && find != NULL ? begin() : NULL;
    if (client == NULL)
        return false;
    CF_CLEANUP_FREE char *found = NULL;
    int fd = find(client, build_id, (int)build_id_bytes, &found);
    bool is_found =
        fd >= 0 && found != NULL && (size_t)snprintf(path, path_bytes, "%s", found) < path_bytes;
    if (fd >= 0)
        (void)close(fd);
    end(client);
    return is_found;
}
