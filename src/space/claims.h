/*
 * Who says that a range of addresses is theirs. Each finder (malloc's heaps, stacks, managed
 * heaps, other allocators) adds what it recognises; where two say the same of one byte, the kind
 * that stands first in the enum has it, and of one kind the earlier claim. Sealed claims are
 * sorted and do not overlap. Labels are copied, cut at CF_CLAIM_LABEL_BYTES, and may hold bytes
 * from the core: emitters escape them.
 */
#ifndef CF_SPACE_CLAIMS_H
#define CF_SPACE_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "corefrag.h"

enum { CF_CLAIM_LABEL_BYTES = 96 };

/* What memory is used for; also the rows' order in the budget. */
enum cf_claim_kind {
    CF_CLAIM_MAIN_HEAP,    /* malloc: main arena */
    CF_CLAIM_ARENA_HEAP,   /* malloc: accessible part of thread arenas' heaps */
    CF_CLAIM_MMAPPED,      /* malloc: chunks with a mapping of their own */
    CF_CLAIM_RESERVE,      /* malloc: PROT_NONE part of thread arenas' heaps */
    CF_CLAIM_MANAGED,      /* a runtime's heap: JVM, .NET, V8, Go */
    CF_CLAIM_ALLOCATOR,    /* another malloc: jemalloc, tcmalloc, mimalloc */
    CF_CLAIM_STACK,        /* of a thread that lives */
    CF_CLAIM_STACK_CACHED, /* of a thread that is gone */
    CF_CLAIM_HUGE,         /* hugetlbfs pages */
    CF_CLAIM_MODULE_DATA,  /* writable data of a mapped ELF file, private */
    CF_CLAIM_MODULE_BSS,   /* anonymous memory that continues a module's data */
    CF_CLAIM_MODULE,       /* its code and constants */
    CF_CLAIM_FILE,         /* other mapped files */
    CF_CLAIM_SHARED,       /* shared memory */
    CF_CLAIM_KERNEL,       /* vdso, vvar, vsyscall */
    CF_CLAIM_ANONYMOUS,    /* anonymous memory that nobody claims */
    CF_CLAIM_UNPLACED,     /* in memory by smaps, and not where the core shows pages */
    CF_CLAIM_UNATTRIBUTED, /* a mapping of which the core does not say what it is */
    CF_NR_CLAIM_KINDS,
};

/* "malloc main heap" ...; static. */
const char *cf_claim_kind_name(enum cf_claim_kind kind);

/* What a runtime has the memory for. */
enum cf_claim_area {
    CF_AREA_NONE,    /* of no runtime */
    CF_AREA_OBJECTS, /* the program's objects: its heap */
    CF_AREA_CODE,    /* code that it made, and what its loader keeps */
    CF_AREA_CLASSES, /* what it knows of the program's classes */
    CF_AREA_OTHER,
    CF_NR_CLAIM_AREAS,
};

/* NULL for CF_AREA_NONE, "objects", "code", "classes", "other"; static. */
const char *cf_claim_area_name(enum cf_claim_area area);

/* Who claims memory, and as what. */
struct cf_claimant {
    enum cf_claim_kind kind;
    const char *label;
    uint8_t runtime; /* CF_CLAIM_MANAGED: its number (runtime/runtimes.h), from 1; else 0 */
    enum cf_claim_area area;
};

struct cf_claim {
    uint64_t start;
    uint64_t end;
    enum cf_claim_kind kind;
    uint32_t order; /* of adding */
    uint8_t runtime;
    enum cf_claim_area area;
    char label[CF_CLAIM_LABEL_BYTES];
};

struct cf_claims {
    CF_ARRAY(struct cf_claim) rows;
};

/* `claims` starts all zero. An empty range is ignored. CF_ENOMEM only. */
int cf_claims_add(struct cf_claims *claims, enum cf_claim_kind kind, uint64_t start, uint64_t end,
                  const char *label, struct cf_err *err);
/* The same for whoever has more to say. */
int cf_claims_add_for(struct cf_claims *claims, const struct cf_claimant *who, uint64_t start,
                      uint64_t end, struct cf_err *err);
/* Adds all of `more`, behind those that are there. */
int cf_claims_append(struct cf_claims *claims, const struct cf_claims *more, struct cf_err *err);
/* Sorts and cuts the overlaps away. More may be added afterwards, to be sealed again. */
int cf_claims_seal(struct cf_claims *claims, struct cf_err *err);
/* Of sealed claims, the index of the first that ends above `addr`; their number: there is none. */
size_t cf_claims_above(const struct cf_claims *claims, uint64_t addr);
/* Of sealed claims, that of `kind` which has `addr`; NULL: there is none. */
const struct cf_claim *cf_claims_at(const struct cf_claims *claims, enum cf_claim_kind kind,
                                    uint64_t addr);
void cf_claims_fini(struct cf_claims *claims);

#endif
