/* What has a word in a runtime's heap: heads of objects, and what only looks so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "runtime/jvm.h"
#include "runtime/runtimes.h"
#include "core/core.h"
#include "synth.h"
#include "whole_mem.h"

#define HEAP 0x7f0000000000u
#define OTHER 0x7f1000000000u
#define CLASSES 0x800000000u
#define LIBJVM 0x7f2000000000u
enum { PAGE = 4096, VARIABLES = 0x500000, BUFFER_TYPE = 2062, VIEW_TYPE = 2061 };

struct world {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
    struct cf_claims claims;
    struct cf_objects objects;
    struct cf_hotspot hotspot; /* as VMStructs would have told it */
};

static uint8_t number_of(const struct cf_runtime *runtime) {
    for (uint8_t i = 1; i <= CF_NR_RUNTIMES; i++)
        if (cf_runtime_of(i) == runtime)
            return i;
    fail();
    return 0;
}

static bool find_variable(void *source, const char *name, uint64_t *addr) {
    (void)source;
    static const char *const names[] = {"v8dbg_class_Map__instance_type__uint16_t",
                                        "v8dbg_type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE",
                                        "v8dbg_type_JSTypedArray__JS_TYPED_ARRAY_TYPE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *addr = VARIABLES + 8 * i;
            return true;
        }
    return false;
}

static struct world begin(const struct cf_runtime *runtime, enum cf_claim_area area) {
    struct world w = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(w.synth, VARIABLES, PAGE, SYNTH_RW);
    synth_put_u32(w.synth, VARIABLES, 12);
    synth_put_u32(w.synth, VARIABLES + 8, BUFFER_TYPE);
    synth_put_u32(w.synth, VARIABLES + 16, VIEW_TYPE);
    synth_segment(w.synth, CLASSES, PAGE, SYNTH_RW);
    synth_segment(w.synth, HEAP, 4 * PAGE, SYNTH_RW);
    synth_segment(w.synth, OTHER, PAGE, SYNTH_RW);
    synth_segment(w.synth, LIBJVM, PAGE, SYNTH_RW);
    const struct cf_claimant who = {CF_CLAIM_MANAGED, "its heap", number_of(runtime), area};
    assert_int_equal(cf_claims_add_for(&w.claims, &who, HEAP, HEAP + 4 * PAGE, NULL), CF_OK);
    assert_int_equal(cf_claims_add(&w.claims, CF_CLAIM_STACK, OTHER, OTHER + PAGE, "", NULL),
                     CF_OK);
    assert_int_equal(cf_claims_seal(&w.claims, NULL), CF_OK);
    return w;
}

static void put(struct world *w, uint64_t at, uint64_t value) {
    synth_put_word(w->synth, at, value);
}

static void settle(struct world *w) {
    struct cf_err err;
    const struct cf_variables variables = {.find = find_variable};
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "toy", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    assert_int_equal(cf_modules_new(w->mem, &w->modules, &err), CF_OK);
    const struct cf_objects_input input = {
        .mem = w->mem, .modules = w->modules, .claims = &w->claims, .variables = &variables,
    };
    assert_int_equal(cf_objects_open(&w->objects, &input, NULL), CF_OK);
}

static void end(struct world *w) {
    cf_objects_fini(&w->objects);
    cf_claims_fini(&w->claims);
    cf_modules_free(w->modules);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
}

static void assert_name(const struct world *w, uint64_t addr, const char *name) {
    char out[64];
    const struct cf_claim *heap = cf_objects_heap(&w->objects, addr);
    bool is_known = heap != NULL && w->hotspot.mem == NULL
                        ? cf_objects_name(&w->objects, heap, addr, out, sizeof out)
                        : heap != NULL && cf_hotspot_name(&w->hotspot, addr, heap->start, out,
                                                          sizeof out);
    assert_int_equal(is_known, name != NULL);
    if (name != NULL)
        assert_string_equal(out, name);
}

static void a_heap_has_its_label_and_nothing_else_has(void **state) {
    (void)state;
    struct world w = begin(&cf_runtime_v8, CF_AREA_OBJECTS);
    settle(&w);
    assert_string_equal(cf_objects_heap(&w.objects, HEAP + 8)->label, "its heap");
    assert_null(cf_objects_heap(&w.objects, HEAP + 4 * PAGE));
    assert_null(cf_objects_heap(&w.objects, OTHER + 8)); /* claimed, but no runtime's */
    assert_null(cf_objects_heap(&w.objects, CLASSES));
    assert_name(&w, HEAP + 64, NULL); /* no object before it */
    assert_name(&w, OTHER + 64, NULL);
    end(&w);
}

/* ---- V8 ---- */

/* The map of maps at HEAP; a map at `at` of objects of `type`. */
static void put_map(struct world *w, uint64_t at, unsigned type) {
    put(w, HEAP, HEAP + 1);
    put(w, at, HEAP + 1);
    put(w, at + 8, (uint64_t)type << 32);
}

static void an_object_of_v8_is_known_by_its_map(void **state) {
    (void)state;
    struct world w = begin(&cf_runtime_v8, CF_AREA_OBJECTS);
    put_map(&w, HEAP + 0x100, BUFFER_TYPE);
    put_map(&w, HEAP + 0x140, VIEW_TYPE);
    put_map(&w, HEAP + 0x180, 1057);
    put(&w, HEAP + 0x400, HEAP + 0x100 + 1);
    put(&w, HEAP + 0x600, HEAP + 0x140 + 1);
    put(&w, HEAP + 0x800, HEAP + 0x180 + 1); /* some other kind ends the looking */
    put(&w, HEAP + 0x7f0, HEAP + 0x100 + 1);
    settle(&w);
    assert_name(&w, HEAP + 0x430, "JSArrayBuffer");
    assert_name(&w, HEAP + 0x640, "JSArrayBuffer");
    assert_name(&w, HEAP + 0x810, NULL);
    assert_name(&w, HEAP + 0x7f8, "JSArrayBuffer");
    end(&w);
}

static void what_the_collector_moved_is_known_by_where_it_went(void **state) {
    (void)state;
    struct world w = begin(&cf_runtime_v8, CF_AREA_OBJECTS);
    put_map(&w, HEAP + 0x100, BUFFER_TYPE);
    put(&w, HEAP + 0x400, HEAP + 0x800); /* moved twice */
    put(&w, HEAP + 0x800, HEAP + 0xc00);
    put(&w, HEAP + 0xc00, HEAP + 0x100 + 1);
    put(&w, HEAP + 0xe00, HEAP + 0xe00); /* a circle */
    settle(&w);
    assert_name(&w, HEAP + 0x430, "JSArrayBuffer");
    assert_name(&w, HEAP + 0xe10, NULL);
    end(&w);
}

static void only_the_heap_of_the_same_runtime_has_its_objects(void **state) {
    (void)state;
    const struct {
        const struct cf_runtime *runtime;
        enum cf_claim_area area;
    } cases[] = {
        {&cf_runtime_hotspot, CF_AREA_OBJECTS}, {&cf_runtime_golang, CF_AREA_OBJECTS},
        {&cf_runtime_cpython, CF_AREA_OBJECTS}, {&cf_runtime_v8, CF_AREA_CODE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = begin(cases[i].runtime, cases[i].area);
        put_map(&w, HEAP + 0x100, BUFFER_TYPE);
        put(&w, HEAP + 0x400, HEAP + 0x100 + 1);
        settle(&w);
        assert_non_null(cf_objects_heap(&w.objects, HEAP + 0x430));
        assert_name(&w, HEAP + 0x430, NULL);
        end(&w);
    }
}

/* ---- HotSpot ---- */

enum { NAME_AT = 24, LAYOUT_AT = 8, LENGTH_AT = 0, BODY_AT = 6, SHIFT = 3 };

static void put_class(struct world *w, uint64_t klass, uint32_t layout, const char *name) {
    put(w, LIBJVM, LIBJVM + 0x10); /* its table of functions */
    put(w, klass, LIBJVM);
    synth_put_u32(w->synth, klass + LAYOUT_AT, layout);
    put(w, klass + NAME_AT, klass + 0x40);
    synth_put_u32(w->synth, klass + 0x40 + LENGTH_AT, (uint32_t)strlen(name));
    synth_put(w->synth, klass + 0x40 + BODY_AT, name, strlen(name));
}

static void settle_java(struct world *w) {
    settle(w);
    w->hotspot = (struct cf_hotspot){
        .mem = w->mem, .code_start = LIBJVM, .code_end = LIBJVM + PAGE, .has_narrow = true,
        .class_base = CLASSES, .class_shift = SHIFT, .name_at = NAME_AT, .layout_at = LAYOUT_AT,
        .length_at = LENGTH_AT, .body_at = BODY_AT,
    };
}

static uint64_t narrow(uint64_t klass) {
    return (klass - CLASSES) >> SHIFT;
}

static void an_object_of_java_is_known_by_its_class(void **state) {
    (void)state;
    static const uint64_t klass = CLASSES + 0x200;
    const struct {
        uint64_t mark, second;
    } heads[] = {
        {1, narrow(klass) | 0x5ull << 32}, /* half a word, then the first field */
        {1, klass},
        {1 | narrow(klass) << 42, 0},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct world w = begin(&cf_runtime_hotspot, CF_AREA_OBJECTS);
        put_class(&w, klass, 64, "java/nio/DirectByteBuffer");
        put(&w, HEAP + 0x400, heads[i].mark);
        put(&w, HEAP + 0x408, heads[i].second);
        settle_java(&w);
        assert_name(&w, HEAP + 0x410, "java.nio.DirectByteBuffer");
        assert_name(&w, HEAP + 0x438, "java.nio.DirectByteBuffer");
        assert_name(&w, HEAP + 0x440, NULL); /* behind its end */
        end(&w);
    }
}

static void an_array_reaches_as_far_as_it_is_long(void **state) {
    (void)state;
    struct world w = begin(&cf_runtime_hotspot, CF_AREA_OBJECTS);
    put_class(&w, CLASSES + 0x200, 0xc0u << 24 | 16u << 16 | 11u << 8 | 3u, "[J");
    put(&w, HEAP + 0x400, 1);
    put(&w, HEAP + 0x408, narrow(CLASSES + 0x200) | 6ull << 32); /* six longs */
    settle_java(&w);
    assert_name(&w, HEAP + 0x410, "[J");
    assert_name(&w, HEAP + 0x438, "[J");
    assert_name(&w, HEAP + 0x440, NULL);
    end(&w);
}

static void only_a_name_is_told(void **state) {
    (void)state;
    static const char *const names[] = {"secret=1", "a\x1b[31m", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct world w = begin(&cf_runtime_hotspot, CF_AREA_OBJECTS);
        put_class(&w, CLASSES + 0x200, 64, names[i]);
        put(&w, HEAP + 0x400, 1);
        put(&w, HEAP + 0x408, narrow(CLASSES + 0x200));
        settle_java(&w);
        assert_name(&w, HEAP + 0x410, NULL);
        end(&w);
    }
}

static void what_has_no_functions_of_libjvm_is_no_class(void **state) {
    (void)state;
    struct world w = begin(&cf_runtime_hotspot, CF_AREA_OBJECTS);
    put_class(&w, CLASSES + 0x200, 64, "java/lang/Object");
    put(&w, CLASSES + 0x200, OTHER);
    put(&w, HEAP + 0x400, 1);
    put(&w, HEAP + 0x408, narrow(CLASSES + 0x200));
    settle_java(&w);
    assert_name(&w, HEAP + 0x410, NULL);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_has_its_label_and_nothing_else_has),
        cmocka_unit_test(an_object_of_v8_is_known_by_its_map),
        cmocka_unit_test(what_the_collector_moved_is_known_by_where_it_went),
        cmocka_unit_test(only_the_heap_of_the_same_runtime_has_its_objects),
        cmocka_unit_test(an_object_of_java_is_known_by_its_class),
        cmocka_unit_test(an_array_reaches_as_far_as_it_is_long),
        cmocka_unit_test(only_a_name_is_told),
        cmocka_unit_test(what_has_no_functions_of_libjvm_is_no_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
