/*
 * ELF files for the tests: a small x86_64 library with a build id and a table of symbols, built in
 * memory. A test may change any byte before it is written.
 *
 *     struct fake_elf elf;
 *     fake_elf_init(&elf, 7);                       a build id of seven's
 *     fake_elf_symbol(&elf, "main_arena", STT_OBJECT, STB_LOCAL, 0x2000, 0x898);
 *     fake_elf_write(&elf, SHT_SYMTAB, "/tmp/x/libtoy.so");
 */
#ifndef CF_TESTS_UNIT_FAKE_ELF_H
#define CF_TESTS_UNIT_FAKE_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_ELF_SYMBOLS = 32, FAKE_ELF_NAMES = 1024, FAKE_ELF_SECTIONS = 5 };

struct fake_elf_note {
    Elf64_Nhdr header;
    char owner[4];
    unsigned char id[20];
};

/* As it stands in the file. */
struct fake_elf {
    Elf64_Ehdr header;
    Elf64_Phdr phdrs[2];
    struct fake_elf_note note;
    char section_names[64];
    Elf64_Sym symbols[FAKE_ELF_SYMBOLS];
    char names[FAKE_ELF_NAMES];
    Elf64_Shdr sections[FAKE_ELF_SECTIONS]; /* null, note, symbols, names, section names */
    size_t nr_symbols, name_bytes;          /* not part of the file */
};

/* Every byte of the build id is `id`; 0: no build id at all. */
void fake_elf_init(struct fake_elf *elf, unsigned char id);
void fake_elf_symbol(struct fake_elf *elf, const char *name, unsigned type, unsigned binding,
                     uint64_t value, uint64_t bytes);
/* What the symbols are: SHT_SYMTAB, SHT_DYNSYM, or SHT_NULL for a stripped file. */
void fake_elf_finish(struct fake_elf *elf, uint32_t table_type);
/* Finishes and writes it, with the folders above it; ends the test where it cannot. */
void fake_elf_write(struct fake_elf *elf, uint32_t table_type, const char *path);
/* Bytes of the file. */
size_t fake_elf_bytes(void);

#endif
