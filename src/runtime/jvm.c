/*
 * Java's memory under HotSpot: the Java heap, the code cache, class data (metaspace, the class
 * space, the shared archive), the collector's card table. Its own VMStructs say where each lies;
 * without them the heap and the code cache are guessed by shape.
 *
 * ZGC's heap is a memfd ("java_heap") that up to 20 is mapped three times: it names itself.
 *
 * An object is known by its class, which its head has in one of three ways:
 *
 *     | mark | class, 64 bits     | fields ...
 *     | mark | class, 32 bits | fields ...         compressed: class_base + (word << class_shift)
 *     | class in the upper 22 bits, mark | fields ...       compact heads, since 24
 *
 * What the word there leads to is a class (Klass) only if its first word leads to functions of
 * libjvm; then the class says how many bytes its objects have, and the object counts only if it
 * reaches as far as the word that is asked about.
 */
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "runtime/jvm.h"
#include "runtime/runtimes.h"
#include "runtime/vmstructs.h"
#include "space/unclaimed.h"

#define HEAP_GUESS_BYTES (32ull << 20)
#define LOW_HEAP_END (64ull << 30) /* compressed pointers: the heap begins below 32 GiB */
enum {
    LOADERS_MAX = 1 << 14,
    CLASSES_MAX = 1 << 18,
    CLASS_RANGES_MAX = 256,
    OBJECT_WORDS = 64,      /* from a word back to its object's head: instances are smaller */
    NAME_MAX = 200,
    LAYOUT_SLOW = 1,        /* Klass::_layout_helper of an instance: bytes, and this bit */
    ARRAY_LENGTH_BYTES = 4, /* the last thing in an array's head */
    MARK_FORWARDED = 3,
    COMPACT_SHIFT = 42,
};

static const char heap_label[] = "Java heap (HotSpot)";
static const char code_label[] = "Java code cache";
static const char class_label[] = "Java class data";

static int claim_range(const struct cf_managed *managed, uint64_t start, uint64_t end,
                       enum cf_claim_area area, const char *label, struct cf_err *err) {
    const struct cf_claimant who = cf_managed_as(managed, area, label);
    return cf_claims_add_for(managed->out, &who, start, end, err);
}

static int claim_bytes(const struct cf_managed *managed, uint64_t start, uint64_t bytes,
                       enum cf_claim_area area, const char *label, struct cf_err *err) {
    uint64_t end;
    return cf_add_u64(start, bytes, &end) ? claim_range(managed, start, end, area, label, err)
                                          : CF_OK;
}

static int claim_heap(const struct cf_managed *managed, const struct cf_vmstructs *vm,
                      struct cf_err *err) {
    uint64_t heap, reserved, start, words, bytes;
    if (!cf_vmstructs_static(vm, "Universe", "_collectedHeap", &heap) ||
        !cf_vmstructs_place(vm, heap, "CollectedHeap", "_reserved", &reserved) ||
        !cf_vmstructs_member(vm, reserved, "MemRegion", "_start", &start) ||
        !cf_vmstructs_member(vm, reserved, "MemRegion", "_word_size", &words) ||
        !cf_mul_u64(words, cf_mem_word_bytes(managed->mem), &bytes))
        return CF_OK;
    return claim_bytes(managed, start, bytes, CF_AREA_OBJECTS, heap_label, err);
}

/* CodeCache has its bounds since 9; before, one CodeHeap has them. */
static int claim_code(const struct cf_managed *managed, const struct cf_vmstructs *vm,
                      struct cf_err *err) {
    uint64_t low, high, heap, memory;
    if (cf_vmstructs_static(vm, "CodeCache", "_low_bound", &low) &&
        cf_vmstructs_static(vm, "CodeCache", "_high_bound", &high))
        return claim_range(managed, low, high, CF_AREA_CODE, code_label, err);
    if (cf_vmstructs_static(vm, "CodeCache", "_heap", &heap) &&
        cf_vmstructs_place(vm, heap, "CodeHeap", "_memory", &memory) &&
        cf_vmstructs_member(vm, memory, "VirtualSpace", "_low_boundary", &low) &&
        cf_vmstructs_member(vm, memory, "VirtualSpace", "_high_boundary", &high))
        return claim_range(managed, low, high, CF_AREA_CODE, code_label, err);
    return CF_OK;
}

static int claim_card_table(const struct cf_managed *managed, const struct cf_vmstructs *vm,
                            struct cf_err *err) {
    uint64_t barriers, table, map, bytes;
    if (!cf_vmstructs_static(vm, "BarrierSet", "_barrier_set", &barriers) ||
        !cf_vmstructs_member(vm, barriers, "CardTableBarrierSet", "_card_table", &table) ||
        !cf_vmstructs_member(vm, table, "CardTable", "_byte_map", &map) ||
        !cf_vmstructs_member(vm, table, "CardTable", "_byte_map_size", &bytes))
        return CF_OK;
    return claim_bytes(managed, map, bytes, CF_AREA_OTHER, "Java GC card table", err);
}

/* The ranges that class data was met in: nearly all pointers lead into the same few. */
struct class_space {
    const struct cf_managed *managed;
    unsigned nr_ranges;
    struct {
        uint64_t start;
        uint64_t end;
    } ranges[CLASS_RANGES_MAX];
};

static bool knows(const struct class_space *space, uint64_t addr) {
    for (unsigned i = space->nr_ranges; i-- > 0;)
        if (addr >= space->ranges[i].start && addr < space->ranges[i].end)
            return true;
    return space->nr_ranges == CLASS_RANGES_MAX;
}

/* The mapping that holds class data, and the rest of its reservation behind it: without rights, or
 * read-only where gdb wrote the core, which tells it so. */
static int claim_class_data(struct class_space *space, uint64_t addr, struct cf_err *err) {
    const struct cf_managed *managed = space->managed;
    const struct cf_region *region = knows(space, addr) ? NULL : cf_mem_find(managed->mem, addr);
    if (region == NULL)
        return CF_OK;
    struct cf_unclaimed walk = cf_unclaimed_from(managed->mem, managed->taken, region->start);
    struct cf_piece piece;
    do {
        if (!cf_unclaimed_next(&walk, &piece) || piece.start > addr)
            return CF_OK;
    } while (piece.end <= addr);
    uint64_t start = piece.start, end = piece.end;
    while (cf_unclaimed_next(&walk, &piece) && piece.start == end &&
           (piece.flags & (PF_W | PF_X)) == 0)
        end = piece.end;
    space->ranges[space->nr_ranges].start = start;
    space->ranges[space->nr_ranges++].end = end;
    return claim_range(managed, start, end, CF_AREA_CLASSES, class_label, err);
}

static int claim_loader(struct class_space *space, const struct cf_vmstructs *vm, uint64_t klass,
                        unsigned *left, struct cf_err *err) {
    uint64_t next_at, constants_at;
    bool has_constants = cf_vmstructs_offset(vm, "InstanceKlass", "_constants", &constants_at);
    if (!cf_vmstructs_offset(vm, "Klass", "_next_link", &next_at))
        return CF_OK;
    for (; klass != 0 && *left > 0; (*left)--) {
        uint64_t constants;
        int status = claim_class_data(space, klass, err);
        if (status == CF_OK && has_constants &&
            cf_mem_word(vm->mem, klass + constants_at, &constants))
            status = claim_class_data(space, constants, err);
        if (status != CF_OK)
            return status;
        if (!cf_mem_word(vm->mem, klass + next_at, &klass))
            break;
    }
    return CF_OK;
}

/* All loaded classes: each loader's list. */
static int claim_classes(const struct cf_managed *managed, const struct cf_vmstructs *vm,
                         struct cf_err *err) {
    struct class_space space = {.managed = managed};
    unsigned left = CLASSES_MAX;
    uint64_t loader, klass;
    if (!cf_vmstructs_static(vm, "ClassLoaderDataGraph", "_head", &loader))
        return CF_OK;
    for (unsigned i = 0; loader != 0 && i < LOADERS_MAX && left > 0; i++) {
        if (cf_vmstructs_member(vm, loader, "ClassLoaderData", "_klasses", &klass)) {
            int status = claim_loader(&space, vm, klass, &left, err);
            if (status != CF_OK)
                return status;
        }
        if (!cf_vmstructs_member(vm, loader, "ClassLoaderData", "_next", &loader))
            break;
    }
    return CF_OK;
}

static int claim_files(const struct cf_managed *managed, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(managed->mem);
    for (size_t i = 0; i < cf_core_nr_files(core); i++) {
        const struct cf_core_file *file = cf_core_file(core, i);
        size_t length = strlen(file->path);
        struct cf_claimant who;
        if (strstr(file->path, "memfd:java_heap") != NULL)
            who = cf_managed_as(managed, CF_AREA_OBJECTS, "Java heap (HotSpot, ZGC)");
        else if (length > 4 && strcmp(file->path + length - 4, ".jsa") == 0)
            who = cf_managed_as(managed, CF_AREA_CLASSES, class_label);
        else
            continue;
        int status = cf_claims_add_for(managed->out, &who, file->start, file->end, err);
        if (status == CF_OK && who.area == CF_AREA_OBJECTS)
            status = cf_unclaimed_take_reserve(managed->mem, managed->taken, file->end, &who,
                                               managed->out, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* Low in the address space nothing but the heap lies; else the largest reservation is taken. */
static const struct cf_run *guess_heap(const struct cf_runs *runs) {
    const struct cf_run *best = NULL;
    for (size_t i = 0; i < runs->rows.len; i++) {
        const struct cf_run *run = &runs->rows.items[i];
        bool is_low = run->start < LOW_HEAP_END;
        bool best_is_low = best != NULL && best->start < LOW_HEAP_END;
        if (run->code_bytes > 0 || run->usable_bytes < HEAP_GUESS_BYTES)
            continue;
        if (best == NULL || (is_low && !best_is_low) ||
            (is_low == best_is_low && run->usable_bytes > best->usable_bytes))
            best = run;
    }
    return best;
}

static int claim_guesses(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_runs runs = {.rows = {0}};
    int status = cf_runs_find(&runs, managed->mem, managed->taken, false, err);
    for (size_t i = 0; i < runs.rows.len && status == CF_OK; i++) {
        const struct cf_run *run = &runs.rows.items[i];
        if (run->code_bytes > 0)
            status = claim_range(managed, run->start, run->end, CF_AREA_CODE,
                                 "Java code cache (guess)", err);
    }
    const struct cf_run *heap = guess_heap(&runs);
    if (status == CF_OK && heap != NULL)
        status = claim_range(managed, heap->start, heap->end, CF_AREA_OBJECTS,
                             "Java heap (HotSpot, guess)", err);
    cf_runs_fini(&runs);
    return status;
}

static const struct cf_module *find_libjvm(const struct cf_modules *modules) {
    return cf_modules_find_prefix(modules, "libjvm.so");
}

static bool recognises(const struct cf_mem *mem, const struct cf_modules *modules) {
    (void)mem;
    return find_libjvm(modules) != NULL;
}

static int claim(const struct cf_managed *managed, struct cf_err *err) {
    struct cf_vmstructs vm;
    int status = CF_OK;
    if (cf_vmstructs_open(managed->mem, find_libjvm(managed->modules), &vm)) {
        status = claim_heap(managed, &vm, err);
        if (status == CF_OK)
            status = claim_code(managed, &vm, err);
        if (status == CF_OK)
            status = claim_card_table(managed, &vm, err);
        if (status == CF_OK)
            status = claim_classes(managed, &vm, err);
    } else {
        status = claim_guesses(managed, err);
    }
    return status == CF_OK ? claim_files(managed, err) : status;
}

/* ---- objects ---- */

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

static bool open_objects(const struct cf_objects_input *input, void *state) {
    const struct cf_module *libjvm = find_libjvm(input->modules);
    struct cf_hotspot *hotspot = state;
    struct cf_vmstructs vm;
    if (!cf_vmstructs_open(input->mem, libjvm, &vm))
        return false;
    hotspot->mem = input->mem;
    hotspot->code_start = libjvm->start;
    hotspot->code_end = libjvm->end;
    hotspot->has_narrow = find_compression(&vm, hotspot);
    return cf_vmstructs_offset(&vm, "Klass", "_name", &hotspot->name_at) &&
           cf_vmstructs_offset(&vm, "Klass", "_layout_helper", &hotspot->layout_at) &&
           cf_vmstructs_offset(&vm, "Symbol", "_length", &hotspot->length_at) &&
           cf_vmstructs_offset(&vm, "Symbol", "_body[0]", &hotspot->body_at);
}

/* A class begins with its table of functions: libjvm's, or a copy in the shared archive, which
 * leads to libjvm's functions all the same. */
static bool is_class(const struct cf_hotspot *hotspot, uint64_t klass) {
    uint64_t table, function;
    if (klass == 0 || klass % cf_mem_word_bytes(hotspot->mem) != 0 ||
        !cf_mem_word(hotspot->mem, klass, &table) ||
        !cf_mem_word(hotspot->mem, table, &function))
        return false;
    return function - hotspot->code_start < hotspot->code_end - hotspot->code_start ||
           table - hotspot->code_start < hotspot->code_end - hotspot->code_start;
}

/* How far an object of the class reaches; 0: the class makes no objects. An array's layout: kind,
 * bytes of the head, kind of element, its logarithm, a byte each from the top. */
static uint64_t object_bytes(const struct cf_hotspot *hotspot, uint64_t klass, uint64_t object) {
    uint32_t layout, length;
    if (!cf_mem_u32(hotspot->mem, klass + hotspot->layout_at, &layout))
        return 0;
    if ((layout & 1u << 31) == 0)
        return layout & ~(uint32_t)LAYOUT_SLOW;
    uint64_t head = layout >> 16 & 0xff, shift = layout & 0xff;
    if (head < 2 * ARRAY_LENGTH_BYTES || shift > 3 ||
        !cf_mem_u32(hotspot->mem, object + head - ARRAY_LENGTH_BYTES, &length))
        return 0;
    return head + ((uint64_t)length << shift);
}

/* `klass`, if it is one and its object reaches `to`; else 0. */
static uint64_t checked(const struct cf_hotspot *hotspot, uint64_t klass, uint64_t object,
                        uint64_t to) {
    return is_class(hotspot, klass) && object_bytes(hotspot, klass, object) > to - object ? klass
                                                                                          : 0;
}

static uint64_t unpacked(const struct cf_hotspot *hotspot, uint64_t narrow) {
    return hotspot->class_base + (narrow << hotspot->class_shift);
}

/* The class that the object's head names: by a second word, whole or half, or by the mark's upper
 * bits (compact heads, since 24). */
static uint64_t class_of(const struct cf_hotspot *hotspot, uint64_t object, uint64_t to) {
    unsigned word = cf_mem_word_bytes(hotspot->mem);
    uint64_t mark, second, klass = 0;
    if (!cf_mem_word(hotspot->mem, object, &mark) || (mark & 3) == MARK_FORWARDED)
        return 0;
    bool is_narrow = hotspot->has_narrow && word == 8;
    bool has_second = cf_mem_word(hotspot->mem, object + word, &second);
    if (is_narrow && has_second && (uint32_t)second != 0)
        klass = checked(hotspot, unpacked(hotspot, (uint32_t)second), object, to);
    if (klass == 0 && has_second)
        klass = checked(hotspot, second, object, to);
    if (klass == 0 && is_narrow && mark >> COMPACT_SHIFT != 0)
        klass = checked(hotspot, unpacked(hotspot, mark >> COMPACT_SHIFT), object, to);
    return klass;
}

/* "java/nio/DirectByteBuffer" with points; only what can be a name. */
static bool read_class_name(const struct cf_hotspot *hotspot, uint64_t klass, char *out,
                            size_t bytes) {
    uint64_t symbol;
    uint16_t length;
    char name[NAME_MAX + 1];
    if (!cf_mem_word(hotspot->mem, klass + hotspot->name_at, &symbol) ||
        !cf_mem_u16(hotspot->mem, symbol + hotspot->length_at, &length) || length == 0 ||
        length > NAME_MAX || !cf_mem_read(hotspot->mem, symbol + hotspot->body_at, name, length))
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

bool cf_hotspot_name(const void *state, uint64_t addr, uint64_t low, char *out, size_t bytes) {
    const struct cf_hotspot *hotspot = state;
    unsigned word = cf_mem_word_bytes(hotspot->mem);
    for (unsigned i = 1; i < OBJECT_WORDS && addr - low >= (uint64_t)i * word; i++) {
        uint64_t klass = class_of(hotspot, addr - (uint64_t)i * word, addr);
        if (klass != 0)
            return read_class_name(hotspot, klass, out, bytes);
    }
    return false;
}

const struct cf_runtime cf_runtime_hotspot = {
    .name = "HotSpot",
    .suffix = " (Java)",
    .advice = "Look at the Java heap first: -Xmx and the heap that jcmd PID GC.heap_info shows; "
              "jcmd PID GC.class_histogram says what fills it; "
              "-XX:MaxDirectMemorySize bounds direct buffers",
    .trim = "jcmd PID System.trim_native_heap (JDK 17.0.9, 18 and later), or malloc_trim(0) by JNI",
    .recognises = recognises,
    .claim = claim,
    .state_bytes = sizeof(struct cf_hotspot),
    .open_objects = open_objects,
    .name_object = cf_hotspot_name,
};
