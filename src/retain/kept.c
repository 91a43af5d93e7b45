/*
 * The order of the passes: malloc_trim first, since pages and holes say what of them is
 * releasable.
 */
#include "retain/kept.h"

#include <stdlib.h>

#include "retain/pages.h"
#include "base/context.h"
#include "base/err.h"

enum { TICK_SPANS = 1 << 13 };

/* The sweep over pages, and how long it is until it tells the caller again. */
struct pages {
    struct cf_kept *kept;
    const struct cf_context *ctx;
    size_t until_tick;
};

static int on_span(void *user, const struct cf_page_span *span, struct cf_err *err) {
    struct pages *pages = user;
    struct cf_kept *kept = pages->kept;
    if (--pages->until_tick == 0) {
        pages->until_tick = TICK_SPANS;
        if (cf_tick(pages->ctx))
            return cf_err_cancelled(err);
    }
    cf_waste_add(&kept->waste, span);
    return cf_page_runs_add(&kept->runs, span, err);
}

static int on_pins(void *user, const struct cf_heap *heap, const struct cf_pinner *pinners,
                   size_t nr, struct cf_err *err) {
    struct cf_kept *kept = ((struct pages *)user)->kept;
    int status = CF_OK;
    for (size_t i = 0; i < nr && status == CF_OK; i++) {
        if (pinners[i].pinned_bytes == 0)
            continue;
        uint32_t type = kept->types == NULL ? 0 : cf_types_at(kept->types, pinners[i].addr);
        status = cf_page_pins_add(kept->page_pins, heap->arena_id,
                                  type == 0 ? CF_NO_TYPE : (int32_t)type, pinners[i].addr,
                                  pinners[i].bytes, pinners[i].pinned_bytes, err);
    }
    return status;
}

static int sweep_pages(const struct cf_context *ctx, const struct cf_chunkmap *map,
                       struct cf_kept *kept, struct cf_err *err) {
    kept->runs.page_bytes = kept->residency.page_bytes;
    int status = cf_waste_init(&kept->waste, kept->rule.nr_arenas, err);
    if (status == CF_OK)
        status = cf_page_pins_new(&kept->page_pins, err);
    if (status != CF_OK)
        return status;
    struct pages pages = {kept, ctx, TICK_SPANS};
    const struct cf_page_visitor visitor = {.user = &pages, .span = on_span, .pins = on_pins};
    status = cf_pages_sweep(map, &kept->residency, &kept->trim, &visitor, err);
    cf_page_pins_seal(kept->page_pins);
    return status;
}

static struct cf_resident_bytes given_back(const struct cf_trim *trim,
                                           const struct cf_freeing *freeing) {
    return (struct cf_resident_bytes){
        .known = trim->all.resident.known && freeing->all.resident.known,
        .bytes = trim->all.resident.bytes + freeing->all.beyond_trim_bytes,
    };
}

int cf_kept_trim_if(const struct cf_ptmalloc *pt, const struct cf_kept *kept,
                    const struct cf_trim_change *change, struct cf_trim_if *out,
                    struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    struct cf_trim trim = {.nr_arenas = 0};
    struct cf_freeing freeing = {.nr_arenas = 0};
    int status = cf_trim_simulate_if(map, &kept->rule, &kept->residency, change, &trim, err);
    if (status == CF_OK)
        status = cf_freeing_find(map, &kept->rule, &kept->residency, &trim, &freeing, err);
    if (status == CF_OK) {
        out->now = given_back(&kept->trim, &kept->freeing);
        out->then = given_back(&trim, &freeing);
    }
    cf_freeing_fini(&freeing);
    cf_trim_fini(&trim);
    return status;
}

static int trim_without_caches(const struct cf_ptmalloc *pt, struct cf_kept *kept,
                               struct cf_err *err) {
    struct cf_trim_if *out = &kept->without_caches;
    for (size_t i = 0; i < cf_ptmalloc_nr_tcaches(pt); i++) {
        out->chunks += cf_ptmalloc_tcache(pt, i)->chunks;
        out->bytes += cf_ptmalloc_tcache(pt, i)->bytes;
    }
    if (out->chunks == 0)
        return CF_OK;
    const struct cf_trim_change change = {.caches = true};
    return cf_kept_trim_if(pt, kept, &change, out, err);
}

static int free_without_threshold(const struct cf_ptmalloc *pt, struct cf_kept *kept,
                                  struct cf_err *err) {
    struct cf_trim_rule rule = kept->rule; /* its arrays are borrowed */
    struct cf_freeing freeing = {.nr_arenas = 0};
    kept->threshold_then = kept->freeing.all.resident;
    if (rule.trim_threshold <= CF_TRIM_THRESHOLD_DEFAULT)
        return CF_OK;
    rule.trim_threshold = CF_TRIM_THRESHOLD_DEFAULT;
    int status = cf_freeing_find(cf_ptmalloc_map(pt), &rule, &kept->residency, &kept->trim,
                                 &freeing, err);
    if (status == CF_OK)
        kept->threshold_then = freeing.all.resident;
    cf_freeing_fini(&freeing);
    return status;
}

/* Below that threshold they were mapped, and went back when they were freed. */
static int find_large_blocks(const struct cf_context *ctx, const struct cf_ptmalloc *pt,
                             struct cf_kept *kept, struct cf_err *err) {
    const struct cf_namespace *ns = cf_malloc_namespace(cf_ptmalloc_malloc(pt), 0);
    if (ns == NULL || ns->par.addr == 0 || ns->par.mmap_threshold <= CF_MMAP_THRESHOLD_DEFAULT)
        return CF_OK;
    return cf_former_blocks_find(ctx, pt, &kept->residency, CF_MMAP_THRESHOLD_DEFAULT,
                                 &kept->former, err);
}

int cf_kept_trim(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_kept *kept,
                 struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    kept->residency = cf_residency_of_mem(cf_malloc_mem(cf_ptmalloc_malloc(pt)));
    int status = cf_trim_rule_of(pt, &kept->rule, err);
    if (status == CF_OK && cf_progress(ctx, "simulating malloc_trim", 0, 0))
        status = cf_err_cancelled(err);
    if (status == CF_OK)
        status = cf_trim_simulate(map, &kept->rule, &kept->residency, &kept->trim, err);
    if (status == CF_OK)
        status = cf_freeing_find(map, &kept->rule, &kept->residency, &kept->trim, &kept->freeing,
                                 err);
    if (status == CF_OK)
        status = trim_without_caches(pt, kept, err);
    if (status == CF_OK)
        status = free_without_threshold(pt, kept, err);
    if (status == CF_OK)
        status = find_large_blocks(ctx, pt, kept, err);
    return status;
}

int cf_kept_pins(const struct cf_context *ctx, const struct cf_ptmalloc *pt, struct cf_kept *kept,
                 struct cf_err *err) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    if (cf_progress(ctx, "judging pages", 0, 0))
        return cf_err_cancelled(err);
    int status = sweep_pages(ctx, map, kept, err);
    if (status == CF_OK && cf_tick(ctx))
        status = cf_err_cancelled(err);
    if (status == CF_OK)
        status = cf_top_pins_find(map, &kept->rule, &kept->residency, &kept->top_pins, err);
    return status;
}

void cf_kept_fini(struct cf_kept *kept) {
    cf_top_pins_fini(&kept->top_pins);
    cf_page_pins_free(kept->page_pins);
    kept->page_pins = NULL;
    cf_array_free(&kept->runs.runs);
    cf_waste_fini(&kept->waste);
    cf_freeing_fini(&kept->freeing);
    cf_trim_fini(&kept->trim);
    cf_trim_rule_fini(&kept->rule);
}
