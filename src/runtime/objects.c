#include "runtime/objects.h"

#include <stdio.h>
#include <string.h>

#include "runtime/managed.h"
#include "runtime/vmstructs.h"

enum {
    JAVA_WORDS = 64,       /* from a word back to its object's head: instances are smaller */
    V8_WORDS = 32,
    V8_MOVES = 8,
    NAME_MAX = 200,
    LAYOUT_SLOW = 1,       /* Klass::_layout_helper of an instance: bytes, and this bit */
    ARRAY_LENGTH_BYTES = 4, /* the last thing in an array's head */
    MARK_FORWARDED = 3,
    COMPACT_SHIFT = 42,
    V8_TAG = 1,
    V8_TAG_MASK = 3,
};

static const struct {
    const char *variable;
    const char *name;
} v8_kinds[CF_V8_KINDS] = {
    /* A typed array has a pointer of its own into its buffer's memory. */
    {"v8dbg_type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE", "JSArrayBuffer"},
    {"v8dbg_type_JSTypedArray__JS_TYPED_ARRAY_TYPE", "JSArrayBuffer"},
    {"v8dbg_type_JSDataView__JS_DATA_VIEW_TYPE", "JSArrayBuffer"},
};

/* ---- HotSpot ---- */

/* CompressedKlassPointers since 17 or so; before it stood in Universe. */
static bool find_compression(const struct cf_vmstructs *vm, struct cf_hotspot *out) {
    static const char *const places[][3] = {
        {"CompressedKlassPointers", "_narrow_klass._base", "_narrow_klass._shift"},
        {"CompressedKlassPointers", "_base", "_shift"},
        {"Universe", "_narrow_klass._base", "_narrow_klass._shift"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t shift;
        if (!cf_vmstructs_static(vm, places[i][0], places[i][1], &out->class_base) ||
            !cf_vmstructs_static(vm, places[i][0], places[i][2], &shift))
            continue;
        out->class_shift = (unsigned)(shift & 0xffffffff);
        return out->class_shift < 16;
    }
    return false;
}

static void open_hotspot(struct cf_objects *objects, const struct cf_modules *modules) {
    const struct cf_module *libjvm = cf_managed_module(modules, "libjvm.so");
    struct cf_hotspot *hotspot = &objects->hotspot;
    struct cf_vmstructs vm;
    if (libjvm == NULL || !cf_vmstructs_open(objects->mem, libjvm, &vm))
        return;
    hotspot->code_start = libjvm->start;
    hotspot->code_end = libjvm->end;
    hotspot->has_narrow = find_compression(&vm, hotspot);
    hotspot->is_known = cf_vmstructs_offset(&vm, "Klass", "_name", &hotspot->name_at) &&
                        cf_vmstructs_offset(&vm, "Klass", "_layout_helper", &hotspot->layout_at) &&
                        cf_vmstructs_offset(&vm, "Symbol", "_length", &hotspot->length_at) &&
                        cf_vmstructs_offset(&vm, "Symbol", "_body[0]", &hotspot->body_at);
}

/* A class begins with its table of functions: libjvm's, or a copy in the shared archive, which
 * leads to libjvm's functions all the same. */
static bool is_class(const struct cf_objects *objects, uint64_t klass) {
    const struct cf_hotspot *hotspot = &objects->hotspot;
    uint64_t table, function;
    if (klass == 0 || klass % cf_mem_word_bytes(objects->mem) != 0 ||
        !cf_mem_word(objects->mem, klass, &table) ||
        !cf_mem_word(objects->mem, table, &function))
        return false;
    return function - hotspot->code_start < hotspot->code_end - hotspot->code_start ||
           table - hotspot->code_start < hotspot->code_end - hotspot->code_start;
}

/* How far an object of the class reaches; 0: the class makes no objects. An array's layout: kind,
 * bytes of the head, kind of element, its logarithm, a byte each from the top. */
static uint64_t object_bytes(const struct cf_objects *objects, uint64_t klass, uint64_t object) {
    uint32_t layout, length;
    if (!cf_mem_u32(objects->mem, klass + objects->hotspot.layout_at, &layout))
        return 0;
    if ((layout & 1u << 31) == 0)
        return layout & ~(uint32_t)LAYOUT_SLOW;
    uint64_t head = layout >> 16 & 0xff, shift = layout & 0xff;
    if (head < 2 * ARRAY_LENGTH_BYTES || shift > 3 ||
        !cf_mem_u32(objects->mem, object + head - ARRAY_LENGTH_BYTES, &length))
        return 0;
    return head + ((uint64_t)length << shift);
}

/* `klass`, if it is one and its object reaches `to`; else 0. */
static uint64_t checked(const struct cf_objects *objects, uint64_t klass, uint64_t object,
                        uint64_t to) {
    return is_class(objects, klass) && object_bytes(objects, klass, object) > to - object ? klass
                                                                                          : 0;
}

static uint64_t unpacked(const struct cf_objects *objects, uint64_t narrow) {
    return objects->hotspot.class_base + (narrow << objects->hotspot.class_shift);
}

/* The class that the object's head names: by a second word, whole or half, or by the mark's upper
 * bits (compact heads, since 24). */
static uint64_t class_of(const struct cf_objects *objects, uint64_t object, uint64_t to) {
    unsigned word = cf_mem_word_bytes(objects->mem);
    uint64_t mark, second, klass = 0;
    if (!cf_mem_word(objects->mem, object, &mark) || (mark & 3) == MARK_FORWARDED)
        return 0;
    bool is_narrow = objects->hotspot.has_narrow && word == 8;
    bool has_second = cf_mem_word(objects->mem, object + word, &second);
    if (is_narrow && has_second && (uint32_t)second != 0)
        klass = checked(objects, unpacked(objects, (uint32_t)second), object, to);
    if (klass == 0 && has_second)
        klass = checked(objects, second, object, to);
    if (klass == 0 && is_narrow && mark >> COMPACT_SHIFT != 0)
        klass = checked(objects, unpacked(objects, mark >> COMPACT_SHIFT), object, to);
    return klass;
}

/* "java/nio/DirectByteBuffer" with points; only what can be a name. */
static bool read_class_name(const struct cf_objects *objects, uint64_t klass, char *out,
                            size_t bytes) {
    const struct cf_hotspot *hotspot = &objects->hotspot;
    uint64_t symbol;
    uint16_t length;
    char name[NAME_MAX + 1];
    if (!cf_mem_word(objects->mem, klass + hotspot->name_at, &symbol) ||
        !cf_mem_u16(objects->mem, symbol + hotspot->length_at, &length) || length == 0 ||
        length > NAME_MAX || !cf_mem_read(objects->mem, symbol + hotspot->body_at, name, length))
        return false;
    name[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        char c = name[i] == '/' ? '.' : name[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9');
        if (!is_letter && (c == '\0' || strchr("_$.[;-+", c) == NULL))
            return false;
        name[i] = c;
    }
    (void)snprintf(out, bytes, "%s", name);
    return true;
}

static bool name_java(const struct cf_objects *objects, uint64_t addr, uint64_t low, char *out,
                      size_t bytes) {
    unsigned word = cf_mem_word_bytes(objects->mem);
    for (unsigned i = 1; i < JAVA_WORDS && addr - low >= (uint64_t)i * word; i++) {
        uint64_t klass = class_of(objects, addr - (uint64_t)i * word, addr);
        if (klass != 0)
            return read_class_name(objects, klass, out, bytes);
    }
    return false;
}

/* ---- V8 ---- */

static void open_v8(struct cf_objects *objects, const struct cf_variables *variables) {
    struct cf_v8 *v8 = &objects->v8;
    uint64_t addr;
    uint32_t value;
    if (!variables->find(variables->source, "v8dbg_class_Map__instance_type__uint16_t", &addr) ||
        !cf_mem_u32(objects->mem, addr, &value) || value > 4096)
        return;
    v8->type_at = value;
    for (size_t i = 0; i < CF_V8_KINDS; i++)
        if (!variables->find(variables->source, v8_kinds[i].variable, &addr) ||
            !cf_mem_u32(objects->mem, addr, &v8->kinds[i]))
            v8->kinds[i] = UINT32_MAX;
    v8->is_known = true;
}

/* A map's own map is the map of maps, which is its own. */
static bool is_map(const struct cf_objects *objects, uint64_t word) {
    uint64_t meta, meta_meta;
    return (word & V8_TAG_MASK) == V8_TAG && cf_mem_word(objects->mem, word - V8_TAG, &meta) &&
           (meta & V8_TAG_MASK) == V8_TAG &&
           cf_mem_word(objects->mem, meta - V8_TAG, &meta_meta) && meta_meta == meta;
}

static const struct cf_claim *heap_at(const struct cf_objects *objects, uint64_t addr) {
    size_t index = cf_claims_above(objects->claims, addr);
    if (index == objects->claims->rows.len)
        return NULL;
    const struct cf_claim *claim = &objects->claims->rows.items[index];
    return claim->start <= addr && claim->kind == CF_CLAIM_MANAGED ? claim : NULL;
}

/* The map of the object whose head is `word`; what the collector moved away has its new address
 * there instead, and stays in the old place until that is used again. It may have moved again. */
static bool map_of(const struct cf_objects *objects, uint64_t word, uint64_t *map) {
    for (unsigned i = 0; i < V8_MOVES && word != 0 && (word & V8_TAG_MASK) == 0 &&
                         heap_at(objects, word) != NULL;
         i++)
        if (!cf_mem_word(objects->mem, word, &word))
            return false;
    *map = word;
    return is_map(objects, word);
}

static bool name_v8(const struct cf_objects *objects, uint64_t addr, uint64_t low, char *out,
                    size_t bytes) {
    unsigned word = cf_mem_word_bytes(objects->mem);
    for (unsigned i = 1; i < V8_WORDS && addr - low >= (uint64_t)i * word; i++) {
        uint64_t head, map;
        uint16_t type;
        if (!cf_mem_word(objects->mem, addr - (uint64_t)i * word, &head) ||
            !map_of(objects, head, &map))
            continue;
        if (!cf_mem_u16(objects->mem, map - V8_TAG + objects->v8.type_at, &type))
            return false;
        for (size_t kind = 0; kind < CF_V8_KINDS; kind++)
            if (objects->v8.kinds[kind] == type) {
                (void)snprintf(out, bytes, "%s", v8_kinds[kind].name);
                return true;
            }
        return false;
    }
    return false;
}

/* ---- both ---- */

void cf_objects_init(struct cf_objects *objects, const struct cf_mem *mem,
                     const struct cf_modules *modules, const struct cf_claims *claims,
                     const struct cf_variables *variables) {
    *objects = (struct cf_objects){.mem = mem, .claims = claims};
    open_hotspot(objects, modules);
    open_v8(objects, variables);
}

const char *cf_objects_heap(const struct cf_objects *objects, uint64_t addr) {
    const struct cf_claim *claim = heap_at(objects, addr);
    return claim != NULL ? claim->label : NULL;
}

bool cf_objects_name(const struct cf_objects *objects, uint64_t addr, char *out, size_t bytes) {
    const struct cf_claim *claim = heap_at(objects, addr);
    if (claim == NULL)
        return false;
    if (objects->hotspot.is_known && strncmp(claim->label, "Java heap", 9) == 0)
        return name_java(objects, addr, claim->start, out, bytes);
    if (objects->v8.is_known && strncmp(claim->label, "V8 heap", 7) == 0)
        return name_v8(objects, addr, claim->start, out, bytes);
    return false;
}
