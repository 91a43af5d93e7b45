/*
 * Texts for people. Numbers are written as every text of ours has them: bytes to one decimal of KiB
 * and MiB and two of GiB and above, counts with thousands separators.
 *
 * Names from a core, paths and messages may hold escape sequences of terminals, line breaks, bytes
 * that are no UTF-8, or characters that turn the direction of writing around. Made harmless, a text
 * shows what it is and does nothing; it is one line of valid UTF-8:
 *
 *     control characters, bytes that are no UTF-8   \x1b
 *     format and direction characters, separators   \u{202e}
 *
 * Harmless text stays as it is when it is made harmless again.
 */
#ifndef CF_BASE_TEXTS_H
#define CF_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The name of a file: what stands behind the last slash, all of it where there is none. Borrowed
 * from `path`. */
static inline const char *cf_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Each writes a terminated string of at most CF_NUMBER_MAX bytes and returns its buffer. */
enum { CF_NUMBER_MAX = 48 };

/* "512 B", "4.0 KiB", "112.4 MiB", "3.31 GiB" */
const char *cf_number_bytes(char out[CF_NUMBER_MAX], uint64_t bytes);
/* "3,554,213,888 B" */
const char *cf_number_exact_bytes(char out[CF_NUMBER_MAX], uint64_t bytes);
/* "61,204" */
const char *cf_number_count(char out[CF_NUMBER_MAX], int64_t count);
/* "11.5 %"; a share that rounds to 0.0 or 100.0 without being it is "< 0.1 %", "> 99.9 %". */
const char *cf_number_percent(char out[CF_NUMBER_MAX], double percent);

/* One code point of `text` into `out`; returns its bytes, 0 at the end of the string or where the
 * bytes are no UTF-8 (overlong forms, surrogates and values above 0x10ffff are none). */
size_t cf_utf8_decode(const char *text, uint32_t *out);

/* Whether the first code point of `text`, or its first byte, may not stand as it is. */
bool cf_is_hostile(const char *text);

enum { CF_HARMLESS_PIECE = 16 };

/* What stands for the first code point of `text`, or its first byte, which is not the string's end;
 * returns how many bytes of `text` that is. */
size_t cf_harmless_piece(const char *text, char out[CF_HARMLESS_PIECE]);

/* The whole of `raw` into `out`, cut between pieces where it does not fit in `bytes`, the end
 * included. Returns the length that there was no room to cut. */
size_t cf_harmless(const char *raw, char *out, size_t bytes);

#endif
