/*
 * Objects of Rust behind a trait: their own bytes say nothing, but whoever holds one has two words,
 * and the second leads to a table in a module's data.
 *
 *     owner | data | table |       table | drop or 0 | size | align | functions ...
 *
 * The function that drops a value is named after its type, and so are those that it serves the
 * trait with. Tables of C that happen to look so have no size that fits the chunk.
 */
#include <stdio.h>
#include <string.h>

#include "types/typename.h"
#include "types/typestate.h"

enum { ALIGN_MAX = 4096, NAME_ROOM = 1024, METHODS_LOOKED_AT = 4 };

static const char *const drops[] = {"core::ptr::drop_in_place<", "core::ptr::drop_in_place::<"};

/* "app::Session" of "core::ptr::drop_in_place<app::Session>", in place. */
static bool take_dropped(char *name) {
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        size_t length = strlen(drops[i]), end = strlen(name);
        if (strncmp(name, drops[i], length) != 0 || name[end - 1] != '>')
            continue;
        name[end - 1] = '\0';
        memmove(name, name + length, end - length);
        return true;
    }
    return false;
}

/* "app::Session" of "<app::Session as app::Handler>::run", in place. */
static bool take_implementor(char *name) {
    char *as = strstr(name, " as ");
    if (name[0] != '<' || as == NULL)
        return false;
    *as = '\0';
    memmove(name, name + 1, strlen(name));
    return true;
}

static bool is_function(const struct cf_types *types, uint64_t addr, char *name) {
    uint64_t offset;
    return addr != 0 && cf_types_symbol(types, addr, name, NAME_ROOM, &offset) && offset == 0;
}

static uint32_t name_trait(struct cf_types *types, uint64_t table, uint64_t drop) {
    char name[NAME_ROOM];
    bool is_named = is_function(types, drop, name) && take_dropped(name);
    for (unsigned i = 0; i < METHODS_LOOKED_AT && !is_named; i++) {
        uint64_t method;
        if (!cf_mem_word(types->input.mem, table + (3 + i) * types->word, &method))
            break;
        is_named = is_function(types, method, name) && take_implementor(name);
    }
    if (!is_named)
        return cf_types_of_table(types, table);
    cf_typename_shorten(name, CF_TYPE_NAME_BYTES - 1);
    return cf_types_intern(types, name, CF_EVIDENCE_VTABLE);
}

/* The answer for a table is kept. */
static uint32_t type_of_trait(struct cf_types *types, uint64_t table, uint64_t drop) {
    bool found;
    uint32_t row = cf_types_memo(types, CF_MEMO_TRAIT, table, &found);
    if (row == CF_HASH_NONE)
        return 0;
    uint32_t type =
        found ? types->memos[CF_MEMO_TRAIT].rows.items[row].type : name_trait(types, table, drop);
    types->memos[CF_MEMO_TRAIT].rows.items[row].type = type;
    return type;
}

/* The size and the drop function that a table gives; false: it is none. */
static bool read_table(const struct cf_types *types, uint64_t table, uint64_t *drop,
                       uint64_t *size) {
    const struct cf_mem *mem = types->input.mem;
    const struct cf_module_span *span = cf_types_span(types, table);
    unsigned w = types->word;
    uint64_t align;
    if (span == NULL || span->is_code || table % w != 0 || !cf_mem_word(mem, table, drop) ||
        !cf_mem_word(mem, table + w, size) || !cf_mem_word(mem, table + 2 * w, &align))
        return false;
    return align != 0 && align <= ALIGN_MAX && (align & (align - 1)) == 0 &&
           (*drop == 0 || cf_types_leads_to_code(types, table)) &&
           cf_types_leads_to_code(types, table + 3 * w);
}

bool cf_types_look_for_trait(struct cf_types *types, uint64_t data, uint64_t table) {
    uint64_t usable, slack, drop, size;
    if (!read_table(types, table, &drop, &size) || size == 0)
        return false;
    struct cf_chunk_number number = cf_types_buffer_at(types, data, &usable, &slack);
    if (!cf_is_chunk(number) || size > usable || usable - size > slack)
        return false;
    cf_types_name_chunk(types, number, type_of_trait(types, table, drop));
    return true;
}
