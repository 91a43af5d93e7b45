/*
 * Structs by name in the units of one source file (malloc.c), and in what dwz moved out of these
 * into units that are imported. libdw reads a file only after it was found sound (elf_file.h), and
 * every walk over its entries is counted: its DWARF is as hostile as the rest.
 */
#include "sym/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/texts.h"

enum { UNITS_MAX = 8, IMPORTS_MAX = 256, DIES_MAX = 1 << 16, ALL_UNITS_MAX = 1 << 20 };

struct cf_dwarf {
    const struct cf_elf_file *file;
    struct cf_bus_guard *guard; /* of libelf's mapping */
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_Die units[UNITS_MAX]; /* of the source file */
    size_t nr_units;
    /* The struct that was looked up last: its members are asked for one by one. */
    const char *name;
    bool is_found;
    Dwarf_Die found;
};

static void freep(struct cf_dwarf **dwarf) {
    cf_dwarf_free(*dwarf);
}

static bool is_of(Dwarf_Die *unit, const char *source) {
    const char *name = dwarf_diename(unit);
    if (name == NULL)
        return false;
    return strcmp(cf_base_name(name), source) == 0;
}

static void find_units(struct cf_dwarf *dwarf, const char *source) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    for (size_t i = 0; i < ALL_UNITS_MAX && dwarf->nr_units < UNITS_MAX; i++) {
        if (dwarf_get_units(dwarf->dwarf, unit, &unit, NULL, NULL, &die, NULL) != 0)
            return;
        if (dwarf_tag(&die) == DW_TAG_compile_unit && is_of(&die, source))
            dwarf->units[dwarf->nr_units++] = die;
    }
}

/* Structs and their members stand in these; the others tell of lines and of where variables are. */
static bool describes_types(const char *section) {
    static const char *const names[] = {".debug_info", ".debug_abbrev", ".debug_str",
                                        ".debug_line_str", ".debug_types", ".debug_str_offsets"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(section, names[i]) == 0)
            return true;
    return false;
}

/* libdw decompresses every section of DWARF that a file has: a third of it is not asked for. The
 * headers are changed in our own copy of the mapping only. */
static void hide_other_sections(Elf *elf) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) == NULL
                               ? NULL
                               : elf_strptr(elf, names, header.sh_name);
        if (name == NULL || strncmp(name, ".debug_", strlen(".debug_")) != 0 ||
            describes_types(name))
            continue;
        header.sh_type = SHT_NOBITS;
        (void)gelf_update_shdr(section, &header);
    }
}

static bool read_units(struct cf_dwarf *dwarf, const struct cf_elf_file *file, const char *source) {
    if (!cf_elf_file_is_sound(file) || elf_version(EV_CURRENT) == EV_NONE)
        return false;
    dwarf->elf = elf_begin(cf_elf_file_fd(file), ELF_C_READ_MMAP_PRIVATE, NULL);
    size_t bytes;
    const char *raw = dwarf->elf == NULL ? NULL : elf_rawfile(dwarf->elf, &bytes);
    if (raw == NULL || cf_elf_file_guard(raw, bytes, &dwarf->guard, NULL) != CF_OK)
        return false;
    hide_other_sections(dwarf->elf);
    dwarf->dwarf = dwarf_begin_elf(dwarf->elf, DWARF_C_READ, NULL);
    if (dwarf->dwarf == NULL)
        return false;
    find_units(dwarf, source);
    return dwarf->nr_units > 0;
}

int cf_dwarf_open(const struct cf_elf_file *file, const char *source, struct cf_dwarf **out,
                  struct cf_err *err) {
    CF_CLEANUP(freep) struct cf_dwarf *dwarf = calloc(1, sizeof *dwarf);
    if (dwarf == NULL)
        return cf_err_nomem(err, sizeof *dwarf, "DWARF");
    dwarf->file = file;
    *out = read_units(dwarf, file, source) ? cf_take(&dwarf) : NULL;
    return CF_OK;
}

void cf_dwarf_free(struct cf_dwarf *dwarf) {
    if (dwarf == NULL)
        return;
    (void)dwarf_end(dwarf->dwarf);
    cf_elf_file_unguard(dwarf->file, dwarf->guard);
    (void)elf_end(dwarf->elf);
    free(dwarf);
}

/* A struct of that name with members among the children of a unit. */
static bool find_child(Dwarf_Die *unit, const char *name, Dwarf_Die *out) {
    Dwarf_Die die;
    if (dwarf_child(unit, &die) != 0)
        return false;
    for (size_t i = 0; i < DIES_MAX; i++) {
        const char *die_name =
            dwarf_tag(&die) == DW_TAG_structure_type ? dwarf_diename(&die) : NULL;
        if (die_name != NULL && strcmp(die_name, name) == 0 &&
            !dwarf_hasattr(&die, DW_AT_declaration)) {
            *out = die;
            return true;
        }
        if (dwarf_siblingof(&die, &die) != 0)
            return false;
    }
    return false;
}

/* The same in what the unit imports (dwz moves what units share into units of their own). */
static bool find_import(Dwarf_Die *unit, const char *name, Dwarf_Die *out) {
    Dwarf_Die die;
    size_t imports = 0;
    if (dwarf_child(unit, &die) != 0)
        return false;
    for (size_t i = 0; i < DIES_MAX && imports < IMPORTS_MAX; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die other;
        if (dwarf_tag(&die) == DW_TAG_imported_unit) {
            imports++;
            if (dwarf_attr(&die, DW_AT_import, &attribute) != NULL &&
                dwarf_formref_die(&attribute, &other) != NULL && find_child(&other, name, out))
                return true;
        }
        if (dwarf_siblingof(&die, &die) != 0)
            return false;
    }
    return false;
}

static Dwarf_Die *find_struct(struct cf_dwarf *dwarf, const char *name) {
    if (dwarf->name != NULL && strcmp(dwarf->name, name) == 0)
        return dwarf->is_found ? &dwarf->found : NULL;
    dwarf->name = name;
    dwarf->is_found = false;
    for (size_t i = 0; i < dwarf->nr_units && !dwarf->is_found; i++)
        dwarf->is_found = find_child(&dwarf->units[i], name, &dwarf->found) ||
                          find_import(&dwarf->units[i], name, &dwarf->found);
    return dwarf->is_found ? &dwarf->found : NULL;
}

bool cf_dwarf_struct_bytes(struct cf_dwarf *dwarf, const char *name, uint64_t *out) {
    Dwarf_Die *die = find_struct(dwarf, name);
    int bytes = die != NULL ? dwarf_bytesize(die) : -1;
    if (bytes < 0)
        return false;
    *out = (uint64_t)bytes;
    return true;
}

bool cf_dwarf_member_offset(struct cf_dwarf *dwarf, const char *name, const char *member,
                            uint64_t *out) {
    Dwarf_Die *parent = find_struct(dwarf, name);
    Dwarf_Die die;
    if (parent == NULL || dwarf_child(parent, &die) != 0)
        return false;
    for (size_t i = 0; i < DIES_MAX; i++) {
        const char *die_name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;
        if (die_name != NULL && strcmp(die_name, member) == 0) {
            Dwarf_Attribute attribute;
            Dwarf_Word offset;
            if (dwarf_attr(&die, DW_AT_data_member_location, &attribute) == NULL ||
                dwarf_formudata(&attribute, &offset) != 0)
                return false;
            *out = offset;
            return true;
        }
        if (dwarf_siblingof(&die, &die) != 0)
            return false;
    }
    return false;
}
