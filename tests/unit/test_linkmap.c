/* Modules of cores without a list of files: the chain of ld.so, sane and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/module.h"
#include "synth.h"
#include "whole_mem.h"

enum {
    PROGRAM = 0x10000,
    DYNAMIC = PROGRAM + 0x400,
    DEBUG = 0x20000,
    LINKS = 0x20100, /* 0x40 each */
    NAMES = 0x20800, /* 0x40 each */
    LIBRARY = 0x40000,
    UNREAD = 0x60000, /* a library whose first page is not in the core */
    PAGE = 0x1000,
};

struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
};

static void put_image(struct synth *synth, uint64_t base, uint64_t bytes) {
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr phdrs[2];
    } image = {
        .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
        .phdrs = {{.p_type = PT_LOAD, .p_filesz = bytes},
                  {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC - PROGRAM, .p_filesz = 64}},
    };
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    synth_put(synth, base, &image, sizeof image);
}

static void put_link(struct synth *synth, unsigned index, uint64_t base, const char *name,
                     uint64_t dynamic, uint64_t next) {
    uint64_t at = LINKS + 0x40 * index;
    synth_put_word(synth, at, base);
    synth_put_word(synth, at + 8, NAMES + 0x40 * index);
    synth_put_word(synth, at + 16, dynamic);
    synth_put_word(synth, at + 24, next);
    synth_put(synth, NAMES + 0x40 * index, name, strlen(name) + 1);
}

/* The program, a library, and one that cannot be read: [RELRO][.data] behind a hole. */
static struct synth *make(void) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_segment(synth, PROGRAM, 2 * PAGE, SYNTH_R);
    synth_segment(synth, DEBUG, 2 * PAGE, SYNTH_RW);
    synth_segment(synth, LIBRARY, PAGE, SYNTH_R);
    synth_segment(synth, UNREAD, 4 * PAGE, SYNTH_R)->file_bytes = 0;
    synth_segment(synth, UNREAD + 4 * PAGE, PAGE, SYNTH_R);
    synth_segment(synth, UNREAD + 5 * PAGE, PAGE, SYNTH_RW);
    put_image(synth, PROGRAM, 0x1234);
    put_image(synth, LIBRARY, PAGE);
    synth_put_word(synth, DYNAMIC, DT_NEEDED);
    synth_put_word(synth, DYNAMIC + 16, DT_DEBUG);
    synth_put_word(synth, DYNAMIC + 24, DEBUG);
    synth_put_word(synth, DEBUG, 1);
    synth_put_word(synth, DEBUG + 8, LINKS);
    put_link(synth, 0, PROGRAM, "", DYNAMIC, LINKS + 0x40);
    put_link(synth, 1, LIBRARY, "/lib/libtoy.so", LIBRARY + 0x100, LINKS + 0x80);
    put_link(synth, 2, UNREAD, "/lib/libc.so.6", UNREAD + 4 * PAGE + 8, 0);
    synth_put(synth, DEBUG + PAGE, "/usr/bin/toy", 13);
    synth_auxv(synth, AT_PHDR, PROGRAM + sizeof(Elf64_Ehdr));
    synth_auxv(synth, AT_EXECFN, DEBUG + PAGE);
    return synth;
}

static void open_space(struct space *space) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(space->synth), "toy", NULL, &space->core, &err),
                     0);
    assert_int_equal(whole_mem(NULL, space->core, &space->mem, &err), 0);
    assert_int_equal(cf_modules_new(space->mem, &space->modules, &err), 0);
}

static void close_space(struct space *space) {
    cf_modules_free(space->modules);
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
}

static void the_program_and_its_libraries_are_modules(void **state) {
    (void)state;
    static const struct {
        uint64_t start, end;
        const char *path;
        enum cf_module_kind kind;
    } expected[] = {
        {PROGRAM, PROGRAM + 2 * PAGE, "/usr/bin/toy", CF_MODULE_ELF},
        {LIBRARY, LIBRARY + PAGE, "/lib/libtoy.so", CF_MODULE_ELF},
        {UNREAD, UNREAD + 6 * PAGE, "/lib/libc.so.6", CF_MODULE_UNKNOWN},
    };
    CF_CLEANUP(close_space) struct space space = {.synth = make()};
    open_space(&space);
    assert_int_equal(cf_modules_nr(space.modules), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct cf_module *module = cf_modules_get(space.modules, i);
        assert_int_equal(module->start, expected[i].start);
        assert_int_equal(module->end, expected[i].end);
        assert_string_equal(module->path, expected[i].path);
        assert_int_equal(module->kind, expected[i].kind);
        assert_ptr_equal(cf_modules_find(space.modules, module->end - 1), module);
    }
    assert_null(cf_modules_find(space.modules, DEBUG));
    assert_ptr_equal(cf_modules_find_exe(space.modules), cf_modules_get(space.modules, 0));
    assert_ptr_equal(cf_modules_find_libc(space.modules), cf_modules_get(space.modules, 2));
}

static void a_list_of_files_goes_before_the_chain(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = make()};
    synth_file(space.synth, LIBRARY, LIBRARY + PAGE, 0, "/lib/other.so");
    open_space(&space);
    assert_int_equal(cf_modules_nr(space.modules), 1);
    assert_string_equal(cf_modules_get(space.modules, 0)->path, "/lib/other.so");
}

/* Each case writes one word; so many modules remain. */
static void a_damaged_chain_ends_where_it_is_damaged(void **state) {
    (void)state;
    static const struct {
        const char *what;
        uint64_t at, value;
        size_t nr;
    } cases[] = {
        {"it goes in a circle", LINKS + 0x80 + 24, LINKS, 3},
        {"it leads to nowhere", LINKS + 0x40 + 24, 0xdead000, 2},
        {"its second link is its own next", LINKS + 0x40 + 24, LINKS + 0x40, 2},
        {"a name is nowhere", LINKS + 0x40 + 8, 0xdead000, 2},
        {"a library is nowhere", LINKS + 0x40, 0xdead000, 2},
        {"a library wraps", LINKS + 0x40, UINT64_MAX - 8, 2},
        {"no r_debug", DYNAMIC + 24, 0, 1},
        {"r_debug is nowhere", DYNAMIC + 24, 0xdead000, 1},
        {"no DT_DEBUG", DYNAMIC + 16, DT_NULL, 1},
        {"no ELF header", PROGRAM, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_space) struct space space = {.synth = make()};
        synth_put_word(space.synth, cases[i].at, cases[i].value);
        open_space(&space);
        if (cf_modules_nr(space.modules) != cases[i].nr)
            fail_msg("%s: %zu modules", cases[i].what, cf_modules_nr(space.modules));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_and_its_libraries_are_modules),
        cmocka_unit_test(a_list_of_files_goes_before_the_chain),
        cmocka_unit_test(a_damaged_chain_ends_where_it_is_damaged),
    };
    return cmocka_run_group_tests_name("linkmap", tests, NULL, NULL);
}
