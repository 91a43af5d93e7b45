/*
 * Safe-linking (2.32+, and backported): a link in a tcache or fastbin list is stored as
 * next ^ (its own address >> 12). Each list is read both ways; a list that is sound in one way
 * only is a vote. Without votes the age of the other structs decides, and it does not matter:
 * there is nothing to reveal.
 */
#include "core/drop.h"
#include "libc/found.h"

enum { FAST_STEPS_MAX = 4096, FAST_CHUNK_BYTES_MAX = 160 };

struct votes {
    uint64_t plain;
    uint64_t mangled;
};

static void vote(struct votes *votes, bool plain, bool mangled) {
    if (plain != mangled)
        *(plain ? &votes->plain : &votes->mangled) += 1;
}

static bool fast_list_is_sound(const struct cf_malloc *m, uint64_t chunk, bool mangled) {
    for (unsigned steps = 0; chunk != 0 && steps < FAST_STEPS_MAX; steps++) {
        uint64_t size;
        uint64_t stored;
        uint64_t link = chunk + 2 * m->word;
        if (link % m->alignment != 0 || !cf_chunk_size_at(m, chunk, &size) ||
            size > FAST_CHUNK_BYTES_MAX || !cf_mem_word(m->mem, link, &stored))
            return false;
        chunk = mangled ? stored ^ link >> 12 : stored;
    }
    return true;
}

static void vote_by_fastbins(const struct cf_malloc *m, struct votes *votes) {
    for (size_t i = 0; i < m->arenas.len; i++) {
        for (unsigned k = 0; k < m->state->nr_fastbins; k++) {
            uint64_t head = cf_state_word(m, m->arenas.items[i].addr,
                                          m->state->fastbins + k * m->word);
            if (head != 0)
                vote(votes, fast_list_is_sound(m, head, false),
                     fast_list_is_sound(m, head, true));
        }
    }
}

static void vote_by_tcaches(const struct cf_malloc *m, struct votes *votes) {
    const struct cf_core *core = cf_mem_core(m->mem);
    struct cf_rss_guard guard = cf_rss_guard_make(core, cf_core_file_bytes(core), 1);
    for (size_t i = 0; i < m->tcaches.len; i++) {
        cf_rss_guard_step(&guard);
        for (size_t k = 0; k < cf_tcache_nr_bins(m); k++) {
            struct cf_tcache_bin bin;
            if (cf_tcache_bin(m, m->tcaches.items[i].addr, k, &bin) && bin.head != 0)
                vote(votes, cf_tcache_list_is_sound(m, &bin, false),
                     cf_tcache_list_is_sound(m, &bin, true));
        }
    }
}

/* Some struct has a shape that only releases with PROTECT_PTR have. */
static bool usual_by_age(const struct cf_malloc *m) {
    const struct cf_par_layout *par =
        m->namespaces.len > 0 ? m->namespaces.items[0].par.layout : NULL;
    return cf_releases_mangle_links(m->state->span) ||
           (m->heaps.len > 0 && cf_releases_mangle_links(m->heap_info->span)) ||
           (m->tcache != NULL && cf_releases_mangle_links(m->tcache->span)) ||
           (par != NULL && cf_releases_mangle_links(par->span));
}

void cf_links_decide(struct cf_malloc *m) {
    struct votes votes = {0};
    if (m->state != NULL)
        vote_by_fastbins(m, &votes);
    vote_by_tcaches(m, &votes);
    m->links_decided = votes.plain != votes.mangled;
    m->safe_linking = m->links_decided ? votes.mangled > votes.plain
                                       : m->state != NULL && usual_by_age(m);
}
