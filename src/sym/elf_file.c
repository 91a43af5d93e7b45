/*
 * Headers are read field by field through a bounded cursor, in the width of the file's class.
 * Counts are believed as far as the file reaches: a table that is cut is read up to there.
 */
#include "sym/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bus_guard.h"
#include "base/checked.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "sym/image.h"

enum { MAX_PHDRS = 256, MAX_NOTE_BYTES = 1 << 20 };

struct cf_elf_file {
    int fd;
    char *path;
    unsigned char *data;
    uint64_t bytes;
    struct cf_bus_guard *guard;
    bool is_64;
    uint16_t machine;
    uint64_t phdrs; /* offset */
    unsigned nr_phdrs;
    struct cf_elf_section *sections;
    size_t nr_sections;
    size_t declared_sections, declared_phdrs;
};

/* Bytes [offset, offset + bytes) of the file, or NULL. */
static const unsigned char *span(const struct cf_elf_file *file, uint64_t offset, uint64_t bytes) {
    if (offset > file->bytes || bytes > file->bytes - offset)
        return NULL;
    return file->data + offset;
}

static struct cf_cursor cursor_at(const struct cf_elf_file *file, uint64_t offset) {
    struct cf_cursor cursor = cf_cursor_make(file->data, file->bytes, file->is_64 ? 8 : 4);
    if (!cf_cursor_seek(&cursor, offset))
        (void)cf_cursor_seek(&cursor, file->bytes);
    return cursor;
}

/* ---- header ---- */

struct header {
    uint64_t phdrs;
    uint64_t sections;
    uint16_t phdr_bytes, nr_phdrs, section_bytes, nr_sections, names;
};

/* From e_machine on; e_type, e_version, e_entry, e_flags and e_ehsize are not needed. */
static bool read_header(struct cf_elf_file *file, struct header *out) {
    struct cf_cursor at = cursor_at(file, EI_NIDENT);
    uint16_t type, ehsize;
    uint32_t version, flags;
    uint64_t entry;
    return cf_cursor_u16(&at, &type) && cf_cursor_u16(&at, &file->machine) &&
           cf_cursor_u32(&at, &version) && cf_cursor_word(&at, &entry) &&
           cf_cursor_word(&at, &out->phdrs) && cf_cursor_word(&at, &out->sections) &&
           cf_cursor_u32(&at, &flags) && cf_cursor_u16(&at, &ehsize) &&
           cf_cursor_u16(&at, &out->phdr_bytes) && cf_cursor_u16(&at, &out->nr_phdrs) &&
           cf_cursor_u16(&at, &out->section_bytes) && cf_cursor_u16(&at, &out->nr_sections) &&
           cf_cursor_u16(&at, &out->names) && type != ET_CORE;
}

static bool machine_is_ours(const struct cf_elf_file *file) {
    switch (file->machine) {
    case EM_X86_64:
    case EM_AARCH64:
        return file->is_64;
    case EM_386:
        return !file->is_64;
    default:
        return false;
    }
}

static bool is_elf(const struct cf_elf_file *file) {
    return file->bytes >= EI_NIDENT && memcmp(file->data, ELFMAG, SELFMAG) == 0 &&
           file->data[EI_DATA] == ELFDATA2LSB &&
           (file->data[EI_CLASS] == ELFCLASS64 || file->data[EI_CLASS] == ELFCLASS32);
}

/* ---- sections ---- */

struct raw_section {
    uint32_t name, type, link, info;
    uint64_t flags, addr, offset, bytes;
};

static bool read_section(const struct cf_elf_file *file, uint64_t table, size_t index,
                         struct raw_section *out) {
    uint64_t each = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    uint64_t offset;
    if (!cf_add_u64(table, index * each, &offset))
        return false;
    struct cf_cursor at = cursor_at(file, offset);
    return cf_cursor_u32(&at, &out->name) && cf_cursor_u32(&at, &out->type) &&
           cf_cursor_word(&at, &out->flags) && cf_cursor_word(&at, &out->addr) &&
           cf_cursor_word(&at, &out->offset) && cf_cursor_word(&at, &out->bytes) &&
           cf_cursor_u32(&at, &out->link) && cf_cursor_u32(&at, &out->info);
}

static const char *section_name(const struct cf_elf_file *file, const struct raw_section *names,
                                uint32_t offset) {
    const unsigned char *data = span(file, names->offset, names->bytes);
    if (data == NULL || offset >= names->bytes ||
        memchr(data + offset, '\0', (size_t)(names->bytes - offset)) == NULL)
        return "";
    return (const char *)data + offset;
}

/* A table that is cut is read as far as it goes. */
static int read_sections(struct cf_elf_file *file, const struct header *header,
                         struct cf_err *err) {
    size_t each = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    struct raw_section names = {0};
    if (header->sections == 0 || header->section_bytes != each ||
        header->nr_sections > CF_ELF_SECTIONS_MAX || header->nr_sections == 0)
        return CF_OK;
    file->sections = calloc(header->nr_sections, sizeof *file->sections);
    if (file->sections == NULL)
        return cf_err_nomem(err, header->nr_sections * sizeof *file->sections, "sections");
    if (header->names < header->nr_sections &&
        !read_section(file, header->sections, header->names, &names))
        names.bytes = 0;
    for (size_t i = 0; i < header->nr_sections; i++) {
        struct raw_section raw;
        if (!read_section(file, header->sections, i, &raw))
            break;
        bool has_bytes = raw.type != SHT_NOBITS && raw.type != SHT_NULL && raw.bytes > 0;
        file->sections[file->nr_sections++] = (struct cf_elf_section){
            .type = raw.type,
            .link = raw.link,
            .flags = raw.flags,
            .addr = raw.addr,
            .bytes = raw.bytes,
            .data = has_bytes ? span(file, raw.offset, raw.bytes) : NULL,
            .name = section_name(file, &names, raw.name),
        };
    }
    return CF_OK;
}

/* ---- opening ---- */

static int map_file(struct cf_elf_file *file, struct cf_err *err) {
    struct stat st;
    if (fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return cf_err_set(err, CF_EINPUT, "%s: not a plain file", file->path);
    if (st.st_size < EI_NIDENT)
        return cf_err_set(err, CF_EINPUT, "%s: not an ELF file", file->path);
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (data == MAP_FAILED)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be mapped", file->path);
    file->data = data;
    file->bytes = (uint64_t)st.st_size;
    return cf_bus_guard_add(file->data, file->bytes, &file->guard, err);
}

static int parse(struct cf_elf_file *file, struct cf_err *err) {
    struct header header;
    if (!is_elf(file))
        return cf_err_set(err, CF_EINPUT, "%s: not an ELF file", file->path);
    file->is_64 = file->data[EI_CLASS] == ELFCLASS64;
    if (!read_header(file, &header) || !machine_is_ours(file))
        return cf_err_set(err, CF_EINPUT, "%s: not a program or library of this machine's kind",
                          file->path);
    size_t each = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    file->declared_sections = header.nr_sections;
    file->declared_phdrs = header.nr_phdrs;
    if (header.phdr_bytes == each && header.nr_phdrs <= MAX_PHDRS &&
        span(file, header.phdrs, header.nr_phdrs * each) != NULL) {
        file->phdrs = header.phdrs;
        file->nr_phdrs = header.nr_phdrs;
    }
    return read_sections(file, &header, err);
}

int cf_elf_file_open(int fd, const char *path, struct cf_elf_file **out, struct cf_err *err) {
    CF_CLEANUP_CLOSE int owned = fd;
    CF_CLEANUP(cf_elf_file_freep) struct cf_elf_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return cf_err_nomem(err, sizeof *file, "an ELF file");
    file->fd = owned;
    owned = -1;
    file->path = strdup(path);
    if (file->path == NULL)
        return cf_err_nomem(err, strlen(path), "an ELF file");
    int status = map_file(file, err);
    if (status == CF_OK)
        status = parse(file, err);
    if (status != CF_OK)
        return status;
    *out = cf_take(&file);
    return CF_OK;
}

void cf_elf_file_free(struct cf_elf_file *file) {
    if (file == NULL)
        return;
    cf_bus_guard_remove(file->guard);
    if (file->data != NULL)
        (void)munmap(file->data, (size_t)file->bytes);
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->sections);
    free(file->path);
    free(file);
}

void cf_elf_file_freep(struct cf_elf_file **file) {
    cf_elf_file_free(*file);
}

/* ---- what it says ---- */

const char *cf_elf_file_path(const struct cf_elf_file *file) {
    return file->path;
}

int cf_elf_file_fd(const struct cf_elf_file *file) {
    return file->fd;
}

bool cf_elf_file_is_64(const struct cf_elf_file *file) {
    return file->is_64;
}

int cf_elf_file_read_status(const struct cf_elf_file *file, struct cf_err *err) {
    uint64_t offset;
    if (!cf_bus_guard_was_hit(file->guard, &offset))
        return CF_OK;
    return cf_bus_guard_error(file->fd, file->path, offset, err);
}

/* libelf maps as it likes, or reads into a buffer of malloc's, which does not begin a page. */
int cf_elf_file_guard(const void *raw, size_t bytes, struct cf_bus_guard **out,
                      struct cf_err *err) {
    bool is_mapped = raw != NULL && (uintptr_t)raw % (uintptr_t)sysconf(_SC_PAGESIZE) == 0;
    return is_mapped ? cf_bus_guard_add((unsigned char *)(uintptr_t)raw, bytes, out, err) : CF_OK;
}

void cf_elf_file_unguard(const struct cf_elf_file *file, struct cf_bus_guard *guard) {
    uint64_t offset;
    if (guard != NULL && cf_bus_guard_was_hit(guard, &offset))
        cf_bus_guard_hit(file->guard, offset);
    cf_bus_guard_remove(guard);
}

size_t cf_elf_file_nr_sections(const struct cf_elf_file *file) {
    return file->nr_sections;
}

const struct cf_elf_section *cf_elf_file_section(const struct cf_elf_file *file, size_t index) {
    return &file->sections[index];
}

struct phdr {
    uint32_t type;
    uint64_t offset, vaddr, bytes;
};

static bool read_phdr(const struct cf_elf_file *file, size_t index, struct phdr *out) {
    size_t each = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    struct cf_cursor at = cursor_at(file, file->phdrs + index * each);
    uint32_t flags;
    uint64_t paddr;
    return cf_cursor_u32(&at, &out->type) && (!file->is_64 || cf_cursor_u32(&at, &flags)) &&
           cf_cursor_word(&at, &out->offset) && cf_cursor_word(&at, &out->vaddr) &&
           cf_cursor_word(&at, &paddr) && cf_cursor_word(&at, &out->bytes);
}

static size_t notes_build_id(const unsigned char *notes, uint64_t bytes, unsigned char *out,
                             size_t out_max) {
    if (notes == NULL || bytes > MAX_NOTE_BYTES)
        return 0;
    return cf_notes_build_id(notes, (size_t)bytes, out, out_max);
}

/* Sections first: a file of debug symbols has the program headers of its program, whose offsets
 * mean nothing in it. */
size_t cf_elf_file_build_id(const struct cf_elf_file *file, unsigned char *out, size_t out_max) {
    for (size_t i = 0; i < file->nr_sections; i++) {
        const struct cf_elf_section *section = &file->sections[i];
        size_t found = section->type == SHT_NOTE
                           ? notes_build_id(section->data, section->bytes, out, out_max)
                           : 0;
        if (found > 0)
            return found;
    }
    for (size_t i = 0; i < file->nr_phdrs; i++) {
        struct phdr phdr;
        if (!read_phdr(file, i, &phdr) || phdr.type != PT_NOTE)
            continue;
        const unsigned char *notes = span(file, phdr.offset, phdr.bytes);
        size_t found = notes_build_id(notes, phdr.bytes, out, out_max);
        if (found > 0)
            return found;
    }
    return 0;
}

bool cf_elf_file_base(const struct cf_elf_file *file, uint64_t page_bytes, uint64_t *out) {
    for (size_t i = 0; i < file->nr_phdrs; i++) {
        struct phdr phdr;
        if (!read_phdr(file, i, &phdr) || phdr.type != PT_LOAD)
            continue;
        *out = cf_align_down(phdr.vaddr, page_bytes);
        return true;
    }
    return false;
}

bool cf_elf_file_is_sound(const struct cf_elf_file *file) {
    for (size_t i = 0; i < file->nr_sections; i++) {
        const struct cf_elf_section *section = &file->sections[i];
        bool is_empty =
            section->type == SHT_NOBITS || section->type == SHT_NULL || section->bytes == 0;
        if ((section->data == NULL && !is_empty) || section->link >= file->declared_sections)
            return false;
    }
    return file->nr_sections == file->declared_sections && file->nr_phdrs == file->declared_phdrs;
}

const unsigned char *cf_elf_file_headers(const struct cf_elf_file *file, size_t *bytes) {
    size_t each = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    uint64_t end;
    if (file->nr_phdrs == 0 || !cf_add_u64(file->phdrs, file->nr_phdrs * each, &end))
        return NULL;
    *bytes = (size_t)end;
    return span(file, 0, end);
}
