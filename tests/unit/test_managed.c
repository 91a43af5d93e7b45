/* Runtimes and other mallocs, by the traces that they leave in synthetic cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "space/allocators.h"
#include "runtime/golang.h"
#include "runtime/runtimes.h"
#include "base/cleanup.h"
#include "synth.h"
#include "whole_mem.h"

enum { PAGE = 4096 };
#define MIB ((uint64_t)1 << 20)
#define EXE 0x400000u
#define HEAP 0x7f0000000000u

struct world {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
    struct cf_claims taken;
    struct cf_claims found;
};

static void close_world(struct world *w) {
    cf_claims_fini(&w->found);
    cf_claims_fini(&w->taken);
    cf_modules_free(w->modules);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
}

/* A program of one page, by its entry point, and its writable data above. */
static struct world new_world(enum cf_machine machine, const char *exe) {
    struct world w = {.synth = synth_new(machine)};
    synth_segment(w.synth, EXE, PAGE, SYNTH_R);
    synth_put(w.synth, EXE, ELFMAG, SELFMAG);
    synth_segment(w.synth, EXE + PAGE, PAGE, SYNTH_RW);
    synth_fill(w.synth, EXE + PAGE, 0, PAGE);
    synth_file(w.synth, EXE, EXE + PAGE, 0, exe);
    synth_file(w.synth, EXE + PAGE, EXE + 2 * PAGE, PAGE, exe);
    synth_auxv(w.synth, AT_ENTRY, EXE + 0x10);
    return w;
}

static void open_world(struct world *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "toy", NULL, &w->core, &err), 0);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), 0);
    assert_int_equal(cf_modules_new(w->mem, &w->modules, &err), 0);
}

static void find(struct world *w) {
    if (w->core == NULL)
        open_world(w);
    const struct cf_managed managed = {
        .mem = w->mem, .modules = w->modules, .taken = &w->taken, .out = &w->found};
    assert_int_equal(cf_claims_seal(&w->taken, NULL), CF_OK);
    assert_int_equal(cf_runtimes_claim(&managed, NULL), CF_OK);
    assert_int_equal(cf_claims_seal(&w->found, NULL), CF_OK);
}

/* Bytes that are claimed under `label`; the kind is always the same, and who claims is known. */
static uint64_t claimed(const struct world *w, const char *label) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->found.rows.len; i++) {
        const struct cf_claim *claim = &w->found.rows.items[i];
        assert_int_equal(claim->kind, CF_CLAIM_MANAGED);
        assert_non_null(cf_runtime_of(claim->runtime));
        assert_int_not_equal(claim->area, CF_AREA_NONE);
        if (strcmp(claim->label, label) == 0)
            bytes += claim->end - claim->start;
    }
    return bytes;
}

/* ---- the table ---- */

static void a_runtime_is_recognised_by_what_it_brings_and_not_elsewhere(void **state) {
    (void)state;
    static const struct {
        const struct cf_runtime *runtime;
        const char *exe, *library;
    } cases[] = {
        {&cf_runtime_hotspot, "/usr/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"},
        {&cf_runtime_cpython, "/usr/bin/python3.12", "/usr/lib/libz.so.1"},
        {&cf_runtime_cpython, "/usr/sbin/uwsgi", "/usr/lib/libpython3.11.so.1.0"},
        {&cf_runtime_dotnet, "/usr/bin/dotnet", "/usr/share/dotnet/libcoreclr.so"},
        {NULL, "/usr/sbin/nginx", "/usr/lib/libz.so.1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, cases[i].exe);
        synth_segment(w.synth, HEAP, PAGE, SYNTH_R);
        synth_file(w.synth, HEAP, HEAP + PAGE, 0, cases[i].library);
        open_world(&w);
        for (size_t j = 0; j < CF_NR_RUNTIMES; j++)
            if (cf_runtimes[j]->recognises != NULL)
                assert_int_equal(cf_runtimes[j]->recognises(w.mem, w.modules),
                                 cf_runtimes[j] == cases[i].runtime);
    }
}

static void every_row_of_the_table_is_whole(void **state) {
    (void)state;
    assert_null(cf_runtime_of(0));
    assert_null(cf_runtime_of(CF_NR_RUNTIMES + 1));
    for (uint8_t i = 1; i <= CF_NR_RUNTIMES; i++) {
        const struct cf_runtime *runtime = cf_runtime_of(i);
        assert_true(runtime->name[0] != '\0' && runtime->advice[0] != '\0');
        assert_non_null(runtime->suffix);
        assert_non_null(runtime->claim);
        assert_int_equal(runtime->open_objects != NULL, runtime->name_object != NULL);
        assert_int_equal(runtime->open_objects != NULL, runtime->state_bytes > 0);
        for (uint8_t j = 1; j < i; j++)
            assert_string_not_equal(cf_runtime_of(j)->name, runtime->name);
    }
}

/* ---- V8 ---- */

enum { V8_PAGE = 0x40000 };

static void put_v8_page(struct world *w, uint64_t addr, uint64_t size, unsigned word) {
    synth_put_word(w->synth, addr, size);
    synth_put_word(w->synth, addr + word * 8, addr);
    synth_put_word(w->synth, addr + word * 8 + 8, size);
}

static void pages_of_v8_are_known_by_their_header(void **state) {
    (void)state;
    static const unsigned words[] = {1, 10, 12, 30};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/node");
        synth_segment(w.synth, HEAP, 8 * V8_PAGE, SYNTH_RW);
        put_v8_page(&w, HEAP, V8_PAGE, words[i]);
        put_v8_page(&w, HEAP + V8_PAGE, 3 * V8_PAGE - PAGE, words[i]); /* a large object's */
        put_v8_page(&w, HEAP + 6 * V8_PAGE, V8_PAGE, words[i]);
        find(&w);
        assert_int_equal(claimed(&w, "V8 heap (node)"), 5 * V8_PAGE - PAGE);
    }
}

static void the_reserve_behind_a_page_of_v8_is_its(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/opt/chrome");
    synth_segment(w.synth, HEAP, V8_PAGE, SYNTH_RW);
    synth_segment(w.synth, HEAP + V8_PAGE, 100 * MIB, SYNTH_NONE)->file_bytes = 0;
    put_v8_page(&w, HEAP, V8_PAGE, 10);
    find(&w);
    assert_int_equal(claimed(&w, "V8 heap"), V8_PAGE + 100 * MIB);
}

static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* 120 TB of reserved addresses, of which next to nothing was dumped, cost no time. */
static void reserved_addresses_are_stepped_over(void **state) {
    (void)state;
    static const char *const programs[] = {"/usr/bin/node", "/usr/bin/python3.12", "/bin/other"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, programs[i]);
        uint64_t far = HEAP + (1ull << 46);
        synth_segment(w.synth, HEAP, 1ull << 46, SYNTH_RW)->file_bytes = 2 * PAGE;
        synth_segment(w.synth, far, 4 * V8_PAGE, SYNTH_RW);
        put_v8_page(&w, far, V8_PAGE, 10);
        open_world(&w);
        double before = cpu_seconds();
        find(&w);
        struct cf_allocator allocator;
        assert_false(cf_allocator_find(w.mem, w.modules, true, &allocator));
        assert_true(cpu_seconds() - before < 1);
        if (i == 0)
            assert_int_equal(claimed(&w, "V8 heap (node)"), V8_PAGE);
    }
}

static void what_only_resembles_a_page_of_v8_is_none(void **state) {
    (void)state;
    static const struct {
        uint64_t first, base, size;
        uint64_t shift; /* off the alignment */
        unsigned word;
    } cases[] = {
        {V8_PAGE, HEAP + 8, V8_PAGE, 0, 10}, {V8_PAGE, HEAP, V8_PAGE + PAGE, 0, 10},
        {0, HEAP, 0, 0, 10},                 {V8_PAGE + 1, HEAP, V8_PAGE + 1, 0, 10},
        {V8_PAGE, HEAP, V8_PAGE, PAGE, 10},  {V8_PAGE, HEAP, V8_PAGE, 0, 33},
        {1ull << 50, HEAP, 1ull << 50, 0, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/node");
        uint64_t at = HEAP + cases[i].shift;
        synth_segment(w.synth, HEAP, 2 * V8_PAGE, SYNTH_RW);
        synth_put_word(w.synth, at, cases[i].first);
        synth_put_word(w.synth, at + cases[i].word * 8, cases[i].base + cases[i].shift);
        synth_put_word(w.synth, at + cases[i].word * 8 + 8, cases[i].size);
        find(&w);
        assert_int_equal(w.found.rows.len, 0);
    }
}

/* ---- Go ---- */

static void put_build_info(struct world *w, uint64_t addr) {
    static const char info[] = "\xff Go buildinf:\x08\x02" /* words of 8 bytes, texts follow */
                               "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                               "\x08go1.22.1";
    synth_put(w->synth, addr, info, sizeof info - 1);
}

static void arenas_of_go_stand_at_its_hints(void **state) {
    (void)state;
    for (int with_libc = 0; with_libc < 2; with_libc++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/go-server");
        put_build_info(&w, EXE + PAGE + 0x40);
        synth_segment(w.synth, 0xc000000000u, 4 * MIB, SYNTH_RW);
        synth_segment(w.synth, 0xc000400000u, 60 * MIB, SYNTH_NONE)->file_bytes = 0;
        synth_segment(w.synth, 0x1c000000000u, 64 * MIB, SYNTH_RW)->file_bytes = 0;
        synth_segment(w.synth, HEAP, MIB, SYNTH_RW);
        if (with_libc)
            synth_file(w.synth, HEAP + 4 * MIB, HEAP + 5 * MIB, 0, "/lib/libc.so.6");
        open_world(&w);
        assert_int_equal(cf_claims_add(&w.taken, CF_CLAIM_STACK, 0xc000100000u, 0xc000101000u, "",
                                       NULL),
                         CF_OK);
        find(&w);
        assert_int_equal(claimed(&w, "Go heap (go1.22.1)"), 128 * MIB);
        assert_int_equal(claimed(&w, "Go runtime (guess)"), with_libc ? 0 : MIB);
    }
}

static void without_build_information_it_is_not_go(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/server");
    synth_segment(w.synth, 0xc000000000u, 4 * MIB, SYNTH_RW);
    find(&w);
    assert_int_equal(w.found.rows.len, 0);
}

static void the_version_of_an_old_go_program_is_not_known(void **state) {
    (void)state;
    static const char old[] = "\xff Go buildinf:\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/server");
    char version[16];
    synth_put(w.synth, EXE + PAGE, old, sizeof old - 1);
    find(&w);
    assert_true(cf_golang_version(w.mem, w.modules, version, sizeof version));
    assert_string_equal(version, "go");
}

/* ---- CPython ---- */

/* A pool in use: half of its blocks, the first of them free again. */
static void put_pool(struct world *w, uint64_t addr, uint32_t pool_bytes, unsigned size_class,
                     unsigned alignment) {
    uint32_t size = (size_class + 1) * alignment, blocks = (pool_bytes - 48) / size;
    synth_put_word(w->synth, addr, blocks / 2);
    synth_put_word(w->synth, addr + 8, addr + 48);
    synth_put_word(w->synth, addr + 16, addr);
    synth_put_word(w->synth, addr + 24, addr);
    synth_put_u32(w->synth, addr + 36, size_class);
    synth_put_u32(w->synth, addr + 40, 48 + size * (blocks / 2));
    synth_put_u32(w->synth, addr + 44, pool_bytes - size);
}

static void arenas_of_python_are_known_by_their_pools(void **state) {
    (void)state;
    static const struct {
        uint32_t pool, arena;
        unsigned alignment;
    } shapes[] = {{16384, 1 << 20, 16}, {4096, 256 << 10, 16}, {4096, 256 << 10, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/bin/python3.12");
        /* three arenas off their pools' alignment, and half a one of something else */
        uint64_t start = HEAP + PAGE;
        synth_segment(w.synth, start, 7 * (uint64_t)shapes[i].arena / 2, SYNTH_RW);
        for (uint64_t at = HEAP + shapes[i].pool; at < start + 3 * (uint64_t)shapes[i].arena;
             at += shapes[i].pool)
            put_pool(&w, at, shapes[i].pool, (unsigned)(at / shapes[i].pool % 32),
                     shapes[i].alignment);
        find(&w);
        assert_int_equal(claimed(&w, "Python objects (pymalloc)"), 3 * (uint64_t)shapes[i].arena);
        assert_int_equal(w.found.rows.len, 1);
    }
}

static void other_memory_of_python_is_not_its_objects(void **state) {
    (void)state;
    enum { EMPTY, FULL_OF_WORDS, FEW_POOLS, HALF_POOLS, NOT_PYTHON, NR_CASES };
    for (int i = 0; i < NR_CASES; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(
            CF_MACHINE_X86_64, i == NOT_PYTHON ? "/usr/bin/perl" : "/usr/bin/python3");
        synth_segment(w.synth, HEAP, 2 * MIB, SYNTH_RW);
        if (i == FULL_OF_WORDS || i == HALF_POOLS)
            synth_fill(w.synth, HEAP, 0x11, (size_t)MIB);
        for (unsigned pool = 0; pool < 64; pool++)
            if ((i == FEW_POOLS && pool < 3) || (i == HALF_POOLS && pool % 2 == 0) ||
                i == NOT_PYTHON)
                put_pool(&w, HEAP + pool * 16384, 16384, 3, 16);
        find(&w);
        assert_int_equal(w.found.rows.len, 0);
    }
}

/* ---- .NET ---- */

static void reservations_of_dotnet_are_told_by_shape(void **state) {
    (void)state;
    for (int has_runtime = 0; has_runtime < 2; has_runtime++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/dotnet");
        synth_segment(w.synth, HEAP, 2 * MIB, SYNTH_RW)->file_bytes = 0;
        synth_segment(w.synth, HEAP + 2 * MIB, 254 * MIB, SYNTH_NONE)->file_bytes = 0;
        synth_segment(w.synth, HEAP + 512 * MIB, MIB, SYNTH_RX | 2)->file_bytes = 0;
        synth_segment(w.synth, HEAP + 513 * MIB, MIB, SYNTH_R)->file_bytes = 0;
        synth_segment(w.synth, HEAP + 514 * MIB, 100 * MIB, SYNTH_NONE)->file_bytes = 0;
        synth_segment(w.synth, HEAP + 1024 * MIB, MIB, SYNTH_RW)->file_bytes = 0;
        synth_file(w.synth, HEAP + 513 * MIB, HEAP + 514 * MIB, 0, "/app/server.dll");
        synth_segment(w.synth, HEAP + 2048 * MIB, PAGE, SYNTH_R);
        synth_file(w.synth, HEAP + 2048 * MIB, HEAP + 2048 * MIB + PAGE, 0,
                   has_runtime ? "/usr/share/dotnet/libcoreclr.so" : "/usr/lib/libother.so");
        find(&w);
        assert_int_equal(claimed(&w, "GC heap (.NET, guess)"), has_runtime ? 256 * MIB : 0);
        assert_int_equal(claimed(&w, "code and loader (.NET, guess)"),
                         has_runtime ? 101 * MIB : 0);
    }
}

/* ---- HotSpot ---- */

#define JVM 0x7f8000000000u
#define JAVA_HEAP 0xe0000000u
enum {
    DYNAMIC = 0x1000, HASH = 0x1200, SYMBOLS = 0x1800, STRINGS = 0x2000, TEXTS = 0x2400,
    VALUES = 0x3000, TABLE = 0x4000, STATICS = 0x5000, OBJECTS = 0x5800, JVM_BYTES = 0x6000,
};

/* libjvm as far as it matters: dynamic symbols, and the table that they lead to. */
struct libjvm {
    struct world *w;
    unsigned nr_symbols, nr_rows;
    uint32_t string_at, text_at;
};

static uint64_t put_text(struct libjvm *jvm, const char *text) {
    uint64_t addr = JVM + TEXTS + jvm->text_at;
    synth_put(jvm->w->synth, addr, text, strlen(text) + 1);
    jvm->text_at += (uint32_t)strlen(text) + 1;
    return addr;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* A symbol in the one bucket of the hash table, and the word that it stands for. */
static void put_symbol(struct libjvm *jvm, const char *name, uint64_t word) {
    unsigned index = ++jvm->nr_symbols;
    Elf64_Sym symbol = {.st_name = jvm->string_at, .st_shndx = 1,
                        .st_value = VALUES + 8 * index};
    struct synth *synth = jvm->w->synth;
    synth_put(synth, JVM + SYMBOLS + index * sizeof symbol, &symbol, sizeof symbol);
    synth_put(synth, JVM + STRINGS + jvm->string_at, name, strlen(name) + 1);
    jvm->string_at += (uint32_t)strlen(name) + 1;
    synth_put_word(synth, JVM + VALUES + 8 * index, word);
    synth_put_u32(synth, JVM + HASH + 16 + 8 + 4 + 4 * (index - 1), hash_of(name) & ~1u);
}

static void put_headers(struct libjvm *jvm) {
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr phdrs[2];
    } image = {
        .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
        .phdrs = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC}},
    };
    const uint64_t dynamic[] = {DT_SYMTAB, JVM + SYMBOLS, /* relocated, as glibc leaves it */
                                DT_STRTAB, STRINGS,       /* not, as musl does */
                                DT_GNU_HASH, JVM + HASH, DT_NULL, 0};
    struct synth *synth = jvm->w->synth;
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    synth_segment(synth, JVM, JVM_BYTES, SYNTH_RW);
    synth_file(synth, JVM, JVM + JVM_BYTES, 0, "/usr/lib/jvm/lib/server/libjvm.so");
    synth_put(synth, JVM, &image, sizeof image);
    for (size_t i = 0; i < sizeof dynamic / sizeof dynamic[0]; i++)
        synth_put_word(synth, JVM + DYNAMIC + 8 * i, dynamic[i]);
    synth_put_u32(synth, JVM + HASH, 1);     /* buckets */
    synth_put_u32(synth, JVM + HASH + 4, 1); /* first symbol */
    synth_put_u32(synth, JVM + HASH + 8, 1); /* words of the filter */
    synth_put_u32(synth, JVM + HASH + 24, 1);
}

/* A row: type, field, (its type), is static, offset, address. */
static void put_field(struct libjvm *jvm, const char *type, const char *field, bool is_static,
                      uint64_t value) {
    uint64_t row = JVM + TABLE + 48 * jvm->nr_rows++;
    struct synth *synth = jvm->w->synth;
    synth_put_word(synth, row, put_text(jvm, type));
    synth_put_word(synth, row + 8, put_text(jvm, field));
    synth_put_u32(synth, row + 24, is_static);
    synth_put_word(synth, row + (is_static ? 40 : 32), value);
}

static void put_static(struct libjvm *jvm, const char *type, const char *field, uint64_t value) {
    uint64_t place = JVM + STATICS + 8 * jvm->nr_rows;
    put_field(jvm, type, field, true, place);
    synth_put_word(jvm->w->synth, place, value);
}

/* What a JVM of 17 with a heap of 64 MiB would say of itself. */
static void put_jvm(struct world *w) {
    struct libjvm jvm = {.w = w, .string_at = 1};
    put_headers(&jvm);
    put_symbol(&jvm, "gHotSpotVMStructs", JVM + TABLE);
    put_symbol(&jvm, "gHotSpotVMStructEntryArrayStride", 48);
    put_symbol(&jvm, "gHotSpotVMStructEntryTypeNameOffset", 0);
    put_symbol(&jvm, "gHotSpotVMStructEntryFieldNameOffset", 8);
    put_symbol(&jvm, "gHotSpotVMStructEntryIsStaticOffset", 24);
    put_symbol(&jvm, "gHotSpotVMStructEntryOffsetOffset", 32);
    put_symbol(&jvm, "gHotSpotVMStructEntryAddressOffset", 40);
    synth_put_u32(w->synth, JVM + HASH + 28 + 4 * (jvm.nr_symbols - 1),
                  hash_of("gHotSpotVMStructEntryAddressOffset") | 1);
    put_static(&jvm, "Universe", "_collectedHeap", JVM + OBJECTS);
    put_field(&jvm, "CollectedHeap", "_reserved", false, 16);
    put_field(&jvm, "MemRegion", "_start", false, 0);
    put_field(&jvm, "MemRegion", "_word_size", false, 8);
    synth_put_word(w->synth, JVM + OBJECTS + 16, JAVA_HEAP);
    synth_put_word(w->synth, JVM + OBJECTS + 24, 64 * MIB / 8);
    put_static(&jvm, "CodeCache", "_low_bound", HEAP);
    put_static(&jvm, "CodeCache", "_high_bound", HEAP + 16 * MIB);
    put_static(&jvm, "ClassLoaderDataGraph", "_head", JVM + OBJECTS + 0x100);
    put_field(&jvm, "ClassLoaderData", "_next", false, 0);
    put_field(&jvm, "ClassLoaderData", "_klasses", false, 8);
    put_field(&jvm, "Klass", "_next_link", false, 8);
    put_field(&jvm, "InstanceKlass", "_constants", false, 16);
    synth_put_word(w->synth, JVM + OBJECTS + 0x108, HEAP + 32 * MIB + 0x100);
    synth_put_word(w->synth, HEAP + 32 * MIB + 0x108, HEAP + 32 * MIB + 0x100); /* a ring */
    synth_put_word(w->synth, HEAP + 32 * MIB + 0x110, HEAP + 64 * MIB + 0x500);
}

static struct world java_world(void) {
    struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/java");
    synth_segment(w.synth, JAVA_HEAP, 40 * MIB, SYNTH_RW)->file_bytes = 0;
    synth_segment(w.synth, JAVA_HEAP + 40 * MIB, 23 * MIB, SYNTH_NONE)->file_bytes = 0;
    synth_segment(w.synth, JAVA_HEAP + 63 * MIB, MIB, SYNTH_RW);
    synth_file(w.synth, JAVA_HEAP + 63 * MIB, JAVA_HEAP + 64 * MIB, 0, "/lib/server/classes.jsa");
    synth_segment(w.synth, HEAP, 4 * MIB, SYNTH_RX | 2)->file_bytes = 0;
    synth_segment(w.synth, HEAP + 4 * MIB, 12 * MIB, SYNTH_NONE)->file_bytes = 0;
    synth_segment(w.synth, HEAP + 32 * MIB, MIB, SYNTH_RW); /* the class space */
    synth_segment(w.synth, HEAP + 33 * MIB, 7 * MIB, SYNTH_NONE)->file_bytes = 0;
    synth_segment(w.synth, HEAP + 64 * MIB, 2 * MIB, SYNTH_RW); /* metaspace */
    synth_segment(w.synth, HEAP + 96 * MIB, 48 * MIB, SYNTH_RW)->file_bytes = 0; /* a foreign one */
    return w;
}

static void hotspot_says_itself_where_its_memory_is(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = java_world();
    put_jvm(&w);
    find(&w);
    assert_int_equal(claimed(&w, "Java heap (HotSpot)"), 64 * MIB);
    assert_int_equal(claimed(&w, "Java code cache"), 16 * MIB);
    assert_int_equal(claimed(&w, "Java class data"), (1 + 7 + 2) * MIB);
    assert_int_equal(claimed(&w, "Java heap (HotSpot, guess)"), 0);
}

static void without_its_table_hotspot_is_guessed(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = java_world();
    synth_segment(w.synth, JVM, PAGE, SYNTH_R);
    synth_file(w.synth, JVM, JVM + PAGE, 0, "/usr/lib/jvm/lib/server/libjvm.so");
    find(&w);
    assert_int_equal(claimed(&w, "Java heap (HotSpot, guess)"), 63 * MIB);
    assert_int_equal(claimed(&w, "Java code cache (guess)"), 16 * MIB);
    assert_int_equal(claimed(&w, "Java class data"), MIB);
}

static void without_libjvm_there_is_no_java(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = java_world();
    find(&w);
    assert_int_equal(w.found.rows.len, 0);
}

static void the_heap_of_zgc_is_its_memfd_with_the_reserve_behind(void **state) {
    (void)state;
    CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/java");
    synth_segment(w.synth, JVM, PAGE, SYNTH_R);
    synth_file(w.synth, JVM, JVM + PAGE, 0, "/usr/lib/jvm/lib/server/libjvm.so");
    synth_segment(w.synth, 0x40000000000u, 8 * MIB, SYNTH_RW)->file_bytes = 0;
    synth_segment(w.synth, 0x40000000000u + 8 * MIB, 1024 * MIB, SYNTH_NONE)->file_bytes = 0;
    synth_file(w.synth, 0x40000000000u, 0x40000000000u + 8 * MIB, 0,
               "/memfd:java_heap (deleted)");
    find(&w);
    assert_int_equal(claimed(&w, "Java heap (HotSpot, ZGC)"), 1032 * MIB);
}

/* ---- other mallocs ---- */

static void libraries_name_their_malloc(void **state) {
    (void)state;
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"/usr/lib/libjemalloc.so.2", "jemalloc"},
        {"/opt/x/libtcmalloc_minimal.so.4.5.10", "tcmalloc"},
        {"/usr/lib/libmimalloc.so.2.0", "mimalloc"},
        {"/lib/ld-musl-x86_64.so.1", "musl malloc"},
        {"/usr/lib/x86_64-linux-musl/libc.so", "musl malloc"},
        {"/usr/lib/x86_64-linux-gnu/libasan.so.8", "AddressSanitizer"},
        {"/usr/lib/llvm-14/lib/libclang_rt.asan-x86_64.so", "AddressSanitizer"},
        {"/usr/lib/libtsan.so.2.0.0", "ThreadSanitizer"},
        {"/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", "valgrind's memcheck"},
        {"/usr/lib/libefence.so.0", "Electric Fence"},
        {"/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", NULL},
        {"/usr/lib/libc.so.6", NULL},
        {"/home/libjemalloc/libcurl.so", NULL},
        {"/usr/lib/musl/libcurl.so", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/usr/bin/server");
        struct cf_allocator allocator;
        synth_file(w.synth, HEAP, HEAP + PAGE, 0, cases[i].path);
        find(&w);
        assert_int_equal(cf_allocator_find(w.mem, w.modules, true, &allocator),
                         cases[i].name != NULL);
        if (cases[i].name == NULL)
            continue;
        assert_string_equal(allocator.name, cases[i].name);
        assert_string_equal(allocator.evidence, cases[i].path);
    }
}

/* Groups of mallocng whose first word leads back to their meta. */
static void put_mallocng(struct world *w, unsigned nr_groups, bool sound) {
    synth_segment(w->synth, HEAP, 16 * PAGE, SYNTH_RW);
    synth_put_word(w->synth, HEAP, 0x1122334455667788u);
    synth_put_u32(w->synth, HEAP + 16, 101);
    for (unsigned i = 0; i < nr_groups; i++) {
        uint64_t meta = HEAP + 24 + 40 * i, group = HEAP + (4 + i) * PAGE;
        synth_put_word(w->synth, meta + 16, group);
        synth_put_word(w->synth, group, sound ? meta : meta + 8);
    }
}

static void musl_in_a_static_program_is_known_by_its_structure(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/server");
        struct cf_allocator allocator;
        put_mallocng(&w, i < 2 ? 5 : 1, i != 1);
        find(&w);
        assert_false(cf_allocator_find(w.mem, w.modules, false, &allocator));
        assert_int_equal(cf_allocator_find(w.mem, w.modules, true, &allocator), i == 0);
        if (i == 0)
            assert_string_equal(allocator.name, "musl malloc");
    }
}

static void an_allocator_has_what_is_left(void **state) {
    (void)state;
    static const struct cf_allocator allocator = {"jemalloc", ""};
    CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/server");
    synth_segment(w.synth, HEAP, 8 * PAGE, SYNTH_RW);
    open_world(&w);
    assert_int_equal(
        cf_claims_add(&w.taken, CF_CLAIM_STACK, HEAP + PAGE, HEAP + 3 * PAGE, "", NULL), CF_OK);
    assert_int_equal(cf_claims_seal(&w.taken, NULL), CF_OK);
    assert_int_equal(cf_allocator_claim(&allocator, w.mem, &w.taken, &w.found, NULL), CF_OK);
    assert_int_equal(w.found.rows.len, 2);
    assert_int_equal(w.found.rows.items[0].end, HEAP + PAGE);
    assert_int_equal(w.found.rows.items[1].start, HEAP + 3 * PAGE);
    assert_int_equal(w.found.rows.items[1].kind, CF_CLAIM_ALLOCATOR);
}

static void a_core_without_anonymous_memory_is_told_from_a_small_one(void **state) {
    (void)state;
    for (int dumped = 0; dumped < 3; dumped++) {
        CF_CLEANUP(close_world) struct world w = new_world(CF_MACHINE_X86_64, "/srv/server");
        synth_segment(w.synth, HEAP, PAGE, SYNTH_RW)->file_bytes = 0;
        if (dumped == 1)
            synth_segment(w.synth, HEAP + 8 * PAGE, PAGE, SYNTH_RW);
        else /* read-only memory and files say nothing */
            synth_segment(w.synth, HEAP + 8 * PAGE, PAGE, SYNTH_R);
        find(&w);
        assert_int_equal(cf_anonymous_is_dumped(w.mem), dumped == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_is_recognised_by_what_it_brings_and_not_elsewhere),
        cmocka_unit_test(every_row_of_the_table_is_whole),
        cmocka_unit_test(pages_of_v8_are_known_by_their_header),
        cmocka_unit_test(the_reserve_behind_a_page_of_v8_is_its),
        cmocka_unit_test(reserved_addresses_are_stepped_over),
        cmocka_unit_test(what_only_resembles_a_page_of_v8_is_none),
        cmocka_unit_test(arenas_of_go_stand_at_its_hints),
        cmocka_unit_test(without_build_information_it_is_not_go),
        cmocka_unit_test(the_version_of_an_old_go_program_is_not_known),
        cmocka_unit_test(arenas_of_python_are_known_by_their_pools),
        cmocka_unit_test(other_memory_of_python_is_not_its_objects),
        cmocka_unit_test(reservations_of_dotnet_are_told_by_shape),
        cmocka_unit_test(hotspot_says_itself_where_its_memory_is),
        cmocka_unit_test(without_its_table_hotspot_is_guessed),
        cmocka_unit_test(without_libjvm_there_is_no_java),
        cmocka_unit_test(the_heap_of_zgc_is_its_memfd_with_the_reserve_behind),
        cmocka_unit_test(libraries_name_their_malloc),
        cmocka_unit_test(musl_in_a_static_program_is_known_by_its_structure),
        cmocka_unit_test(an_allocator_has_what_is_left),
        cmocka_unit_test(a_core_without_anonymous_memory_is_told_from_a_small_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
