/*
 * The order in which malloc is found, and the readers of what was found. Nothing is sought twice:
 * each finder takes what the ones before it left in struct cf_malloc (libc/found.h).
 */
#include "libc/malloc.h"

#include "base/array.h"
#include "base/context.h"
#include "base/err.h"
#include "libc/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

static unsigned alignment_of(const struct cf_malloc *m) {
    return m->state != NULL ? m->state->alignment : 16;
}

static void write_layout_text(struct cf_malloc *m) {
    const struct cf_par_layout *par =
        m->namespaces.len > 0 ? m->namespaces.items[0].par.layout : NULL;
    if (m->namespaces.len == 0)
        return;
    (void)snprintf(m->layout_text, sizeof m->layout_text,
                   "state %s, mp %s, heap_info %s, tcache %s",
                   m->state == NULL ? "none" : m->state->releases,
                   par == NULL ? "none" : par->releases,
                   m->heap_info == NULL ? "none" : m->heap_info->releases,
                   m->tcache == NULL ? "none" : m->tcache->releases);
}

/* Each of the finders is short where malloc is at its usual places. */
static int go_on(const struct cf_context *ctx, int status, struct cf_err *err) {
    if (status == CF_OK && cf_progress(ctx, "finding malloc", 0, 0))
        return cf_err_cancelled(err);
    return status;
}

/* Nothing that was found by the shapes of other releases stays. */
static void refuse(struct cf_malloc *m, const char *release) {
    (void)snprintf(m->refused, sizeof m->refused, "%s", release);
    m->bins.len = m->namespaces.len = m->arenas.len = m->places.len = 0;
    m->heaps.len = m->tcaches.len = 0;
    m->bare_heap = (struct cf_bare_heap){0};
    m->state = NULL;
    m->heap_info = NULL;
    m->tcache = NULL;
    m->has_tls = m->safe_linking = false;
    m->layout_text[0] = '\0';
    for (size_t i = 0; i < m->threads.len; i++)
        m->threads.items[i] = (struct cf_thread_malloc){0};
}

static bool is_too_old(const struct cf_malloc *m) {
    const struct cf_par_layout *par =
        m->namespaces.len > 0 ? m->namespaces.items[0].par.layout : NULL;
    return par != NULL && par->span.last < CF_FIRST_RELEASE;
}

static int find_all(const struct cf_context *ctx, struct cf_malloc *m, struct cf_err *err) {
    int status = go_on(ctx, CF_OK, err);
    if (status == CF_OK)
        status = go_on(ctx, cf_arenas_find(ctx, m, err), err);
    if (status != CF_OK)
        return status;
    m->alignment = alignment_of(m);
    for (size_t i = 0; i < m->namespaces.len; i++)
        cf_par_find(m, &m->namespaces.items[i]);
    status = go_on(ctx, cf_heaps_find(m, err), err);
    if (status == CF_OK)
        status = go_on(ctx, cf_arenas_adopt(m, err), err);
    if (status == CF_OK)
        status = go_on(ctx, cf_tls_find(m, err), err);
    if (status == CF_OK)
        status = go_on(ctx, cf_tcaches_find(m, err), err);
    if (status != CF_OK)
        return status;
    if (is_too_old(m)) {
        refuse(m, "before 2.17");
        return CF_OK;
    }
    cf_links_decide(m);
    write_layout_text(m);
    return CF_OK;
}

int cf_malloc_find(const struct cf_context *ctx, const struct cf_mem *mem, struct cf_malloc **out,
                   struct cf_err *err) {
    struct cf_malloc *m = calloc(1, sizeof *m);
    if (m == NULL)
        return cf_err_nomem(err, sizeof *m, "malloc's description");
    m->mem = mem;
    m->word = cf_mem_word_bytes(mem);
    m->alignment = alignment_of(m);
    int status = find_all(ctx, m, err);
    if (status != CF_OK) {
        cf_malloc_free(m);
        return status;
    }
    *out = m;
    return CF_OK;
}

const struct cf_bare_heap *cf_malloc_bare_heap(const struct cf_malloc *m) {
    return m->bare_heap.end != 0 ? &m->bare_heap : NULL;
}

void cf_malloc_free(struct cf_malloc *m) {
    if (m == NULL)
        return;
    cf_array_free(&m->bins);
    cf_array_free(&m->namespaces);
    cf_array_free(&m->arenas);
    cf_array_free(&m->places);
    cf_array_free(&m->heaps);
    cf_array_free(&m->tcaches);
    cf_array_free(&m->threads);
    free(m);
}

/* ---- what was found ---- */

const struct cf_mem *cf_malloc_mem(const struct cf_malloc *m) {
    return m->mem;
}

const struct cf_state_layout *cf_malloc_state_layout(const struct cf_malloc *m) {
    return m->state;
}

const struct cf_heap_info_layout *cf_malloc_heap_info_layout(const struct cf_malloc *m) {
    return m->heap_info;
}

const struct cf_tcache_layout *cf_malloc_tcache_layout(const struct cf_malloc *m) {
    return m->tcache;
}

const char *cf_malloc_layout_text(const struct cf_malloc *m) {
    return m->layout_text;
}

static void intersect(struct cf_releases *all, const struct cf_releases *span) {
    if (span == NULL)
        return;
    all->first = span->first > all->first ? span->first : all->first;
    all->last = span->last < all->last ? span->last : all->last;
}

struct cf_releases cf_malloc_releases(const struct cf_malloc *m) {
    struct cf_releases all = {CF_FIRST_RELEASE, CF_LAST_RELEASE};
    const struct cf_par_layout *par =
        m->namespaces.len > 0 ? m->namespaces.items[0].par.layout : NULL;
    intersect(&all, m->state != NULL ? &m->state->span : NULL);
    intersect(&all, par != NULL ? &par->span : NULL);
    intersect(&all, m->heaps.len > 0 ? &m->heap_info->span : NULL);
    intersect(&all, m->tcaches.len > 0 ? &m->tcache->span : NULL);
    return all;
}

const char *cf_malloc_refused(const struct cf_malloc *m) {
    return m->refused[0] != '\0' ? m->refused : NULL;
}

void cf_malloc_take_release(struct cf_malloc *m, const char *release) {
    bool is_old = strncmp(release, "2.", 2) == 0 ? atoi(release + 2) < CF_FIRST_RELEASE
                                                 : strncmp(release, "1.", 2) == 0;
    if (is_old || (m->refused[0] != '\0' && release[0] != '\0'))
        refuse(m, is_old ? release : m->refused);
}

uint64_t cf_malloc_heap_max(const struct cf_malloc *m) {
    return m->heap_max;
}

unsigned cf_malloc_alignment(const struct cf_malloc *m) {
    return m->alignment;
}

bool cf_malloc_safe_linking(const struct cf_malloc *m) {
    return m->safe_linking;
}

bool cf_malloc_header_is_short(const struct cf_malloc *m) {
    return m->state != NULL && m->state->mmapped_header_is_short;
}

size_t cf_malloc_nr_namespaces(const struct cf_malloc *m) {
    return m->namespaces.len;
}

const struct cf_namespace *cf_malloc_namespace(const struct cf_malloc *m, size_t index) {
    return index < m->namespaces.len ? &m->namespaces.items[index] : NULL;
}

size_t cf_malloc_nr_arenas(const struct cf_malloc *m) {
    return m->arenas.len;
}

const struct cf_arena_ref *cf_malloc_arena(const struct cf_malloc *m, size_t index) {
    return &m->arenas.items[index];
}

size_t cf_malloc_nr_heaps(const struct cf_malloc *m) {
    return m->heaps.len;
}

const struct cf_heap_info *cf_malloc_heap(const struct cf_malloc *m, size_t index) {
    return &m->heaps.items[index];
}

const struct cf_heap_info *cf_malloc_heap_at(const struct cf_malloc *m, uint64_t addr) {
    size_t at = cf_bound(m->heaps.len, i, m->heaps.items[i].addr >= addr);
    return at < m->heaps.len && m->heaps.items[at].addr == addr ? &m->heaps.items[at] : NULL;
}

size_t cf_malloc_nr_tcaches(const struct cf_malloc *m) {
    return m->tcaches.len;
}

const struct cf_tcache_ref *cf_malloc_tcache(const struct cf_malloc *m, size_t index) {
    return &m->tcaches.items[index];
}

bool cf_malloc_has_tcache(const struct cf_malloc *m, uint64_t addr) {
    size_t at = cf_bound(m->tcaches.len, i, m->tcaches.items[i].addr >= addr);
    return at < m->tcaches.len && m->tcaches.items[at].addr == addr;
}

const struct cf_thread_malloc *cf_malloc_thread(const struct cf_malloc *m, size_t index) {
    return &m->threads.items[index];
}

uint64_t cf_malloc_reveal(const struct cf_malloc *m, uint64_t field_addr, uint64_t stored) {
    return m->safe_linking ? stored ^ field_addr >> 12 : stored;
}

bool cf_malloc_tls(const struct cf_malloc *m, int64_t *arena, int64_t *tcache) {
    if (!m->has_tls)
        return false;
    *arena = m->tls_arena;
    *tcache = m->tls_tcache;
    return true;
}
