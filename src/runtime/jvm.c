/*
 * HotSpot's memory: the Java heap, the code cache, class data (metaspace, the class space, the
 * shared archive), the collector's card table. Its own VMStructs say where each lies; without
 * them the heap and the code cache are guessed by shape.
 *
 * ZGC's heap is a memfd ("java_heap") that up to 20 is mapped three times: it names itself.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/managed.h"
#include "space/unclaimed.h"
#include "runtime/vmstructs.h"
#include "base/checked.h"

#define HEAP_GUESS_BYTES (32ull << 20)
#define LOW_HEAP_END (64ull << 30) /* compressed pointers: the heap begins below 32 GiB */
enum { LOADERS_MAX = 1 << 14, CLASSES_MAX = 1 << 18, CLASS_RANGES_MAX = 256 };

static const char heap_label[] = "Java heap (HotSpot)";
static const char code_label[] = "Java code cache";
static const char class_label[] = "Java class data";

static int claim_bytes(const struct cf_managed *managed, uint64_t start, uint64_t bytes,
                       const char *label, struct cf_err *err) {
    uint64_t end;
    if (!cf_add_u64(start, bytes, &end))
        return CF_OK;
    return cf_claims_add(managed->out, CF_CLAIM_MANAGED, start, end, label, err);
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
    return claim_bytes(managed, start, bytes, heap_label, err);
}

/* CodeCache has its bounds since 9; before, one CodeHeap has them. */
static int claim_code(const struct cf_managed *managed, const struct cf_vmstructs *vm,
                      struct cf_err *err) {
    uint64_t low, high, heap, memory;
    if (cf_vmstructs_static(vm, "CodeCache", "_low_bound", &low) &&
        cf_vmstructs_static(vm, "CodeCache", "_high_bound", &high))
        return cf_claims_add(managed->out, CF_CLAIM_MANAGED, low, high, code_label, err);
    if (cf_vmstructs_static(vm, "CodeCache", "_heap", &heap) &&
        cf_vmstructs_place(vm, heap, "CodeHeap", "_memory", &memory) &&
        cf_vmstructs_member(vm, memory, "VirtualSpace", "_low_boundary", &low) &&
        cf_vmstructs_member(vm, memory, "VirtualSpace", "_high_boundary", &high))
        return cf_claims_add(managed->out, CF_CLAIM_MANAGED, low, high, code_label, err);
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
    return claim_bytes(managed, map, bytes, "Java GC card table", err);
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

/* The mapping that holds class data, and the rest of its reservation behind it. */
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
    while (cf_unclaimed_next(&walk, &piece) && piece.start == end && piece.flags == 0)
        end = piece.end;
    space->ranges[space->nr_ranges].start = start;
    space->ranges[space->nr_ranges++].end = end;
    return cf_claims_add(managed->out, CF_CLAIM_MANAGED, start, end, class_label, err);
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
        const char *label = NULL;
        if (strstr(file->path, "memfd:java_heap") != NULL)
            label = "Java heap (HotSpot, ZGC)";
        else if (length > 4 && strcmp(file->path + length - 4, ".jsa") == 0)
            label = class_label;
        if (label == NULL)
            continue;
        int status =
            cf_claims_add(managed->out, CF_CLAIM_MANAGED, file->start, file->end, label, err);
        if (status == CF_OK && label != class_label)
            status = cf_unclaimed_take_reserve(managed->mem, managed->taken, file->end,
                                               CF_CLAIM_MANAGED, label, managed->out, err);
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
            status = claim_bytes(managed, run->start, run->end - run->start,
                                 "Java code cache (guess)", err);
    }
    const struct cf_run *heap = guess_heap(&runs);
    if (status == CF_OK && heap != NULL)
        status = claim_bytes(managed, heap->start, heap->end - heap->start,
                             "Java heap (HotSpot, guess)", err);
    cf_runs_fini(&runs);
    return status;
}

int cf_jvm_claim(const struct cf_managed *managed, struct cf_err *err) {
    const struct cf_module *libjvm = cf_managed_module(managed->modules, "libjvm.so");
    struct cf_vmstructs vm;
    if (libjvm == NULL)
        return CF_OK;
    int status = CF_OK;
    if (cf_vmstructs_open(managed->mem, libjvm, &vm)) {
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
