/*
 * An ELF file of this machine: a program, a library, or a file of debug symbols. It may come from
 * a container's image, so it is as hostile as the core: it is mapped and read by bounds, and
 * libelf never sees it here. Only little-endian files of the machines that a core can have.
 */
#ifndef CF_SYM_ELF_FILE_H
#define CF_SYM_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bus_guard.h"
#include "corefrag.h"

enum { CF_ELF_SECTIONS_MAX = 8192 };

struct cf_elf_file;

/* A section header whose bytes, if it has any, lie in the file. */
struct cf_elf_section {
    uint32_t type;
    uint32_t link;
    uint64_t flags;
    uint64_t addr;
    uint64_t bytes;
    const unsigned char *data; /* NULL: it has none (SHT_NOBITS), or they lie outside the file */
    const char *name;          /* "" when it cannot be read */
};

/* Takes `fd`, also where it fails; `path` is copied. CF_EINPUT: no ELF file that can be used. */
int cf_elf_file_open(int fd, const char *path, struct cf_elf_file **out, struct cf_err *err);
void cf_elf_file_free(struct cf_elf_file *file);
void cf_elf_file_freep(struct cf_elf_file **file);

const char *cf_elf_file_path(const struct cf_elf_file *file);
int cf_elf_file_fd(const struct cf_elf_file *file);
/* CF_EINPUT where some of the file could not be read since it was opened: then zeros were read
 * instead, and what was found in it may not be told. */
int cf_elf_file_read_status(const struct cf_elf_file *file, struct cf_err *err);
/* For a library that maps the file once more, at `raw` (elf_rawfile()): the same care for its
 * mapping, until cf_elf_file_unguard(), before the library unmaps it. `*out` stays as it is where
 * nothing is mapped. CF_EINPUT: there are too many guards. */
int cf_elf_file_guard(const void *raw, size_t bytes, struct cf_bus_guard **out, struct cf_err *err);
void cf_elf_file_unguard(const struct cf_elf_file *file, struct cf_bus_guard *guard);
bool cf_elf_file_is_64(const struct cf_elf_file *file);

size_t cf_elf_file_nr_sections(const struct cf_elf_file *file);
const struct cf_elf_section *cf_elf_file_section(const struct cf_elf_file *file, size_t index);

/* The build id, at most `out_max` bytes of it; returns their number, 0: it has none. */
size_t cf_elf_file_build_id(const struct cf_elf_file *file, unsigned char *out, size_t out_max);

/* The address, in the file's own counting, of the page that it was mapped from; false: it has no
 * PT_LOAD. `page_bytes` is a power of two. */
bool cf_elf_file_base(const struct cf_elf_file *file, uint64_t page_bytes, uint64_t *out);

/* Every section lies in the file and links to one that is there: what a library that is less wary
 * than we are may be given. */
bool cf_elf_file_is_sound(const struct cf_elf_file *file);

/* The header and the program headers, for a comparison with an image in memory. NULL: cut. */
const unsigned char *cf_elf_file_headers(const struct cf_elf_file *file, size_t *bytes);

#endif
