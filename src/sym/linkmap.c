/*
 * Follows ld.so's own list. Every pointer of it stands in writable memory that the process may have
 * overwritten: objects are counted, addresses looked up, texts need their end in the core.
 */
#include "sym/linkmap.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "sym/image.h"

enum { PATH_BYTES_MAX = 4096 };

/* ---- the way to the chain ---- */

/* The image's first page is the one that its program headers stand in. */
static bool open_program(const struct cf_mem *mem, struct cf_image *out) {
    uint64_t phdrs;
    return cf_core_auxv(cf_mem_core(mem), AT_PHDR, &phdrs) &&
           cf_image_open(mem, cf_align_down(phdrs, cf_mem_page_bytes(mem)), out);
}

/* ---- one object ---- */

/* A copy of the C string at `addr`; NULL when it cannot be read, has no end, or memory is out
 * (`*status` says which). */
static char *copy_text(const struct cf_mem *mem, uint64_t addr, int *status, struct cf_err *err) {
    uint64_t avail;
    const unsigned char *span = cf_mem_span(mem, addr, &avail);
    size_t room = avail < PATH_BYTES_MAX ? (size_t)avail : PATH_BYTES_MAX;
    if (span == NULL || memchr(span, '\0', room) == NULL)
        return NULL;
    char *copy = strdup((const char *)span);
    if (copy == NULL)
        *status = cf_err_nomem(err, room, "a library's path");
    return copy;
}

static bool find_end(const struct cf_image *image, uint64_t *out) {
    uint64_t end = 0;
    for (unsigned i = 0; i < image->nr_phdrs; i++) {
        struct cf_image_phdr phdr;
        uint64_t last;
        if (!cf_image_phdr(image, i, &phdr) || !cf_add_u64(phdr.vaddr, phdr.bytes, &last))
            return false;
        if (phdr.type == PT_LOAD && last > end)
            end = last;
    }
    end += image->bias;
    return cf_align_up(end, cf_mem_page_bytes(image->mem), out) && *out > image->base;
}

/* _DYNAMIC stands in RELRO, right before .data. */
static bool guess_end(const struct cf_mem *mem, uint64_t start, uint64_t dynamic, uint64_t *out) {
    const struct cf_region *relro = cf_mem_find(mem, dynamic);
    if (relro == NULL || dynamic < start)
        return false;
    const struct cf_region *data = cf_mem_find(mem, relro->end);
    bool goes_on = data != NULL && data->start == relro->end && (data->flags & PF_W) != 0;
    *out = goes_on ? data->end : relro->end;
    return true;
}

static int add_row(struct cf_linkmap *map, const struct cf_mem *mem, uint64_t start, uint64_t end,
                   uint64_t name, struct cf_err *err) {
    int status = CF_OK;
    char *path = copy_text(mem, name, &status, err);
    if (path == NULL)
        return status;
    struct cf_linked *row = cf_array_push(&map->rows);
    if (row == NULL) {
        free(path);
        return cf_err_nomem(err, sizeof *row, "libraries");
    }
    *row = (struct cf_linked){.start = start, .end = end, .path = path};
    return CF_OK;
}

/* ---- all of them ---- */

static int by_start(const void *a, const void *b) {
    const struct cf_linked *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static void settle(struct cf_linkmap *map) {
    size_t kept = 0;
    if (map->rows.len > 0)
        qsort(map->rows.items, map->rows.len, sizeof *map->rows.items, by_start);
    for (size_t i = 0; i < map->rows.len; i++) {
        if (kept > 0 && map->rows.items[i].start == map->rows.items[kept - 1].start)
            free(map->rows.items[i].path);
        else
            map->rows.items[kept++] = map->rows.items[i];
    }
    map->rows.len = kept;
}

/* The program has no name in its own chain; the kernel left one on its stack. */
static int add_program(struct cf_linkmap *map, const struct cf_image *program, struct cf_err *err) {
    uint64_t name, end;
    if (!cf_core_auxv(cf_mem_core(program->mem), AT_EXECFN, &name) || !find_end(program, &end))
        return CF_OK;
    return add_row(map, program->mem, program->base, end, name, err);
}

/* What a link_map says. */
struct link {
    uint64_t base, name, dynamic, next;
};

static bool read_link(const struct cf_mem *mem, uint64_t at, struct link *out) {
    uint64_t word = cf_mem_word_bytes(mem);
    return cf_mem_word(mem, at, &out->base) && cf_mem_word(mem, at + word, &out->name) &&
           cf_mem_word(mem, at + 2 * word, &out->dynamic) &&
           cf_mem_word(mem, at + 3 * word, &out->next);
}

static int add_library(struct cf_linkmap *map, const struct cf_mem *mem, const struct link *link,
                       struct cf_err *err) {
    struct cf_image image;
    uint64_t vdso, end;
    bool is_vdso = cf_core_auxv(cf_mem_core(mem), AT_SYSINFO_EHDR, &vdso) && vdso == link->base;
    if (link->base == 0 || is_vdso)
        return CF_OK;
    bool has_end = cf_image_open(mem, link->base, &image)
                       ? find_end(&image, &end)
                       : guess_end(mem, link->base, link->dynamic, &end);
    return has_end ? add_row(map, mem, link->base, end, link->name, err) : CF_OK;
}

/* The first object is the program itself. The chain cannot be trusted to end. */
static int add_libraries(struct cf_linkmap *map, const struct cf_mem *mem, uint64_t first,
                         struct cf_err *err) {
    struct link link = {.next = first};
    for (unsigned i = 0; i < CF_LINKMAP_MAX && link.next != 0; i++) {
        if (!read_link(mem, link.next, &link))
            return CF_OK;
        int status = i > 0 ? add_library(map, mem, &link, err) : CF_OK;
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_linkmap_read(struct cf_linkmap *map, const struct cf_mem *mem, struct cf_err *err) {
    struct cf_image program;
    uint64_t debug, first;
    if (!open_program(mem, &program))
        return CF_OK;
    int status = add_program(map, &program, err);
    if (status == CF_OK && cf_image_dynamic(&program, DT_DEBUG, &debug) && debug != 0 &&
        cf_mem_word(mem, debug + cf_mem_word_bytes(mem), &first))
        status = add_libraries(map, mem, first, err);
    settle(map);
    return status;
}

void cf_linkmap_fini(struct cf_linkmap *map) {
    for (size_t i = 0; i < map->rows.len; i++)
        free(map->rows.items[i].path);
    cf_array_free(&map->rows);
}
