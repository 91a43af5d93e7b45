/*
 * The environment block that the kernel laid on the main thread's stack (not `environ`, which the
 * program may have changed since): the auxiliary vector's bytes are known from NT_AUXV, the array
 * of environment pointers ends one NULL in front of them. Strings are copied, bounded; what is
 * not in the core is absent, and a core without the note or the stack has no environment.
 */
#ifndef CF_LIBC_ENVIRON_H
#define CF_LIBC_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "corefrag.h"
#include "mem/mem.h"

struct cf_environ;

/* Fails only for lack of memory; cf_environ_found() says whether the block was there. */
int cf_environ_read(const struct cf_mem *mem, struct cf_environ **out, struct cf_err *err);
void cf_environ_free(struct cf_environ *env);

bool cf_environ_found(const struct cf_environ *env);
size_t cf_environ_nr(const struct cf_environ *env);
/* "NAME=value", hostile bytes as they stand, cut at 4096; owned by `env`. */
const char *cf_environ_entry(const struct cf_environ *env, size_t index);
/* The value of NAME, or NULL. Owned by `env`. */
const char *cf_environ_value(const struct cf_environ *env, const char *name);

#endif
