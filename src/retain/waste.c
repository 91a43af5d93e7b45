/*
 * Each span has one residency, and of its bytes the dead ones are either all pinned or not at
 * all: so its classes are sums of its parts, and add up to it.
 */
#include "retain/waste.h"

#include <stdlib.h>

#include "base/err.h"

const char *cf_waste_class_name(enum cf_waste_class waste_class) {
    static const char *const names[CF_NR_WASTE_CLASSES] = {
        "live", "overhead", "releasable", "pinned", "top", "cached", "cache-pinned", "edge",
    };
    return waste_class < CF_NR_WASTE_CLASSES ? names[waste_class] : "unknown";
}

const char *cf_keeper_name(unsigned keeper) {
    static const char *const names[CF_NR_KEEPERS] = {
        NULL,
        "live",
        "tcache",
        "live and tcache",
        "fastbin",
        "live and fastbin",
        "tcache and fastbin",
        "live, tcache and fastbin",
        "top",
        "overhead",
        "header",
    };
    return keeper < CF_NR_KEEPERS ? names[keeper] : NULL;
}

int cf_waste_init(struct cf_waste *waste, size_t nr_arenas, struct cf_err *err) {
    struct cf_waste_sum *arenas = calloc(nr_arenas + 1, sizeof *arenas);
    if (arenas == NULL)
        return cf_err_nomem(err, nr_arenas * sizeof *arenas, "the classes of waste");
    *waste = (struct cf_waste){.nr_arenas = nr_arenas, .arenas = arenas};
    return CF_OK;
}

void cf_waste_fini(struct cf_waste *waste) {
    free(waste->arenas);
    waste->arenas = NULL;
}

static unsigned keeper_of(const struct cf_page_span *span) {
    const uint64_t *parts = span->parts;
    unsigned keeper = (parts[CF_PART_LIVE] > 0 ? CF_KEEPER_LIVE : 0) |
                      (parts[CF_PART_TCACHE] > 0 ? CF_KEEPER_TCACHE : 0) |
                      (parts[CF_PART_FAST] > 0 && !span->joins_top ? CF_KEEPER_FAST : 0);
    if (keeper != 0)
        return keeper;
    return parts[CF_PART_TOP] > 0 || span->joins_top ? CF_KEEPER_TOP
           : parts[CF_PART_OVERHEAD] > 0             ? CF_KEEPER_OVERHEAD
                                                     : CF_KEEPER_HEADER;
}

static void add_keeper(struct cf_waste_sum *sum, const struct cf_page_span *span) {
    const uint64_t *parts = span->parts;
    uint64_t dead = parts[CF_PART_TOP] + parts[CF_PART_TCACHE] + parts[CF_PART_FAST] +
                    parts[CF_PART_FREE];
    if (dead == 0)
        return;
    struct cf_kept_pages *kept = &sum->keepers[keeper_of(span)];
    kept->pages += span->pages;
    kept->dead_bytes += dead;
}

static void add_to_sum(struct cf_waste_sum *sum, const struct cf_page_span *span) {
    if (span->resident == CF_RESIDENT_UNKNOWN)
        return;
    sum->resident.known = true;
    if (span->resident == CF_RESIDENT_NO)
        return;
    const uint64_t *parts = span->parts;
    uint64_t pinned = cf_page_span_pinned(span);
    sum->bytes[CF_WASTE_LIVE] += parts[CF_PART_LIVE];
    sum->bytes[CF_WASTE_OVERHEAD] += parts[CF_PART_OVERHEAD];
    sum->bytes[CF_WASTE_RELEASABLE] += parts[CF_PART_RELEASABLE];
    sum->bytes[CF_WASTE_PINNED] += pinned;
    if (pinned == 0) {
        uint64_t cached = parts[CF_PART_TCACHE] + parts[CF_PART_FAST];
        sum->bytes[CF_WASTE_TOP] += parts[CF_PART_TOP];
        sum->bytes[CF_WASTE_CACHED] += cached;
        sum->tcache_bytes += parts[CF_PART_TCACHE];
        sum->bytes[cached > 0 ? CF_WASTE_CACHE_PINNED : CF_WASTE_EDGE] += parts[CF_PART_FREE];
    }
    add_keeper(sum, span);
    for (int i = 0; i < CF_NR_PARTS; i++)
        sum->resident.bytes += parts[i];
}

void cf_waste_add(struct cf_waste *waste, const struct cf_page_span *span) {
    if (span->heap->arena_id < waste->nr_arenas)
        add_to_sum(&waste->arenas[span->heap->arena_id], span);
    add_to_sum(&waste->all, span);
}
