/*
 * struct cf_types for the files that make it: types.c (the object), recognise.c (one chunk's
 * words), owned.c (buffers that somebody holds). Nobody else includes this.
 */
#ifndef CF_ANALYSIS_TYPESTATE_H
#define CF_ANALYSIS_TYPESTATE_H

#include "analysis/types.h"
#include "base/array.h"

/* How a buffer is held; two bits at its number and the next one. */
enum cf_owned { CF_OWNED_NOT, CF_OWNED_STRING, CF_OWNED_VECTOR, CF_OWNED_STDIO };

/* A mapping of a module. */
struct cf_module_span {
    uint64_t start;
    uint64_t end;
    bool is_code;
};

/* What is already known of a word that led into a module, or of a libc struct's address. */
struct cf_type_key {
    uint64_t key; /* 0: empty */
    uint32_t type;
};

struct cf_types {
    struct cf_types_input input;
    unsigned word;
    CF_ARRAY(struct cf_type) rows;
    struct cf_type_key *keys; /* open addressing, at most half full */
    size_t key_mask;
    size_t nr_keys;
    CF_ARRAY(struct cf_module_span) spans; /* sorted */
    uint64_t modules_low;     /* all spans lie in [modules_low, modules_low + modules_span) */
    uint64_t modules_span;
    bool has_python;          /* a file named so is mapped: else no chunk is CPython's */
    uint64_t *owned;          /* a bit for each chunk number */
    struct cf_named_chunks {  /* those whose type is known from elsewhere than their bytes */
        struct cf_type_key *slots; /* by number + 1; open addressing, at most half full */
        size_t mask;
        size_t nr;
    } named;
    uint32_t owned_types[4];  /* by enum cf_owned; 0 until met */
    uint32_t libc_types[4];
    uint32_t text_type;
    uint32_t pointers_type;
    CF_ARRAY(uint64_t) tcaches; /* user addresses of tcache structs and of dtvs, sorted */
    CF_ARRAY(uint64_t) dtvs;
};

/* A chunk's readable payload. */
struct cf_payload {
    uint64_t user;
    uint64_t bytes;
    const unsigned char *at;  /* `readable` bytes, from `user` */
    uint64_t readable;
};

/* types.c: the type with this name; memory out or too many: 0. */
uint32_t cf_types_intern(struct cf_types *types, const char *name,
                         enum cf_type_evidence evidence);
/* The slot of `key` (not 0); `*found` says whether it is taken. NULL when memory is out, or too
 * many are known. */
struct cf_type_key *cf_types_key(struct cf_types *types, uint64_t key, bool *found);
/* The module's mapping that holds `addr`, or NULL. */
const struct cf_module_span *cf_types_span(const struct cf_types *types, uint64_t addr);

/* From now on the chunk with this number is of `type`; dropped when too many are. */
void cf_types_name_chunk(struct cf_types *types, size_t number, uint32_t type);
uint32_t cf_types_named(const struct cf_types *types, size_t number); /* 0: not so */

/* recognise.c */
/* The type of what a table of functions at `addr` serves; 0: there is none. */
uint32_t cf_types_of_table(struct cf_types *types, uint64_t addr);
bool cf_types_leads_to_code(const struct cf_types *types, uint64_t addr);
bool cf_types_symbol(const struct cf_types *types, uint64_t addr, char *out, size_t bytes,
                     uint64_t *offset);
uint32_t cf_types_recognise(struct cf_types *types, const struct cf_payload *payload);

/* owned.c */
/* The live chunk whose user address is exactly `word`, its usable bytes, and how many more than
 * were asked for these may be; or CF_NO_CHUNK. */
size_t cf_types_buffer_at(const struct cf_types *types, uint64_t word, uint64_t *usable,
                          uint64_t *slack);

/* libcown.c */
void cf_types_look_at_link_map(struct cf_types *types, const struct cf_payload *payload);
void cf_types_look_at_threads(struct cf_types *types);

/* traits.c: two words in a row that may be a trait object's; says whether they are. */
bool cf_types_look_for_trait(struct cf_types *types, uint64_t data, uint64_t table);

int cf_types_find_owned(const struct cf_context *ctx, struct cf_types *types, struct cf_err *err);
enum cf_owned cf_types_owned(const struct cf_types *types, size_t number);

static inline uint64_t cf_payload_word(const struct cf_types *types,
                                       const struct cf_payload *payload, uint64_t offset) {
    if (types->word == 8) {
        uint64_t value;
        __builtin_memcpy(&value, payload->at + offset, 8);
        return value;
    }
    uint32_t value;
    __builtin_memcpy(&value, payload->at + offset, 4);
    return value;
}

#endif
