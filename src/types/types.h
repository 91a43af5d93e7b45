/*
 * What a live chunk is, by its content: who made it shows in its first words. In this order:
 *
 *   libc     glibc's own: tcache structs, FILEs, link_maps and what they hold, the threads' dtvs
 *            and blocks of thread-specific data
 *   owner    a buffer that somebody holds in a known way: std::string, std::vector, a FILE's
 *   vtable   one of the first words leads to a table of functions in a module's data (C++, C), or
 *            somebody points to the chunk and to such a table side by side (a trait object of
 *            Rust); named by its symbol or its RTTI, else by its place; chunks of one vtable are
 *            one type anyway
 *   symbol   a pointer to named data of a module (a table of operations in C), or a CPython object
 *            by its type's name
 *   text     mostly printable; its words are never kept
 *   pointers an array of pointers into the heap
 *   size     none of these: no name, the size is all that is known (type 0)
 *
 * What is left without a name may be named later, by what it hangs on (belong.h).
 *
 * All of it is a guess from bytes, and says by which evidence. Types are interned: a number each,
 * in the order of first sight, CF_TYPES_MAX at most (those beyond count as type 0). A type that no
 * chunk kept in the end, since its owner knew better, has no chunks.
 */
#ifndef CF_TYPES_TYPES_H
#define CF_TYPES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/live.h"
#include "reach/mark.h"
#include "reach/ranks.h"
#include "reach/resolve.h"
#include "reach/roots.h"
#include "corefrag.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"

enum { CF_TYPES_MAX = 65535, CF_TYPE_NAME_BYTES = 128 };

enum cf_type_evidence {
    CF_EVIDENCE_SIZE,
    CF_EVIDENCE_LIBC,
    CF_EVIDENCE_OWNER,
    CF_EVIDENCE_VTABLE,
    CF_EVIDENCE_SYMBOL,
    CF_EVIDENCE_TEXT,
    CF_EVIDENCE_POINTERS,
};

/* An object that has a name of its own, and may own others; not a buffer or a text. */
static inline bool cf_evidence_is_object(enum cf_type_evidence evidence) {
    return evidence == CF_EVIDENCE_VTABLE || evidence == CF_EVIDENCE_SYMBOL ||
           evidence == CF_EVIDENCE_LIBC;
}

/* "size", "libc", ...; static. */
const char *cf_type_evidence_name(enum cf_type_evidence evidence);

struct cf_type {
    char name[CF_TYPE_NAME_BYTES]; /* hostile bytes are masked; "" for type 0 */
    enum cf_type_evidence evidence;
    uint64_t chunks; /* live ones, mmapped too; sums after cf_types_count() */
    uint64_t bytes;
    uint64_t unreachable_chunks;
    uint64_t unreachable_bytes;
    uint64_t sample; /* header of the first that is reached; 0: none */
    uint32_t memory_of; /* the type that these chunks hang on (belong.h); 0: not so */
};

/*
 * Names for addresses in modules: fills `out` with the readable name of what stands there and
 * `*offset` with how far behind its start; false where nothing is known. `module` fills in the
 * module's short name and the offset in it.
 */
struct cf_namer {
    void *source;
    bool (*symbol)(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset);
    bool (*module)(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset);
    /* The constant string at `addr`, ended by a zero, where the core lacks it and the module's file
     * has it; may be NULL. */
    bool (*text)(void *source, uint64_t addr, char *out, size_t bytes);
};

struct cf_types;

struct cf_types_input {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_ptmalloc *pt; /* NULL: no tcaches are known */
    const struct cf_resolver *resolver;
    const struct cf_ranks *ranks; /* of the same chunks */
    const struct cf_roots *roots; /* NULL: buffers that stacks hold are not named */
    const struct cf_namer *namer; /* NULL: no names */
};

/* Types as far as roots and glibc's own structures tell them; what chunks say comes by the visitor.
 * Two bytes a live chunk, in a temporary file. Borrows all of `input`. CF_ENOMEM, CF_ECANCELLED. */
int cf_types_new(const struct cf_types_input *input, struct cf_types **out, struct cf_err *err);
/* To be called once for each live chunk (reach/live.h); then all types are known. */
struct cf_live_visitor cf_types_visitor(struct cf_types *types);
void cf_types_free(struct cf_types *types);

/* The type of a live chunk by its number; 0 where only the size is known. */
uint32_t cf_types_of(const struct cf_types *types, struct cf_chunk_number number);
/* The types of all live chunks by rank (reach/ranks.h); borrowed. Pages that were read may be given
 * back at any time by cf_types_drop(), on any thread. */
const uint16_t *cf_types_by_rank(const struct cf_types *types);
void cf_types_drop(const struct cf_types *types);
/* The same by the header's address. */
uint32_t cf_types_at(const struct cf_types *types, uint64_t addr);

/* Whether the word leads into a mapping of a module; no to most others at the price of one look. */
bool cf_types_leads_to_module(const struct cf_types *types, uint64_t word);

/* The type of the CPython object outside malloc's chunks that the word at `addr` stands in; 0: none
 * is near enough. */
uint32_t cf_types_python_around(struct cf_types *types, uint64_t addr);

/* Counts all live chunks into the types' sums, once. `mark` NULL: not examined; then nothing is
 * unreachable. CF_ECANCELLED; then the sums are of a part. */
int cf_types_count(const struct cf_context *ctx, struct cf_types *types,
                   const struct cf_mark *mark, struct cf_err *err);

/* Types known so far, type 0 included; rows are borrowed until the next new type. */
size_t cf_types_nr(const struct cf_types *types);
const struct cf_type *cf_types_get(const struct cf_types *types, uint32_t type);
/* Its name; NULL for type 0 and where `types` is NULL. */
const char *cf_types_name(const struct cf_types *types, uint32_t type);
/* The same, and NULL for memory of another type: that is what a chunk hangs on, not what it is. */
const char *cf_types_own_name(const struct cf_types *types, uint32_t type);

#endif
