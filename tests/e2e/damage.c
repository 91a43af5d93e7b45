#include "damage.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* The file, mapped and shared. */
struct file {
    const char *path;
    unsigned char *bytes;
    size_t length;
    Elf64_Ehdr *header;
    Elf64_Phdr *segments;
};

static bool fail(const char *path, const char *why) {
    fprintf(stderr, "damage: %s: %s\n", path, why);
    return false;
}

static bool file_open(struct file *file, const char *path) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return fail(path, "cannot be opened");
    file->path = path;
    file->length = (size_t)st.st_size;
    file->bytes = mmap(NULL, file->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file->bytes == MAP_FAILED)
        return fail(path, "cannot be mapped");
    file->header = (Elf64_Ehdr *)file->bytes;
    file->segments = (Elf64_Phdr *)(file->bytes + file->header->e_phoff);
    return true;
}

static bool file_close(struct file *file, bool done) {
    munmap(file->bytes, file->length);
    return done;
}

static Elf64_Phdr *segment_of_type(struct file *file, unsigned type) {
    for (unsigned i = 0; i < file->header->e_phnum; i++)
        if (file->segments[i].p_type == type)
            return &file->segments[i];
    return NULL;
}

static Elf64_Phdr *segment_at(struct file *file, uint64_t addr) {
    for (unsigned i = 0; i < file->header->e_phnum; i++) {
        Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && addr >= segment->p_vaddr &&
            addr - segment->p_vaddr < segment->p_memsz)
            return segment;
    }
    return NULL;
}

static bool cut_to(const char *core, uint64_t length) {
    return truncate(core, (off_t)length) == 0 || fail(core, "cannot be cut");
}

bool damage_cut(const char *core, unsigned percent) {
    struct stat st;
    return stat(core, &st) == 0 && cut_to(core, (uint64_t)st.st_size / 100 * percent);
}

bool damage_cut_notes(const char *core) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    const Elf64_Phdr *notes = segment_of_type(&file, PT_NOTE);
    uint64_t length = notes ? notes->p_offset + notes->p_filesz / 2 : 0;
    return file_close(&file, notes && cut_to(core, length));
}

bool damage_cut_headers(const char *core) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    uint64_t length = file.header->e_phoff + file.header->e_phnum / 2 * sizeof(Elf64_Phdr) + 8;
    return file_close(&file, cut_to(core, length));
}

bool damage_zero_tail(const char *core, unsigned percent) {
    struct stat st;
    if (stat(core, &st))
        return fail(core, "is not there");
    return cut_to(core, (uint64_t)st.st_size / 100 * percent) && cut_to(core, (uint64_t)st.st_size);
}

bool damage_leave_out(const char *core, uint64_t addr) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    Elf64_Phdr *segment = segment_at(&file, addr);
    if (segment)
        segment->p_filesz = 0;
    return file_close(&file, segment != NULL);
}

bool damage_zero_memory(const char *core, uint64_t start, uint64_t end) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    const Elf64_Phdr *segment = segment_at(&file, start);
    bool fits = segment && end - segment->p_vaddr <= segment->p_filesz;
    if (fits)
        memset(file.bytes + segment->p_offset + (start - segment->p_vaddr), 0, end - start);
    return file_close(&file, fits || fail(core, "does not have that memory"));
}

bool damage_hide_files(const char *core) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    const Elf64_Phdr *notes = segment_of_type(&file, PT_NOTE);
    bool found = false;
    for (uint64_t at = 0; notes && at + sizeof(Elf64_Nhdr) < notes->p_filesz && !found;) {
        Elf64_Nhdr *note = (Elf64_Nhdr *)(file.bytes + notes->p_offset + at);
        found = note->n_type == NT_FILE;
        if (found)
            note->n_type = 0x12345;
        at += sizeof *note + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
    }
    return file_close(&file, found || fail(core, "has no NT_FILE"));
}

bool damage_lose_count(const char *core) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    file.header->e_phnum = PN_XNUM;
    file.header->e_shoff = file.length + 64;
    file.header->e_shentsize = sizeof(Elf64_Shdr);
    file.header->e_shnum = 1;
    return file_close(&file, true);
}

bool damage_overlap(const char *core, uint64_t addr) {
    struct file file;
    if (!file_open(&file, core))
        return false;
    Elf64_Phdr *segment = segment_at(&file, addr);
    if (segment) {
        segment->p_memsz += PAGE;
        segment->p_filesz += PAGE;
    }
    return file_close(&file, segment != NULL);
}
