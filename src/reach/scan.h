/*
 * Reading words for pointers: the inner loop of the mark and of the passes after it.
 */
#ifndef CF_REACH_SCAN_H
#define CF_REACH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reach/resolve.h"
#include "mem/mem.h"

/* The aligned words of [addr, end), in pieces that the core has in one run. */
struct cf_scan {
    const struct cf_mem *mem;
    uint64_t addr;
    uint64_t end;
    uint64_t unreadable_bytes; /* not in the core, passed over so far; never taken for zeros */
};

/* The next piece, of 64 KiB at most; false at the end. `bytes` is borrowed from the core. */
bool cf_scan_next(struct cf_scan *scan, const unsigned char **bytes, size_t *nr_words);

/* Calls found(arg, lowered) (reach/resolve.h) for each little-endian target word of `bytes` that
 * is inside the span of the chunks. A macro, so that `found` becomes part of the loop. */
#define CF_SCAN_WORDS(resolver, bytes, nr_words, found, arg)                                      \
    CF_SCAN_EACH(resolver, bytes, nr_words, found(arg, scan_w_))

/* The same with found(arg, lowered, index), where `index` counts the words of `bytes`. */
#define CF_SCAN_WORDS_AT(resolver, bytes, nr_words, found, arg)                                   \
    CF_SCAN_EACH(resolver, bytes, nr_words, found(arg, scan_w_, scan_i_))

#define CF_SCAN_EACH(resolver, bytes, nr_words, call)                                             \
    do {                                                                                          \
        const struct cf_resolver *scan_r_ = (resolver);                                           \
        const unsigned char *scan_p_ = (bytes);                                                   \
        size_t scan_n_ = (nr_words);                                                              \
        const uint64_t scan_low_ = scan_r_->low, scan_span_ = scan_r_->span;                      \
        if (scan_r_->word_bytes == 8) {                                                           \
            const uint64_t scan_mask_ = scan_r_->word_mask;                                       \
            for (size_t scan_i_ = 0; scan_i_ < scan_n_; scan_i_++) {                              \
                uint64_t scan_w_;                                                                 \
                memcpy(&scan_w_, scan_p_ + 8 * scan_i_, 8);                                       \
                scan_w_ = (scan_w_ & scan_mask_) - 16;                                            \
                if (__builtin_expect(scan_w_ - scan_low_ < scan_span_, 0))                        \
                    call;                                                                         \
            }                                                                                     \
        } else {                                                                                  \
            for (size_t scan_i_ = 0; scan_i_ < scan_n_; scan_i_++) {                              \
                uint32_t scan_narrow_;                                                            \
                memcpy(&scan_narrow_, scan_p_ + 4 * scan_i_, 4);                                  \
                const uint64_t scan_w_ = (uint64_t)scan_narrow_ - 8;                              \
                if (scan_w_ - scan_low_ < scan_span_)                                             \
                    call;                                                                         \
            }                                                                                     \
        }                                                                                         \
    } while (0)

#endif
