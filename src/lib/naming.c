#include "lib/naming.h"

#include <stdio.h>
#include <string.h>

#include "sym/demangle.h"

static bool name_module(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    const struct cf_naming *naming = source;
    const struct cf_module *module = cf_modules_find(naming->reading->modules, addr);
    if (module == NULL)
        return false;
    const char *slash = strrchr(module->path, '/');
    (void)snprintf(out, bytes, "%s", slash == NULL ? module->path : slash + 1);
    *offset = addr - module->start;
    return true;
}

static bool name_symbol(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    const struct cf_naming *naming = source;
    struct cf_symbol symbol;
    if (!cf_symbols_lookup(naming->reading->symbols, addr, &symbol))
        return false;
    (void)cf_demangle(symbol.name, out, bytes);
    *offset = addr - symbol.addr;
    return true;
}

void cf_naming_init(struct cf_naming *naming, const struct cf_reading *reading,
                    const struct cf_frames *frames) {
    naming->reading = reading;
    naming->frames = frames;
    naming->namer = (struct cf_namer){
        .source = naming, .symbol = name_symbol, .module = name_module,
    };
}

bool cf_naming_frame(const struct cf_naming *naming, int32_t thread, uint64_t addr, char *out,
                     size_t bytes) {
    const struct cf_frame *frame =
        thread >= 0 ? cf_frames_at(naming->frames, (size_t)thread, addr) : NULL;
    struct cf_symbol symbol;
    if (frame == NULL || !cf_frame_symbol(naming->reading->symbols, frame, &symbol))
        return false;
    (void)cf_demangle(symbol.name, out, bytes);
    return true;
}
