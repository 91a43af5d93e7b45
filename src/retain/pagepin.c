/*
 * A hash table of sums by arena, type and size. The same few sizes come again and again, so that
 * the row that was found last for a size is tried first.
 */
#include "retain/pagepin.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

enum { NR_RECENT = 256 };

/* Rows in order of arrival. */
struct cf_page_pins {
    CF_ARRAY(struct cf_page_pin) rows;
    struct cf_hash by_key;
    uint32_t recent[NR_RECENT]; /* row numbers plus 1, by size: the same few sizes come again */
};

int cf_page_pins_new(struct cf_page_pins **out, struct cf_err *err) {
    struct cf_page_pins *pins = calloc(1, sizeof *pins);
    if (pins == NULL)
        return cf_err_nomem(err, sizeof *pins, "the page pins");
    *out = pins;
    return CF_OK;
}

void cf_page_pins_free(struct cf_page_pins *pins) {
    if (pins == NULL)
        return;
    cf_array_free(&pins->rows);
    cf_hash_fini(&pins->by_key);
    free(pins);
}

static bool is_key(const struct cf_page_pin *row, uint32_t arena_id, int32_t type, uint64_t size) {
    return row->size_bytes == size && row->arena_id == arena_id && row->type == type;
}

/* The row of the key, made where it is new; its number plus 1 goes to `*out`. */
static int find_row(struct cf_page_pins *pins, uint32_t arena_id, int32_t type, uint64_t size,
                    uint32_t *out, struct cf_err *err) {
    uint64_t hash = cf_hash_mix(size ^ cf_hash_mix((uint64_t)arena_id << 32 | (uint32_t)type));
    uint32_t found = cf_hash_find(&pins->by_key, hash, i,
                                  is_key(&pins->rows.items[i], arena_id, type, size));
    if (found == CF_HASH_NONE) {
        struct cf_page_pin *row = cf_array_push(&pins->rows);
        if (row == NULL || !cf_hash_add(&pins->by_key, hash, pins->rows.len - 1))
            return cf_err_nomem(err, pins->rows.len * sizeof *row, "the page pins");
        *row = (struct cf_page_pin){.arena_id = arena_id, .type = type, .size_bytes = size};
        found = (uint32_t)pins->rows.len - 1;
    }
    *out = found + 1;
    return CF_OK;
}

int cf_page_pins_add(struct cf_page_pins *pins, uint32_t arena_id, int32_t type, uint64_t addr,
                     uint64_t size_bytes, uint64_t pinned_bytes, struct cf_err *err) {
    uint32_t *recent = &pins->recent[size_bytes >> 3 & (NR_RECENT - 1)];
    if (*recent == 0 || !is_key(&pins->rows.items[*recent - 1], arena_id, type, size_bytes)) {
        int rc = find_row(pins, arena_id, type, size_bytes, recent, err);
        if (rc != CF_OK)
            return rc;
    }
    struct cf_page_pin *row = &pins->rows.items[*recent - 1];
    row->chunks++;
    row->live_bytes += size_bytes;
    row->pinned_bytes += pinned_bytes;
    if (pinned_bytes > row->sample_bytes || row->chunks == 1) {
        row->sample = addr;
        row->sample_bytes = pinned_bytes;
    }
    return CF_OK;
}

static int compare_rows(const void *a, const void *b) {
    const struct cf_page_pin *left = a, *right = b;
    if (left->arena_id != right->arena_id)
        return left->arena_id < right->arena_id ? -1 : 1;
    if (left->type != right->type)
        return left->type < right->type ? -1 : 1;
    return left->size_bytes < right->size_bytes ? -1 : left->size_bytes > right->size_bytes;
}

void cf_page_pins_seal(struct cf_page_pins *pins) {
    if (pins->rows.len > 0)
        qsort(pins->rows.items, pins->rows.len, sizeof *pins->rows.items, compare_rows);
}

size_t cf_page_pins_nr(const struct cf_page_pins *pins) {
    return pins->rows.len;
}

const struct cf_page_pin *cf_page_pins_row(const struct cf_page_pins *pins, size_t index) {
    return &pins->rows.items[index];
}
