/*
 * One chunk's first words against what is known of the process, the surest sign first: glibc's own
 * structs by their fields, C++ objects by the Itanium ABI (the first word leads behind a vtable's
 * head, and the word in front of that to the type_info), CPython's by their type's type, tables of
 * functions behind the links of a list, then texts and arrays of pointers. Answers are kept by the
 * word that led to them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types/typename.h"
#include "types/typestate.h"
#include "sym/demangle.h"

enum {
    TEXT_MIN = 8,        /* bytes of text that make a text */
    TEXT_LOOKED_AT = 256,
    POINTERS_MIN = 4,
    NAME_ROOM = 1024,    /* for a name before it is shortened */
    PYTHON_WORDS = 16,   /* from a word of an object back to its head */
    LIBC_WORDS = 20,     /* that a FILE has at least */
    TABLE_WORDS = 4,     /* of a chunk that may lead to a table of functions */
    HEAD_WORDS = 4,      /* of a variable: std::map's head has its last pointer there */
};

enum libc_kind { LIBC_FILE, LIBC_LINK_MAP, NR_LIBC_KINDS };

static uint32_t libc_type(struct cf_types *types, enum libc_kind kind) {
    static const char *const names[NR_LIBC_KINDS] = {"glibc FILE", "glibc link_map"};
    if (types->libc_types[kind] == 0)
        types->libc_types[kind] = cf_types_intern(types, names[kind], CF_EVIDENCE_LIBC);
    return types->libc_types[kind];
}

/* FILE: flags with the magic, then pointers in order read_base <= read_ptr <= read_end. */
static uint32_t recognise_libc(struct cf_types *types, const struct cf_live *payload) {
    unsigned w = types->word;
    uint64_t first = cf_payload_word(types, payload, 0);
    uint64_t read_ptr = cf_payload_word(types, payload, w);
    if ((uint32_t)first >> 16 == CF_IO_MAGIC && (w == 4 || first >> 32 == 0) &&
        cf_payload_word(types, payload, 3 * w) <= read_ptr &&
        read_ptr <= cf_payload_word(types, payload, 2 * w))
        return libc_type(types, LIBC_FILE);
    return payload->words >= CF_LINK_MAP_WORDS && cf_types_is_link_map(types, payload)
               ? libc_type(types, LIBC_LINK_MAP)
               : 0;
}

/* The characters of names in source code; what is read as a name shall not be a text. */
static bool is_of_names(unsigned char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte != '\0' && strchr("_.$*<>:-", byte) != NULL);
}

/* A string of the process, ended by a zero; a constant may be in the module's file alone. */
static bool read_name(const struct cf_types *types, uint64_t addr, char *out, size_t bytes) {
    const struct cf_namer *namer = types->input.namer;
    uint64_t avail;
    const unsigned char *at = cf_mem_span(types->input.mem, addr, &avail);
    for (size_t i = 0; at != NULL && i < avail && i + 1 < bytes; i++) {
        if (at[i] == '\0') {
            out[i] = '\0';
            return i > 0;
        }
        if (!is_of_names(at[i]))
            return false;
        out[i] = (char)at[i];
    }
    if (at != NULL || namer == NULL || namer->text == NULL ||
        !namer->text(namer->source, addr, out, bytes) || out[0] == '\0')
        return false;
    for (size_t i = 0; out[i] != '\0'; i++)
        if (!is_of_names((unsigned char)out[i]))
            return false;
    return true;
}

/* The Itanium ABI's RTTI: the word in front of the functions leads to the type_info, whose second
 * word is the mangled name ("N3foo3BarE"); a '*' in front of it means that it is not global. */
static bool name_by_rtti(const struct cf_types *types, uint64_t vtable, char *out, size_t bytes) {
    static const char prefix[] = "typeinfo name for ";
    char mangled[CF_TYPE_NAME_BYTES] = "_ZTS";
    char readable[NAME_ROOM];
    uint64_t type_info, name;
    if (!cf_mem_word(types->input.mem, vtable - types->word, &type_info) ||
        cf_types_span(types, type_info) == NULL ||
        !cf_mem_word(types->input.mem, type_info + types->word, &name) ||
        !read_name(types, name, mangled + 4, sizeof mangled - 4))
        return false;
    if (mangled[4] == '*')
        memmove(mangled + 4, mangled + 5, strlen(mangled + 4));
    (void)cf_demangle(mangled, readable, sizeof readable);
    if (strncmp(readable, prefix, sizeof prefix - 1) != 0)
        return false;
    (void)snprintf(out, bytes, "%s", readable + sizeof prefix - 1);
    return true;
}

bool cf_types_leads_to_code(const struct cf_types *types, uint64_t addr) {
    uint64_t function;
    const struct cf_module_span *span;
    if (!cf_mem_word(types->input.mem, addr, &function) || function == 0)
        return false;
    span = cf_types_span(types, function);
    return span != NULL && span->is_code;
}

bool cf_types_symbol(const struct cf_types *types, uint64_t addr, char *out, size_t bytes,
                     uint64_t *offset) {
    const struct cf_namer *namer = types->input.namer;
    return namer != NULL && namer->symbol != NULL &&
           namer->symbol(namer->source, addr, out, bytes, offset);
}

static void name_by_place(const struct cf_types *types, uint64_t addr, const char *what,
                          char *out, size_t bytes) {
    const struct cf_namer *namer = types->input.namer;
    char module[64];
    uint64_t offset;
    if (namer != NULL && namer->module != NULL &&
        namer->module(namer->source, addr, module, sizeof module, &offset))
        (void)snprintf(out, bytes, "%s %s+0x%llx", what, module, (unsigned long long)offset);
    else
        (void)snprintf(out, bytes, "%s 0x%llx", what, (unsigned long long)addr);
}

static uint32_t intern_short(struct cf_types *types, char *name,
                             enum cf_type_evidence evidence) {
    cf_typename_shorten(name, CF_TYPE_NAME_BYTES - 1);
    return cf_types_intern(types, name, evidence);
}

/* A variable whose first words lead into malloc's memory is the head of a list or a tree, to which
 * the first and the last node lead back. */
static bool is_head(const struct cf_types *types, uint64_t addr) {
    const struct cf_resolver *resolver = types->input.resolver;
    for (unsigned i = 0; i < HEAD_WORDS; i++) {
        uint64_t word;
        if (!cf_mem_word(types->input.mem, addr + i * types->word, &word))
            return false;
        uint64_t lowered = cf_resolver_lowered(resolver, word);
        if (cf_resolver_in_span(resolver, lowered) && cf_resolver_extent(resolver, lowered) != NULL)
            return true;
    }
    return false;
}

/* `addr` lies in a module's data, and stands in a chunk's first word; in a later one only a table
 * of functions says something. */
static uint32_t name_table(struct cf_types *types, uint64_t addr, bool is_first) {
    static const char vtable_prefix[] = "vtable for ";
    char name[NAME_ROOM];
    uint64_t offset;
    unsigned w = types->word;
    bool is_table = is_first ? cf_types_leads_to_code(types, addr) ||
                                   cf_types_leads_to_code(types, addr + w) ||
                                   cf_types_leads_to_code(types, addr + 3 * w)
                             : cf_types_leads_to_code(types, addr) &&
                                   cf_types_leads_to_code(types, addr + w);
    if (!is_first && !is_table)
        return 0;
    if (cf_types_symbol(types, addr, name, sizeof name, &offset)) {
        if (strncmp(name, vtable_prefix, sizeof vtable_prefix - 1) == 0)
            return intern_short(types, name + sizeof vtable_prefix - 1, CF_EVIDENCE_VTABLE);
        if (offset == 0 && (is_table || !is_head(types, addr)))
            return intern_short(types, name, is_table ? CF_EVIDENCE_VTABLE : CF_EVIDENCE_SYMBOL);
    }
    if (!is_table)
        return 0;
    if (!name_by_rtti(types, addr, name, sizeof name))
        name_by_place(types, addr, "vtable", name, sizeof name);
    return intern_short(types, name, CF_EVIDENCE_VTABLE);
}

/* The answer for a word is kept, the negative one too. */
static uint32_t recognise_table(struct cf_types *types, uint64_t word, bool is_first) {
    const struct cf_module_span *span = cf_types_span(types, word);
    if (span == NULL || span->is_code || word % types->word != 0)
        return 0;
    bool found;
    enum cf_memo_kind kind = is_first ? CF_MEMO_TABLE : CF_MEMO_LATER_TABLE;
    uint32_t row = cf_types_memo(types, kind, word, &found);
    if (row == CF_HASH_NONE)
        return 0;
    uint32_t type = found ? types->memos[kind].rows.items[row].type
                          : name_table(types, word, is_first);
    types->memos[kind].rows.items[row].type = type;
    return type;
}

uint32_t cf_types_of_table(struct cf_types *types, uint64_t addr) {
    return recognise_table(types, addr, true);
}

/* A C object may have its table of functions behind the links of a list. */
static uint32_t recognise_later_table(struct cf_types *types, const struct cf_live *payload) {
    const struct cf_resolver *resolver = types->input.resolver;
    for (unsigned i = 1; i < TABLE_WORDS && (i + 1) * types->word <= payload->readable; i++) {
        uint64_t word = cf_payload_word(types, payload, i * types->word);
        if (!cf_types_may_be_module(types, word))
            continue;
        uint64_t lowered = cf_resolver_lowered(resolver, word);
        if (cf_resolver_in_span(resolver, lowered) && cf_resolver_extent(resolver, lowered) != NULL)
            continue;
        uint32_t type = recognise_table(types, word, false);
        if (type != 0)
            return type;
    }
    return 0;
}

/* "python dict" of PyDict_Type; the few whose names are not made so are as they are written. */
static void name_by_convention(const char *symbol, char *out, size_t bytes) {
    size_t length = strlen(symbol);
    if (strncmp(symbol, "Py", 2) != 0 || length < 8 || strcmp(symbol + length - 5, "_Type") != 0) {
        (void)snprintf(out, bytes, "python %s", symbol);
        return;
    }
    int used = snprintf(out, bytes, "python %.*s", (int)(length - 7), symbol + 2);
    for (int i = 7; i < used && (size_t)i < bytes; i++)
        if (out[i] >= 'A' && out[i] <= 'Z')
            out[i] = (char)(out[i] - 'A' + 'a');
}

/* A PyTypeObject: its own type leads to a type whose type is itself (type is a type), and
 * tp_name (after ob_refcnt, ob_type, ob_size) is a string. */
static uint32_t name_python_type(struct cf_types *types, uint64_t addr) {
    const struct cf_mem *mem = types->input.mem;
    unsigned w = types->word;
    uint64_t meta, meta_meta, name_addr, offset;
    char name[CF_TYPE_NAME_BYTES - 8], label[CF_TYPE_NAME_BYTES];
    for (int up = 0;; up++) {
        if (!cf_mem_word(mem, addr + w, &meta) || meta % w != 0 ||
            !cf_mem_word(mem, meta + w, &meta_meta))
            return 0;
        if (meta_meta == meta)
            break;
        /* A metaclass of the program's: its own type is `type`. */
        uint64_t top;
        if (up > 0 || !cf_mem_word(mem, meta_meta + w, &top) || top != meta_meta)
            return 0;
        break;
    }
    if (cf_mem_word(mem, addr + 3 * w, &name_addr) &&
        read_name(types, name_addr, name, sizeof name)) {
        (void)snprintf(label, sizeof label, "python %s", name);
        return cf_types_intern(types, label, CF_EVIDENCE_SYMBOL);
    }
    if (!cf_types_symbol(types, addr, name, sizeof name, &offset) || offset != 0)
        return 0;
    name_by_convention(name, label, sizeof label);
    return cf_types_intern(types, label, CF_EVIDENCE_SYMBOL);
}

/* In a process that has an interpreter. A CPython object at `offset`: a reference count that a
 * person would believe, then its type. */
static uint32_t recognise_python(struct cf_types *types, const struct cf_live *payload,
                                 uint64_t offset) {
    unsigned w = types->word;
    if (payload->readable < offset + 3 * w)
        return 0;
    uint64_t count = cf_payload_word(types, payload, offset) & 0xffffffff;
    uint64_t type_addr = cf_payload_word(types, payload, offset + w);
    if (count == 0 || type_addr < 4096 || type_addr % w != 0)
        return 0;
    bool in_module = cf_types_span(types, type_addr) != NULL;
    if (!in_module && !cf_resolver_in_span(types->input.resolver,
                                           cf_resolver_lowered(types->input.resolver, type_addr)))
        return 0;
    bool found;
    uint32_t row = cf_types_memo(types, CF_MEMO_PYTHON, type_addr, &found);
    if (row == CF_HASH_NONE)
        return 0;
    uint32_t type = found ? types->memos[CF_MEMO_PYTHON].rows.items[row].type
                          : name_python_type(types, type_addr);
    types->memos[CF_MEMO_PYTHON].rows.items[row].type = type;
    return type;
}

uint32_t cf_types_python_around(struct cf_types *types, uint64_t addr) {
    for (unsigned i = 2; i < PYTHON_WORDS && addr > (uint64_t)i * types->word; i++) {
        struct cf_live payload = {.user = addr - (uint64_t)i * types->word};
        payload.at = cf_mem_span(types->input.mem, payload.user, &payload.readable);
        uint32_t type = payload.at != NULL ? recognise_python(types, &payload, 0) : 0;
        if (type != 0)
            return type;
    }
    return 0;
}

/* The bytes of one character of UTF-8 at `at`, of `most`; 0: it is none, or no part of a text. */
static uint64_t character(const unsigned char *at, uint64_t most) {
    if (at[0] < 0x80)
        return at[0] >= 0x20 ? at[0] != 0x7f : at[0] == '\n' || at[0] == '\t' || at[0] == '\r';
    uint64_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    for (uint64_t i = 1; i < length && i < most; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* A text from the start up to a zero, or to the end of what is looked at. */
static inline bool is_text(const struct cf_live *payload) {
    uint64_t most = payload->readable < TEXT_LOOKED_AT ? payload->readable : TEXT_LOOKED_AT;
    uint64_t length = 0;
    while (length < most && payload->at[length] != '\0') {
        uint64_t bytes = character(payload->at + length, most - length);
        if (bytes == 0)
            return false;
        length += bytes;
    }
    return length >= TEXT_MIN;
}

/* Of the first words that are not zero at most one in nine leads elsewhere. Those that are in the
 * span of the chunks and in none are few: that they might be is enough to go on. */
static inline bool is_pointer_array(const struct cf_types *types, const struct cf_live *payload) {
    const struct cf_resolver *resolver = types->input.resolver;
    size_t words = payload->words < CF_LIVE_WORDS ? payload->words : CF_LIVE_WORDS;
    size_t pointers = cf_ranks_count_bits(payload->pointers);
    if (pointers < POINTERS_MIN)
        return false;
    size_t others = words - pointers;
    for (size_t i = 0; i < words; i++)
        others -= cf_payload_word(types, payload, i * types->word) == 0;
    if (others * 8 > pointers)
        return false;
    for (uint32_t bits = payload->pointers; bits != 0; bits &= bits - 1) {
        uint64_t at = (uint64_t)__builtin_ctz(bits) * types->word;
        uint64_t lowered = cf_resolver_lowered(resolver, cf_payload_word(types, payload, at));
        if (cf_resolver_extent(resolver, lowered) == NULL) {
            pointers--;
            others++;
        }
    }
    return pointers >= POINTERS_MIN && others * 8 <= pointers;
}

/* Most chunks have none, and that shows at once. */
static inline bool may_have_table(const struct cf_types *types, const struct cf_live *payload) {
    unsigned nr = payload->words < TABLE_WORDS ? (unsigned)payload->words : TABLE_WORDS;
    bool may = false;
    if (types->word == 8)
        for (unsigned i = 0; i < nr; i++)
            may |= cf_types_may_be_module(types, cf_live_word(payload, 8, i));
    else
        for (unsigned i = 0; i < nr; i++)
            may |= cf_types_may_be_module(types, cf_live_word(payload, 4, i));
    return may;
}

uint32_t cf_types_recognise(struct cf_types *types, const struct cf_live *payload) {
    uint32_t type = payload->words >= LIBC_WORDS ? recognise_libc(types, payload) : 0;
    if (type != 0 || payload->words < 2)
        return type;
    bool has_table = may_have_table(types, payload);
    if (has_table)
        type = recognise_table(types, cf_payload_word(types, payload, 0), true);
    if (type == 0 && types->has_python)
        type = recognise_python(types, payload, 0);
    if (type == 0 && types->has_python) /* behind a PyGC_Head of two words */
        type = recognise_python(types, payload, 2 * types->word);
    if (type == 0 && has_table)
        type = recognise_later_table(types, payload);
    if (type != 0)
        return type;
    if (is_text(payload)) {
        if (types->text_type == 0)
            types->text_type = cf_types_intern(types, "(text)", CF_EVIDENCE_TEXT);
        return types->text_type;
    }
    if (payload->words >= POINTERS_MIN && is_pointer_array(types, payload)) {
        if (types->pointers_type == 0)
            types->pointers_type = cf_types_intern(types, "(array of pointers)",
                                                   CF_EVIDENCE_POINTERS);
        return types->pointers_type;
    }
    return 0;
}
