#include "retain/pagepin.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

enum { FIRST_SLOTS = 1024, NR_RECENT = 256 };

/* Rows in order of arrival, found through an open hash table of row numbers plus 1. */
struct cf_page_pins {
    CF_ARRAY(struct cf_page_pin) rows;
    uint32_t *slots;
    size_t nr_slots; /* a power of two, at least twice the rows */
    uint32_t recent[NR_RECENT]; /* row numbers plus 1, by size: the same few sizes come again */
};

int cf_page_pins_new(struct cf_page_pins **out, struct cf_err *err) {
    struct cf_page_pins *pins = calloc(1, sizeof *pins);
    uint32_t *slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (pins == NULL || slots == NULL) {
        free(pins);
        free(slots);
        return cf_err_nomem(err, FIRST_SLOTS * sizeof *slots, "the page pins");
    }
    pins->slots = slots;
    pins->nr_slots = FIRST_SLOTS;
    *out = pins;
    return CF_OK;
}

void cf_page_pins_free(struct cf_page_pins *pins) {
    if (pins == NULL)
        return;
    cf_array_free(&pins->rows);
    free(pins->slots);
    free(pins);
}

static bool is_key(const struct cf_page_pin *row, uint32_t arena_id, int32_t type, uint64_t size) {
    return row->size_bytes == size && row->arena_id == arena_id && row->type == type;
}

static size_t hash(uint32_t arena_id, int32_t type, uint64_t size) {
    uint64_t mixed = size * 0x9e3779b97f4a7c15u;
    mixed ^= ((uint64_t)arena_id << 32 | (uint32_t)type) * 0xc2b2ae3d27d4eb4fu;
    return (size_t)(mixed ^ mixed >> 29);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t *find_slot(const struct cf_page_pins *pins, uint32_t *slots, size_t nr_slots,
                           uint32_t arena_id, int32_t type, uint64_t size) {
    size_t at = hash(arena_id, type, size) & (nr_slots - 1);
    while (slots[at] != 0 &&
           !is_key(&pins->rows.items[slots[at] - 1], arena_id, type, size))
        at = (at + 1) & (nr_slots - 1);
    return &slots[at];
}

static int grow(struct cf_page_pins *pins, struct cf_err *err) {
    size_t nr_slots = pins->nr_slots * 2;
    uint32_t *slots = calloc(nr_slots, sizeof *slots);
    if (slots == NULL || pins->rows.len >= UINT32_MAX / 4) {
        free(slots);
        return cf_err_nomem(err, nr_slots * sizeof *slots, "the page pins");
    }
    for (size_t i = 0; i < pins->rows.len; i++) {
        const struct cf_page_pin *row = &pins->rows.items[i];
        *find_slot(pins, slots, nr_slots, row->arena_id, row->type, row->size_bytes) =
            (uint32_t)(i + 1);
    }
    free(pins->slots);
    pins->slots = slots;
    pins->nr_slots = nr_slots;
    return CF_OK;
}

/* The row of the key, made where it is new; its number plus 1 goes to `*out`. */
static int find_row(struct cf_page_pins *pins, uint32_t arena_id, int32_t type, uint64_t size,
                    uint32_t *out, struct cf_err *err) {
    if (pins->rows.len * 2 >= pins->nr_slots) {
        int rc = grow(pins, err);
        if (rc != CF_OK)
            return rc;
    }
    uint32_t *slot = find_slot(pins, pins->slots, pins->nr_slots, arena_id, type, size);
    if (*slot == 0) {
        struct cf_page_pin *row = cf_array_push(&pins->rows);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "a page pin");
        *row = (struct cf_page_pin){.arena_id = arena_id, .type = type, .size_bytes = size};
        *slot = (uint32_t)pins->rows.len;
    }
    *out = *slot;
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
