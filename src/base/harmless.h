/*
 * Text that shows what it is and does nothing: names from a core, paths and messages may hold
 * escape sequences of terminals, line breaks, bytes that are no UTF-8, or characters that turn the
 * direction of writing around. Made harmless, a text is one line of valid UTF-8:
 *
 *     control characters, bytes that are no UTF-8   \x1b
 *     format and direction characters, separators   \u{202e}
 *
 * Harmless text stays as it is when it is made harmless again.
 */
#ifndef CF_BASE_HARMLESS_H
#define CF_BASE_HARMLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
