/*
 * Names come from the symbols of the modules' files, which are opened when the first name in them
 * is asked for; constants that the core lacks are read from sections that nobody could write to.
 */
#include "holders/naming.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "sym/demangle.h"

static bool name_module(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    const struct cf_naming *naming = source;
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(naming->symbols), addr);
    if (module == NULL)
        return false;
    (void)snprintf(out, bytes, "%s", cf_base_name(module->path));
    *offset = addr - module->start;
    return true;
}

static bool name_symbol(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    const struct cf_naming *naming = source;
    struct cf_symbol symbol;
    if (!cf_symbols_lookup(naming->symbols, addr, &symbol))
        return false;
    (void)cf_demangle(symbol.name, out, bytes);
    *offset = addr - symbol.addr;
    return true;
}

/* Only what the process could not have changed. */
static bool name_text(void *source, uint64_t addr, char *out, size_t bytes) {
    const struct cf_naming *naming = source;
    const struct cf_module *module = cf_modules_find(cf_symbols_modules(naming->symbols), addr);
    const struct cf_elf_file *file =
        module != NULL ? cf_symbols_file(naming->symbols, module) : NULL;
    uint64_t bias;
    if (file == NULL || !cf_symbols_bias(naming->symbols, module, &bias))
        return false;
    for (size_t i = 0; i < cf_elf_file_nr_sections(file); i++) {
        const struct cf_elf_section *section = cf_elf_file_section(file, i);
        uint64_t at = addr - bias - section->addr;
        if (section->data == NULL || at >= section->bytes || !(section->flags & SHF_ALLOC) ||
            (section->flags & SHF_WRITE))
            continue;
        size_t most = section->bytes - at < bytes ? (size_t)(section->bytes - at) : bytes;
        if (memchr(section->data + at, '\0', most) == NULL)
            return false;
        (void)snprintf(out, bytes, "%s", (const char *)section->data + at);
        return true;
    }
    return false;
}

/* A runtime is the program itself, or a library that is named after it (libnode.so). */
static bool find_variable(void *source, const char *name, uint64_t *addr) {
    const struct cf_naming *naming = source;
    const struct cf_modules *modules = cf_symbols_modules(naming->symbols);
    const struct cf_module *exe = cf_modules_find_exe(modules);
    const struct cf_module *places[] = {exe, cf_modules_find_prefix(modules, "libnode.so"),
                                        cf_modules_find_prefix(modules, "libv8.so")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct cf_symbol symbol;
        if (places[i] == NULL ||
            !cf_symbols_find(naming->symbols, places[i], name, &symbol))
            continue;
        *addr = symbol.addr;
        return true;
    }
    return false;
}

struct cf_variables cf_naming_variables(const struct cf_naming *naming) {
    return (struct cf_variables){.source = (void *)naming, .find = find_variable};
}

void cf_naming_init(struct cf_naming *naming, struct cf_symbols *symbols,
                    const struct cf_frames *frames) {
    naming->symbols = symbols;
    naming->frames = frames;
    naming->namer = (struct cf_namer){
        .source = naming, .symbol = name_symbol, .module = name_module, .text = name_text,
    };
}

bool cf_naming_frame(const struct cf_naming *naming, int32_t thread, uint64_t addr, char *out,
                     size_t bytes) {
    const struct cf_frame *frame =
        thread >= 0 ? cf_frames_at(naming->frames, (size_t)thread, addr) : NULL;
    struct cf_symbol symbol;
    if (frame == NULL || !cf_frame_symbol(naming->symbols, frame, &symbol))
        return false;
    (void)cf_demangle(symbol.name, out, bytes);
    return true;
}
