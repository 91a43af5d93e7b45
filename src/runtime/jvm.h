/*
 * What HotSpot tells of its objects' heads, and the name of the object that has a word: apart from
 * the table of runtimes, so that a test can tell it instead of HotSpot.
 */
#ifndef CF_RUNTIME_JVM_H
#define CF_RUNTIME_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"

struct cf_hotspot {
    const struct cf_mem *mem;
    uint64_t code_start, code_end; /* libjvm: a class begins with a table of its functions */
    uint64_t class_base;
    unsigned class_shift;
    bool has_narrow;
    uint64_t name_at, layout_at; /* in a Klass */
    uint64_t length_at, body_at; /* in a Symbol */
};

/* As name_object() of struct cf_runtime; `state` is a struct cf_hotspot. */
bool cf_hotspot_name(const void *state, uint64_t addr, uint64_t low, char *out, size_t bytes);

#endif
