/* The second witness: files beside a synthetic process that agree with it, or do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fake_elf.h"
#include "fake_malloc.h"
#include "libc/witness.h"
#include "sym/dwarf.h"
#include "sym/symbols.h"

enum { HEADER_BYTES = 0x1000, ROOM = 256 };

/* A process of glibc 2.36 whose libc has its first page in the core, and a folder for its files. */
struct scene {
    struct fake fake;
    char folder[64];
    char path[128];
    uint64_t base; /* of libc */
    struct cf_modules *modules;
    struct cf_symbols *symbols;
    struct cf_options options;
    struct cf_witness witness;
};

static void scene_build(struct scene *scene) {
    *scene = (struct scene){.folder = "/tmp/corefrag-unit-XXXXXX"};
    struct fake_elf header;
    assert_non_null(mkdtemp(scene->folder));
    (void)snprintf(scene->path, sizeof scene->path, "%s/libc.so.6", scene->folder);
    fake_init(&scene->fake, 8, "2.36");
    scene->fake.no_file_rows = true;
    scene->fake.nr_arenas = 2;
    fake_build(&scene->fake);
    fake_elf_init(&header, 7);
    fake_elf_finish(&header, SHT_NULL);
    struct synth *synth = scene->fake.synth;
    uint64_t data = scene->fake.mp - 0x200;
    scene->base = data - HEADER_BYTES;
    synth_segment(synth, scene->base, HEADER_BYTES, SYNTH_R);
    synth_put(synth, scene->base, &header, ROOM);
    synth_options(synth)->no_file_note = false;
    synth_file(synth, scene->base, scene->base + HEADER_BYTES, 0, "/lib/libc.so.6");
    synth_file(synth, data, data + 0x8000, 0x1c0000, "/lib/libc.so.6");
}

static void scene_ask(struct scene *scene) {
    struct cf_err err;
    fake_open(&scene->fake);
    scene->options.sysroot = scene->folder;
    assert_int_equal(cf_modules_new(scene->fake.mem, &scene->modules, &err), 0);
    assert_int_equal(cf_symbols_open(NULL, scene->fake.mem, scene->modules, &scene->options,
                                     &scene->symbols, &err),
                     0);
    assert_int_equal(cf_witness_ask(scene->symbols, scene->fake.m, &scene->witness, &err), 0);
}

static void scene_end(struct scene *scene) {
    char command[128];
    cf_symbols_free(scene->symbols);
    cf_modules_free(scene->modules);
    fake_close(&scene->fake);
    (void)snprintf(command, sizeof command, "rm -r %s", scene->folder);
    assert_int_equal(system(command), 0);
}

/* What a case's file says, as far as it differs from the truth. */
struct says {
    const char *what;
    int64_t arena_off, par_off, tcache_off;
    unsigned char build_id;
    const char *located_by;
    const char *contradiction; /* part of the first one; NULL: there is none */
};

static void write_file(struct scene *scene, const struct says *says) {
    struct fake_elf elf;
    fake_elf_init(&elf, says->build_id);
    fake_elf_symbol(&elf, "main_arena", STT_OBJECT, STB_LOCAL,
                    scene->fake.main_arena - scene->base + (uint64_t)says->arena_off, 2200);
    fake_elf_symbol(&elf, "mp_", STT_OBJECT, STB_LOCAL,
                    scene->fake.mp - scene->base + (uint64_t)says->par_off, 136);
    fake_elf_symbol(&elf, "thread_arena", STT_TLS, STB_LOCAL, 0x20, 8);
    fake_elf_symbol(&elf, "tcache", STT_TLS, STB_LOCAL, 0x10 + (uint64_t)says->tcache_off, 8);
    fake_elf_write(&elf, SHT_SYMTAB, scene->path);
}

static void symbols_confirm_or_contradict(void **state) {
    (void)state;
    static const struct says cases[] = {
        {"the truth", 0, 0, 0, 7, "symbols", NULL},
        {"main_arena elsewhere", 32, 0, 0, 7, "pattern", "found main_arena at"},
        {"mp_ elsewhere", 0, -8, 0, 7, "pattern", "found mp_ at"},
        {"TLS elsewhere", 0, 0, 8, 7, "pattern", "-16 bytes apart"},
        {"another libc", 32, 32, 8, 8, "pattern", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CF_CLEANUP(scene_end) struct scene scene;
        scene_build(&scene);
        write_file(&scene, &cases[i]);
        scene_ask(&scene);
        const struct cf_witness *witness = &scene.witness;
        if (strcmp(cf_witness_located_by(witness), cases[i].located_by) != 0)
            fail_msg("%s: located by %s", cases[i].what, cf_witness_located_by(witness));
        assert_int_equal(witness->nr_contradictions, cases[i].contradiction != NULL);
        if (cases[i].contradiction != NULL)
            assert_non_null(strstr(witness->contradictions[0].detail, cases[i].contradiction));
    }
}

static void without_files_it_is_silent(void **state) {
    (void)state;
    CF_CLEANUP(scene_end) struct scene scene;
    scene_build(&scene);
    scene_ask(&scene);
    assert_int_equal(scene.witness.nr_symbols, 0);
    assert_int_equal(scene.witness.nr_contradictions, 0);
    assert_string_equal(cf_witness_located_by(&scene.witness), "pattern");
}

/* ---- DWARF, of a compiler ---- */

/* malloc's structs of 2.36; between the two parts, in the middle of malloc_state, goes what a case
 * adds. */
static const char front[] =
    "typedef unsigned long size_t;\n"
    "struct malloc_state { int mutex, flags, have_fastchunks; void *fastbinsY[10];\n";
static const char back[] =
    "  void *top, *last_remainder, *bins[254]; unsigned binmap[4];\n"
    "  struct malloc_state *next, *next_free; size_t attached_threads, system_mem,\n"
    "  max_system_mem; } state;\n"
    "struct malloc_par { size_t trim_threshold, top_pad, mmap_threshold, arena_test,\n"
    "  arena_max, thp_pagesize, hp_pagesize; int hp_flags, n_mmaps, n_mmaps_max,\n"
    "  max_n_mmaps, no_dyn_threshold; size_t mmapped_mem, max_mmapped_mem; char *sbrk_base;\n"
    "  size_t tcache_bins, tcache_max_bytes, tcache_count, tcache_unsorted_limit; } par;\n"
    "typedef struct _heap_info { void *ar_ptr, *prev; size_t size, mprotect_size, pagesize;\n"
    "  char pad[8]; } heap_info; heap_info heap;\n"
    "typedef struct tcache_perthread_struct { unsigned short counts[64]; void *entries[64]; }\n"
    "  tcache_perthread_struct; tcache_perthread_struct cache;\n";

/* Compiles it into libc.so.6, with the build id and the symbols of the scene. */
static void compile(const struct scene *scene, const char *addition) {
    char text[96], command[1024];
    (void)snprintf(text, sizeof text, "%s/malloc.c", scene->folder);
    FILE *file = fopen(text, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s%s%s", front, addition, back);
    assert_int_equal(fclose(file), 0);
    const char *cc = getenv("CC");
    (void)snprintf(command, sizeof command,
                   "%s -g -shared -nostdlib -Wl,--build-id=0x%s,--defsym=main_arena=%#llx,"
                   "--defsym=mp_=%#llx -o %s %s",
                   cc != NULL && *cc != '\0' ? cc : "cc",
                   "0707070707070707070707070707070707070707",
                   (unsigned long long)(scene->fake.main_arena - scene->base),
                   (unsigned long long)(scene->fake.mp - scene->base), scene->path, text);
    assert_int_equal(system(command), 0);
}

static void dwarf_confirms_the_layout(void **state) {
    (void)state;
    CF_CLEANUP(scene_end) struct scene scene;
    scene_build(&scene);
    compile(&scene, "");
    scene_ask(&scene);
    if (scene.witness.nr_contradictions > 0)
        fail_msg("%s", scene.witness.contradictions[0].detail);
    assert_int_equal(scene.witness.nr_symbols, 2);
    /* 11 and 13 members, one each of heap_info and tcache, four sizes */
    assert_int_equal(scene.witness.nr_members, 30);
    assert_string_equal(cf_witness_located_by(&scene.witness), "dwarf");
}

static void dwarf_contradicts_the_layout(void **state) {
    (void)state;
    CF_CLEANUP(scene_end) struct scene scene;
    scene_build(&scene);
    compile(&scene, "long new_member;");
    scene_ask(&scene);
    /* The size, and the nine members behind the new one. */
    assert_int_equal(scene.witness.nr_contradictions, 10);
    assert_string_equal(scene.witness.contradictions[0].detail,
                        "malloc_state.sizeof is 2200 in the layout and 2208 in DWARF");
    assert_string_equal(cf_witness_located_by(&scene.witness), "pattern");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_confirm_or_contradict),
        cmocka_unit_test(without_files_it_is_silent),
        cmocka_unit_test(dwarf_confirms_the_layout),
        cmocka_unit_test(dwarf_contradicts_the_layout),
    };
    return cmocka_run_group_tests_name("witness", tests, NULL, NULL);
}
