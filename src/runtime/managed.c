#include "runtime/managed.h"
#include "base/path.h"

#include <string.h>

const struct cf_module *cf_managed_module(const struct cf_modules *modules, const char *prefix) {
    for (size_t i = 0; i < cf_modules_nr(modules); i++) {
        const struct cf_module *module = cf_modules_get(modules, i);
        if (strncmp(cf_base_name(module->path), prefix, strlen(prefix)) == 0)
            return module;
    }
    return NULL;
}

int cf_managed_claim(const struct cf_managed *managed, struct cf_err *err) {
    int status = cf_jvm_claim(managed, err);
    if (status == CF_OK)
        status = cf_v8_claim(managed, err);
    if (status == CF_OK)
        status = cf_golang_claim(managed, err);
    if (status == CF_OK)
        status = cf_python_claim(managed, err);
    if (status == CF_OK)
        status = cf_dotnet_claim(managed, err);
    return status;
}
