/*
 * Two steps for each module, each when it is first asked for: its files are located (file, debug
 * file), then one table of symbols is read, from the better of the files or else from the core's
 * own pages. An address is taken to a module by the ranges of its mappings, and to a symbol by the
 * module's bias. The vdso is a module that only the core has.
 */
#include "sym/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "sym/bss.h"
#include "sym/debuginfod.h"
#include "sym/dynamic.h"
#include "sym/findfile.h"
#include "sym/image.h"
#include "sym/symtab.h"

enum { SYMBOLS_MAX = 4 << 20, VDSO_SYMBOLS_MAX = 4096 };

/* A module in two steps: its files are located, then its symbols are read. */
struct place {
    bool is_located, is_read;
    enum cf_symbols_state state;
    struct cf_found_file own, debug;
    bool has_bias;
    uint64_t bias;
    struct cf_symbol_bytes source;
    struct cf_symtab symtab;
};

/* One row of NT_FILE. */
struct module_range {
    uint64_t start, end;
    uint32_t module;
};

struct cf_symbols {
    const struct cf_context *ctx;
    const struct cf_mem *mem;
    const struct cf_modules *modules;
    struct cf_files files;
    struct place *places;          /* one for each module */
    CF_ARRAY(struct module_range) ranges; /* sorted by start */
    size_t nr_read;
    int status; /* and error of the first question that memory was too short for */
    struct cf_err err;
    struct module_range vdso; /* empty: none */
    struct place vdso_place;
};

/* ---- opening ---- */

static int by_start(const void *a, const void *b) {
    const struct module_range *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static uint32_t index_of(const struct cf_symbols *symbols, const struct cf_module *module) {
    return (uint32_t)(module - cf_modules_get(symbols->modules, 0));
}

static int add_range(struct cf_symbols *symbols, uint64_t start, uint64_t end,
                     const struct cf_module *module, struct cf_err *err) {
    struct module_range *range = cf_array_push(&symbols->ranges);
    if (range == NULL)
        return cf_err_nomem(err, sizeof *range, "the modules' ranges");
    *range = (struct module_range){
        .start = start, .end = cf_bss_end(symbols->mem, end), .module = index_of(symbols, module)};
    return CF_OK;
}

/* Rows of NT_FILE, or whole modules where there is none. */
static int add_ranges(struct cf_symbols *symbols, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(symbols->mem);
    size_t nr_files = cf_core_nr_files(core);
    size_t nr = nr_files > 0 ? nr_files : cf_modules_nr(symbols->modules);
    int status = CF_OK;
    for (size_t i = 0; i < nr && status == CF_OK; i++) {
        const struct cf_module *module = nr_files > 0 ? cf_modules_of_file(symbols->modules, i)
                                                      : cf_modules_get(symbols->modules, i);
        const struct cf_core_file *file = nr_files > 0 ? cf_core_file(core, i) : NULL;
        status = file != NULL ? add_range(symbols, file->start, file->end, module, err)
                              : add_range(symbols, module->start, module->end, module, err);
    }
    if (symbols->ranges.len > 0)
        qsort(symbols->ranges.items, symbols->ranges.len, sizeof *symbols->ranges.items, by_start);
    return status;
}

static void note(struct cf_symbols *symbols, int status, const struct cf_err *err) {
    if (status == CF_OK || symbols->status != CF_OK)
        return;
    symbols->status = status;
    symbols->err = *err;
}

/* The vdso is in every kernel core, and in no list of files. */
static void find_vdso(struct cf_symbols *symbols) {
    struct place *place = &symbols->vdso_place;
    struct cf_image image;
    uint64_t base;
    struct cf_err err;
    if (!cf_core_auxv(cf_mem_core(symbols->mem), AT_SYSINFO_EHDR, &base) ||
        !cf_image_open(symbols->mem, base, &image) ||
        !cf_dynamic_symbols(symbols->mem, base, &place->source))
        return;
    place->bias = image.bias;
    symbols->vdso =
        (struct module_range){.start = base, .end = cf_mem_find(symbols->mem, base)->end};
    note(symbols, cf_symtab_read(&place->symtab, &place->source, VDSO_SYMBOLS_MAX, &err), &err);
}

/* A name that was mistyped should not look like a file without symbols. */
static int check_paths(const struct cf_options *options, struct cf_err *err) {
    const char *folders[] = {options->sysroot, options->debuginfo};
    struct stat st;
    if (options->exe != NULL && access(options->exe, R_OK) != 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be read (--exe)", options->exe);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (folders[i] == NULL)
            continue;
        const char *option = i == 0 ? "--sysroot" : "--debuginfo";
        if (stat(folders[i], &st) != 0)
            return cf_err_errno(err, CF_EINPUT, errno, "%s: not found (%s)", folders[i], option);
        if (!S_ISDIR(st.st_mode))
            return cf_err_set(err, CF_EINPUT, "%s: not a folder (%s)", folders[i], option);
    }
    return CF_OK;
}

int cf_symbols_open(const struct cf_context *ctx, const struct cf_mem *mem,
                    const struct cf_modules *modules, const struct cf_options *options,
                    struct cf_symbols **out, struct cf_err *err) {
    int status = check_paths(options, err);
    if (status != CF_OK)
        return status;
    if (options->debuginfod && cf_debuginfod_lacks() != NULL)
        cf_log(ctx, "--debuginfod: %s: no server is asked", cf_debuginfod_lacks());
    struct cf_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL)
        return cf_err_nomem(err, sizeof *symbols, "symbols");
    size_t nr = cf_modules_nr(modules);
    symbols->ctx = ctx;
    symbols->mem = mem;
    symbols->modules = modules;
    symbols->files =
        (struct cf_files){.options = options, .mem = mem, .exe = cf_modules_find_exe(modules)};
    symbols->places = calloc(nr + 1, sizeof *symbols->places);
    status = symbols->places == NULL ? cf_err_nomem(err, nr * sizeof *symbols->places, "symbols")
                                     : add_ranges(symbols, err);
    if (status != CF_OK) {
        cf_symbols_free(symbols);
        return status;
    }
    find_vdso(symbols);
    *out = symbols;
    return CF_OK;
}

void cf_symbols_free(struct cf_symbols *symbols) {
    if (symbols == NULL)
        return;
    for (size_t i = 0; symbols->places != NULL && i < cf_modules_nr(symbols->modules); i++) {
        cf_symtab_fini(&symbols->places[i].symtab);
        cf_elf_file_free(symbols->places[i].own.file);
        cf_elf_file_free(symbols->places[i].debug.file);
    }
    cf_symtab_fini(&symbols->vdso_place.symtab);
    free(symbols->places);
    cf_array_free(&symbols->ranges);
    free(symbols);
}

/* ---- the files of a module ---- */

static bool table_of(const struct cf_elf_file *file, uint32_t type, struct cf_symbol_bytes *out) {
    if (file == NULL)
        return false;
    for (size_t i = 0; i < cf_elf_file_nr_sections(file); i++) {
        const struct cf_elf_section *section = cf_elf_file_section(file, i);
        if (section->type != type || section->data == NULL ||
            section->link >= cf_elf_file_nr_sections(file))
            continue;
        const struct cf_elf_section *names = cf_elf_file_section(file, section->link);
        if (names->type != SHT_STRTAB || names->data == NULL)
            continue;
        *out = (struct cf_symbol_bytes){
            .symbols = section->data,
            .symbol_bytes = section->bytes,
            .names = (const char *)names->data,
            .name_bytes = names->bytes,
            .is_64 = cf_elf_file_is_64(file),
        };
        return true;
    }
    return false;
}

static void find_bias(const struct cf_symbols *symbols, const struct cf_module *module,
                      struct place *place) {
    struct cf_image image;
    uint64_t base;
    place->has_bias = cf_image_open(symbols->mem, module->start, &image);
    place->bias = place->has_bias ? image.bias : 0;
    const struct cf_elf_file *file = place->own.file != NULL ? place->own.file : place->debug.file;
    if (place->has_bias || file == NULL ||
        !cf_elf_file_base(file, cf_mem_page_bytes(symbols->mem), &base))
        return;
    place->bias = module->start - base;
    place->has_bias = true;
}

static enum cf_symbols_state why_not(const struct cf_module *module, const struct place *place) {
    if (place->own.file != NULL)
        return CF_SYMBOLS_STRIPPED;
    if (place->own.other[0] != '\0')
        return CF_SYMBOLS_OTHER_FILE;
    if (module->kind == CF_MODULE_FILE)
        return CF_SYMBOLS_NOT_ELF;
    return module->build_id_bytes == 0 ? CF_SYMBOLS_NO_ID : CF_SYMBOLS_NO_FILE;
}

static enum cf_symbols_state choose(const struct cf_symbols *symbols,
                                    const struct cf_module *module, struct place *place) {
    if (!place->has_bias)
        return why_not(module, place);
    if (table_of(place->own.file, SHT_SYMTAB, &place->source))
        return CF_SYMBOLS_SYMTAB;
    if (table_of(place->debug.file, SHT_SYMTAB, &place->source))
        return CF_SYMBOLS_DEBUG;
    if (table_of(place->own.file, SHT_DYNSYM, &place->source))
        return CF_SYMBOLS_DYNSYM;
    if (cf_dynamic_symbols(symbols->mem, module->start, &place->source))
        return CF_SYMBOLS_CORE;
    return why_not(module, place);
}

static void say_refused(const struct cf_symbols *symbols, const struct cf_module *module,
                        const struct place *place) {
    const char *exe = symbols->files.options->exe;
    if (exe != NULL && module == symbols->files.exe && place->own.file == NULL)
        cf_log(symbols->ctx, "%s is not used: it is not the program of this core (%s)", exe,
               place->own.other[0] != '\0' ? "its build id or its headers are others"
                                           : "it cannot be read, or is no ELF file");
}

static struct place *locate(struct cf_symbols *symbols, const struct cf_module *module) {
    struct place *place = &symbols->places[index_of(symbols, module)];
    struct cf_err err;
    if (place->is_located)
        return place;
    place->is_located = true;
    if (module->kind != CF_MODULE_FILE) {
        note(symbols, cf_files_find(&symbols->files, module, &place->own, &err), &err);
        struct cf_symbol_bytes table;
        if (!table_of(place->own.file, SHT_SYMTAB, &table) && module->build_id_bytes > 0)
            note(symbols, cf_files_find_debug(&symbols->files, module, &place->debug, &err), &err);
        find_bias(symbols, module, place);
        say_refused(symbols, module, place);
    }
    place->state = choose(symbols, module, place);
    return place;
}

static struct place *read_place(struct cf_symbols *symbols, const struct cf_module *module) {
    struct place *place = locate(symbols, module);
    struct cf_err err;
    if (place->is_read)
        return place;
    place->is_read = true;
    if (!cf_symbols_state_is_good(place->state))
        return place;
    size_t room = SYMBOLS_MAX - symbols->nr_read;
    note(symbols, cf_symtab_read(&place->symtab, &place->source, room, &err), &err);
    symbols->nr_read += place->symtab.entries.len;
    return place;
}

/* ---- asking ---- */

static const struct cf_module *module_at(const struct cf_symbols *symbols, uint64_t addr) {
    size_t at = cf_bound(symbols->ranges.len, i, symbols->ranges.items[i].start > addr);
    if (at == 0 || addr >= symbols->ranges.items[at - 1].end)
        return NULL;
    return cf_modules_get(symbols->modules, symbols->ranges.items[at - 1].module);
}

bool cf_symbols_lookup(struct cf_symbols *symbols, uint64_t addr, struct cf_symbol *out) {
    const struct cf_module *module = module_at(symbols, addr);
    bool in_vdso = addr >= symbols->vdso.start && addr < symbols->vdso.end;
    if (module == NULL && !in_vdso)
        return false;
    const struct place *place = module != NULL ? read_place(symbols, module) : &symbols->vdso_place;
    const struct cf_symtab_entry *entry = cf_symtab_at(&place->symtab, addr - place->bias);
    if (entry == NULL)
        return false;
    *out = (struct cf_symbol){
        .module = module,
        .name = cf_symtab_name(&place->symtab, entry),
        .addr = place->bias + entry->value,
        .bytes = entry->bytes,
    };
    return true;
}

bool cf_symbols_find(struct cf_symbols *symbols, const struct cf_module *module, const char *name,
                     struct cf_symbol *out) {
    static const unsigned types[] = {STT_OBJECT, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
    const struct place *place = locate(symbols, module);
    uint64_t value, bytes;
    if (!cf_symbols_state_is_good(place->state))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!cf_symtab_find(&place->source, name, types[i], &value, &bytes))
            continue;
        *out = (struct cf_symbol){
            .module = module, .name = name, .addr = place->bias + value, .bytes = bytes};
        return true;
    }
    return false;
}

bool cf_symbols_find_tls(struct cf_symbols *symbols, const struct cf_module *module,
                         const char *name, uint64_t *offset) {
    const struct place *place = locate(symbols, module);
    uint64_t bytes;
    return cf_symbols_state_is_good(place->state) &&
           cf_symtab_find(&place->source, name, STT_TLS, offset, &bytes);
}

struct cf_symbols_source cf_symbols_source(struct cf_symbols *symbols,
                                           const struct cf_module *module) {
    const struct place *place = locate(symbols, module);
    const char *other = place->state == CF_SYMBOLS_OTHER_FILE ? place->own.other : NULL;
    return (struct cf_symbols_source){
        .state = place->state,
        .file = place->own.file != NULL ? cf_elf_file_path(place->own.file) : other,
        .debug_file = place->debug.file != NULL ? cf_elf_file_path(place->debug.file) : NULL,
        .unverified = place->own.unverified,
    };
}

const char *cf_symbols_state_name(enum cf_symbols_state state) {
    static const char *const names[] = {
        [CF_SYMBOLS_SYMTAB] = "symtab",     [CF_SYMBOLS_DEBUG] = "debug",
        [CF_SYMBOLS_DYNSYM] = "dynsym",     [CF_SYMBOLS_CORE] = "core",
        [CF_SYMBOLS_STRIPPED] = "stripped", [CF_SYMBOLS_OTHER_FILE] = "other-file",
        [CF_SYMBOLS_NO_FILE] = "no-file",   [CF_SYMBOLS_NO_ID] = "no-build-id",
        [CF_SYMBOLS_NOT_ELF] = "not-elf",
    };
    return names[state];
}

bool cf_symbols_state_is_good(enum cf_symbols_state state) {
    return state <= CF_SYMBOLS_CORE;
}

const struct cf_elf_file *cf_symbols_file(struct cf_symbols *symbols,
                                          const struct cf_module *module) {
    return locate(symbols, module)->own.file;
}

const struct cf_elf_file *cf_symbols_debug_file(struct cf_symbols *symbols,
                                                const struct cf_module *module) {
    const struct place *place = locate(symbols, module);
    return place->debug.file != NULL ? place->debug.file : place->own.file;
}

bool cf_symbols_bias(struct cf_symbols *symbols, const struct cf_module *module, uint64_t *out) {
    const struct place *place = locate(symbols, module);
    if (place->has_bias)
        *out = place->bias;
    return place->has_bias;
}

const struct cf_modules *cf_symbols_modules(const struct cf_symbols *symbols) {
    return symbols->modules;
}

static int read_status(const struct place *place, struct cf_err *err) {
    int status = place->own.file != NULL ? cf_elf_file_read_status(place->own.file, err) : CF_OK;
    return status == CF_OK && place->debug.file != NULL
               ? cf_elf_file_read_status(place->debug.file, err)
               : status;
}

int cf_symbols_status(const struct cf_symbols *symbols, struct cf_err *err) {
    int status = symbols->status;
    if (status != CF_OK && err != NULL)
        *err = symbols->err;
    for (size_t i = 0; status == CF_OK && i < cf_modules_nr(symbols->modules); i++)
        status = read_status(&symbols->places[i], err);
    return status;
}
