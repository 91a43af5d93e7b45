/*
 * Page pins by what pins: for each arena, type and chunk size how many live chunks keep dead
 * bytes of their pages resident, and how many bytes. The shares are those of cf_pages_sweep(), so
 * the sum over all rows is the waterfall's `pinned`. Counted are live chunks that pin a byte at
 * least; a live chunk whose pages it fills costs nothing and has no row.
 */
#ifndef CF_RETAIN_PAGEPIN_H
#define CF_RETAIN_PAGEPIN_H

#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"

enum { CF_NO_TYPE = -1 };

struct cf_page_pin {
    uint32_t arena_id;
    int32_t type; /* CF_NO_TYPE until known */
    uint64_t size_bytes;
    uint64_t chunks;
    uint64_t live_bytes;
    uint64_t pinned_bytes;
    uint64_t sample; /* header of the one among them that pins most, the lowest where several do */
    uint64_t sample_bytes; /* what that one pins */
};

struct cf_page_pins;

int cf_page_pins_new(struct cf_page_pins **out, struct cf_err *err);
void cf_page_pins_free(struct cf_page_pins *pins);

/* One live chunk, its header at `addr`, with its share; in the order of addresses. */
int cf_page_pins_add(struct cf_page_pins *pins, uint32_t arena_id, int32_t type, uint64_t addr,
                     uint64_t size_bytes, uint64_t pinned_bytes, struct cf_err *err);

/* Sorts the rows by arena, type and size; nothing can be added afterwards. */
void cf_page_pins_seal(struct cf_page_pins *pins);
size_t cf_page_pins_nr(const struct cf_page_pins *pins);
/* Borrowed until the next add, or until free once sealed. */
const struct cf_page_pin *cf_page_pins_row(const struct cf_page_pins *pins, size_t index);

#endif
