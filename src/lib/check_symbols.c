/*
 * check's rows about symbols: for how many modules a file with the same build id was found, and
 * what the malloc of those symbols contradicts in what the patterns found.
 */
#include "lib/check_symbols.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "report/format.h"

enum { MODULES_SHOWN = 4, CONTRADICTIONS_SHOWN = 3 };

/* The programs and libraries of the process, by what is known of their files. */
struct tally {
    size_t nr; /* that are ELF, or whose first page is not in the core */
    size_t nr_lost; /* libraries of which no file is here */
    size_t by_state[CF_SYMBOLS_NOT_ELF + 1];
};

static bool is_missing(enum cf_symbols_state state) {
    return state == CF_SYMBOLS_NO_FILE || state == CF_SYMBOLS_OTHER_FILE;
}

static struct tally count(const struct cf_reading *reading) {
    struct tally tally = {0};
    for (size_t i = 0; i < cf_modules_nr(reading->modules); i++) {
        const struct cf_module *module = cf_modules_get(reading->modules, i);
        bool is_code = (module->flags & PF_X) != 0;
        if (module->kind == CF_MODULE_FILE || (module->kind != CF_MODULE_ELF && !is_code))
            continue;
        enum cf_symbols_state state = cf_symbols_source(reading->symbols, module).state;
        tally.nr++;
        tally.by_state[state]++;
        tally.nr_lost += is_missing(state) && module != cf_modules_find_exe(reading->modules);
    }
    return tally;
}

/* A part of the sentence, where there is something to count: "2 have exported ones". */
static void append_count(char *text, size_t bytes, size_t nr, const char *one, const char *more,
                         const char *what) {
    size_t used = strlen(text);
    if (nr > 0 && used < bytes)
        (void)snprintf(text + used, bytes - used, ", %zu %s %s", nr, nr == 1 ? one : more, what);
}

static void add_counts(const struct tally *tally, struct cf_table *table) {
    size_t full = tally->by_state[CF_SYMBOLS_SYMTAB] + tally->by_state[CF_SYMBOLS_DEBUG];
    size_t exported = tally->by_state[CF_SYMBOLS_DYNSYM] + tally->by_state[CF_SYMBOLS_CORE];
    size_t missing = tally->by_state[CF_SYMBOLS_NO_FILE] + tally->by_state[CF_SYMBOLS_OTHER_FILE];
    char text[256];
    (void)snprintf(text, sizeof text, "of %zu programs and libraries %zu %s all symbols",
                   tally->nr, full, full == 1 ? "has" : "have");
    append_count(text, sizeof text, exported, "has", "have", "exported ones");
    append_count(text, sizeof text, missing, "has", "have", "no file here");
    append_count(text, sizeof text, tally->by_state[CF_SYMBOLS_NO_ID], "has", "have",
                 "no build id in the core");
    append_count(text, sizeof text, tally->by_state[CF_SYMBOLS_STRIPPED], "is", "are", "stripped");
    cf_table_fact(table, "symbols", "%s", text);
}

/* One module without a file, and why. */
static void add_missing(const struct cf_module *module, const struct cf_symbols_source *source,
                        struct cf_table *table) {
    char id[2 * CF_BUILD_ID_MAX + 1];
    cf_module_build_id_text(module, id);
    if (source->state == CF_SYMBOLS_OTHER_FILE)
        cf_table_fact(table, "not used", "%s: its build id is not %s, as the core's %s has it",
                      source->file, id, module->path);
    else
        cf_table_fact(table, "no file", "%s (build id %s)", module->path, id);
}

static void add_modules(const struct cf_reading *reading, struct cf_table *table) {
    size_t shown = 0;
    for (size_t i = 0; i < cf_modules_nr(reading->modules) && shown < MODULES_SHOWN; i++) {
        const struct cf_module *module = cf_modules_get(reading->modules, i);
        struct cf_symbols_source source = cf_symbols_source(reading->symbols, module);
        if (module->build_id_bytes == 0 || !is_missing(source.state))
            continue;
        add_missing(module, &source, table);
        shown++;
    }
}

static void add_witness(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_witness *witness = &reading->witness;
    if (witness->nr_contradictions == 0 && witness->nr_symbols > 0)
        cf_table_fact(table, "second witness",
                      "%u places by symbols and %u offsets by DWARF agree with the pattern%s",
                      witness->nr_symbols, witness->nr_members,
                      witness->unverified ? " (by a file that could not be verified)" : "");
    for (size_t i = 0; i < witness->nr_contradictions && i < CONTRADICTIONS_SHOWN; i++)
        cf_table_fact(table, "CONTRADICTION", "%s", witness->contradictions[i].detail);
}

static bool has_symbols(const struct cf_reading *reading, const struct cf_module *module) {
    enum cf_symbols_state state = cf_symbols_source(reading->symbols, module).state;
    return state == CF_SYMBOLS_SYMTAB || state == CF_SYMBOLS_DEBUG;
}

static void add_exe_hint(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_module *exe = cf_modules_find_exe(reading->modules);
    if (exe == NULL || has_symbols(reading, exe))
        return;
    struct cf_symbols_source source = cf_symbols_source(reading->symbols, exe);
    if (source.unverified)
        return;
    if (source.state == CF_SYMBOLS_STRIPPED || source.state == CF_SYMBOLS_DYNSYM)
        cf_table_fact(table, "hint",
                      "%s is stripped: --exe FILE names an unstripped one of the "
                      "same build, --debuginfo DIR where its debug file is",
                      exe->path);
    else
        cf_table_fact(table, "hint", "--exe FILE gives the names of %s, and so does the image that "
                      "it is in (--sysroot DIR)", exe->path);
}

static void add_file_hints(const struct cf_reading *reading, const struct tally *tally,
                           struct cf_table *table) {
    if (tally->nr_lost > 0)
        cf_table_fact(table, "hint",
                      "--sysroot DIR gives the names of %s: the container's image, "
                      "unpacked (docker export, podman image mount)",
                      tally->nr_lost == 1 ? "the library that is not here" : "libraries");
    const struct cf_module *libc = cf_reading_libc(reading);
    if (libc != NULL && libc->build_id_bytes > 0 && !has_symbols(reading, libc))
        cf_table_fact(table, "hint",
                      "libc's debug file (libc6-dbg, glibc-debuginfo) would confirm what the "
                      "pattern found: --debuginfo DIR, or --debuginfod");
    if (tally->nr > 0 && tally->by_state[CF_SYMBOLS_NO_ID] == tally->nr)
        cf_table_fact(table, "hint",
                      "the core has no build ids (bit 0x10 of coredump_filter): only a file that "
                      "--exe names can be used, on trust");
}

void cf_check_symbols(const struct cf_reading *reading, struct cf_table *table) {
    struct tally tally = count(reading);
    if (tally.nr == 0)
        return;
    add_counts(&tally, table);
    add_witness(reading, table);
    add_modules(reading, table);
    add_exe_hint(reading, table);
    add_file_hints(reading, &tally, table);
}
