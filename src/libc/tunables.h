/*
 * malloc's settings as they were in force: mp_ is the truth, since the environment, mallopt() and
 * the dynamic thresholds all write there; the environment block says why. A row for each setting
 * that mp_ shows, and one for each that only the environment can show.
 */
#ifndef CF_LIBC_TUNABLES_H
#define CF_LIBC_TUNABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "corefrag.h"
#include "libc/malloc.h"
#include "mem/mem.h"

/*
 * The environment block that the kernel laid on the main thread's stack (not `environ`, which the
 * program may have changed since): the auxiliary vector's bytes are known from NT_AUXV, the array
 * of environment pointers ends one NULL in front of them. Strings are copied, bounded; what is
 * not in the core is absent, and a core without the note or the stack has no environment.
 */
struct cf_environ;

/* Fails only for lack of memory. Where the block was not found, it has no variables. */
int cf_environ_read(const struct cf_mem *mem, struct cf_environ **out, struct cf_err *err);
void cf_environ_free(struct cf_environ *env);

/* The value of NAME, hostile bytes as they stand, NAME and all cut at 4096; or NULL. Owned by
 * `env`. */
const char *cf_environ_value(const struct cf_environ *env, const char *name);

struct cf_tunable {
    const char *name;   /* the tunable's, "arena_max"; static */
    char value[128];    /* decimal, or the environment's text with control bytes masked */
    const char *source; /* "mp_", "environment", "default"; static */
    char note[192];     /* a sentence, or empty */
};

enum { CF_TUNABLES_MAX = 24 };

struct cf_tunables {
    struct cf_tunable rows[CF_TUNABLES_MAX];
    size_t nr_rows;
};

/* Reads namespace 0's settings; no rows where mp_ was not found. `env` may be NULL. */
void cf_tunables_read(const struct cf_malloc *m, const struct cf_environ *env,
                      struct cf_tunables *out);

/* On how many cores the release's formula gives `limit`; 0: on no number of them up to 65,536, or
 * arena_max gives it. */
unsigned cf_tunables_cores(const struct cf_malloc *m, uint64_t limit);

/*
 * How many arenas malloc would make at the most (arena.c, arena_get2), main arena included, on
 * `cpus` cores: arena_max where set, else by the release's formula, 0 where `cpus` is 0 (not
 * known) and arena_max is not set. `formula` receives static text: "8 x cores".
 */
uint64_t cf_tunables_arena_limit(const struct cf_malloc *m, unsigned cpus, const char **formula);

#endif
