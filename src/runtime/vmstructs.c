/*
 * The rows of gHotSpotVMStructs end with one without a type name; where the fields of a row stand
 * is read from the variables that HotSpot exports beside the table, since releases differ.
 */
#include "runtime/vmstructs.h"

#include <stddef.h>

#include "base/checked.h"
#include "sym/dynamic.h"

enum { ROWS_MAX = 1 << 14, ROW_BYTES_MAX = 256 };

static bool read_symbol(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out) {
    uint64_t at;
    return cf_dynsym_find(mem, base, name, &at) && cf_mem_word(mem, at, out);
}

static bool read_in_row(const struct cf_mem *mem, uint64_t base, const char *name, uint64_t *out) {
    return read_symbol(mem, base, name, out) && *out < ROW_BYTES_MAX;
}

bool cf_vmstructs_open(const struct cf_mem *mem, const struct cf_module *libjvm,
                       struct cf_vmstructs *out) {
    struct cf_vmstructs vm = {.mem = mem};
    uint64_t base = libjvm->start;
    if (!read_symbol(mem, base, "gHotSpotVMStructs", &vm.table) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryArrayStride", &vm.stride) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryTypeNameOffset", &vm.type_at) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryFieldNameOffset", &vm.field_at) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryIsStaticOffset", &vm.static_at) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryOffsetOffset", &vm.offset_at) ||
        !read_in_row(mem, base, "gHotSpotVMStructEntryAddressOffset", &vm.address_at) ||
        vm.stride == 0)
        return false;
    *out = vm;
    return true;
}

/* The row of a field; the last row of the table has no type. */
static bool find_row(const struct cf_vmstructs *vm, const char *type, const char *field,
                     uint64_t *out) {
    uint64_t row = vm->table;
    for (unsigned i = 0; i < ROWS_MAX; i++, row += vm->stride) {
        uint64_t type_text, field_text;
        if (!cf_mem_word(vm->mem, row + vm->type_at, &type_text) || type_text == 0 ||
            !cf_mem_word(vm->mem, row + vm->field_at, &field_text))
            return false;
        if (cf_mem_text_is(vm->mem, type_text, type) &&
            cf_mem_text_is(vm->mem, field_text, field)) {
            *out = row;
            return true;
        }
    }
    return false;
}

bool cf_vmstructs_static(const struct cf_vmstructs *vm, const char *type, const char *field,
                         uint64_t *out) {
    uint64_t row, address;
    uint32_t is_static;
    return find_row(vm, type, field, &row) &&
           cf_mem_u32(vm->mem, row + vm->static_at, &is_static) && is_static == 1 &&
           cf_mem_word(vm->mem, row + vm->address_at, &address) &&
           cf_mem_word(vm->mem, address, out);
}

bool cf_vmstructs_offset(const struct cf_vmstructs *vm, const char *type, const char *field,
                         uint64_t *out) {
    uint64_t row;
    return find_row(vm, type, field, &row) && cf_mem_word(vm->mem, row + vm->offset_at, out);
}

bool cf_vmstructs_place(const struct cf_vmstructs *vm, uint64_t object, const char *type,
                        const char *field, uint64_t *out) {
    uint64_t offset;
    return object != 0 && cf_vmstructs_offset(vm, type, field, &offset) &&
           cf_add_u64(object, offset, out);
}

bool cf_vmstructs_member(const struct cf_vmstructs *vm, uint64_t object, const char *type,
                         const char *field, uint64_t *out) {
    uint64_t place;
    return cf_vmstructs_place(vm, object, type, field, &place) &&
           cf_mem_word(vm->mem, place, out);
}
