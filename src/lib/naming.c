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
    if (!cf_symbols_lookup(naming->symbols, addr, &symbol))
        return false;
    (void)cf_demangle(symbol.name, out, bytes);
    *offset = addr - symbol.addr;
    return true;
}

int cf_naming_init(struct cf_naming *naming, const struct cf_context *ctx,
                   const struct cf_reading *reading, const struct cf_options *options,
                   struct cf_err *err) {
    naming->reading = reading;
    naming->namer = (struct cf_namer){
        .source = naming, .symbol = name_symbol, .module = name_module,
    };
    return cf_symbols_open(ctx, reading->mem, reading->modules, options, &naming->symbols, err);
}

void cf_naming_fini(struct cf_naming *naming) {
    cf_symbols_free(naming->symbols);
    naming->symbols = NULL;
}
