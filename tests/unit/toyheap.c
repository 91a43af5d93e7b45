#include "toyheap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ptmalloc/chunkmap_build.h"

static const char letters[] = "LFftT#~";
static const enum cf_chunk_state states[] = {
    CF_CHUNK_LIVE, CF_CHUNK_FREE, CF_CHUNK_FAST, CF_CHUNK_TCACHE,
    CF_CHUNK_TOP,  CF_CHUNK_FENCE, CF_CHUNK_GAP,
};

/* The next word of `*text`; false at its end. */
static bool next_word(const char **text, enum cf_chunk_state *state, uint64_t *bytes) {
    *text += strspn(*text, " ");
    if (**text == '\0')
        return false;
    const char *letter = strchr(letters, **text);
    assert_non_null(letter);
    *state = states[letter - letters];
    char *end;
    *bytes = strtoull(*text + 1, &end, 16);
    assert_ptr_not_equal(end, *text + 1);
    *text = end;
    return true;
}

static struct cf_heap measure(const struct toy_heap *toy) {
    struct cf_heap heap = {.arena_id = toy->arena_id, .start = toy->start,
                           .first_chunk = toy->first_chunk};
    const char *text = toy->chunks;
    enum cf_chunk_state state;
    uint64_t bytes, at = toy->first_chunk;
    while (next_word(&text, &state, &bytes)) {
        if (state == CF_CHUNK_TOP)
            heap.top = at;
        at += bytes;
    }
    heap.chunks_end = at;
    heap.end = toy->end != 0 ? toy->end : at;
    heap.reserved_end = heap.end;
    return heap;
}

static void set_chunks(struct cf_chunkmap *map, const struct cf_heap *heap, const char *text) {
    enum cf_chunk_state state;
    uint64_t bytes, at = heap->first_chunk;
    while (next_word(&text, &state, &bytes)) {
        if (state >= CF_CHUNK_TOP) {
            assert_int_equal(cf_chunkmap_add_odd(map, heap, at, state, NULL), CF_OK);
        } else {
            cf_chunkmap_set_start(map, heap, at);
            cf_chunkmap_set_state(map, heap, at, state);
        }
        at += bytes;
    }
}

struct cf_chunkmap *toy_map(unsigned word_bytes, const struct toy_heap *heaps, size_t nr) {
    struct cf_chunkmap *map;
    assert_int_equal(cf_chunkmap_new(word_bytes, &map, NULL), CF_OK);
    for (size_t i = 0; i < nr; i++) {
        struct cf_heap heap = measure(&heaps[i]);
        assert_int_equal(cf_chunkmap_add_heap(map, &heap, NULL), CF_OK);
    }
    assert_int_equal(cf_chunkmap_seal_heaps(map, NULL), CF_OK);
    for (size_t i = 0; i < nr; i++) {
        const struct cf_heap *heap = cf_chunkmap_find_heap(map, heaps[i].start);
        assert_non_null(heap);
        set_chunks(map, heap, heaps[i].chunks);
    }
    assert_int_equal(cf_chunkmap_seal(map, NULL), CF_OK);
    return map;
}

static enum cf_resident toy_at(const void *source, uint64_t addr, uint64_t *until) {
    const struct toy_residency *toy = source;
    *until = UINT64_MAX;
    if (addr < toy->base || toy->pages == NULL)
        return CF_RESIDENT_YES;
    uint64_t page = (addr - toy->base) / toy->page_bytes;
    if (page >= strlen(toy->pages))
        return CF_RESIDENT_YES;
    *until = toy->base + (page + 1) * toy->page_bytes;
    return toy->pages[page] == 'R'   ? CF_RESIDENT_YES
           : toy->pages[page] == 'N' ? CF_RESIDENT_NO
                                     : CF_RESIDENT_UNKNOWN;
}

struct cf_residency toy_residency(const struct toy_residency *pages) {
    return (struct cf_residency){.page_bytes = pages->page_bytes, .source = pages, .at = toy_at};
}

struct cf_trim_rule toy_rule(unsigned word_bytes, const struct cf_chunkmap *map,
                             size_t nr_arenas) {
    struct cf_trim_rule rule = {
        .word_bytes = word_bytes, .page_bytes = 4096, .nr_arenas = nr_arenas,
        .top_pad = 0x20000, .trim_threshold = 0x20000, .heap_max_bytes = 64 << 20,
        .heap_has_threshold = true, .nr_heaps = cf_chunkmap_nr_heaps(map),
    };
    rule.arenas = calloc(nr_arenas + 1, sizeof *rule.arenas);
    rule.heaps = calloc(rule.nr_heaps + 1, sizeof *rule.heaps);
    assert_non_null(rule.arenas);
    assert_non_null(rule.heaps);
    for (size_t i = 0; i < nr_arenas; i++)
        rule.arenas[i] = (struct cf_trim_arena){.is_main = i == 0, .trimmed = true,
                                                .by_brk = i == 0};
    for (size_t i = 0; i < rule.nr_heaps; i++) {
        const struct cf_heap *heap = cf_chunkmap_heap(map, i);
        rule.heaps[i] = (struct cf_trim_heap){.prev = UINT32_MAX, .page_bytes = 4096,
                                              .size_bytes = heap->end - heap->start};
    }
    return rule;
}
