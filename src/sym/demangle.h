/*
 * The names of C++ and Rust as their authors wrote them. Mangled names come from files that may be
 * hostile, and a short one can stand for gigabytes: what is written is bounded, and so is the
 * work.
 */
#ifndef CF_SYM_DEMANGLE_H
#define CF_SYM_DEMANGLE_H

#include <stddef.h>

/* Writes the readable form of `name`, or `name` itself without its version (@GLIBC_2.2.5), cut
 * with "..." where it does not fit. `bytes` is 8 at the least. Returns `out`. */
const char *cf_demangle(const char *name, char *out, size_t bytes);

#endif
