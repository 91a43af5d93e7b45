/*
 * What has a word in the heap of a runtime: the class of the Java object that it stands in, or the
 * kind of V8's. A runtime's objects hold malloc's chunks by plain words (a DirectByteBuffer its
 * memory, a Deflater its z_stream), and their class says who piles them up.
 *
 *     HotSpot   | mark | class (32 bits where pointers are compressed) | fields ...
 *     V8        | map + 1 | fields ...        the map has the kind (instance type) of its objects
 *
 * The heaps are not walked: from the word back to the nearest thing that can only be the head of
 * an object, and of HotSpot's one that reaches as far as the word. Layouts come from the runtime
 * itself (VMStructs; the v8dbg_ constants for debuggers), so where it does not describe itself
 * nothing is named. Borrows all that it is given.
 */
#ifndef CF_RUNTIME_OBJECTS_H
#define CF_RUNTIME_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/claims.h"
#include "mem/mem.h"
#include "sym/module.h"

enum { CF_V8_KINDS = 3 };

/* Where the names of variables come from: the address of `name` in the program or its libraries. */
struct cf_variables {
    void *source;
    bool (*find)(void *source, const char *name, uint64_t *addr);
};

struct cf_hotspot {
    bool is_known;
    uint64_t code_start, code_end; /* libjvm: a class begins with a table of its functions */
    uint64_t class_base;
    unsigned class_shift;
    bool has_narrow;
    uint64_t name_at, layout_at; /* in a Klass */
    uint64_t length_at, body_at; /* in a Symbol */
};

struct cf_v8 {
    bool is_known;
    uint64_t type_at; /* of the instance type, in a Map */
    uint32_t kinds[CF_V8_KINDS];
};

struct cf_objects {
    const struct cf_mem *mem;
    const struct cf_claims *claims;
    struct cf_hotspot hotspot;
    struct cf_v8 v8;
};

/* `claims` is sealed. */
void cf_objects_init(struct cf_objects *objects, const struct cf_mem *mem,
                     const struct cf_modules *modules, const struct cf_claims *claims,
                     const struct cf_variables *variables);

/* The label of the runtime's heap that `addr` lies in ("Java heap (HotSpot)"), or NULL. */
const char *cf_objects_heap(const struct cf_objects *objects, uint64_t addr);

/* "java.nio.DirectByteBuffer", "JSArrayBuffer": what the word at `addr` stands in. False: it is not
 * known. Bytes of the name that are no part of names are an answer of false too. */
bool cf_objects_name(const struct cf_objects *objects, uint64_t addr, char *out, size_t bytes);

#endif
