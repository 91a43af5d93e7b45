/*
 * NT_FILE has a row for each mapping of a file; consecutive rows of one path are one module unless
 * one begins at the file's beginning again. What it is, its own first page in the core says.
 */
#include "sym/module.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/texts.h"
#include "sym/image.h"
#include "sym/linkmap.h"

struct cf_modules {
    const struct cf_mem *mem;
    CF_ARRAY(struct cf_module) list;
    uint32_t *of_file; /* for each row of NT_FILE, its module */
    struct cf_linkmap linked; /* where there is no NT_FILE */
};

/* The rights of the mapping at `addr`; NT_FILE does not have them. */
static uint32_t flags_at(const struct cf_mem *mem, uint64_t addr) {
    const struct cf_region *region = cf_mem_find(mem, addr);
    return region != NULL ? region->flags : 0;
}

static void identify(const struct cf_mem *mem, struct cf_module *module) {
    unsigned char byte;
    if (!cf_mem_read(mem, module->start, &byte, 1))
        return;
    if (!cf_elf_is_image(mem, module->start)) {
        module->kind = CF_MODULE_FILE;
        return;
    }
    module->kind = CF_MODULE_ELF;
    module->build_id_bytes =
        cf_elf_build_id(mem, module->start, module->build_id, sizeof module->build_id);
}

static bool continues(const struct cf_modules *modules, const struct cf_core_file *file) {
    if (modules->list.len == 0 || file->offset_bytes == 0)
        return false;
    const struct cf_module *last = &modules->list.items[modules->list.len - 1];
    return file->start >= last->end && strcmp(file->path, last->path) == 0;
}

static bool add_file(struct cf_modules *modules, const struct cf_core_file *file) {
    struct cf_module *module = NULL;
    if (continues(modules, file)) {
        module = &modules->list.items[modules->list.len - 1];
    } else {
        module = cf_array_push(&modules->list);
        if (module == NULL)
            return false;
        module->start = file->start;
        module->path = file->path;
    }
    module->end = file->end;
    module->mapped_bytes += file->end - file->start;
    module->flags |= flags_at(modules->mem, file->start);
    return true;
}

static int add_linked(struct cf_modules *modules, struct cf_err *err) {
    int status = cf_linkmap_read(&modules->linked, modules->mem, err);
    for (size_t i = 0; status == CF_OK && i < modules->linked.rows.len; i++) {
        const struct cf_linked *row = &modules->linked.rows.items[i];
        struct cf_module *module = cf_array_push(&modules->list);
        if (module == NULL)
            return cf_err_nomem(err, sizeof *module, "the modules");
        module->start = row->start;
        module->end = row->end;
        module->mapped_bytes = row->end - row->start;
        module->path = row->path;
        module->flags = PF_R | PF_X | flags_at(modules->mem, row->end - 1);
    }
    return status;
}

static void free_modules(struct cf_modules **modules) {
    cf_modules_free(*modules);
}

int cf_modules_new(const struct cf_mem *mem, struct cf_modules **out, struct cf_err *err) {
    const struct cf_core *core = cf_mem_core(mem);
    size_t nr_files = cf_core_nr_files(core);
    CF_CLEANUP(free_modules) struct cf_modules *modules = calloc(1, sizeof *modules);
    if (modules == NULL)
        return cf_err_nomem(err, sizeof *modules, "the modules");
    modules->mem = mem;
    modules->of_file = calloc(nr_files + 1, sizeof *modules->of_file);
    if (modules->of_file == NULL)
        return cf_err_nomem(err, nr_files * sizeof *modules->of_file, "the modules");
    for (size_t i = 0; i < nr_files; i++) {
        if (!add_file(modules, cf_core_file(core, i)))
            return cf_err_nomem(err, nr_files * sizeof(struct cf_module), "the modules");
        modules->of_file[i] = (uint32_t)(modules->list.len - 1);
    }
    int status = nr_files == 0 ? add_linked(modules, err) : CF_OK;
    if (status != CF_OK)
        return status;
    for (size_t i = 0; i < modules->list.len; i++)
        identify(mem, &modules->list.items[i]);
    *out = cf_take(&modules);
    return CF_OK;
}

void cf_modules_free(struct cf_modules *modules) {
    if (modules == NULL)
        return;
    cf_array_free(&modules->list);
    free(modules->of_file);
    cf_linkmap_fini(&modules->linked);
    free(modules);
}

size_t cf_modules_nr(const struct cf_modules *modules) {
    return modules->list.len;
}

const struct cf_module *cf_modules_get(const struct cf_modules *modules, size_t index) {
    return &modules->list.items[index];
}

static const struct cf_module *find_linked(const struct cf_modules *modules, uint64_t addr) {
    for (size_t i = 0; i < modules->list.len; i++) {
        const struct cf_module *module = &modules->list.items[i];
        if (addr >= module->start && addr < module->end)
            return module;
    }
    return NULL;
}

const struct cf_module *cf_modules_find(const struct cf_modules *modules, uint64_t addr) {
    const struct cf_core *core = cf_mem_core(modules->mem);
    for (size_t i = 0; i < cf_core_nr_files(core); i++) {
        const struct cf_core_file *file = cf_core_file(core, i);
        if (addr >= file->start && addr < file->end)
            return &modules->list.items[modules->of_file[i]];
    }
    return cf_core_nr_files(core) == 0 ? find_linked(modules, addr) : NULL;
}

const struct cf_module *cf_modules_of_file(const struct cf_modules *modules, size_t file) {
    return &modules->list.items[modules->of_file[file]];
}

const struct cf_module *cf_modules_find_libc(const struct cf_modules *modules) {
    for (size_t i = 0; i < modules->list.len; i++) {
        const struct cf_module *module = &modules->list.items[i];
        const char *name = cf_base_name(module->path);
        bool is_release = strncmp(name, "libc-2.", 7) == 0 && strstr(name, ".so") != NULL;
        if (module->kind != CF_MODULE_FILE && (is_release || strncmp(name, "libc.so.6", 9) == 0))
            return module;
    }
    return NULL;
}

const struct cf_module *cf_modules_find_prefix(const struct cf_modules *modules,
                                               const char *prefix) {
    for (size_t i = 0; i < modules->list.len; i++) {
        const struct cf_module *module = &modules->list.items[i];
        if (strncmp(cf_base_name(module->path), prefix, strlen(prefix)) == 0)
            return module;
    }
    return NULL;
}

const struct cf_module *cf_modules_find_exe(const struct cf_modules *modules) {
    static const uint64_t kinds[] = {AT_PHDR, AT_ENTRY};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t addr;
        if (!cf_core_auxv(cf_mem_core(modules->mem), kinds[i], &addr))
            continue;
        const struct cf_module *module = cf_modules_find(modules, addr);
        if (module != NULL)
            return module;
    }
    return NULL;
}

void cf_module_build_id_text(const struct cf_module *module, char out[2 * CF_BUILD_ID_MAX + 1]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < module->build_id_bytes; i++) {
        out[2 * i] = digits[module->build_id[i] >> 4];
        out[2 * i + 1] = digits[module->build_id[i] & 15];
    }
    out[2 * module->build_id_bytes] = '\0';
}

/* Copies "2.36" from the front of `text`; false when no such number is there. */
static bool copy_release(const char *text, size_t text_bytes, char *out, size_t out_bytes) {
    size_t n = 0;
    while (n < text_bytes && n + 1 < out_bytes &&
           (isdigit((unsigned char)text[n]) || text[n] == '.'))
        n++;
    while (n > 0 && text[n - 1] == '.')
        n--;
    if (n < 3 || text[1] != '.')
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

bool cf_glibc_banner(const unsigned char *span, size_t bytes, char *out, size_t out_bytes) {
    static const char library[] = "GNU C Library (", version[] = "release version ";
    enum { BANNER_BYTES = 160 };
    const unsigned char *at = memmem(span, bytes, library, sizeof library - 1);
    if (at == NULL)
        return false;
    size_t left = bytes - (size_t)(at - span);
    const char *number =
        memmem(at, left < BANNER_BYTES ? left : BANNER_BYTES, version, sizeof version - 1);
    if (number == NULL)
        return false;
    number += sizeof version - 1;
    return copy_release(number, bytes - (size_t)((const unsigned char *)number - span), out,
                        out_bytes);
}

/* Mapped files are walked by region, so that a hole between them costs nothing. */
static bool banner_in_module(const struct cf_mem *mem, const struct cf_module *module, char *out,
                             size_t out_bytes) {
    for (size_t i = cf_mem_lower_bound(mem, module->start); i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if (region->start >= module->end)
            return false;
        uint64_t avail;
        const unsigned char *span = cf_mem_span(mem, region->start, &avail);
        if (span == NULL)
            continue;
        if (avail > region->data_bytes)
            avail = region->data_bytes;
        bool found = cf_glibc_banner(span, (size_t)avail, out, out_bytes);
        cf_mem_drop(mem, region->start, region->end);
        if (found)
            return true;
    }
    return false;
}

bool cf_module_glibc_release(const struct cf_mem *mem, const struct cf_module *module, char *out,
                             size_t out_bytes) {
    if (module == NULL)
        return false;
    if (banner_in_module(mem, module, out, out_bytes))
        return true;
    const char *name = cf_base_name(module->path);
    return strncmp(name, "libc-2.", 7) == 0 &&
           copy_release(name + 5, strlen(name + 5), out, out_bytes);
}
