/*
 * V8's heap, by the header of its pages (MemoryChunk). A page stands at a multiple of 256 KiB and
 * begins with its own size; further down it keeps the reservation that it lies in:
 *
 *     size | flags | heap | area ... | reservation: own address | size | ...
 *
 * Which word the reservation is differs between releases (10 in V8 11), so any of the first ones
 * counts: two words that repeat the page's address and its first word are no accident.
 *
 * An object begins with its map, tagged by 1; the map has the kind (instance type) of its objects:
 *
 *     object:  map + 1 | fields ...        map:  map of maps + 1 | ... kind ...
 *
 * The map of maps is its own map, which nothing else is. Where the kind stands in a map, and which
 * number means what, say the v8dbg_ constants that V8 has for debuggers.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/texts.h"
#include "runtime/runtimes.h"
#include "space/unclaimed.h"

#define PAGE_ALIGNMENT 0x40000u
enum {
    HEADER_WORDS = 32,
    OBJECT_WORDS = 32, /* from a word back to its object's head */
    MOVES_MAX = 8,
    TAG = 1,
    TAG_MASK = 3,
};

static bool read_page(const struct cf_mem *mem, uint64_t addr, uint64_t *size) {
    uint64_t first, words[2];
    unsigned word = cf_mem_word_bytes(mem);
    if (!cf_mem_word(mem, addr, &first) || first < 0x1000 || first > (1ull << 40) ||
        first % 0x1000 != 0)
        return false;
    for (unsigned i = 1; i < HEADER_WORDS; i++) {
        if (!cf_mem_word(mem, addr + (uint64_t)i * word, &words[0]) || words[0] != addr)
            continue;
        if (cf_mem_word(mem, addr + (uint64_t)(i + 1) * word, &words[1]) && words[1] == first) {
            *size = first;
            return true;
        }
    }
    return false;
}

static const char *heap_label(const struct cf_modules *modules) {
    const struct cf_module *exe = cf_modules_find_exe(modules);
    if (exe == NULL)
        return "V8 heap";
    return strncmp(cf_base_name(exe->path), "node", 4) == 0 ? "V8 heap (node)" : "V8 heap";
}

/* The next place for a page at or above `addr` that has bytes in the core; false where there is
 * none below `end`. What was reserved and not dumped may be most of the address space. */
static bool next_place(const struct cf_mem *mem, uint64_t end, uint64_t *addr) {
    uint64_t data = *addr;
    while (cf_mem_next_data(mem, &data, end)) {
        if (cf_align_up(data, PAGE_ALIGNMENT, addr) && *addr == data)
            return true;
        if (*addr <= data)
            return false;
        data = *addr;
    }
    return false;
}

static int claim_pages(const struct cf_managed *managed, const struct cf_piece *piece,
                       const struct cf_claimant *who, struct cf_err *err) {
    uint64_t addr;
    if (!cf_align_up(piece->start, PAGE_ALIGNMENT, &addr))
        return CF_OK;
    while (next_place(managed->mem, piece->end, &addr)) {
        uint64_t size = 0;
        if (read_page(managed->mem, addr, &size)) {
            uint64_t end = addr + size;
            int status = cf_claims_add_for(managed->out, who, addr, end, err);
            if (status == CF_OK)
                status = cf_unclaimed_take_reserve(managed->mem, managed->taken, end, who,
                                                   managed->out, err);
            if (status != CF_OK)
                return status;
        }
        uint64_t step = size > PAGE_ALIGNMENT ? cf_align_down(size - 1, PAGE_ALIGNMENT) : 0;
        if (!cf_add_u64(addr, step + PAGE_ALIGNMENT, &addr))
            break;
    }
    cf_mem_drop(managed->mem, piece->start, piece->end);
    return CF_OK;
}

static int claim(const struct cf_managed *managed, struct cf_err *err) {
    const struct cf_claimant who =
        cf_managed_as(managed, CF_AREA_OBJECTS, heap_label(managed->modules));
    struct cf_unclaimed walk = cf_unclaimed_from(managed->mem, managed->taken, 0);
    struct cf_piece piece;
    while (cf_unclaimed_next(&walk, &piece)) {
        if (piece.flags == 0)
            continue;
        int status = claim_pages(managed, &piece, &who, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* ---- objects ---- */

static const struct {
    const char *variable;
    const char *name;
} kinds[] = {
    /* A typed array has a pointer of its own into its buffer's memory. */
    {"v8dbg_type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE", "JSArrayBuffer"},
    {"v8dbg_type_JSTypedArray__JS_TYPED_ARRAY_TYPE", "JSArrayBuffer"},
    {"v8dbg_type_JSDataView__JS_DATA_VIEW_TYPE", "JSArrayBuffer"},
};

enum { NR_KINDS = sizeof kinds / sizeof kinds[0] };

struct v8 {
    const struct cf_mem *mem;
    const struct cf_claims *claims;
    uint64_t type_at; /* of the instance type, in a Map */
    uint32_t types[NR_KINDS];
};

static bool open_objects(const struct cf_objects_input *input, void *state) {
    const struct cf_variables *variables = input->variables;
    struct v8 *v8 = state;
    uint64_t addr;
    uint32_t value;
    if (!variables->find(variables->source, "v8dbg_class_Map__instance_type__uint16_t", &addr) ||
        !cf_mem_u32(input->mem, addr, &value) || value > 4096)
        return false;
    *v8 = (struct v8){.mem = input->mem, .claims = input->claims, .type_at = value};
    for (size_t i = 0; i < NR_KINDS; i++)
        if (!variables->find(variables->source, kinds[i].variable, &addr) ||
            !cf_mem_u32(input->mem, addr, &v8->types[i]))
            v8->types[i] = UINT32_MAX;
    return true;
}

/* A map's own map is the map of maps, which is its own. */
static bool is_map(const struct v8 *v8, uint64_t word) {
    uint64_t meta, meta_meta;
    return (word & TAG_MASK) == TAG && cf_mem_word(v8->mem, word - TAG, &meta) &&
           (meta & TAG_MASK) == TAG &&
           cf_mem_word(v8->mem, meta - TAG, &meta_meta) && meta_meta == meta;
}

/* The map of the object whose head is `word`; what the collector moved away has its new address
 * there instead, and stays in the old place until that is used again. It may have moved again. */
static bool map_of(const struct v8 *v8, uint64_t word, uint64_t *map) {
    for (unsigned i = 0; i < MOVES_MAX && word != 0 && (word & TAG_MASK) == 0 &&
                         cf_claims_at(v8->claims, CF_CLAIM_MANAGED, word) != NULL;
         i++)
        if (!cf_mem_word(v8->mem, word, &word))
            return false;
    *map = word;
    return is_map(v8, word);
}

static bool name_object(const void *state, uint64_t addr, uint64_t low, char *out,
                        size_t bytes) {
    const struct v8 *v8 = state;
    unsigned word = cf_mem_word_bytes(v8->mem);
    for (unsigned i = 1; i < OBJECT_WORDS && addr - low >= (uint64_t)i * word; i++) {
        uint64_t head, map;
        uint16_t type;
        if (!cf_mem_word(v8->mem, addr - (uint64_t)i * word, &head) ||
            !map_of(v8, head, &map))
            continue;
        if (!cf_mem_u16(v8->mem, map - TAG + v8->type_at, &type))
            return false;
        for (size_t kind = 0; kind < NR_KINDS; kind++)
            if (v8->types[kind] == type) {
                (void)snprintf(out, bytes, "%s", kinds[kind].name);
                return true;
            }
        return false;
    }
    return false;
}

const struct cf_runtime cf_runtime_v8 = {
    .name = "V8",
    .suffix = " (V8)",
    .hides_pointers = true,
    .advice = "Look at V8's heap first: --max-old-space-size bounds its old generation; "
              "process.memoryUsage() and a heap snapshot (v8.writeHeapSnapshot()) say what fills "
              "it",
    .trim = "malloc_trim(0) by a native addon, since Node.js has no call for it; or once, from "
            "outside: gdb -p PID -batch -ex 'call (int)malloc_trim(0)'",
    .claim = claim,
    .state_bytes = sizeof(struct v8),
    .open_objects = open_objects,
    .name_object = name_object,
};
