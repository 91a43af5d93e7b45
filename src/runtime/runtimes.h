/*
 * Runtimes with a heap of their own, one table of them: how each is recognised from the core alone,
 * which memory it claims for the budget (space/claims.h), what it calls the object that has a word
 * in its heap, and where to look further in its own words. A new runtime is one file and one line
 * of CF_RUNTIMES.
 *
 * What a runtime's own structures name is claimed whoever else claims it; a guess takes only what
 * nobody has claimed, and has "guess" in its label.
 *
 * A runtime's objects hold malloc's chunks by plain words (a DirectByteBuffer its memory, a
 * Deflater its z_stream), and their class says who piles them up. The heaps are not walked: from
 * the word back to the nearest thing that can only be the head of an object. Layouts come from the
 * runtime itself, so where it does not describe itself nothing is named.
 */
#ifndef CF_RUNTIME_RUNTIMES_H
#define CF_RUNTIME_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"
#include "mem/mem.h"
#include "space/claims.h"
#include "sym/module.h"
#include "types/types.h"

/* In this order they claim: of what two claim, the first has it. */
#define CF_RUNTIMES(X) X(hotspot) X(v8) X(golang) X(cpython) X(dotnet)

/* What a finder looks at, and where its claims go. Borrows everything. */
struct cf_managed {
    const struct cf_mem *mem;
    const struct cf_modules *modules;
    const struct cf_claims *taken; /* sealed: malloc's and the stacks' */
    struct cf_claims *out;         /* not `taken` */
    uint8_t runtime;               /* number of the runtime that claims, from 1 */
};

/* Where the names of variables come from: the address of `name` in the program or its libraries. */
struct cf_variables {
    void *source;
    bool (*find)(void *source, const char *name, uint64_t *addr);
};

/* What the names of objects are read from. Borrows everything. */
struct cf_objects_input {
    const struct cf_mem *mem;
    const struct cf_modules *modules;
    const struct cf_claims *claims; /* sealed */
    struct cf_types *types;         /* NULL: what types know is not asked for */
    const struct cf_variables *variables;
};

/* One runtime. */
struct cf_runtime {
    const char *name;   /* "HotSpot" */
    const char *suffix; /* behind an object's name, to say whose it is: " (Java)" */
    bool hides_pointers; /* some builds keep pointers compressed or tagged */
    const char *advice; /* where to look when its heap is what holds the memory; a sentence */
    const char *trim; /* how its user has malloc_trim(0) called */

    /* Whether the process may have it. NULL: it can be linked into a program of any name, and only
     * its claims tell. */
    bool (*recognises)(const struct cf_mem *mem, const struct cf_modules *modules);

    /* Adds its claims to `out`, by cf_managed_as(). CF_ENOMEM only. */
    int (*claim)(const struct cf_managed *managed, struct cf_err *err);

    /* What name_object() reads: zeroed plain memory of `state_bytes`, filled in by open_objects(),
     * which says whether the runtime describes itself. All NULL and 0: objects have no names. */
    size_t state_bytes;
    bool (*open_objects)(const struct cf_objects_input *input, void *state);
    /* "java.nio.DirectByteBuffer": what the word at `addr` stands in, in a heap from `low` on.
     * False: not known. Bytes that are no part of names are an answer of false too. */
    bool (*name_object)(const void *state, uint64_t addr, uint64_t low, char *out, size_t bytes);
};

#define CF_RUNTIME_DECLARE(name) extern const struct cf_runtime cf_runtime_##name;
CF_RUNTIMES(CF_RUNTIME_DECLARE)
#undef CF_RUNTIME_DECLARE

#define CF_RUNTIME_COUNT(name) +1
enum { CF_NR_RUNTIMES = 0 CF_RUNTIMES(CF_RUNTIME_COUNT) };
#undef CF_RUNTIME_COUNT

extern const struct cf_runtime *const cf_runtimes[CF_NR_RUNTIMES];

/* That of a claim or of the budget, by its number; NULL for 0. */
const struct cf_runtime *cf_runtime_of(uint8_t number);

/* All of them claim; `managed->runtime` does not matter. CF_ENOMEM only. */
int cf_runtimes_claim(const struct cf_managed *managed, struct cf_err *err);

/* For finders: the runtime whose turn it is, claiming `area` under `label`. */
struct cf_claimant cf_managed_as(const struct cf_managed *managed, enum cf_claim_area area,
                                 const char *label);

/* The objects of all runtimes. All zero is empty. */
struct cf_objects {
    struct cf_objects_input input;
    void *states[CF_NR_RUNTIMES]; /* NULL: the runtime is not here, or does not describe itself */
};

/* CF_ENOMEM only. Borrows `input` and what it borrows, but `variables` only until it returns. End
 * with cf_objects_fini(). */
int cf_objects_open(struct cf_objects *objects, const struct cf_objects_input *input,
                    struct cf_err *err);
void cf_objects_fini(struct cf_objects *objects);

/* The runtime's claim that `addr` lies in, or NULL; borrowed from the claims. */
const struct cf_claim *cf_objects_heap(const struct cf_objects *objects, uint64_t addr);
/* The name of the object that has the word at `addr`, which lies in `heap`. False: not known. */
bool cf_objects_name(const struct cf_objects *objects, const struct cf_claim *heap, uint64_t addr,
                     char *out, size_t bytes);

#endif
