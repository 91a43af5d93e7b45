/*
 * struct cf_types for the files that make it: types.c (the object), recognise.c (one chunk's
 * words), owned.c (buffers that somebody holds), belong.c (what has no name of its own). Nobody
 * else includes this.
 */
#ifndef CF_TYPES_TYPESTATE_H
#define CF_TYPES_TYPESTATE_H

#include "base/array.h"
#include "base/hash.h"
#include "base/tempfile.h"
#include "reach/live.h"
#include "types/types.h"

/* How a buffer is held. */
enum cf_owned { CF_OWNED_NOT, CF_OWNED_STRING, CF_OWNED_VECTOR, CF_OWNED_STDIO };

/* Words that may lead into a module are told from others by a bit for each 2 MiB, by hash. */
enum { CF_MODULE_BLOCK_SHIFT = 21, CF_MODULE_FILTER_BITS = 12 };

/* A mapping of a module. */
struct cf_module_span {
    uint64_t start;
    uint64_t end;
    bool is_code;
};

/* What is found out once, the answer that it is nothing too. Each kind has keys of its own. */
enum cf_memo_kind {
    CF_MEMO_TABLE,       /* address of what an object's first word leads to: a table of functions */
    CF_MEMO_LATER_TABLE, /* the same of a word behind the first */
    CF_MEMO_TRAIT,       /* address of a trait object's table */
    CF_MEMO_PYTHON,      /* address of a CPython type object */
    CF_MEMO_OWNER,       /* hash of an owner's name (holders/belong.h) */
    CF_NR_MEMOS,
};

struct cf_type_memo {
    uint64_t key;
    uint32_t type; /* 0: none */
};

struct cf_type_memos {
    CF_ARRAY(struct cf_type_memo) rows;
    struct cf_hash table;
};

struct cf_types {
    struct cf_types_input input;
    unsigned word;
    unsigned word_shift;
    CF_ARRAY(struct cf_type) rows;
    struct cf_type_memos memos[CF_NR_MEMOS];
    CF_ARRAY(struct cf_module_span) spans; /* sorted */
    uint64_t module_filter[(1 << CF_MODULE_FILTER_BITS) / 64];
    bool has_python;          /* a file named so is mapped: else no chunk is CPython's */
    const struct cf_ranks *ranks;
    uint16_t *table; /* by rank: the type; 0: none, or not yet */
    struct cf_scratch scratch; /* where the table stands; none: in our own memory */
    uint32_t owned_types[4];  /* by enum cf_owned; 0 until met */
    uint32_t libc_types[2];   /* by recognise.c's own kinds */
    uint32_t text_type;
    uint32_t pointers_type;
};

/* types.c: the type with this name; memory out or too many: 0. */
uint32_t cf_types_intern(struct cf_types *types, const char *name,
                         enum cf_type_evidence evidence);
/* The same for a name that is known to be new. */
uint32_t cf_types_add(struct cf_types *types, const char *name, enum cf_type_evidence evidence);
/* The row of what is known of `key`; it is new with type 0, and to be filled in, unless `*found`.
 * CF_HASH_NONE when memory is out, or too many are known. */
uint32_t cf_types_memo(struct cf_types *types, enum cf_memo_kind kind, uint64_t key, bool *found);
static inline uint32_t cf_types_of_rank(const struct cf_types *types, struct cf_rank rank) {
    return types->table[rank.index];
}

/* The module's mapping that holds `addr`, or NULL. */
const struct cf_module_span *cf_types_find_span(const struct cf_types *types, uint64_t addr);

static inline size_t cf_types_module_bit(uint64_t block) {
    return (size_t)(block * 0x9e3779b97f4a7c15ull >> (64 - CF_MODULE_FILTER_BITS));
}

/* False for most words that lead elsewhere, at the price of a look at one word. */
static inline bool cf_types_may_be_module(const struct cf_types *types, uint64_t addr) {
    size_t bit = cf_types_module_bit(addr >> CF_MODULE_BLOCK_SHIFT);
    return types->module_filter[bit / 64] >> (bit & 63) & 1;
}

static inline const struct cf_module_span *cf_types_span(const struct cf_types *types,
                                                         uint64_t addr) {
    return cf_types_may_be_module(types, addr) ? cf_types_find_span(types, addr) : NULL;
}

/* The chunk with this number is a buffer that somebody holds so. What is known first stays, and
 * goes before what the chunk is by other signs. */
void cf_types_own(struct cf_types *types, struct cf_chunk_number number, enum cf_owned owned);
bool cf_types_is_owned(const struct cf_types *types, struct cf_chunk_number number);
/* The chunk is of `type` whatever its own words say, unless it is owned. */
void cf_types_name_chunk(struct cf_types *types, struct cf_chunk_number number, uint32_t type);

/* recognise.c */
/* The type of what a table of functions at `addr` serves; 0: there is none. */
uint32_t cf_types_of_table(struct cf_types *types, uint64_t addr);
bool cf_types_leads_to_code(const struct cf_types *types, uint64_t addr);
bool cf_types_symbol(const struct cf_types *types, uint64_t addr, char *out, size_t bytes,
                     uint64_t *offset);
uint32_t cf_types_recognise(struct cf_types *types, const struct cf_live *payload);

/* owned.c */
/* The live chunk whose user address is exactly `word`, its usable bytes, and how many more than
 * were asked for these may be; or CF_NO_CHUNK. */
struct cf_chunk_number cf_types_buffer_at(const struct cf_types *types, uint64_t word,
                                          uint64_t *usable, uint64_t *slack);

/* owned.c: what the chunk says of others. */
void cf_types_look_for_owned(struct cf_types *types, const struct cf_live *payload);
/* What everything outside the chunks says of them. False: cancelled. */
bool cf_types_look_at_roots(struct cf_types *types);

/* libcown.c */
enum {
    CF_LINK_MAP_WORDS = 100, /* that a link_map has at least */
    CF_IO_MAGIC = 0xfbad,    /* upper half of the first int of every FILE (libio.h, _IO_MAGIC) */
};
/* Chunks whose addresses alone say that they are glibc's: tcache structs, dtvs. */
void cf_types_name_libc(struct cf_types *types);
bool cf_types_is_link_map(const struct cf_types *types, const struct cf_live *payload);
void cf_types_look_at_link_map(struct cf_types *types, const struct cf_live *payload);
void cf_types_look_at_threads(struct cf_types *types);

/* traits.c: two words in a row that may be a trait object's; says whether they are. */
bool cf_types_look_for_trait(struct cf_types *types, uint64_t data, uint64_t table);

/* The word at a byte's offset, which is a multiple of words. */
static inline uint64_t cf_payload_word(const struct cf_types *types, const struct cf_live *payload,
                                       uint64_t offset) {
    return cf_live_word(payload, types->word, offset >> types->word_shift);
}

#endif
