/*
 * Files of symbols on hostile bytes: sections, build id, both tables of symbols, names. What is
 * promised is held: data of sections lies in the file, entries are sorted, every name ends. A
 * broken promise aborts. libdw is left out: its faults would be all that is found.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/demangle.h"
#include "sym/elf_file.h"
#include "sym/symtab.h"

enum { NAMES_SHOWN = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept) {
    if (!kept)
        abort();
}

static void check_names(const struct cf_symtab *symtab) {
    char out[128];
    for (size_t i = 0; i < symtab->entries.len; i++) {
        const struct cf_symtab_entry *entry = &symtab->entries.items[i];
        promise(i == 0 || symtab->entries.items[i - 1].value < entry->value);
        promise(strlen(cf_symtab_name(symtab, entry)) < symtab->source.name_bytes);
        const struct cf_symtab_entry *found = cf_symtab_at(symtab, entry->value);
        promise(found == NULL || entry->value - found->value < found->bytes);
        if (i < NAMES_SHOWN)
            promise(strlen(cf_demangle(cf_symtab_name(symtab, entry), out, sizeof out)) <
                    sizeof out);
    }
}

static void check_table(const struct cf_elf_file *file, const struct cf_elf_section *section) {
    const struct cf_elf_section *names = cf_elf_file_section(file, section->link);
    const struct cf_symbol_bytes source = {
        .symbols = section->data,
        .symbol_bytes = section->bytes,
        .names = (const char *)names->data,
        .name_bytes = names->bytes,
        .is_64 = cf_elf_file_is_64(file),
    };
    struct cf_symtab symtab = {0};
    uint64_t value, bytes;
    if (cf_symtab_read(&symtab, &source, 1 << 16, NULL) == CF_OK)
        check_names(&symtab);
    (void)cf_symtab_find(&source, "main_arena", STT_OBJECT, &value, &bytes);
    cf_symtab_fini(&symtab);
}

static void check_file(const struct cf_elf_file *file, size_t size) {
    unsigned char id[64];
    uint64_t base;
    size_t header_bytes;
    promise(cf_elf_file_build_id(file, id, sizeof id) <= sizeof id);
    (void)cf_elf_file_base(file, 4096, &base);
    promise(cf_elf_file_headers(file, &header_bytes) == NULL || header_bytes <= size);
    (void)cf_elf_file_is_sound(file);
    size_t nr = cf_elf_file_nr_sections(file);
    for (size_t i = 0; i < nr; i++) {
        const struct cf_elf_section *section = cf_elf_file_section(file, i);
        promise(section->data == NULL || section->bytes <= size);
        promise(strlen(section->name) < size);
        if ((section->type == SHT_SYMTAB || section->type == SHT_DYNSYM) &&
            section->data != NULL && section->link < nr &&
            cf_elf_file_section(file, section->link)->data != NULL)
            check_table(file, section);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    if (write(fd, data, size) != (ssize_t)size) {
        (void)close(fd);
        return 0;
    }
    struct cf_elf_file *file = NULL;
    struct cf_err err;
    if (cf_elf_file_open(fd, "elf", &file, &err) == CF_OK)
        check_file(file, size);
    cf_elf_file_free(file);
    return 0;
}
