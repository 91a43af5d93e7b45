/* Symbols: tables of toy files, and which files are taken for a module's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fake_elf.h"
#include "sym/findfile.h"
#include "sym/demangle.h"
#include "sym/symbols.h"
#include "sym/symtab.h"
#include "synth.h"
#include "whole_mem.h"

enum { BASE = 0x10000000, ROOM = 0x4000 };

/* ---- a core with one module, and a folder of files ---- */

struct space {
    char folder[64];
    struct synth *synth;
    struct cf_core *core;
    struct cf_mem *mem;
    struct cf_modules *modules;
    struct cf_symbols *symbols;
    struct cf_options options;
    char texts[3][128];
};

/* The first page of `elf` is in the core, as the kernel dumps it; NULL: it is not. */
static void make_space(struct space *space, const struct fake_elf *elf, const char *path) {
    *space = (struct space){.folder = "/tmp/corefrag-unit-XXXXXX"};
    assert_non_null(mkdtemp(space->folder));
    space->synth = synth_new(CF_MACHINE_X86_64);
    struct synth_segment *segment = synth_segment(space->synth, BASE, ROOM, SYNTH_R);
    if (elf == NULL)
        segment->file_bytes = 0;
    else
        synth_put(space->synth, BASE, elf, 256);
    synth_file(space->synth, BASE, BASE + ROOM, 0, path);
    synth_auxv(space->synth, AT_PHDR, BASE + 64);
}

static const char *at(struct space *space, int text, const char *name) {
    (void)snprintf(space->texts[text], sizeof space->texts[text], "%s%s", space->folder, name);
    return space->texts[text];
}

static void open_space(struct space *space) {
    struct cf_err err;
    assert_int_equal(cf_core_open(NULL, synth_fd(space->synth), "toy", NULL, &space->core, &err),
                     0);
    assert_int_equal(whole_mem(NULL, space->core, &space->mem, &err), 0);
    assert_int_equal(cf_modules_new(space->mem, &space->modules, &err), 0);
    assert_int_equal(
        cf_symbols_open(NULL, space->mem, space->modules, &space->options, &space->symbols, &err),
        0);
}

static void close_space(struct space *space) {
    char command[128];
    cf_symbols_free(space->symbols);
    cf_modules_free(space->modules);
    cf_mem_free(space->mem);
    cf_core_free(space->core);
    synth_free(space->synth);
    (void)snprintf(command, sizeof command, "rm -r %s", space->folder);
    assert_int_equal(system(command), 0);
}

static enum cf_symbols_state state_of(struct space *space) {
    return cf_symbols_source(space->symbols, cf_modules_get(space->modules, 0)).state;
}

static struct fake_elf toy(unsigned char id) {
    struct fake_elf elf;
    fake_elf_init(&elf, id);
    fake_elf_symbol(&elf, "serve", STT_FUNC, STB_GLOBAL, 0x1100, 0x80);
    fake_elf_symbol(&elf, "main_arena", STT_OBJECT, STB_LOCAL, 0x2000, 0x898);
    fake_elf_symbol(&elf, "tcache", STT_TLS, STB_LOCAL, 0x18, 8);
    fake_elf_finish(&elf, SHT_SYMTAB);
    return elf;
}

/* ---- which file ---- */

static void a_file_is_used_only_where_its_build_id_is_the_cores(void **state) {
    (void)state;
    static const struct {
        const char *what;
        unsigned char in_core, in_file;
        const char *path, *file, *sysroot;
        enum cf_symbols_state expected;
    } cases[] = {
        {"the image has it", 7, 7, "/lib/toy.so", "/root/lib/toy.so", "/root", CF_SYMBOLS_SYMTAB},
        {"another build id", 7, 8, "/lib/toy.so", "/root/lib/toy.so", "/root",
         CF_SYMBOLS_OTHER_FILE},
        {"the file has none", 7, 0, "/lib/toy.so", "/root/lib/toy.so", "/root",
         CF_SYMBOLS_OTHER_FILE},
        {"the core has none", 0, 7, "/lib/toy.so", "/root/lib/toy.so", "/root", CF_SYMBOLS_NO_ID},
        {"neither has one", 0, 0, "/lib/toy.so", "/root/lib/toy.so", "/root", CF_SYMBOLS_NO_ID},
        {"the image lacks it", 7, 7, "/lib/toy.so", "/root/lib/else.so", "/root",
         CF_SYMBOLS_NO_FILE},
        {"a file that is gone", 7, 7, "/lib/toy.so (deleted)", "/root/lib/toy.so", "/root",
         CF_SYMBOLS_SYMTAB},
        {"the layer of an overlay", 7, 7, "/var/lib/docker/overlay2/4e/diff/usr/lib/toy.so",
         "/root/usr/lib/toy.so", "/root", CF_SYMBOLS_SYMTAB},
        {"a folder of files", 7, 7, "/opt/app/toy.so", "/root/toy.so", "/root", CF_SYMBOLS_SYMTAB},
        {"no absolute path", 7, 7, "toy.so", "/root/toy.so", "/root", CF_SYMBOLS_NO_FILE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_elf in_core = toy(cases[i].in_core);
        struct fake_elf in_file = toy(cases[i].in_file);
        CF_CLEANUP(close_space) struct space space;
        make_space(&space, &in_core, cases[i].path);
        fake_elf_write(&in_file, SHT_SYMTAB, at(&space, 0, cases[i].file));
        space.options.sysroot = at(&space, 1, cases[i].sysroot);
        open_space(&space);
        if (state_of(&space) != cases[i].expected)
            fail_msg("%s: %s", cases[i].what, cf_symbols_state_name(state_of(&space)));
        struct cf_symbol symbol;
        assert_int_equal(cf_symbols_lookup(space.symbols, BASE + 0x1104, &symbol),
                         cases[i].expected == CF_SYMBOLS_SYMTAB);
    }
}

static void the_path_on_this_machine_needs_the_build_id_too(void **state) {
    (void)state;
    for (unsigned char id = 7; id <= 8; id++) {
        struct fake_elf in_core = toy(7), in_file = toy(id);
        char path[64] = "/tmp/corefrag-unit-host-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, &in_file, fake_elf_bytes()), (ssize_t)fake_elf_bytes());
        CF_CLEANUP(close_space) struct space space;
        make_space(&space, &in_core, path);
        open_space(&space);
        assert_int_equal(state_of(&space), id == 7 ? CF_SYMBOLS_SYMTAB : CF_SYMBOLS_OTHER_FILE);
        (void)close(fd);
        (void)unlink(path);
    }
}

static void links_of_an_image_stay_within_it(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    CF_CLEANUP(close_space) struct space space;
    make_space(&space, &elf, "/lib/toy.so");
    fake_elf_write(&elf, SHT_SYMTAB, at(&space, 0, "/root/usr/lib/toy.so"));
    assert_int_equal(symlink("/usr/lib", at(&space, 1, "/root/lib")), 0);
    space.options.sysroot = at(&space, 2, "/root");
    open_space(&space);
    assert_int_equal(state_of(&space), CF_SYMBOLS_SYMTAB);
}

static void what_is_no_plain_file_is_never_opened(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    CF_CLEANUP(close_space) struct space space;
    make_space(&space, &elf, "/toy.so");
    assert_int_equal(mkfifo(at(&space, 0, "/toy.so"), 0600), 0);
    space.options.sysroot = space.folder;
    open_space(&space);
    assert_int_equal(state_of(&space), CF_SYMBOLS_NO_FILE);
}

static void the_program_that_the_user_names_is_held_against_the_core(void **state) {
    (void)state;
    static const struct {
        const char *what;
        unsigned char in_core, in_file;
        bool has_page, other_headers;
        enum cf_symbols_state expected;
        bool unverified;
    } cases[] = {
        {"the same build id", 7, 7, true, false, CF_SYMBOLS_SYMTAB, false},
        {"another build id", 7, 8, true, false, CF_SYMBOLS_OTHER_FILE, false},
        {"no build id, the same headers", 0, 0, true, false, CF_SYMBOLS_SYMTAB, true},
        {"no build id, other headers", 0, 0, true, true, CF_SYMBOLS_OTHER_FILE, false},
        {"nothing of it is in the core", 7, 7, false, false, CF_SYMBOLS_SYMTAB, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_elf in_core = toy(cases[i].in_core), in_file = toy(cases[i].in_file);
        if (cases[i].other_headers)
            in_file.phdrs[0].p_memsz++;
        CF_CLEANUP(close_space) struct space space;
        make_space(&space, cases[i].has_page ? &in_core : NULL, "/usr/bin/toy");
        fake_elf_write(&in_file, SHT_SYMTAB, at(&space, 0, "/toy"));
        space.options.exe = space.texts[0];
        open_space(&space);
        struct cf_symbols_source source =
            cf_symbols_source(space.symbols, cf_modules_get(space.modules, 0));
        if (source.state != cases[i].expected || source.unverified != cases[i].unverified)
            fail_msg("%s: %s", cases[i].what, cf_symbols_state_name(source.state));
    }
}

static void debug_files_are_found_by_build_id(void **state) {
    (void)state;
    static const char *const places[] = {
        "/d/.build-id/07/07070707070707070707070707070707070707.debug",
        "/d/07/07070707070707070707070707070707070707.debug",
        "/d/usr/lib/debug/.build-id/07/07070707070707070707070707070707070707.debug",
        "/d/usr/lib/debug/lib/toy.so.debug",
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct fake_elf elf = toy(7);
        CF_CLEANUP(close_space) struct space space;
        make_space(&space, &elf, "/lib/toy.so");
        fake_elf_write(&elf, SHT_DYNSYM, at(&space, 0, "/root/lib/toy.so"));
        fake_elf_write(&elf, SHT_SYMTAB, at(&space, 0, places[i]));
        space.options.sysroot = at(&space, 1, "/root");
        space.options.debuginfo = at(&space, 2, "/d");
        open_space(&space);
        assert_int_equal(state_of(&space), CF_SYMBOLS_DEBUG);
        assert_string_equal(
            cf_symbols_source(space.symbols, cf_modules_get(space.modules, 0)).debug_file,
            space.texts[0]);
    }
}

static void a_stripped_file_says_so(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    CF_CLEANUP(close_space) struct space space;
    make_space(&space, &elf, "/toy.so");
    fake_elf_write(&elf, SHT_NULL, at(&space, 0, "/toy.so"));
    space.options.sysroot = space.folder;
    open_space(&space);
    assert_int_equal(state_of(&space), CF_SYMBOLS_STRIPPED);
}

/* ---- what the tables say ---- */

static void symbols_are_found_by_name_and_by_address(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    CF_CLEANUP(close_space) struct space space;
    make_space(&space, &elf, "/toy.so");
    fake_elf_write(&elf, SHT_SYMTAB, at(&space, 0, "/toy.so"));
    space.options.sysroot = space.folder;
    open_space(&space);
    const struct cf_module *module = cf_modules_get(space.modules, 0);
    struct cf_symbol symbol;
    uint64_t offset;
    assert_true(cf_symbols_find(space.symbols, module, "main_arena", &symbol));
    assert_int_equal(symbol.addr, BASE + 0x2000);
    assert_int_equal(symbol.bytes, 0x898);
    assert_false(cf_symbols_find(space.symbols, module, "mp_", &symbol));
    assert_true(cf_symbols_find_tls(space.symbols, module, "tcache", &offset));
    assert_int_equal(offset, 0x18);
    assert_true(cf_symbols_lookup(space.symbols, BASE + 0x2897, &symbol));
    assert_string_equal(symbol.name, "main_arena");
    assert_false(cf_symbols_lookup(space.symbols, BASE + 0x2898, &symbol));
    assert_false(cf_symbols_lookup(space.symbols, BASE + ROOM, &symbol));
    assert_false(cf_symbols_lookup(space.symbols, 0, &symbol));
}

/* Reads the symbols of `elf` into `out`. */
static void read_table(const struct fake_elf *elf, struct cf_symtab *out) {
    const struct cf_symbol_bytes source = {
        .symbols = (const unsigned char *)elf->symbols,
        .symbol_bytes = elf->nr_symbols * sizeof(Elf64_Sym),
        .names = elf->names,
        .name_bytes = elf->name_bytes,
        .is_64 = true,
    };
    assert_int_equal(cf_symtab_read(out, &source, SIZE_MAX, NULL), 0);
}

static void of_several_names_the_plainest_is_kept(void **state) {
    (void)state;
    struct fake_elf elf;
    fake_elf_init(&elf, 7);
    fake_elf_symbol(&elf, "__libc_malloc", STT_FUNC, STB_GLOBAL, 0x100, 16);
    fake_elf_symbol(&elf, "malloc", STT_FUNC, STB_GLOBAL, 0x100, 16);
    fake_elf_symbol(&elf, "a_local", STT_FUNC, STB_LOCAL, 0x100, 16);
    fake_elf_symbol(&elf, "weak", STT_FUNC, STB_WEAK, 0x100, 16);
    fake_elf_symbol(&elf, "unsized", STT_FUNC, STB_GLOBAL, 0x100, 0);
    struct cf_symtab symtab = {0};
    read_table(&elf, &symtab);
    assert_string_equal(cf_symtab_name(&symtab, cf_symtab_at(&symtab, 0x10f)), "malloc");
    assert_int_equal(symtab.entries.len, 1);
    cf_symtab_fini(&symtab);
}

static void a_place_between_symbols_has_no_name(void **state) {
    (void)state;
    struct fake_elf elf;
    fake_elf_init(&elf, 7);
    fake_elf_symbol(&elf, "outer", STT_OBJECT, STB_GLOBAL, 0x1000, 0x100);
    fake_elf_symbol(&elf, "inner", STT_OBJECT, STB_GLOBAL, 0x1010, 0x10);
    fake_elf_symbol(&elf, "marker", STT_NOTYPE, STB_GLOBAL, 0x2000, 0);
    fake_elf_symbol(&elf, "assembly", STT_FUNC, STB_GLOBAL, 0x3000, 0);
    fake_elf_symbol(&elf, "next", STT_FUNC, STB_GLOBAL, 0x3040, 1);
    static const struct {
        uint64_t value;
        const char *name;
    } cases[] = {{0xfff, NULL},  {0x1000, "outer"}, {0x1010, "inner"},    {0x1020, "outer"},
                 {0x1100, NULL}, {0x2000, NULL},    {0x303f, "assembly"}, {0x3040, "next"},
                 {0x3041, NULL}, {UINT64_MAX, NULL}};
    struct cf_symtab symtab = {0};
    read_table(&elf, &symtab);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cf_symtab_entry *entry = cf_symtab_at(&symtab, cases[i].value);
        assert_int_equal(entry != NULL, cases[i].name != NULL);
        if (entry != NULL)
            assert_string_equal(cf_symtab_name(&symtab, entry), cases[i].name);
    }
    cf_symtab_fini(&symtab);
}

static void names_that_leave_the_table_are_no_names(void **state) {
    (void)state;
    struct fake_elf elf;
    fake_elf_init(&elf, 7);
    fake_elf_symbol(&elf, "good", STT_FUNC, STB_GLOBAL, 0x100, 16);
    fake_elf_symbol(&elf, "cut", STT_FUNC, STB_GLOBAL, 0x200, 16);
    fake_elf_symbol(&elf, "far", STT_FUNC, STB_GLOBAL, 0x300, 16);
    elf.symbols[3].st_name = UINT32_MAX;
    elf.name_bytes = 8; /* "\0good\0cu" */
    struct cf_symtab symtab = {0};
    read_table(&elf, &symtab);
    assert_non_null(cf_symtab_at(&symtab, 0x100));
    assert_null(cf_symtab_at(&symtab, 0x200));
    assert_null(cf_symtab_at(&symtab, 0x300));
    cf_symtab_fini(&symtab);
}

/* ---- hostile files ---- */

static int file_of(const void *bytes, size_t size) {
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    return fd;
}

static void a_file_may_be_cut_anywhere(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    for (size_t size = 0; size <= fake_elf_bytes(); size += 3) {
        CF_CLEANUP(cf_elf_file_freep) struct cf_elf_file *file = NULL;
        struct cf_err err;
        int status = cf_elf_file_open(file_of(&elf, size), "toy", &file, &err);
        assert_int_equal(status == CF_OK, size >= sizeof elf.header);
        if (status != CF_OK)
            continue;
        for (size_t i = 0; i < cf_elf_file_nr_sections(file); i++)
            assert_true(cf_elf_file_section(file, i)->data == NULL ||
                        cf_elf_file_section(file, i)->bytes <= size);
    }
}

static void damaged_headers_are_survived(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    unsigned char *bytes = (unsigned char *)&elf;
    for (size_t i = EI_NIDENT; i < fake_elf_bytes(); i++) {
        unsigned char before = bytes[i], id[64];
        CF_CLEANUP(cf_elf_file_freep) struct cf_elf_file *file = NULL;
        struct cf_err err;
        if (i > 400 && i < offsetof(struct fake_elf, sections))
            continue;
        bytes[i] = 0xff;
        if (cf_elf_file_open(file_of(&elf, fake_elf_bytes()), "toy", &file, &err) == CF_OK)
            (void)cf_elf_file_build_id(file, id, sizeof id);
        bytes[i] = before;
    }
}

static void files_of_other_kinds_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        unsigned char value;
    } changes[] = {
        {0, 'x'},
        {EI_CLASS, 9},
        {EI_CLASS, ELFCLASS32},
        {EI_DATA, ELFDATA2MSB},
        {offsetof(Elf64_Ehdr, e_machine), EM_SPARC},
        {offsetof(Elf64_Ehdr, e_type), ET_CORE},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct fake_elf elf = toy(7);
        struct cf_elf_file *file = NULL;
        struct cf_err err;
        ((unsigned char *)&elf)[changes[i].offset] = changes[i].value;
        assert_int_equal(cf_elf_file_open(file_of(&elf, fake_elf_bytes()), "toy", &file, &err),
                         CF_EINPUT);
        assert_null(file);
    }
}

/* ---- names ---- */

static void names_are_made_readable(void **state) {
    (void)state;
    static const struct {
        const char *name, *readable;
    } cases[] = {
        {"main", "main"},
        {"memcpy@@GLIBC_2.14", "memcpy"},
        {"_ZTV6Widget", "vtable for Widget"},
        {"_ZN3app6Server6handleEi", "app::Server::handle(int)"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_Z", "_Z"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        assert_string_equal(cf_demangle(cases[i].name, out, sizeof out), cases[i].readable);
    }
}

/* Each substitution names the one before it twice: the text doubles with every ten letters. */
static void a_name_that_explodes_is_cut(void **state) {
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1024] = "_Z1fI1aIiiE", out[64];
    size_t used = strlen(name);
    for (size_t i = 0; digits[i] != '\0'; i++)
        used +=
            (size_t)snprintf(name + used, sizeof name - used, "S_IS%c_S%c_E", digits[i], digits[i]);
    (void)snprintf(name + used, sizeof name - used, "Evv");
    cf_demangle(name, out, sizeof out);
    assert_int_equal(strlen(out), sizeof out - 1);
    assert_string_equal(out + sizeof out - 4, "...");
    cf_demangle("a_name_that_is_longer_than_its_room", out, 16);
    assert_string_equal(out, "a_name_that_...");
}

/* Reading such a file may wait, or take from others what it gives. */
static void files_that_the_kernel_makes_up_are_not_opened(void **state) {
    (void)state;
    static const struct {
        const char *root, *path;
        bool opens;
    } cases[] = {
        {NULL, "/proc/self/maps", false},  {NULL, "/./proc/self/maps", false},
        {NULL, "//proc//kmsg", false},     {NULL, "/dev/../proc/kmsg", false},
        {"/", "proc/self/maps", false},    {"/proc", "kmsg", false},
        {NULL, "/dev/null", false},        {NULL, "/tmp", false},
        {NULL, "/bin/sh", true},           {NULL, "/./bin/sh", true},
        {"/", "bin/sh", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP_CLOSE int fd = cf_open_plain(cases[i].root, cases[i].path);
        if ((fd >= 0) != cases[i].opens)
            fail_msg("%s", cases[i].path);
    }
}

/* The file of a library is replaced in place while it is read: the signal would end us. */
static void a_file_that_cannot_be_read_any_more_is_an_error(void **state) {
    (void)state;
    struct fake_elf elf = toy(7);
    CF_CLEANUP(close_space) struct space space;
    struct cf_symbol symbol;
    struct cf_err err;
    make_space(&space, &elf, "/lib/toy.so");
    fake_elf_write(&elf, SHT_SYMTAB, at(&space, 0, "/root/lib/toy.so"));
    space.options.sysroot = at(&space, 1, "/root");
    open_space(&space);
    assert_int_equal(state_of(&space), CF_SYMBOLS_SYMTAB);
    assert_int_equal(cf_symbols_status(space.symbols, &err), CF_OK);
    assert_int_equal(truncate(at(&space, 0, "/root/lib/toy.so"), 0), 0);
    assert_false(cf_symbols_lookup(space.symbols, BASE + 0x1104, &symbol));
    assert_int_equal(cf_symbols_status(space.symbols, &err), CF_EINPUT);
    assert_non_null(strstr(err.text, "/root/lib/toy.so: became shorter while it was read"));
    assert_non_null(strstr(err.text, "at offset "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_the_kernel_makes_up_are_not_opened),
        cmocka_unit_test(a_file_is_used_only_where_its_build_id_is_the_cores),
        cmocka_unit_test(the_path_on_this_machine_needs_the_build_id_too),
        cmocka_unit_test(links_of_an_image_stay_within_it),
        cmocka_unit_test(what_is_no_plain_file_is_never_opened),
        cmocka_unit_test(the_program_that_the_user_names_is_held_against_the_core),
        cmocka_unit_test(debug_files_are_found_by_build_id),
        cmocka_unit_test(a_stripped_file_says_so),
        cmocka_unit_test(symbols_are_found_by_name_and_by_address),
        cmocka_unit_test(of_several_names_the_plainest_is_kept),
        cmocka_unit_test(a_place_between_symbols_has_no_name),
        cmocka_unit_test(names_that_leave_the_table_are_no_names),
        cmocka_unit_test(a_file_may_be_cut_anywhere),
        cmocka_unit_test(damaged_headers_are_survived),
        cmocka_unit_test(a_file_that_cannot_be_read_any_more_is_an_error),
        cmocka_unit_test(files_of_other_kinds_are_refused),
        cmocka_unit_test(names_are_made_readable),
        cmocka_unit_test(a_name_that_explodes_is_cut),
    };
    return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
