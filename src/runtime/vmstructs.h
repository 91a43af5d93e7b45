/*
 * HotSpot's own description of its data: gHotSpotVMStructs, the table that the serviceability
 * agent reads, with a row for each field that it knows. The table's own shape stands beside it
 * (gHotSpotVMStructEntry...Offset). Readable where the core has libjvm's symbols and texts, which
 * is so under the coredump_filter that HotSpot sets for itself (0x3f). Borrows the address space.
 */
#ifndef CF_RUNTIME_VMSTRUCTS_H
#define CF_RUNTIME_VMSTRUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"
#include "sym/module.h"

struct cf_vmstructs {
    const struct cf_mem *mem;
    uint64_t table;
    uint64_t stride;
    uint64_t type_at, field_at, static_at, offset_at, address_at; /* in a row */
};

/* False: the table or its shape cannot be read. */
bool cf_vmstructs_open(const struct cf_mem *mem, const struct cf_module *libjvm,
                       struct cf_vmstructs *out);

/* Value of the static pointer field `type`::`field`. */
bool cf_vmstructs_static(const struct cf_vmstructs *vm, const char *type, const char *field,
                         uint64_t *out);
/* Value of the pointer field of the object at `object`. */
bool cf_vmstructs_member(const struct cf_vmstructs *vm, uint64_t object, const char *type,
                         const char *field, uint64_t *out);
/* Where the field stands in an object of `type`, in bytes. */
bool cf_vmstructs_offset(const struct cf_vmstructs *vm, const char *type, const char *field,
                         uint64_t *out);
/* Address of the field of the object at `object`. */
bool cf_vmstructs_place(const struct cf_vmstructs *vm, uint64_t object, const char *type,
                        const char *field, uint64_t *out);

#endif
