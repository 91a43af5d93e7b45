/*
 * Locals that own something: `CF_CLEANUP_FREE char *path = ...` is freed on every way out.
 * cf_take(&p) hands the value over and leaves NULL behind.
 */
#ifndef CF_BASE_CLEANUP_H
#define CF_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cf_cleanup_free(void *pointer) {
    free(*(void **)pointer);
}

static inline void cf_cleanup_close(const int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void cf_cleanup_fclose(FILE **file) {
    if (*file != NULL)
        (void)fclose(*file);
}

#define CF_CLEANUP(function) __attribute__((cleanup(function)))
#define CF_CLEANUP_FREE CF_CLEANUP(cf_cleanup_free)
#define CF_CLEANUP_CLOSE CF_CLEANUP(cf_cleanup_close)
#define CF_CLEANUP_FCLOSE CF_CLEANUP(cf_cleanup_fclose)

#define cf_take(pointer)                                                                          \
    ({                                                                                            \
        __typeof__(*(pointer)) taken_ = *(pointer);                                               \
        *(pointer) = NULL;                                                                        \
        taken_;                                                                                   \
    })

#endif
