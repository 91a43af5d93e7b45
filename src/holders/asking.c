/*
 * Each kind of candidate is added behind those before it, sorted by weight, and cut off at its own
 * limit, so that no kind crowds out another. The largest chunks and the sizes with the most bytes
 * are found in one pass over all live chunks.
 */
#include "holders/asking.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"

enum { SIZES_MAX = 4096, TICK_CHUNKS = 1 << 18 };

static int ask(struct cf_asking *asking, uint64_t addr, uint64_t weight, struct cf_err *err) {
    struct cf_asked *row = cf_array_push(&asking->rows);
    if (row == NULL)
        return cf_err_nomem(err, sizeof *row, "a chunk to ask about");
    *row = (struct cf_asked){addr, weight};
    return CF_OK;
}

static int compare_asked(const void *a, const void *b) {
    const struct cf_asked *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

/* Of what was added from `first` on, only the `most` weightiest stay. */
static void keep_weightiest(struct cf_asking *asking, size_t first, size_t most) {
    size_t nr = asking->rows.len - first;
    if (nr > 1)
        qsort(asking->rows.items + first, nr, sizeof *asking->rows.items, compare_asked);
    if (nr > most)
        asking->rows.len = first + most;
}

static int ask_top_pins(struct cf_asking *asking, const struct cf_top_pins *pins,
                        struct cf_err *err) {
    size_t first = asking->rows.len;
    int status = CF_OK;
    for (size_t i = 0; i < pins->pins.len && status == CF_OK; i++) {
        const struct cf_top_pin *pin = &pins->pins.items[i];
        if (pin->rank == 1)
            status = ask(asking, pin->addr, pin->unlocked_bytes, err);
    }
    keep_weightiest(asking, first, CF_ASKED_PINS);
    return status;
}

static int ask_page_pins(struct cf_asking *asking, const struct cf_page_pins *pins,
                         struct cf_err *err) {
    size_t first = asking->rows.len;
    int status = CF_OK;
    for (size_t i = 0; i < cf_page_pins_nr(pins) && status == CF_OK; i++) {
        const struct cf_page_pin *pin = cf_page_pins_row(pins, i);
        if (pin->pinned_bytes > 0)
            status = ask(asking, pin->sample, pin->pinned_bytes, err);
    }
    keep_weightiest(asking, first, CF_ASKED_GROUPS);
    return status;
}

static int ask_types(struct cf_asking *asking, const struct cf_types *types, struct cf_err *err) {
    size_t first = asking->rows.len;
    int status = CF_OK;
    for (size_t i = 1; i < cf_types_nr(types) && status == CF_OK; i++) {
        const struct cf_type *type = cf_types_get(types, (uint32_t)i);
        if (type->sample != 0)
            status = ask(asking, type->sample, type->bytes - type->unreachable_bytes, err);
    }
    keep_weightiest(asking, first, CF_ASKED_TYPES);
    return status;
}

/* Live chunks of one size. */
struct size {
    uint64_t bytes;
    uint64_t sample; /* header of the first that is reached; 0: none */
};

struct survey {
    const struct cf_mark *mark;
    struct cf_asked largest[CF_ASKED_LARGEST]; /* the largest first */
    size_t nr_largest;
    struct size sizes[SIZES_MAX]; /* by bytes / 16 */
};

static inline void consider(struct survey *survey, uint64_t addr, uint64_t bytes) {
    size_t at = survey->nr_largest;
    if (at == CF_ASKED_LARGEST && bytes <= survey->largest[at - 1].weight)
        return;
    if (at < CF_ASKED_LARGEST)
        survey->nr_largest++;
    else
        at--;
    for (; at > 0 && survey->largest[at - 1].weight < bytes; at--)
        survey->largest[at] = survey->largest[at - 1];
    survey->largest[at] = (struct cf_asked){addr, bytes};
}

/* False: cancelled. */
static bool survey_heap(const struct cf_context *ctx, struct survey *survey,
                        const struct cf_planes *planes, const struct cf_heap *heap) {
    struct cf_live_walk walk = cf_live_walk(planes, heap);
    for (uint64_t nr = 0; cf_live_walk_next(&walk); nr++) {
        if (nr % TICK_CHUNKS == 0 && cf_progress(ctx, "choosing what to ask about", 0, 0))
            return false;
        uint64_t addr = cf_planes_addr(planes, heap, walk.unit);
        uint64_t bytes = (uint64_t)walk.units << planes->unit_shift;
        consider(survey, addr, bytes);
        if (bytes / 16 >= SIZES_MAX)
            continue;
        struct size *size = &survey->sizes[bytes / 16];
        size->bytes += bytes;
        if (size->sample == 0 && cf_mark_reached_at(survey->mark, addr))
            size->sample = addr;
    }
    return true;
}

static int ask_survey(struct cf_asking *asking, const struct survey *survey, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < survey->nr_largest && status == CF_OK; i++)
        status = ask(asking, survey->largest[i].addr, survey->largest[i].weight, err);
    size_t first = asking->rows.len;
    for (size_t i = 0; i < SIZES_MAX && status == CF_OK; i++)
        if (survey->sizes[i].sample != 0)
            status = ask(asking, survey->sizes[i].sample, survey->sizes[i].bytes, err);
    keep_weightiest(asking, first, CF_ASKED_SIZES);
    return status;
}

/* The largest chunks, and one of each size with many bytes, in one pass over all of them. */
static int ask_chunks(const struct cf_context *ctx, struct cf_asking *asking,
                      const struct cf_mark *mark, struct cf_err *err) {
    const struct cf_resolver *resolver = cf_mark_resolver(mark);
    CF_CLEANUP_FREE struct survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL)
        return cf_err_nomem(err, sizeof *survey, "the largest chunks");
    survey->mark = mark;
    for (size_t i = 0; i < resolver->planes->nr_heaps; i++)
        if (!survey_heap(ctx, survey, resolver->planes, &resolver->planes->heaps[i]))
            return cf_err_cancelled(err);
    for (size_t i = 0; i < cf_chunkmap_nr_mmapped(resolver->map); i++) {
        const struct cf_mmapped *row = cf_chunkmap_mmapped(resolver->map, i);
        if (!row->in_tcache)
            consider(survey, row->addr, row->bytes);
    }
    return ask_survey(asking, survey, err);
}

int cf_asking_choose(const struct cf_context *ctx, struct cf_asking *asking, uint64_t suspect,
                     const struct cf_mark *mark, const struct cf_kept *kept,
                     const struct cf_types *types, struct cf_err *err) {
    int status = suspect != 0 ? ask(asking, suspect, 0, err) : CF_OK;
    if (status == CF_OK)
        status = ask_top_pins(asking, &kept->top_pins, err);
    if (status == CF_OK)
        status = ask_page_pins(asking, kept->page_pins, err);
    if (status == CF_OK)
        status = ask_types(asking, types, err);
    return status == CF_OK ? ask_chunks(ctx, asking, mark, err) : status;
}

int cf_asking_add_memory(struct cf_asking *asking, const struct cf_types *types,
                         struct cf_err *err) {
    size_t first = asking->rows.len;
    int status = CF_OK;
    for (size_t i = 1; i < cf_types_nr(types) && status == CF_OK; i++) {
        const struct cf_type *type = cf_types_get(types, (uint32_t)i);
        if (type->memory_of != 0 && type->sample != 0)
            status = ask(asking, type->sample, type->bytes, err);
    }
    keep_weightiest(asking, first, CF_ASKED_TYPES);
    return status;
}

void cf_asking_fini(struct cf_asking *asking) {
    cf_array_free(&asking->rows);
}
