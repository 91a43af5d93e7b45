/*
 * mp_, by a scored signature within 16 KiB of the main arena (they stand in one .data). Every
 * word there is tried with every layout. What malloc's own code keeps true is required; what is
 * usual (defaults, sbrk_base where main's memory says) adds to the score. The same address with a
 * neighbouring layout comes second, so the score also chooses the layout.
 */
#include "base/checked.h"
#include "libc/found.h"

#include <string.h>

enum {
    REACH_BYTES = 16 << 10,
    SCORE_MIN = 14,
    CHAIN_STEPS = 8,
    BREAK_RUN_BYTES = 1 << 30, /* of data and bss on either side, searched for the break */
    NONCONTIGUOUS = 2,
};

/* What is known of the main arena before mp_ is. */
struct main_facts {
    uint64_t system_mem;
    uint64_t top_end; /* 0: not known */
    bool contiguous;
    bool used;
};

bool cf_chunk_size_at(const struct cf_malloc *m, uint64_t addr, uint64_t *out) {
    struct cf_header_rule any = {.min_bytes = cf_min_chunk_bytes(m), .alignment = 2 * m->word};
    uint64_t header;
    if (!cf_mem_word(m->mem, addr + m->word, &header) ||
        !cf_header_can_be(any, header, UINT64_MAX))
        return false;
    *out = cf_header_bytes(header);
    return true;
}

uint64_t cf_first_chunk_at(const struct cf_malloc *m, uint64_t addr) {
    uint64_t user;
    if (!cf_add_u64(addr, 2 * m->word, &user) || !cf_align_up(user, m->alignment, &user))
        return 0;
    return user - 2 * m->word;
}

/* ---- reading ---- */

static uint64_t par_int(const unsigned char *bytes, uint16_t offset) {
    uint32_t value;
    if (offset == CF_ABSENT)
        return 0;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static uint64_t par_word(const struct cf_malloc *m, const unsigned char *bytes, uint16_t offset) {
    uint64_t value;
    if (m->word == 4 || offset == CF_ABSENT)
        return par_int(bytes, offset);
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static void read_fields(const struct cf_malloc *m, const unsigned char *bytes,
                        const struct cf_par_layout *l, struct cf_par *out) {
    out->layout = l;
    out->trim_threshold = par_word(m, bytes, 0);
    out->top_pad = par_word(m, bytes, (uint16_t)m->word);
    out->mmap_threshold = par_word(m, bytes, (uint16_t)(2 * m->word));
    if (!l->has_no_arenas) {
        out->arena_test = par_word(m, bytes, (uint16_t)(3 * m->word));
        out->arena_max = par_word(m, bytes, (uint16_t)(4 * m->word));
    }
    out->thp_mode = par_int(bytes, l->thp_mode);
    out->thp_pagesize = par_word(m, bytes, l->thp_pagesize);
    out->hp_pagesize = par_word(m, bytes, l->hp_pagesize);
    out->hp_flags = par_int(bytes, l->hp_flags);
    out->n_mmaps = par_int(bytes, l->n_mmaps);
    out->n_mmaps_max = par_int(bytes, l->n_mmaps_max);
    out->max_n_mmaps = par_int(bytes, l->max_n_mmaps);
    out->no_dyn_threshold = par_int(bytes, l->no_dyn_threshold);
    out->mmapped_mem = par_word(m, bytes, l->mmapped_mem);
    out->max_mmapped_mem = par_word(m, bytes, l->max_mmapped_mem);
    out->max_total_mem = par_word(m, bytes, l->max_total_mem);
    out->sbrk_base = par_word(m, bytes, l->sbrk_base);
    out->tcache_bins = par_word(m, bytes, l->tcache_bins);
    out->tcache_max_bytes = par_word(m, bytes, l->tcache_max_bytes);
    out->tcache_count = par_word(m, bytes, l->tcache_count);
    out->tcache_unsorted_limit = par_word(m, bytes, l->tcache_unsorted_limit);
}

/* ---- what must hold ---- */

static bool zero_or_power_of_two(uint64_t value) {
    return value == 0 || cf_is_power_of_two(value);
}

/* From 2.43 on each growing mremap adds two words too many to mmapped_mem. */
static bool mmap_counts_agree(const struct cf_malloc *m, const struct cf_par *par) {
    bool drifts = par->layout->mmapped_mem_drifts;
    uint64_t grain = drifts ? 2 * m->word : cf_mem_page_bytes(m->mem);
    if (par->n_mmaps > par->max_n_mmaps || par->max_n_mmaps > INT32_MAX)
        return false;
    if (par->mmapped_mem > par->max_mmapped_mem || par->mmapped_mem % grain != 0 ||
        par->max_mmapped_mem % grain != 0)
        return false;
    if ((par->max_n_mmaps == 0) != (par->max_mmapped_mem == 0))
        return false;
    if (par->n_mmaps == 0)
        return par->mmapped_mem == 0 || drifts;
    return par->mmapped_mem / par->n_mmaps >= cf_mem_page_bytes(m->mem);
}

/* Before 2.17 mp_ knew the size of a page. */
static bool page_agrees(const struct cf_malloc *m, const struct cf_par *par) {
    uint32_t value;
    uint16_t offset = par->layout->pagesize;
    return offset == 0 || (cf_mem_u32(m->mem, par->addr + offset, &value) &&
                           value == cf_mem_page_bytes(m->mem));
}

static bool is_possible(const struct cf_malloc *m, const struct cf_par *par,
                        const struct main_facts *facts) {
    if (!page_agrees(m, par))
        return false;
    if (par->no_dyn_threshold > 1 || !mmap_counts_agree(m, par))
        return false;
    if (!zero_or_power_of_two(par->thp_pagesize) || !zero_or_power_of_two(par->hp_pagesize) ||
        par->thp_mode > 4 || (par->hp_pagesize == 0 && par->hp_flags != 0))
        return false;
    if (par->sbrk_base == 0)
        return !facts->used;
    return cf_mem_find(m->mem, par->sbrk_base) != NULL;
}

/* ---- what is usual ---- */

/* Chunks that follow each other from where the first one must stand, at most CHAIN_STEPS. */
static int chain_score(const struct cf_malloc *m, const struct cf_par *par,
                       const struct main_facts *facts) {
    uint64_t addr = cf_first_chunk_at(m, par->sbrk_base);
    int steps = 0;
    while (steps < CHAIN_STEPS && addr != 0) {
        uint64_t size;
        if (!cf_chunk_size_at(m, addr, &size) || size > facts->system_mem ||
            !cf_add_u64(addr, size, &addr))
            break;
        steps++;
        if (addr == facts->top_end)
            return CHAIN_STEPS;
    }
    return steps;
}

/* The bins that serve requests of up to max_bytes; from 2.43 on it is a chunk's size + 1 instead,
 * which makes it one bin less or none. */
static bool bins_agree(const struct cf_malloc *m, const struct cf_par *par) {
    uint64_t most = 64;
    uint64_t chunk = par->tcache_max_bytes + m->word + m->alignment - 1;
    uint64_t least_chunk = cf_min_chunk_bytes(m);
    uint64_t bins = chunk < least_chunk ? 1 : (chunk - least_chunk) / m->alignment + 1;
    bins = bins < most ? bins : most;
    return par->tcache_bins <= most && par->tcache_bins <= bins && bins - par->tcache_bins <= 1;
}

/* tcache_bins is never 0 where tcache is built in. Words that are 0 or 1 are no evidence. */
static int tcache_score(const struct cf_malloc *m, const struct cf_par *par) {
    uint64_t max_bytes = par->tcache_max_bytes;
    if (par->layout->tcache_bins == CF_ABSENT)
        return 0;
    if (par->tcache_bins == 0 || par->tcache_count > UINT16_MAX || max_bytes > UINT64_C(4) << 20 ||
        !bins_agree(m, par))
        return -6;
    if (max_bytes == 0)
        return -1;
    int score = 2;
    score += par->tcache_bins == 64 ? 2 : 0;
    score += par->tcache_count == 7 || par->tcache_count == 16 ? 2 : 0;
    score += max_bytes == 1032 || max_bytes == 1020 || max_bytes == 1041 || max_bytes == 1025;
    return score + (par->tcache_unsorted_limit == 0);
}

/* Setting a threshold, the pad or the number of mmaps sets no_dyn_threshold; as long as it is
 * clear they are what malloc itself made of them: the defaults, or trim at twice mmap. */
static int thresholds_score(const struct cf_par *par) {
    uint64_t usual = 128 << 10;
    bool untouched = par->trim_threshold == usual && par->mmap_threshold == usual;
    bool grown = par->mmap_threshold > usual && par->trim_threshold == 2 * par->mmap_threshold;
    int score = untouched || grown ? 4 : 0;
    score += par->top_pad == usual ? 2 : 0;
    score += par->n_mmaps_max == 65536 ? 3 : 0;
    bool is_set = score < 9;
    return par->no_dyn_threshold == 0 && is_set ? score - 4 : score;
}

static int defaults_score(const struct cf_malloc *m, const struct cf_par *par) {
    int score = thresholds_score(par) + (par->layout->pagesize != 0 ? 8 : 0);
    score += !par->layout->has_no_arenas && par->arena_test == (m->word == 8 ? 8 : 2) ? 2 : 0;
    score += par->arena_max == 0 ? 1 : 0;
    score += par->n_mmaps > 0 ? 2 : 0;
    if (par->layout->thp_pagesize != CF_ABSENT)
        score += par->hp_pagesize == 0 ? 1 : 0;
    return score + tcache_score(m, par);
}

/* One release has both shapes. */
static int age_score(const struct cf_malloc *m, const struct cf_par *par) {
    return cf_releases_overlap(par->layout->span, m->state->span) ? 4 : 0;
}

/* 2.43 and 2.44 differ by the last word and by the numbering of thp_mode, whose "unsupported" and
 * "unknown" tell them apart as long as no huge pages are asked for. */
static int thp_mode_score(const struct cf_par *par) {
    if (par->layout->thp_mode == CF_ABSENT || par->layout->tcache_bins == CF_ABSENT)
        return 0;
    bool first = par->layout->tcache_unsorted_limit != CF_ABSENT;
    bool looks_first = par->thp_pagesize == 0 ? par->thp_mode == 3 : par->thp_mode <= 1;
    return first == looks_first;
}

static int score_of(const struct cf_malloc *m, const struct cf_par *par,
                    const struct main_facts *facts) {
    int score = defaults_score(m, par) + thp_mode_score(par) + age_score(m, par);
    if (par->sbrk_base == 0)
        return score;
    uint64_t end;
    if (facts->contiguous && facts->top_end != 0 &&
        cf_add_u64(par->sbrk_base, facts->system_mem, &end) && end == facts->top_end)
        score += 8;
    return score + chain_score(m, par, facts);
}

/* ---- the search ---- */

static struct main_facts main_facts_of(const struct cf_malloc *m, const struct cf_namespace *ns) {
    uint64_t top = cf_state_word(m, ns->main_arena, m->state->top);
    uint64_t size;
    uint32_t flags = 0;
    struct main_facts facts = {
        .system_mem = cf_state_word(m, ns->main_arena, m->state->system_mem), .used = ns->used};
    facts.contiguous =
        cf_mem_u32(m->mem, ns->main_arena + 4, &flags) && (flags & NONCONTIGUOUS) == 0;
    if (ns->used && cf_chunk_size_at(m, top, &size) && !cf_add_u64(top, size, &facts.top_end))
        facts.top_end = 0;
    return facts;
}

static void try_layouts(const struct cf_malloc *m, uint64_t addr, const struct main_facts *facts,
                        struct cf_par *best) {
    for (size_t i = 0; i < cf_nr_par_layouts; i++) {
        const struct cf_par_layout *layout = &cf_par_layouts[i];
        unsigned char bytes[160];
        struct cf_par par = {.addr = addr};
        if (layout->word_bytes != m->word || layout->bytes > sizeof bytes ||
            !cf_mem_read(m->mem, addr, bytes, layout->bytes))
            continue;
        read_fields(m, bytes, layout, &par);
        if (!is_possible(m, &par, facts))
            continue;
        par.score = score_of(m, &par, facts);
        if (par.score > best->score)
            *best = par;
    }
}

/* True when some word of [start, end) is `value`. */
static bool holds_word(const struct cf_malloc *m, uint64_t start, uint64_t end, uint64_t value) {
    uint64_t addr = start;
    while (addr < end) {
        uint64_t avail;
        const unsigned char *bytes = cf_mem_span(m->mem, addr, &avail);
        if (bytes == NULL)
            return false;
        avail = avail < end - addr ? avail : end - addr;
        for (uint64_t i = 0; i + m->word <= avail; i += m->word) {
            uint64_t word = 0;
            memcpy(&word, bytes + i, m->word);
            if (word == value)
                return true;
        }
        addr += avail;
    }
    return false;
}

static bool continues(const struct cf_region *region, const struct cf_region *next) {
    return region->end == next->start && cf_region_is_writable(next);
}

/* The break variable is libc's own, so it stands in the run of writable regions around the main
 * arena. The heap may follow that run without a gap (static programs): it is left out. */
static bool run_holds_break(const struct cf_malloc *m, const struct cf_namespace *ns, uint64_t home,
                            uint64_t top_end) {
    size_t nr = cf_mem_nr_regions(m->mem);
    size_t first = cf_mem_lower_bound(m->mem, home);
    if (first >= nr || cf_mem_find(m->mem, home) == NULL)
        return false;
    while (first > 0 && continues(cf_mem_region(m->mem, first - 1), cf_mem_region(m->mem, first)) &&
           cf_region_is_writable(cf_mem_region(m->mem, first - 1)) &&
           home - cf_mem_region(m->mem, first - 1)->start < BREAK_RUN_BYTES)
        first--;
    for (size_t i = first; i < nr; i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (region->start >= home && region->start - home >= BREAK_RUN_BYTES)
            break;
        uint64_t base = ns->par.sbrk_base;
        uint64_t end = region->start + region->data_bytes;
        bool has_heap = base >= region->start && base < region->end;
        if (holds_word(m, region->start, has_heap && base < end ? base : end, top_end))
            return true;
        if (has_heap || i + 1 >= nr || !continues(region, cf_mem_region(m->mem, i + 1)))
            break;
    }
    return false;
}

static bool is_libc_data(const struct cf_malloc *m, const struct cf_region *region) {
    if (region->file < 0 || !cf_region_is_writable(region))
        return false;
    const char *path = cf_core_file(cf_mem_core(m->mem), (size_t)region->file)->path;
    return cf_is_libc_path(path);
}

/* The debug-malloc preload has an arena of its own, and libc still has the break. */
static bool finds_break(const struct cf_malloc *m, const struct cf_namespace *ns,
                        uint64_t top_end) {
    if (run_holds_break(m, ns, ns->main_arena, top_end))
        return true;
    for (size_t i = 0; i < cf_mem_nr_regions(m->mem); i++) {
        const struct cf_region *region = cf_mem_region(m->mem, i);
        if (is_libc_data(m, region))
            return run_holds_break(m, ns, region->start, top_end);
    }
    return false;
}

void cf_par_find(struct cf_malloc *m, struct cf_namespace *ns) {
    if (ns->main_arena == 0 || m->state == NULL)
        return;
    struct main_facts facts = main_facts_of(m, ns);
    struct cf_par best = {.score = SCORE_MIN - 1};
    uint64_t start = ns->main_arena > REACH_BYTES ? ns->main_arena - REACH_BYTES : m->word;
    for (uint64_t addr = start; addr < ns->main_arena + REACH_BYTES; addr += m->word)
        try_layouts(m, addr, &facts, &best);
    if (best.addr != 0)
        ns->par = best;
    ns->break_at_top = facts.top_end != 0 && finds_break(m, ns, facts.top_end);
}
