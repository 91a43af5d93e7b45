#include "libc/environ.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

enum {
    ENTRIES_MAX = 16384,
    ENTRY_BYTES_MAX = 4096,
    STACK_BYTES_MAX = 32 << 20, /* from the top of the stack down: MAX_ARG_STRLEN times a few */
};

struct cf_environ {
    CF_ARRAY(char *) entries;
    bool found;
};

void cf_environ_free(struct cf_environ *env) {
    if (env == NULL)
        return;
    for (size_t i = 0; i < env->entries.len; i++)
        free(env->entries.items[i]);
    cf_array_free(&env->entries);
    free(env);
}

/* Where the vector's bytes stand on the stack, above the strings' lowest address; 0: nowhere.
 * The kernel puts AT_RANDOM's bytes, then the strings, above the vector (create_elf_tables). */
static uint64_t find_auxv(const struct cf_mem *mem) {
    size_t bytes;
    const struct cf_core *core = cf_mem_core(mem);
    const unsigned char *auxv = cf_core_auxv_bytes(core, &bytes);
    uint64_t word = cf_mem_word_bytes(mem), random, avail;
    if (auxv == NULL || bytes < 4 * word || !cf_core_auxv(core, AT_RANDOM, &random))
        return 0;
    const struct cf_region *stack = cf_mem_find(mem, random);
    if (stack == NULL)
        return 0;
    uint64_t lowest = random - stack->start > STACK_BYTES_MAX ? random - STACK_BYTES_MAX
                                                              : stack->start;
    for (uint64_t at = random & ~(word - 1); at >= lowest + word; at -= word) {
        const unsigned char *here = cf_mem_span(mem, at, &avail);
        if (here != NULL && avail >= bytes && memcmp(here, auxv, bytes) == 0)
            return at;
    }
    return 0;
}

static char *copy_string(const struct cf_mem *mem, uint64_t addr) {
    uint64_t avail;
    const unsigned char *bytes = cf_mem_span(mem, addr, &avail);
    if (bytes == NULL)
        return NULL;
    size_t most = avail < ENTRY_BYTES_MAX ? (size_t)avail : ENTRY_BYTES_MAX;
    return strndup((const char *)bytes, strnlen((const char *)bytes, most));
}

/* The pointers in front of the vector, last one first, back to the NULL that ends argv. */
static int read_entries(const struct cf_mem *mem, uint64_t auxv, struct cf_environ *env,
                        struct cf_err *err) {
    uint64_t word = cf_mem_word_bytes(mem), pointer, at = auxv - word;
    if (!cf_mem_word(mem, at, &pointer) || pointer != 0)
        return CF_OK;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        at -= word;
        if (!cf_mem_word(mem, at, &pointer) || pointer == 0)
            break;
        char *entry = copy_string(mem, pointer);
        if (entry == NULL)
            break;
        char **slot = cf_array_push(&env->entries);
        if (slot == NULL) {
            free(entry);
            return cf_err_nomem(err, sizeof *slot, "the environment");
        }
        *slot = entry;
    }
    env->found = true;
    return CF_OK;
}

int cf_environ_read(const struct cf_mem *mem, struct cf_environ **out, struct cf_err *err) {
    struct cf_environ *env = calloc(1, sizeof *env);
    if (env == NULL)
        return cf_err_nomem(err, sizeof *env, "the environment");
    uint64_t auxv = find_auxv(mem);
    int status = auxv == 0 ? CF_OK : read_entries(mem, auxv, env, err);
    if (status != CF_OK) {
        cf_environ_free(env);
        return status;
    }
    *out = env;
    return CF_OK;
}

bool cf_environ_found(const struct cf_environ *env) {
    return env->found;
}

size_t cf_environ_nr(const struct cf_environ *env) {
    return env->entries.len;
}

const char *cf_environ_entry(const struct cf_environ *env, size_t index) {
    return env->entries.items[env->entries.len - 1 - index];
}

const char *cf_environ_value(const struct cf_environ *env, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < cf_environ_nr(env); i++) {
        const char *entry = cf_environ_entry(env, i);
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            return entry + length + 1;
    }
    return NULL;
}
