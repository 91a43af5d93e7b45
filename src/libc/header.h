/*
 * A chunk's header as malloc writes it: the word before the user memory holds the chunk's size,
 * whose three lowest bits are flags (malloc.c, "struct malloc_chunk", all releases). What such a
 * word can be and what not is judged here and nowhere else.
 */
#ifndef CF_LIBC_HEADER_H
#define CF_LIBC_HEADER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PREV_INUSE = 1,
    IS_MMAPPED = 2,
    NON_MAIN_ARENA = 4,
    SIZE_FLAGS = 7,
};

/* The bytes of the chunk, flags cleared. */
static inline uint64_t cf_header_bytes(uint64_t header) {
    return header & ~(uint64_t)SIZE_FLAGS;
}

/* What holds for the chunks of one arena's heaps. */
struct cf_header_rule {
    unsigned min_bytes; /* MINSIZE: 4 words */
    unsigned alignment; /* MALLOC_ALIGNMENT */
    unsigned bad_flags; /* that no header of the heap has */
};

static inline struct cf_header_rule cf_header_rule_make(unsigned word_bytes, unsigned alignment,
                                                        bool is_main) {
    return (struct cf_header_rule){
        .min_bytes = 4 * word_bytes,
        .alignment = alignment,
        .bad_flags = is_main ? IS_MMAPPED | NON_MAIN_ARENA : IS_MMAPPED,
    };
}

/* A header that _int_malloc, _int_free or sysmalloc can have written, of a chunk that has `room`
 * bytes at most. */
static inline bool cf_header_can_be(struct cf_header_rule rule, uint64_t header, uint64_t room) {
    uint64_t bytes = cf_header_bytes(header);
    return bytes >= rule.min_bytes && (bytes & (rule.alignment - 1)) == 0 &&
           (header & rule.bad_flags) == 0 && bytes <= room;
}

#endif
