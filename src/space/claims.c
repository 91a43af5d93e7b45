/*
 * Claims come in any order and may overlap. Sealing sweeps over their starts with a heap of those
 * that are open, best rank first (the smaller kind, then the earlier claim); between two events the
 * best one has the bytes: n log n however they overlap. Sealed, they are disjoint and ascending,
 * and a look-up is a binary search.
 */
#include "space/claims.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

const char *cf_claim_kind_name(enum cf_claim_kind kind) {
    static const char *const names[CF_NR_CLAIM_KINDS] = {
        "malloc main heap", "malloc arena heaps", "malloc mmapped chunks", "malloc reserve",
        "managed heap",     "other allocator",    "thread stacks",         "cached stacks",
        "huge pages",       "module data",        "module bss",            "modules",
        "mapped files",     "shared memory",      "kernel",                "other anonymous",
        "not in the core",  "unattributed",
    };
    return kind < CF_NR_CLAIM_KINDS ? names[kind] : "unattributed";
}

const char *cf_claim_area_name(enum cf_claim_area area) {
    static const char *const names[CF_NR_CLAIM_AREAS] = {
        NULL, "objects", "code", "classes", "other",
    };
    return area < CF_NR_CLAIM_AREAS ? names[area] : NULL;
}

int cf_claims_add_for(struct cf_claims *claims, const struct cf_claimant *who, uint64_t start,
                      uint64_t end, struct cf_err *err) {
    if (start >= end)
        return CF_OK;
    struct cf_claim *slot = cf_array_push(&claims->rows);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "a claim on memory");
    *slot = (struct cf_claim){
        .start = start, .end = end, .kind = who->kind, .order = (uint32_t)claims->rows.len,
        .runtime = who->runtime, .area = who->area,
    };
    (void)snprintf(slot->label, sizeof slot->label, "%s", who->label == NULL ? "" : who->label);
    return CF_OK;
}

int cf_claims_add(struct cf_claims *claims, enum cf_claim_kind kind, uint64_t start, uint64_t end,
                  const char *label, struct cf_err *err) {
    const struct cf_claimant who = {.kind = kind, .label = label};
    return cf_claims_add_for(claims, &who, start, end, err);
}

static int rank(const struct cf_claim *a, const struct cf_claim *b) {
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_starts(const void *a, const void *b) {
    const struct cf_claim *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return rank(left, right);
}

/* A heap of claims that reach over the sweep's address, best rank first. */
struct open_claims {
    const struct cf_claim **items;
    size_t len;
};

static void sift_up(struct open_claims *open, size_t at) {
    while (at > 0 && rank(open->items[at], open->items[(at - 1) / 2]) < 0) {
        const struct cf_claim *swap = open->items[at];
        open->items[at] = open->items[(at - 1) / 2];
        open->items[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static void drop_best(struct open_claims *open) {
    size_t at = 0;
    open->items[0] = open->items[--open->len];
    for (;;) {
        size_t best = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < open->len; child++)
            if (rank(open->items[child], open->items[best]) < 0)
                best = child;
        if (best == at)
            return;
        const struct cf_claim *swap = open->items[at];
        open->items[at] = open->items[best];
        open->items[best] = swap;
        at = best;
    }
}

static int emit(struct cf_claims *out, const struct cf_claim *claim, uint64_t start, uint64_t end,
                struct cf_err *err) {
    struct cf_claim *last = out->rows.len > 0 ? &out->rows.items[out->rows.len - 1] : NULL;
    if (last != NULL && last->order == claim->order && last->end == start) {
        last->end = end;
        return CF_OK;
    }
    struct cf_claim *slot = cf_array_push(&out->rows);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "a claim on memory");
    *slot = *claim;
    slot->start = start;
    slot->end = end;
    return CF_OK;
}

/* One sweep over the starts; between two events the best open claim has the bytes. */
static int sweep(const struct cf_claims *claims, struct open_claims *open, struct cf_claims *out,
                 struct cf_err *err) {
    uint64_t at = 0;
    size_t next = 0, len = claims->rows.len;
    while (next < len || open->len > 0) {
        while (open->len > 0 && open->items[0]->end <= at)
            drop_best(open);
        if (open->len == 0) {
            if (next == len)
                break;
            at = claims->rows.items[next].start > at ? claims->rows.items[next].start : at;
        }
        while (next < len && claims->rows.items[next].start <= at) {
            open->items[open->len++] = &claims->rows.items[next++];
            sift_up(open, open->len - 1);
        }
        if (open->len == 0 || open->items[0]->end <= at)
            continue;
        uint64_t until = open->items[0]->end;
        if (next < len && claims->rows.items[next].start < until)
            until = claims->rows.items[next].start;
        int status = emit(out, open->items[0], at, until, err);
        if (status != CF_OK)
            return status;
        at = until;
    }
    return CF_OK;
}

int cf_claims_seal(struct cf_claims *claims, struct cf_err *err) {
    size_t len = claims->rows.len;
    if (len == 0)
        return CF_OK;
    struct open_claims open = {.items = calloc(len, sizeof *open.items)};
    if (open.items == NULL)
        return cf_err_nomem(err, len * sizeof *open.items, "the claims on memory");
    qsort(claims->rows.items, len, sizeof *claims->rows.items, compare_starts);
    struct cf_claims sealed = {.rows = {0}};
    int status = sweep(claims, &open, &sealed, err);
    free(open.items);
    if (status != CF_OK) {
        cf_claims_fini(&sealed);
        return status;
    }
    for (size_t i = 0; i < sealed.rows.len; i++)
        sealed.rows.items[i].order = (uint32_t)(i + 1); /* as if added in this order */
    cf_claims_fini(claims);
    *claims = sealed;
    return CF_OK;
}

int cf_claims_append(struct cf_claims *claims, const struct cf_claims *more, struct cf_err *err) {
    for (size_t i = 0; i < more->rows.len; i++) {
        const struct cf_claim *claim = &more->rows.items[i];
        const struct cf_claimant who = {claim->kind, claim->label, claim->runtime, claim->area};
        int status = cf_claims_add_for(claims, &who, claim->start, claim->end, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

size_t cf_claims_above(const struct cf_claims *claims, uint64_t addr) {
    return cf_bound(claims->rows.len, i, claims->rows.items[i].end > addr);
}

const struct cf_claim *cf_claims_at(const struct cf_claims *claims, enum cf_claim_kind kind,
                                    uint64_t addr) {
    size_t index = cf_claims_above(claims, addr);
    if (index == claims->rows.len)
        return NULL;
    const struct cf_claim *claim = &claims->rows.items[index];
    return claim->start <= addr && claim->kind == kind ? claim : NULL;
}

void cf_claims_fini(struct cf_claims *claims) {
    cf_array_free(&claims->rows);
}
