/*
 * Where the rule's figures stand: mp_ of the program's namespace, the ring of arenas that
 * malloc_trim walks from main_arena, heap_info's fields. The kernel's part is in it too:
 * madvise() on a mapping of huge pages refuses a start that is no multiple of the huge page and
 * rounds the end down.
 */
#include "retain/trimrule.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"

/* The kernel names the mappings of MAP_HUGETLB so ("/anon_hugepage (deleted)" in NT_FILE). */
static bool is_huge_file(const struct cf_core *core, int32_t file) {
    static const char name[] = "/anon_hugepage";
    if (file < 0 || (size_t)file >= cf_core_nr_files(core))
        return false;
    return strncmp(cf_core_file(core, (size_t)file)->path, name, sizeof name - 1) == 0;
}

static int find_huge(const struct cf_mem *mem, struct cf_trim_rule *rule, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (!is_huge_file(core, region->file))
            continue;
        struct cf_trim_huge *slot = cf_array_push(&rule->huge);
        if (slot == NULL)
            return cf_err_nomem(err, sizeof *slot, "a huge mapping");
        *slot = (struct cf_trim_huge){.start = region->start, .end = region->end};
    }
    return CF_OK;
}

static void fill_namespace(const struct cf_malloc *m, struct cf_trim_rule *rule) {
    if (cf_malloc_nr_namespaces(m) == 0)
        return;
    const struct cf_par *par = &cf_malloc_namespace(m, 0)->par;
    rule->thp_bytes = par->thp_pagesize;
    rule->hugetlb_bytes = par->hp_pagesize;
    rule->top_pad = par->top_pad;
    rule->trim_threshold = par->trim_threshold;
    rule->heap_max_bytes = cf_malloc_heap_max(m);
    const struct cf_state_layout *layout = cf_malloc_state_layout(m);
    rule->heap_has_threshold = layout != NULL && layout->heap_trim_asks_threshold;
}

static void fill_arenas(const struct cf_ptmalloc *pt, struct cf_trim_rule *rule) {
    const struct cf_malloc *m = cf_ptmalloc_malloc(pt);
    bool at_top = cf_malloc_nr_namespaces(m) > 0 && cf_malloc_namespace(m, 0)->break_at_top;
    for (size_t i = 0; i < rule->nr_arenas; i++) {
        const struct cf_arena *arena = cf_ptmalloc_arena(pt, i);
        rule->arenas[i].is_main = arena->is_main;
        rule->arenas[i].trimmed = arena->ns == 0;
        rule->arenas[i].by_brk = arena->ns == 0 && arena->is_main && at_top;
    }
}

static uint32_t heap_at(const struct cf_chunkmap *map, uint64_t addr) {
    const struct cf_heap *heap = addr != 0 ? cf_chunkmap_find_heap(map, addr) : NULL;
    return heap != NULL && heap->start == addr ? heap->id : UINT32_MAX;
}

static void fill_heaps(const struct cf_ptmalloc *pt, struct cf_trim_rule *rule) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(pt);
    for (size_t i = 0; i < rule->nr_heaps; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        const struct cf_heap_info *info = cf_malloc_heap_at(cf_ptmalloc_malloc(pt), heap->start);
        struct cf_trim_heap *slot = &rule->heaps[i];
        slot->prev = info != NULL ? heap_at(map, info->prev) : UINT32_MAX;
        slot->size_bytes = info != NULL ? info->size : heap->end - heap->start;
        slot->page_bytes = rule->page_bytes;
        if (info != NULL && cf_is_power_of_two(info->pagesize))
            slot->page_bytes = info->pagesize;
    }
}

int cf_trim_rule_of(const struct cf_ptmalloc *pt, struct cf_trim_rule *out, struct cf_err *err) {
    const struct cf_malloc *m = cf_ptmalloc_malloc(pt);
    const struct cf_mem *mem = cf_malloc_mem(m);
    struct cf_trim_rule rule = {
        .word_bytes = cf_mem_word_bytes(mem),
        .page_bytes = cf_mem_page_bytes(mem),
        .nr_arenas = cf_ptmalloc_nr_arenas(pt),
        .nr_heaps = cf_chunkmap_nr_heaps(cf_ptmalloc_map(pt)),
    };
    fill_namespace(m, &rule);
    rule.arenas = calloc(rule.nr_arenas + 1, sizeof *rule.arenas);
    rule.heaps = calloc(rule.nr_heaps + 1, sizeof *rule.heaps);
    int rc = rule.arenas == NULL || rule.heaps == NULL
                 ? cf_err_nomem(err, rule.nr_heaps * sizeof *rule.heaps, "the rule of malloc_trim")
                 : find_huge(mem, &rule, err);
    if (rc != CF_OK) {
        cf_trim_rule_fini(&rule);
        return rc;
    }
    fill_arenas(pt, &rule);
    fill_heaps(pt, &rule);
    *out = rule;
    return CF_OK;
}

void cf_trim_rule_fini(struct cf_trim_rule *rule) {
    free(rule->arenas);
    free(rule->heaps);
    rule->arenas = NULL;
    rule->heaps = NULL;
    cf_array_free(&rule->huge);
}

uint64_t cf_trim_top_bytes(const struct cf_trim_rule *rule, uint64_t top_bytes, uint64_t pad) {
    uint64_t keep;
    if (!cf_add_u64(cf_trim_min_chunk(rule) + 1, pad, &keep) || top_bytes <= keep)
        return 0;
    bool thp = cf_is_power_of_two(rule->thp_bytes);
    return cf_align_down(top_bytes - keep, thp ? rule->thp_bytes : rule->page_bytes);
}

uint64_t cf_trim_accepted_bytes(const struct cf_trim_rule *rule, uint64_t addr, uint64_t bytes) {
    size_t at = cf_bound(rule->huge.len, i, rule->huge.items[i].end > addr);
    if (at == rule->huge.len || addr < rule->huge.items[at].start)
        return bytes;
    if (!cf_is_power_of_two(rule->hugetlb_bytes) || (addr & (rule->hugetlb_bytes - 1)) != 0)
        return 0;
    return cf_align_down(bytes, rule->hugetlb_bytes);
}
