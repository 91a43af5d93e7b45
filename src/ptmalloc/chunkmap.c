/*
 * The planes' bookkeeping. Heaps get their words of the planes one behind the other when they
 * are sealed, a word more than they need each, so that no word has units of two heaps: threads
 * fill heaps side by side without locks, and a last chunk's second state bit has its place. What
 * a unit's bits mean, and why two units are enough for them (MINSIZE is four words in all
 * releases), stands in chunkmap.h.
 */
#include "ptmalloc/chunkmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "ptmalloc/chunkmap_build.h"
#include "ptmalloc/planes.h"

struct cf_chunkmap {
    unsigned word_bytes;
    unsigned unit_shift;
    CF_ARRAY(struct cf_heap) heaps;
    CF_ARRAY(struct cf_mmapped) mmapped;
    CF_ARRAY(struct cf_odd) odds;
    uint64_t *starts;
    uint64_t *states;
    uint64_t *summary;
    size_t nr_words;
    struct cf_planes planes;
};

const char *cf_chunk_state_name(enum cf_chunk_state state) {
    static const char *const names[CF_NR_CHUNK_STATES] = {
        "live", "free", "fast", "tcache", "top", "fence", "gap", "mmapped",
    };
    return state < CF_NR_CHUNK_STATES ? names[state] : "unknown";
}

int cf_chunkmap_new(unsigned word_bytes, struct cf_chunkmap **out, struct cf_err *err) {
    struct cf_chunkmap *map = calloc(1, sizeof *map);
    if (map == NULL)
        return cf_err_nomem(err, sizeof *map, "the chunk map");
    map->word_bytes = word_bytes;
    map->unit_shift = word_bytes == 8 ? 4 : 3;
    *out = map;
    return CF_OK;
}

void cf_chunkmap_free(struct cf_chunkmap *map) {
    if (map == NULL)
        return;
    cf_array_free(&map->heaps);
    cf_array_free(&map->mmapped);
    cf_array_free(&map->odds);
    free(map->starts);
    free(map->states);
    free(map->summary);
    free(map);
}

int cf_chunkmap_add_heap(struct cf_chunkmap *map, const struct cf_heap *heap, struct cf_err *err) {
    struct cf_heap *slot = cf_array_push(&map->heaps);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "a heap");
    *slot = *heap;
    return CF_OK;
}

static int compare_heaps(const void *a, const void *b) {
    const struct cf_heap *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static int compare_mmapped(const void *a, const void *b) {
    const struct cf_mmapped *left = a, *right = b;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static int compare_odds(const void *a, const void *b) {
    const struct cf_odd *left = a, *right = b;
    return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static int allocate_planes(struct cf_chunkmap *map, struct cf_err *err) {
    size_t words = map->nr_words + 1; /* one more: the state bit of a last chunk's second unit */
    map->starts = calloc(words, sizeof *map->starts);
    map->states = calloc(words, sizeof *map->states);
    map->summary = calloc(words / 64 + 1, sizeof *map->summary);
    if (map->starts == NULL || map->states == NULL || map->summary == NULL)
        return cf_err_nomem(err, words * 2 * sizeof *map->starts, "the chunk map's planes");
    return CF_OK;
}

static void describe_planes(struct cf_chunkmap *map) {
    map->planes = (struct cf_planes){
        .starts = map->starts, .states = map->states, .summary = map->summary,
        .nr_words = map->nr_words, .odds = map->odds.items, .nr_odds = map->odds.len,
        .heaps = map->heaps.items, .nr_heaps = map->heaps.len, .unit_shift = map->unit_shift,
    };
}

int cf_chunkmap_seal_heaps(struct cf_chunkmap *map, struct cf_err *err) {
    if (map->heaps.len > 0)
        qsort(map->heaps.items, map->heaps.len, sizeof *map->heaps.items, compare_heaps);
    uint64_t previous_end = 0;
    for (size_t i = 0; i < map->heaps.len; i++) {
        struct cf_heap *heap = &map->heaps.items[i];
        if (heap->start < previous_end || heap->end < heap->start || heap->chunks_end > heap->end)
            return cf_err_set(err, CF_EINTERNAL, "heap at 0x%llx overlaps its neighbour",
                              (unsigned long long)heap->start);
        previous_end = heap->end;
        heap->id = (uint32_t)i;
        heap->plane_word = map->nr_words;
        uint64_t units = (heap->end - (heap->start >> map->unit_shift << map->unit_shift)) >>
                         map->unit_shift;
        map->nr_words += (size_t)(units / 64 + 1);
    }
    int status = allocate_planes(map, err);
    describe_planes(map);
    return status;
}

struct cf_heap *cf_chunkmap_heap_mutable(struct cf_chunkmap *map, size_t index) {
    return &map->heaps.items[index];
}

/* While the map is being built there are no `planes` to ask yet. */
static struct cf_heap_unit unit_in_heap(const struct cf_chunkmap *map,
                                        const struct cf_heap *heap, uint64_t addr) {
    return (struct cf_heap_unit){(size_t)((addr >> map->unit_shift) -
                                          (heap->start >> map->unit_shift))};
}

static void set_bit(uint64_t *plane, size_t first_word, struct cf_heap_unit unit, bool value) {
    uint64_t mask = 1ull << (unit.index & 63);
    uint64_t *word = &plane[first_word + (unit.index >> 6)];
    *word = value ? *word | mask : *word & ~mask;
}

struct cf_heap_planes cf_chunkmap_heap_planes(struct cf_chunkmap *map,
                                              const struct cf_heap *heap) {
    return (struct cf_heap_planes){
        .starts = map->starts + heap->plane_word,
        .states = map->states + heap->plane_word,
        .first_unit = heap->start >> map->unit_shift,
        .unit_shift = map->unit_shift,
    };
}

void cf_chunkmap_set_start(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr) {
    set_bit(map->starts, heap->plane_word, unit_in_heap(map, heap, addr), true);
}

void cf_chunkmap_set_state(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr,
                           enum cf_chunk_state state) {
    struct cf_heap_unit unit = unit_in_heap(map, heap, addr), behind = {unit.index + 1};
    bool dead = state == CF_CHUNK_FREE || state == CF_CHUNK_FAST;
    bool cached = state == CF_CHUNK_FAST || state == CF_CHUNK_TCACHE;
    set_bit(map->states, heap->plane_word, unit, dead);
    set_bit(map->states, heap->plane_word, behind, cached);
}

int cf_chunkmap_add_odd(struct cf_chunkmap *map, const struct cf_heap *heap, uint64_t addr,
                        enum cf_chunk_state state, struct cf_err *err) {
    struct cf_odd *odd = cf_array_push(&map->odds);
    if (odd == NULL)
        return cf_err_nomem(err, sizeof *odd, "the table of tops and fences");
    *odd = (struct cf_odd){.addr = addr, .state = state};
    cf_chunkmap_set_start(map, heap, addr);
    /* The dead bit alone makes a pass that only asks "live?" right without the side table. A
     * fence has one unit, so its second bit is its neighbour's. */
    set_bit(map->states, heap->plane_word, unit_in_heap(map, heap, addr), true);
    return CF_OK;
}

int cf_chunkmap_add_mmapped(struct cf_chunkmap *map, const struct cf_mmapped *mmapped,
                            struct cf_err *err) {
    struct cf_mmapped *slot = cf_array_push(&map->mmapped);
    if (slot == NULL)
        return cf_err_nomem(err, sizeof *slot, "an mmapped chunk");
    *slot = *mmapped;
    return CF_OK;
}

struct cf_mmapped *cf_chunkmap_mmapped_mutable(struct cf_chunkmap *map, size_t index) {
    return &map->mmapped.items[index];
}

static void summarise(struct cf_chunkmap *map) {
    for (size_t i = 0; i < map->nr_words; i++)
        if (map->starts[i] != 0)
            map->summary[i >> 6] |= 1ull << (i & 63);
}

int cf_chunkmap_seal(struct cf_chunkmap *map, struct cf_err *err) {
    (void)err;
    if (map->odds.len > 0)
        qsort(map->odds.items, map->odds.len, sizeof *map->odds.items, compare_odds);
    if (map->mmapped.len > 0)
        qsort(map->mmapped.items, map->mmapped.len, sizeof *map->mmapped.items, compare_mmapped);
    size_t odd = 0;
    for (size_t i = 0; i < map->heaps.len; i++) {
        while (odd < map->odds.len && map->odds.items[odd].addr < map->heaps.items[i].start)
            odd++;
        map->heaps.items[i].odd_first = odd;
    }
    summarise(map);
    describe_planes(map);
    return CF_OK;
}

bool cf_chunkmap_is_start(const struct cf_chunkmap *map, const struct cf_heap *heap,
                          uint64_t addr) {
    if (addr < heap->start || addr >= heap->end || addr & ((1u << map->unit_shift) - 1))
        return false;
    return cf_plane_bit(map->starts, heap->plane_word, unit_in_heap(map, heap, addr));
}

const struct cf_planes *cf_chunkmap_planes(const struct cf_chunkmap *map) {
    return &map->planes;
}

unsigned cf_chunkmap_unit_bytes(const struct cf_chunkmap *map) {
    return 1u << map->unit_shift;
}

size_t cf_chunkmap_nr_heaps(const struct cf_chunkmap *map) {
    return map->heaps.len;
}

const struct cf_heap *cf_chunkmap_heap(const struct cf_chunkmap *map, size_t index) {
    return &map->heaps.items[index];
}

size_t cf_chunkmap_nr_mmapped(const struct cf_chunkmap *map) {
    return map->mmapped.len;
}

const struct cf_mmapped *cf_chunkmap_mmapped(const struct cf_chunkmap *map, size_t index) {
    return &map->mmapped.items[index];
}

const struct cf_heap *cf_chunkmap_find_heap(const struct cf_chunkmap *map, uint64_t addr) {
    size_t at = cf_bound(map->heaps.len, i, map->heaps.items[i].end > addr);
    if (at == map->heaps.len || addr < map->heaps.items[at].start)
        return NULL;
    return &map->heaps.items[at];
}

static bool find_mmapped(const struct cf_chunkmap *map, uint64_t addr, struct cf_chunk *out) {
    size_t at = cf_bound(map->mmapped.len, i,
                         map->mmapped.items[i].addr + map->mmapped.items[i].bytes > addr);
    if (at == map->mmapped.len || addr < map->mmapped.items[at].addr)
        return false;
    const struct cf_mmapped *found = &map->mmapped.items[at];
    *out = (struct cf_chunk){
        .addr = found->addr,
        .bytes = found->bytes,
        .state = found->in_tcache ? CF_CHUNK_TCACHE : CF_CHUNK_MMAPPED,
        .heap_id = UINT32_MAX,
    };
    return true;
}

bool cf_chunkmap_find(const struct cf_chunkmap *map, uint64_t addr, struct cf_chunk *out) {
    const struct cf_heap *heap = cf_chunkmap_find_heap(map, addr);
    if (heap == NULL)
        return find_mmapped(map, addr, out);
    if (addr >= heap->chunks_end)
        return false;
    struct cf_heap_unit unit =
        cf_planes_prev_start(&map->planes, heap, unit_in_heap(map, heap, addr));
    if (!cf_is_unit(unit))
        return false;
    struct cf_planes_walk walk = cf_planes_walk_at(&map->planes, heap, unit.index >> 6);
    do
        if (!cf_planes_walk_next(&walk, out))
            return false;
    while (out->addr + out->bytes <= addr);
    return true;
}

/* A start in the `units` units of the heap from `from` on. */
static bool has_start(const struct cf_chunkmap *map, const struct cf_heap *heap,
                      struct cf_heap_unit from, size_t units) {
    size_t unit = from.index;
    const uint64_t *starts = map->starts + heap->plane_word;
    uint64_t any = starts[unit >> 6] & ~0ull << (unit & 63);
    for (size_t word = (unit >> 6) + 1; word < (unit + units) >> 6; word++)
        any |= starts[word];
    return any != 0;
}

static size_t first_odd_from(const struct cf_chunkmap *map, uint64_t addr) {
    size_t low = 0, high = map->odds.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->odds.items[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t cf_chunkmap_headers_until(const struct cf_chunkmap *map, uint64_t addr, uint64_t end,
                                   uint64_t page_bytes) {
    const struct cf_heap *heap = cf_chunkmap_find_heap(map, addr);
    size_t units = (size_t)(page_bytes >> map->unit_shift);
    if (heap == NULL || units < 64)
        return addr;
    end = end < heap->chunks_end ? end : heap->chunks_end;
    size_t odd = first_odd_from(map, addr);
    while (addr < end && end - addr >= page_bytes) {
        /* A top or a gap starts where nothing was read, perhaps; its page needs a look. */
        bool is_odd = odd < map->odds.len && map->odds.items[odd].addr - addr < page_bytes;
        if (is_odd || !has_start(map, heap, unit_in_heap(map, heap, addr), units))
            return addr;
        addr += page_bytes;
    }
    return addr;
}

size_t cf_chunkmap_nr_units(const struct cf_chunkmap *map) {
    return (map->nr_words + 1) * 64;
}
