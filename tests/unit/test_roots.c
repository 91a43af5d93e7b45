/* Roots: which ranges of a process without a heap count, under which name, and what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "reach/roots.h"
#include "sym/bss.h"
#include "core/core.h"
#include "libc/malloc.h"
#include "mem/mem.h"
#include "ptmalloc/heap.h"
#include "synth.h"
#include "whole_mem.h"

enum {
    PAGE = 0x1000,
    RODATA = 0x400000, /* five neighbours of one module, a page each */
    TEXT = RODATA + PAGE,
    RELRO = TEXT + PAGE,
    DATA = RELRO + PAGE,
    BSS = DATA + PAGE,
    ANONYMOUS = 0x500000,
    PROTECTED = 0x600000,
    SHARED = 0x700000,
    NEVER_WRITTEN = 0x800000,
    STACK = 0x7ff00000,
};

struct world {
    struct synth *synth;
    struct synth_segment *shared;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_malloc *found;
    struct cf_ptmalloc *pt;
    struct cf_stacks stacks;
    struct cf_roots roots;
};

static void add(struct world *w, uint64_t addr, uint32_t flags, const char *path) {
    struct synth_segment *segment = synth_segment(w->synth, addr, PAGE, flags);
    synth_fill(w->synth, addr, 3, PAGE);
    if (path != NULL)
        synth_file(w->synth, addr, addr + PAGE, 0, path);
    if (addr == SHARED)
        w->shared = segment;
}

static void world_init(struct world *w) {
    *w = (struct world){.synth = synth_new(CF_MACHINE_X86_64)};
    add(w, RODATA, SYNTH_R, "/lib/libfoo.so");
    add(w, TEXT, SYNTH_RX, "/lib/libfoo.so");
    add(w, RELRO, SYNTH_R, "/lib/libfoo.so");
    add(w, DATA, SYNTH_RW, "/lib/libfoo.so");
    add(w, BSS, SYNTH_RW, NULL);
    add(w, ANONYMOUS, SYNTH_RW, NULL);
    add(w, PROTECTED, SYNTH_R, NULL);
    add(w, SHARED, SYNTH_RW, "/dev/shm/segment");
    add(w, STACK, SYNTH_RW, NULL);
    synth_segment(w->synth, NEVER_WRITTEN, PAGE, SYNTH_RW)->file_bytes = 0;
    synth_auxv(w->synth, AT_RANDOM, STACK + 0xf00);
    synth_thread(w->synth, 77, 6, 0, STACK + 0x800);
}

static void world_fini(struct world *w) {
    cf_roots_fini(&w->roots);
    cf_stacks_fini(&w->stacks);
    cf_ptmalloc_free(w->pt);
    cf_malloc_free(w->found);
    cf_mem_free(w->mem);
    cf_core_free(w->core);
    synth_free(w->synth);
}

static void find(struct world *w) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(w->synth), "synth", NULL, &w->core, &err), CF_OK);
    assert_int_equal(whole_mem(NULL, w->core, &w->mem, &err), CF_OK);
    assert_int_equal(cf_malloc_find(NULL, w->mem, &w->found, &err), CF_OK);
    assert_int_equal(cf_ptmalloc_walk(NULL, w->found, 1, &w->pt, &err), CF_OK);
    assert_int_equal(cf_stacks_find(&w->stacks, w->mem, &err), CF_OK);
    assert_int_equal(cf_roots_find(&w->roots, w->mem, w->pt, &w->stacks, &err), CF_OK);
}

/* The root that holds `addr`, or NULL. */
static const struct cf_root *root_at(const struct world *w, uint64_t addr) {
    for (size_t i = 0; i < w->roots.rows.len; i++)
        if (addr - w->roots.rows.items[i].start <
            w->roots.rows.items[i].end - w->roots.rows.items[i].start)
            return &w->roots.rows.items[i];
    return NULL;
}

static void what_was_writable_once_is_a_root_and_constants_are_not(void **state) {
    (void)state;
    static const struct {
        uint64_t addr;
        const char *kind; /* NULL: no root */
        const char *label;
    } cases[] = {
        {RODATA, NULL, NULL},
        {TEXT + 8, NULL, NULL},
        {RELRO + 8, "global", "libfoo.so"},
        {DATA + PAGE - 8, "global", "libfoo.so"},
        {BSS, "global", "libfoo.so"},
        {ANONYMOUS, "mapping", "anonymous mapping"},
        {PROTECTED, "mapping", "anonymous mapping"},
        {SHARED, "mapping", NULL},
        {NEVER_WRITTEN, NULL, NULL},
        {STACK, NULL, NULL},
        {STACK + 0x800 - 129, NULL, NULL},
        {STACK + 0x800 - 128, "stack", "thread 77"},
        {STACK + PAGE - 1, "stack", "thread 77"},
    };
    struct world w;
    world_init(&w);
    find(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cf_root *root = root_at(&w, cases[i].addr);
        if (cases[i].kind == NULL) {
            assert_null(root);
            continue;
        }
        assert_non_null(root);
        assert_string_equal(cf_root_kind_name(root->kind), cases[i].kind);
        char label[64];
        cf_root_label(&w.roots, root, label, sizeof label);
        if (cases[i].label != NULL)
            assert_string_equal(label, cases[i].label);
    }
    assert_int_equal(w.roots.bytes[CF_ROOT_GLOBAL], 3 * PAGE);
    assert_int_equal(w.roots.bytes[CF_ROOT_STACK], 0x800 + 128);
    assert_true(w.roots.bytes[CF_ROOT_REGISTER] > 0);
    for (size_t kind = 0; kind < CF_NR_ROOT_KINDS; kind++)
        assert_int_equal(w.roots.missing[kind].places, 0);
    world_fini(&w);
}

/* A library's data and one page of .bss; the kernel merged two pages of somebody else's with it. */
static void what_lies_behind_a_bss_is_no_data_of_the_module(void **state) {
    (void)state;
    enum { LIB = 0x900000 };
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr phdrs[2];
    } image = {
        .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
        .phdrs = {{.p_type = PT_LOAD, .p_memsz = PAGE},
                  {.p_type = PT_LOAD, .p_vaddr = PAGE, .p_filesz = PAGE, .p_memsz = 2 * PAGE}},
    };
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    struct world w;
    world_init(&w);
    synth_segment(w.synth, LIB, PAGE, SYNTH_R);
    synth_put(w.synth, LIB, &image, sizeof image);
    synth_segment(w.synth, LIB + PAGE, PAGE, SYNTH_RW);
    synth_segment(w.synth, LIB + 2 * PAGE, 3 * PAGE, SYNTH_RW);
    synth_file(w.synth, LIB, LIB + PAGE, 0, "/lib/libbar.so");
    synth_file(w.synth, LIB + PAGE, LIB + 2 * PAGE, PAGE, "/lib/libbar.so");
    find(&w);
    const struct cf_root *bss = root_at(&w, LIB + 3 * PAGE - 8);
    const struct cf_root *other = root_at(&w, LIB + 3 * PAGE);
    assert_true(bss != NULL && other != NULL);
    assert_string_equal(cf_root_kind_name(bss->kind), "global");
    assert_string_equal(cf_root_kind_name(other->kind), "mapping");
    assert_int_equal(other->end, LIB + 5 * PAGE);
    assert_int_equal(cf_bss_end(w.mem, LIB + 2 * PAGE), LIB + 3 * PAGE);
    assert_int_equal(cf_bss_end(w.mem, LIB + PAGE), LIB + PAGE);         /* its data follows */
    assert_int_equal(cf_bss_end(w.mem, LIB + 5 * PAGE), LIB + 5 * PAGE); /* nothing does */
    assert_int_equal(other->file, -1);
    world_fini(&w);
}

static void shared_memory_that_was_not_dumped_is_missing(void **state) {
    (void)state;
    struct world w;
    world_init(&w);
    w.shared->file_bytes = 0;
    find(&w);
    assert_int_equal(w.roots.missing[CF_ROOT_MAPPING].bytes, PAGE);
    assert_int_equal(w.roots.missing[CF_ROOT_MAPPING].places, 1);
    assert_int_equal(w.roots.missing[CF_ROOT_GLOBAL].places, 0);
    world_fini(&w);
}

/* The stack is the last segment with data: cut it out of the file. */
static void a_stack_that_is_cut_off_is_missing(void **state) {
    (void)state;
    struct world w;
    world_init(&w);
    (void)synth_fd(w.synth);
    uint64_t stack_at = synth_offset(w.synth, 8);
    world_fini(&w);
    world_init(&w);
    synth_options(w.synth)->truncate_bytes = stack_at;
    find(&w);
    assert_null(root_at(&w, STACK + 0x900));
    assert_int_equal(w.roots.missing[CF_ROOT_STACK].bytes, 0x800 + 128);
    world_fini(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_writable_once_is_a_root_and_constants_are_not),
        cmocka_unit_test(what_lies_behind_a_bss_is_no_data_of_the_module),
        cmocka_unit_test(shared_memory_that_was_not_dumped_is_missing),
        cmocka_unit_test(a_stack_that_is_cut_off_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
