#include "fake_elf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void fake_elf_init(struct fake_elf *elf, unsigned char id) {
    memset(elf, 0, sizeof *elf);
    elf->header = (Elf64_Ehdr){
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = offsetof(struct fake_elf, phdrs),
        .e_shoff = offsetof(struct fake_elf, sections),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 2,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = FAKE_ELF_SECTIONS,
        .e_shstrndx = 4,
    };
    memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
    elf->header.e_ident[EI_CLASS] = ELFCLASS64;
    elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
    elf->header.e_ident[EI_VERSION] = EV_CURRENT;
    elf->phdrs[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = 0x1000, .p_memsz = 0x1000};
    elf->phdrs[1] = (Elf64_Phdr){
        .p_type = id == 0 ? PT_NULL : PT_NOTE,
        .p_offset = offsetof(struct fake_elf, note),
        .p_vaddr = offsetof(struct fake_elf, note),
        .p_filesz = sizeof elf->note,
    };
    elf->note = (struct fake_elf_note){
        .header = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID}, .owner = "GNU"};
    memset(elf->note.id, id, sizeof elf->note.id);
    elf->nr_symbols = elf->name_bytes = 1;
}

void fake_elf_symbol(struct fake_elf *elf, const char *name, unsigned type, unsigned binding,
                     uint64_t value, uint64_t bytes) {
    size_t room = strlen(name) + 1;
    assert_true(elf->nr_symbols < FAKE_ELF_SYMBOLS);
    assert_true(elf->name_bytes + room <= FAKE_ELF_NAMES);
    memcpy(elf->names + elf->name_bytes, name, room);
    elf->symbols[elf->nr_symbols++] = (Elf64_Sym){
        .st_name = (Elf64_Word)elf->name_bytes,
        .st_info = ELF64_ST_INFO(binding, type),
        .st_shndx = 1,
        .st_value = value,
        .st_size = bytes,
    };
    elf->name_bytes += room;
}

void fake_elf_finish(struct fake_elf *elf, uint32_t table_type) {
    bool has_id = elf->phdrs[1].p_type == PT_NOTE;
    memcpy(elf->section_names, "\0.note\0.symtab\0.strtab\0.shstrtab", 33);
    elf->sections[1] = (Elf64_Shdr){
        .sh_name = 1,
        .sh_type = has_id ? SHT_NOTE : SHT_NOBITS,
        .sh_offset = offsetof(struct fake_elf, note),
        .sh_size = sizeof elf->note,
    };
    elf->sections[2] = (Elf64_Shdr){
        .sh_name = 7,
        .sh_type = table_type,
        .sh_link = 3,
        .sh_offset = offsetof(struct fake_elf, symbols),
        .sh_size = elf->nr_symbols * sizeof(Elf64_Sym),
        .sh_entsize = sizeof(Elf64_Sym),
    };
    elf->sections[3] = (Elf64_Shdr){
        .sh_name = 15,
        .sh_type = SHT_STRTAB,
        .sh_offset = offsetof(struct fake_elf, names),
        .sh_size = elf->name_bytes,
    };
    elf->sections[4] = (Elf64_Shdr){
        .sh_name = 23,
        .sh_type = SHT_STRTAB,
        .sh_offset = offsetof(struct fake_elf, section_names),
        .sh_size = sizeof elf->section_names,
    };
}

static void make_folders(const char *path) {
    char folder[512];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0700);
    }
}

size_t fake_elf_bytes(void) {
    return offsetof(struct fake_elf, nr_symbols);
}

void fake_elf_write(struct fake_elf *elf, uint32_t table_type, const char *path) {
    fake_elf_finish(elf, table_type);
    make_folders(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(elf, 1, fake_elf_bytes(), file), fake_elf_bytes());
    assert_int_equal(fclose(file), 0);
}
