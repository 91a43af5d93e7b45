/* Types: what a chunk is, from its own words and from those of its owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "types/types.h"
#include "core/core.h"
#include "mem/mem.h"
#include "ptmalloc/chunkmap_build.h"
#include "synth.h"
#include "whole_mem.h"

enum { CODE = 0x400000, DATA = 0x500000, HEAP = 0x1000000, HEAP_BYTES = 0x10000, CHUNKS_MAX = 64 };

/* A program "/bin/prog" of a page of code and one of data, a heap, chunks side by side. */
struct world {
    struct synth *synth;
    uint64_t next;
    uint64_t chunks[CHUNKS_MAX];
    size_t nr_chunks;
    const char *path;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_chunkmap *map;
    struct cf_resolver resolver;
    struct cf_ranks ranks;
    struct cf_types *types;
};

static void world_init(struct world *w, const char *path) {
    memset(w, 0, sizeof *w);
    w->path = path;
    w->next = HEAP;
    w->synth = synth_new(CF_MACHINE_X86_64);
    synth_segment(w->synth, CODE, 0x1000, SYNTH_RX);
    synth_segment(w->synth, DATA, 0x1000, SYNTH_RW);
    synth_segment(w->synth, HEAP, HEAP_BYTES, SYNTH_RW);
    synth_file(w->synth, CODE, CODE + 0x1000, 0, path);
    synth_file(w->synth, DATA, DATA + 0x1000, 0x1000, path);
}

/* A live chunk for `request` bytes; returns its user address. */
static uint64_t add(struct world *w, uint64_t request) {
    uint64_t bytes = (request + 8 + 15) & ~15ull;
    assert_true(w->nr_chunks < CHUNKS_MAX);
    w->chunks[w->nr_chunks++] = w->next;
    w->next += bytes < 32 ? 32 : bytes;
    return w->chunks[w->nr_chunks - 1] + 16;
}

static void put(struct world *w, uint64_t at, uint64_t value) {
    synth_put_word(w->synth, at, value);
}

static bool test_symbol(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    (void)source;
    static const struct {
        uint64_t addr;
        const char *name;
    } symbols[] = {{DATA + 0x100, "vtable for shop::Cart"}, {DATA + 0x200, "file_ops"},
                   {DATA + 0x800, "PyDict_Type"}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (addr >= symbols[i].addr && addr < symbols[i].addr + 0x40) {
            (void)snprintf(out, bytes, "%s", symbols[i].name);
            *offset = addr - symbols[i].addr;
            return true;
        }
    return false;
}

static void settle(struct world *w) {
    struct cf_err err;
    static const struct cf_namer namer = {.symbol = test_symbol};
    struct cf_heap heap = {.start = HEAP, .first_chunk = HEAP, .end = w->next,
                           .chunks_end = w->next, .reserved_end = w->next};
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    assert_int_equal(cf_chunkmap_new(8, &w->map, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_add_heap(w->map, &heap, NULL), CF_OK);
    assert_int_equal(cf_chunkmap_seal_heaps(w->map, NULL), CF_OK);
    for (size_t i = 0; i < w->nr_chunks; i++)
        cf_chunkmap_set_start(w->map, cf_chunkmap_heap(w->map, 0), w->chunks[i]);
    assert_int_equal(cf_chunkmap_seal(w->map, NULL), CF_OK);
    assert_int_equal(cf_resolver_init(&w->resolver, w->mem, w->map, &err), CF_OK);
    assert_int_equal(cf_ranks_init(NULL, &w->ranks, &w->resolver, &err), CF_OK);
    const struct cf_types_input input = {.mem = w->mem, .resolver = &w->resolver,
                                         .ranks = &w->ranks, .namer = &namer};
    assert_int_equal(cf_types_new(&input, &w->types, &err), CF_OK);
    const struct cf_live_visitor visitor = cf_types_visitor(w->types);
    (void)cf_live_visit(NULL, w->mem, &w->ranks, &visitor, 1, NULL);
}

static void world_fini(struct world *w) {
    cf_types_free(w->types);
    cf_ranks_fini(&w->ranks);
    cf_resolver_fini(&w->resolver);
    cf_chunkmap_free(w->map);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
}

static void assert_type(struct world *w, uint64_t user, const char *name,
                        enum cf_type_evidence evidence) {
    const struct cf_type *type = cf_types_get(w->types, cf_types_at(w->types, user - 16));
    assert_string_equal(type->name, name);
    assert_int_equal(type->evidence, evidence);
}

static void tables_of_functions_name_their_objects(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    put(&w, DATA + 0x110, CODE + 0x10); /* a vtable's functions, behind its two words */
    put(&w, DATA + 0x200, CODE + 0x20); /* a table of operations */
    put(&w, DATA + 0x400, CODE + 0x30); /* nobody has a name for this one */
    uint64_t cart = add(&w, 100), file = add(&w, 40), other = add(&w, 40), plain = add(&w, 40);
    put(&w, cart, DATA + 0x110);
    put(&w, file, DATA + 0x200);
    put(&w, other, DATA + 0x400);
    put(&w, plain, DATA + 0x600); /* data of the module, but no table */
    settle(&w);
    assert_type(&w, cart, "shop::Cart", CF_EVIDENCE_VTABLE);
    assert_type(&w, file, "file_ops", CF_EVIDENCE_VTABLE);
    assert_type(&w, other, "vtable 0x500400", CF_EVIDENCE_VTABLE);
    assert_type(&w, plain, "", CF_EVIDENCE_SIZE);
    world_fini(&w);
}

static void rtti_names_a_class_without_symbols(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    put(&w, DATA + 0x400, CODE + 0x30);
    put(&w, DATA + 0x3f8, DATA + 0x480);         /* the type_info */
    put(&w, DATA + 0x488, DATA + 0x500);         /* its name */
    synth_put(w.synth, DATA + 0x500, "N4shop5OrderE", 14);
    uint64_t order = add(&w, 64);
    put(&w, order, DATA + 0x400);
    settle(&w);
    assert_type(&w, order, "shop::Order", CF_EVIDENCE_VTABLE);
    world_fini(&w);
}

static void buffers_are_named_by_their_owners(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    uint64_t owner = add(&w, 200), string = add(&w, 41), vector = add(&w, 80);
    uint64_t loose = add(&w, 400), global = add(&w, 31);
    put(&w, owner + 8, string);       /* std::string: pointer, length, capacity */
    put(&w, owner + 16, 30);
    put(&w, owner + 24, 40);
    put(&w, owner + 64, vector);      /* std::vector: begin, end, end of storage */
    put(&w, owner + 72, vector + 8);
    put(&w, owner + 80, vector + 80);
    put(&w, owner + 96, loose);       /* a capacity that does not fit the chunk */
    put(&w, owner + 104, 3);
    put(&w, owner + 112, 100);
    put(&w, DATA + 0x10, global);     /* an owner in the program's data */
    put(&w, DATA + 0x18, 20);
    put(&w, DATA + 0x20, 30);
    synth_fill(w.synth, string, 0xff, 30);
    synth_fill(w.synth, global, 0xff, 20);
    settle(&w);
    assert_type(&w, string, "std::string buffer", CF_EVIDENCE_OWNER);
    assert_type(&w, vector, "std::vector buffer", CF_EVIDENCE_OWNER);
    assert_type(&w, global, "std::string buffer", CF_EVIDENCE_OWNER);
    assert_type(&w, loose, "", CF_EVIDENCE_SIZE);
    world_fini(&w);
}

/* What a buffer looks like counts for less than who holds it, wherever the holder stands; of two
 * holders the first in the order of addresses is believed. */
static void an_owner_behind_its_buffer_names_it_too(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    uint64_t text = add(&w, 41), first = add(&w, 64), second = add(&w, 64), lone = add(&w, 41);
    synth_put(w.synth, text, "a text that is a string's", 25);
    synth_put(w.synth, lone, "a text that is nobody's", 23);
    put(&w, first, text); /* std::string: pointer, length, capacity */
    put(&w, first + 8, 25);
    put(&w, first + 16, 40);
    put(&w, second, text); /* std::vector: begin, end, end of storage */
    put(&w, second + 8, text + 8);
    put(&w, second + 16, text + 40);
    settle(&w);
    assert_type(&w, text, "std::string buffer", CF_EVIDENCE_OWNER);
    assert_type(&w, lone, "(text)", CF_EVIDENCE_TEXT);
    assert_int_equal(cf_types_count(NULL, w.types, NULL, NULL), CF_OK);
    for (uint32_t i = 1; i < cf_types_nr(w.types); i++)
        assert_int_equal(cf_types_get(w.types, i)->chunks, 1);
    world_fini(&w);
}

/* Where no temporary file can be made the answers are the same. */
static void types_need_no_temporary_file(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    uint64_t text = add(&w, 64);
    synth_put(w.synth, text, "SELECT name FROM users", 23);
    assert_int_equal(setenv("TMPDIR", "/proc/nowhere", 1), 0);
    settle(&w);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_type(&w, text, "(text)", CF_EVIDENCE_TEXT);
    world_fini(&w);
}

static void texts_and_arrays_show_in_their_bytes(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    uint64_t text = add(&w, 64), binary = add(&w, 64), array = add(&w, 64), small = add(&w, 24);
    synth_put(w.synth, text, "SELECT name FROM users", 23);
    synth_put(w.synth, binary, "SELECT \x01\x02 FROM users", 20);
    for (int i = 0; i < 6; i++)
        put(&w, array + 8 * i, text + 8 * i);
    synth_put(w.synth, small, "short", 6);
    settle(&w);
    assert_type(&w, text, "(text)", CF_EVIDENCE_TEXT);
    assert_type(&w, binary, "", CF_EVIDENCE_SIZE);
    assert_type(&w, array, "(array of pointers)", CF_EVIDENCE_POINTERS);
    assert_type(&w, small, "", CF_EVIDENCE_SIZE);
    world_fini(&w);
}

/* A CPython heap: `type` is a type; a type of the program has its name in the heap. */
static void put_python(struct world *w, uint64_t type_type, uint64_t user_type, uint64_t object,
                       uint64_t name) {
    put(w, type_type, 1);
    put(w, type_type + 8, type_type);
    put(w, user_type, 3);
    put(w, user_type + 8, type_type);
    put(w, user_type + 24, name);
    synth_put(w->synth, name, "Invoice", 8);
    put(w, object, 0x1000100);        /* PyGC_Head: no reference count of a person's belief */
    put(w, object + 16, 2);
    put(w, object + 24, user_type);
}

static void python_objects_are_named_by_their_type(void **state) {
    (void)state;
    static const struct {
        const char *path, *name;
        enum cf_type_evidence evidence;
    } cases[] = {{"/usr/bin/python3.11", "python Invoice", CF_EVIDENCE_SYMBOL},
                 {"/bin/prog", "", CF_EVIDENCE_SIZE}};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        world_init(&w, cases[i].path);
        uint64_t type = add(&w, 400), object = add(&w, 600), name = add(&w, 32);
        put_python(&w, DATA + 0x700, type, object, name);
        settle(&w);
        assert_type(&w, object, cases[i].name, cases[i].evidence);
        world_fini(&w);
    }
}

/* l_addr, l_name, l_ld, l_next, l_prev, l_real; an object of C++ may have a pointer to itself in
 * l_real's place, too. */
static void a_link_map_is_long_and_leads_to_a_dynamic_section(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes, dynamic, tag;
        const char *name;
    } cases[] = {
        {1150, DATA + 0x300, 1, "glibc link_map"}, {600, DATA + 0x300, 1, ""},
        {1150, DATA + 0x300, DATA, ""},            {1150, CODE + 0x300, 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        world_init(&w, "/bin/prog");
        uint64_t map = add(&w, cases[i].bytes), held = add(&w, 200);
        put(&w, cases[i].dynamic, cases[i].tag);
        put(&w, map + 16, cases[i].dynamic);
        put(&w, map + 40, map);
        put(&w, map + 64, held);
        settle(&w);
        enum cf_type_evidence evidence = i == 0 ? CF_EVIDENCE_LIBC : CF_EVIDENCE_SIZE;
        assert_type(&w, map, cases[i].name, evidence);
        assert_type(&w, held, i == 0 ? "glibc loader data" : "", evidence);
        world_fini(&w);
    }
}

static void counts_sum_to_all_live_chunks(void **state) {
    (void)state;
    struct world w;
    uint64_t chunks = 0, bytes = 0;
    world_init(&w, "/bin/prog");
    for (int i = 0; i < 20; i++) {
        uint64_t text = add(&w, 32 + 8 * i);
        if (i % 2)
            synth_put(w.synth, text, "a text of some length", 22);
    }
    settle(&w);
    assert_int_equal(cf_types_count(NULL, w.types, NULL, NULL), CF_OK);
    for (uint32_t i = 0; i < cf_types_nr(w.types); i++) {
        chunks += cf_types_get(w.types, i)->chunks;
        bytes += cf_types_get(w.types, i)->bytes;
    }
    assert_int_equal(chunks, 20);
    assert_int_equal(bytes, w.next - HEAP);
    assert_int_equal(cf_types_get(w.types, 0)->chunks, 10);
    world_fini(&w);
}

static void type_0_has_no_name(void **state) {
    (void)state;
    struct world w;
    world_init(&w, "/bin/prog");
    settle(&w);
    assert_int_equal(cf_types_nr(w.types), 1);
    assert_null(cf_types_name(w.types, 0));
    assert_null(cf_types_name(NULL, 3));
    world_fini(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_functions_name_their_objects),
        cmocka_unit_test(rtti_names_a_class_without_symbols),
        cmocka_unit_test(buffers_are_named_by_their_owners),
        cmocka_unit_test(an_owner_behind_its_buffer_names_it_too),
        cmocka_unit_test(types_need_no_temporary_file),
        cmocka_unit_test(texts_and_arrays_show_in_their_bytes),
        cmocka_unit_test(python_objects_are_named_by_their_type),
        cmocka_unit_test(a_link_map_is_long_and_leads_to_a_dynamic_section),
        cmocka_unit_test(counts_sum_to_all_live_chunks),
        cmocka_unit_test(type_0_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
