/*
 * Overlapping segments, which no sane producer writes: a sweep over the starts with a heap of the
 * pieces that are open, the lowest segment index on top. n log n, whatever the core says.
 */
#include <stdlib.h>

#include "base/err.h"
#include "mem/mem_private.h"

struct open_heap {
    struct mem_piece *items;
    size_t len;
};

static void swap(struct mem_piece *a, struct mem_piece *b) {
    struct mem_piece copy = *a;
    *a = *b;
    *b = copy;
}

static void heap_push(struct open_heap *heap, struct mem_piece piece) {
    size_t i = heap->len++;
    heap->items[i] = piece;
    while (i > 0 && heap->items[i].segment < heap->items[(i - 1) / 2].segment) {
        swap(&heap->items[i], &heap->items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void heap_pop(struct open_heap *heap) {
    heap->items[0] = heap->items[--heap->len];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++) {
            if (heap->items[child].segment < heap->items[least].segment)
                least = child;
        }
        if (least == i)
            return;
        swap(&heap->items[i], &heap->items[least]);
        i = least;
    }
}

static bool append(struct mem_pieces *out, struct mem_piece piece) {
    struct mem_piece *last = out->len > 0 ? &out->items[out->len - 1] : NULL;
    if (last != NULL && last->segment == piece.segment && last->end == piece.start) {
        last->end = piece.end;
        return true;
    }
    struct mem_piece *slot = cf_array_push(out);
    if (slot != NULL)
        *slot = piece;
    return slot != NULL;
}

/* Writes what the open pieces have of [from, to), by their rank. */
static bool sweep_to(struct open_heap *heap, struct mem_pieces *out, uint64_t from, uint64_t to) {
    while (heap->len > 0 && from < to) {
        struct mem_piece top = heap->items[0];
        if (top.end <= from) {
            heap_pop(heap);
            continue;
        }
        top.start = from;
        top.end = top.end < to ? top.end : to;
        from = top.end;
        if (!append(out, top))
            return false;
    }
    return true;
}

static uint64_t total_bytes(const struct mem_pieces *pieces) {
    uint64_t total = 0;
    for (size_t i = 0; i < pieces->len; i++) {
        if (__builtin_add_overflow(total, pieces->items[i].end - pieces->items[i].start, &total))
            return UINT64_MAX;
    }
    return total;
}

static bool are_disjoint(const struct mem_pieces *pieces) {
    for (size_t i = 1; i < pieces->len; i++) {
        if (pieces->items[i].start < pieces->items[i - 1].end)
            return false;
    }
    return true;
}

int cf_mem_pieces_resolve(struct mem_pieces *pieces, uint64_t *overlap_bytes, struct cf_err *err) {
    *overlap_bytes = 0;
    if (are_disjoint(pieces))
        return CF_OK;
    struct open_heap heap = {malloc(pieces->len * sizeof *heap.items), 0};
    struct mem_pieces out = {0};
    bool ok = heap.items != NULL;
    for (size_t i = 0; ok && i < pieces->len; i++) {
        uint64_t next = i + 1 < pieces->len ? pieces->items[i + 1].start : UINT64_MAX;
        heap_push(&heap, pieces->items[i]);
        ok = sweep_to(&heap, &out, pieces->items[i].start, next);
    }
    free(heap.items);
    if (!ok) {
        cf_array_free(&out);
        return cf_err_nomem(err, pieces->len * sizeof *out.items, "overlapping segments");
    }
    *overlap_bytes = total_bytes(pieces) - total_bytes(&out);
    cf_array_free(pieces);
    *pieces = out;
    return CF_OK;
}
