/* Modules and build ids, from synthetic cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/image.h"
#include "sym/module.h"
#include "synth.h"
#include "whole_mem.h"

enum { BASE = 0x10000, OTHER = 0x40000, NOTE_OFFSET = 0x200 };

struct space {
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
};

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

/* An image of one PT_LOAD at `vaddr` and one PT_NOTE. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr phdrs[2];
};

static struct image sane_image(uint64_t vaddr, uint64_t note_bytes) {
    struct image image = {
        .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
        .phdrs = {{.p_type = PT_LOAD, .p_vaddr = vaddr, .p_filesz = 0x1000},
                  {.p_type = PT_NOTE, .p_vaddr = vaddr + NOTE_OFFSET, .p_filesz = note_bytes}},
    };
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    return image;
}

/* Another note first, so that the reader has to walk. */
struct notes {
    uint32_t abi_name, abi_desc, abi_type;
    char abi[4];
    uint32_t abi_words[4];
    uint32_t id_name, id_desc, id_type;
    char id[4];
    unsigned char build_id[20];
};

static struct notes sane_notes(void) {
    struct notes notes = {4, 16, NT_GNU_ABI_TAG, "GNU", {0}, 4, 20, NT_GNU_BUILD_ID, "GNU", {0}};
    for (unsigned i = 0; i < sizeof notes.build_id; i++)
        notes.build_id[i] = (unsigned char)(0xa0 + i);
    return notes;
}

static struct synth *synth_with(const struct image *image, const struct notes *notes) {
    struct synth *synth = synth_new(CF_MACHINE_X86_64);
    synth_segment(synth, BASE, 0x2000, SYNTH_R);
    synth_put(synth, BASE, image, sizeof *image);
    synth_put(synth, BASE + NOTE_OFFSET, notes, sizeof *notes);
    return synth;
}

static void the_build_id_is_read_from_the_first_page(void **state) {
    (void)state;
    static const uint64_t vaddrs[] = {0, 0x400000, BASE};
    for (size_t i = 0; i < sizeof vaddrs / sizeof vaddrs[0]; i++) {
        struct notes notes = sane_notes();
        struct image image = sane_image(vaddrs[i], sizeof notes);
        CF_CLEANUP(close_space) struct space space = {.synth = synth_with(&image, &notes)};
        synth_file(space.synth, BASE, BASE + 0x2000, 0, "/lib/libtoy.so");
        open_space(&space);
        const struct cf_module *module = cf_modules_get(space.modules, 0);
        char text[2 * CF_BUILD_ID_MAX + 1];
        cf_module_build_id_text(module, text);
        assert_int_equal(module->kind, CF_MODULE_ELF);
        assert_string_equal(text, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
    }
}

static void damaged_images_have_no_build_id(void **state) {
    (void)state;
    enum { NR_CASES = 9 };
    for (int i = 0; i < NR_CASES; i++) {
        struct notes notes = sane_notes();
        struct image image = sane_image(0, sizeof notes);
        switch (i) {
        case 0:
            image.header.e_phentsize = 8;
            break;
        case 1:
            image.header.e_phnum = 0xffff;
            break;
        case 2:
            image.header.e_phoff = UINT64_MAX - 8;
            break;
        case 3:
            image.phdrs[1].p_filesz = UINT64_MAX;
            break;
        case 4:
            image.phdrs[1].p_vaddr = UINT64_MAX - 3;
            break;
        case 5:
            notes.abi_desc = 0xfffffff0;
            break;
        case 6:
            notes.id_desc = 0xffffffff;
            break;
        case 7:
            notes.id_desc = 0;
            break;
        default:
            image.phdrs[1].p_filesz = offsetof(struct notes, build_id) + 19;
            break;
        }
        CF_CLEANUP(close_space) struct space space = {.synth = synth_with(&image, &notes)};
        open_space(&space);
        unsigned char id[CF_BUILD_ID_MAX];
        assert_true(cf_elf_is_image(space.mem, BASE));
        assert_int_equal(cf_elf_build_id(space.mem, BASE, id, sizeof id), 0);
    }
}

static void what_is_no_image_is_a_file_and_what_is_not_dumped_is_unknown(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(space.synth, BASE, 0x1000, SYNTH_R);
    synth_fill(space.synth, BASE, 'x', 0x1000);
    synth_segment(space.synth, OTHER, 0x1000, SYNTH_R)->file_bytes = 0;
    synth_file(space.synth, BASE, BASE + 0x1000, 0, "/usr/share/zoneinfo/UTC");
    synth_file(space.synth, OTHER, OTHER + 0x1000, 0, "/lib/libgone.so");
    open_space(&space);
    assert_int_equal(cf_modules_get(space.modules, 0)->kind, CF_MODULE_FILE);
    assert_int_equal(cf_modules_get(space.modules, 1)->kind, CF_MODULE_UNKNOWN);
    assert_int_equal(cf_modules_get(space.modules, 1)->build_id_bytes, 0);
}

static void rows_of_a_file_are_one_module_until_it_starts_anew(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(space.synth, BASE, 0x1000, SYNTH_R);
    synth_segment(space.synth, BASE + 0x1000, 0x2000, SYNTH_RX);
    synth_segment(space.synth, BASE + 0x5000, 0x1000, SYNTH_RW);
    synth_file(space.synth, BASE, BASE + 0x1000, 0, "/lib/libc.so.6");
    synth_file(space.synth, BASE + 0x1000, BASE + 0x3000, 0x1000, "/lib/libc.so.6");
    synth_file(space.synth, BASE + 0x5000, BASE + 0x6000, 0x3000, "/lib/libc.so.6");
    synth_file(space.synth, OTHER, OTHER + 0x1000, 0, "/lib/libc.so.6");
    open_space(&space);
    assert_int_equal(cf_modules_nr(space.modules), 2);
    const struct cf_module *first = cf_modules_get(space.modules, 0);
    assert_int_equal(first->start, BASE);
    assert_int_equal(first->end, BASE + 0x6000);
    assert_int_equal(first->mapped_bytes, 0x4000);
    assert_int_equal(first->flags, SYNTH_RW | SYNTH_RX);
    assert_ptr_equal(cf_modules_find(space.modules, BASE + 0x5fff), first);
    assert_null(cf_modules_find(space.modules, BASE + 0x3000));
    assert_ptr_equal(cf_modules_of_file(space.modules, 3), cf_modules_get(space.modules, 1));
}

static void the_release_is_what_the_core_says(void **state) {
    (void)state;
    static const struct {
        const char *path, *text, *release;
    } cases[] = {
        {"/lib/libc-2.31.so", "", "2.31"},
        {"/lib/libc.so.6", "", ""},
        {"/lib/libc.so.6", "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n",
         "2.36"},
        {"/lib/libc-2.31.so", "GNU C Library (X) development release version 2.40.9000.\n",
         "2.40.9000"},
        {"/lib/libc.so.6", "GNU C Library (X) release version ", ""},
        {"/lib/libc.so.6", "GNU C Library (X) release version 2", ""},
        {"/lib/libc-2.so", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
        synth_segment(space.synth, BASE, 0x1000, SYNTH_R);
        size_t bytes = strlen(cases[i].text);
        if (bytes > 0)
            synth_put(space.synth, BASE + 0x1000 - bytes, cases[i].text, bytes);
        synth_file(space.synth, BASE, BASE + 0x1000, 0, cases[i].path);
        open_space(&space);
        char release[16] = "";
        bool found = cf_module_glibc_release(space.mem, cf_modules_get(space.modules, 0), release,
                                             sizeof release);
        assert_string_equal(release, cases[i].release);
        assert_int_equal(found, cases[i].release[0] != '\0');
    }
}

static void the_program_is_where_its_headers_are(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(space.synth, BASE, 0x1000, SYNTH_R)->file_bytes = 0;
    synth_segment(space.synth, OTHER, 0x1000, SYNTH_R);
    synth_file(space.synth, BASE, BASE + 0x1000, 0, "/lib/libc-2.31.so");
    synth_file(space.synth, OTHER, OTHER + 0x1000, 0, "/usr/bin/toy");
    synth_auxv(space.synth, AT_PHDR, OTHER + 0x40);
    open_space(&space);
    assert_string_equal(cf_modules_find_exe(space.modules)->path, "/usr/bin/toy");
    assert_string_equal(cf_modules_find_libc(space.modules)->path, "/lib/libc-2.31.so");
}

static void a_core_without_a_list_of_files_has_no_modules(void **state) {
    (void)state;
    CF_CLEANUP(close_space) struct space space = {.synth = synth_new(CF_MACHINE_X86_64)};
    synth_segment(space.synth, BASE, 0x1000, SYNTH_R);
    open_space(&space);
    assert_int_equal(cf_modules_nr(space.modules), 0);
    assert_null(cf_modules_find(space.modules, BASE));
    assert_null(cf_modules_find_exe(space.modules));
    assert_null(cf_modules_find_libc(space.modules));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_build_id_is_read_from_the_first_page),
        cmocka_unit_test(damaged_images_have_no_build_id),
        cmocka_unit_test(what_is_no_image_is_a_file_and_what_is_not_dumped_is_unknown),
        cmocka_unit_test(rows_of_a_file_are_one_module_until_it_starts_anew),
        cmocka_unit_test(the_release_is_what_the_core_says),
        cmocka_unit_test(the_program_is_where_its_headers_are),
        cmocka_unit_test(a_core_without_a_list_of_files_has_no_modules),
    };
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
