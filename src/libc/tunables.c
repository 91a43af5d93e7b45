/*
 * Why malloc's settings are what they are. A setting that mp_ holds is shown as it was in force;
 * it is the environment's where the block says the same, the program's (mallopt) where the
 * default differs and the block does not, malloc's own where the dynamic threshold moved it
 * (free() of an mmapped chunk, all releases, unless no_dyn_threshold is set). The block is found by
 * its neighbour: the kernel lays argv, the environment and the auxiliary vector one behind the
 * other (create_elf_tables), and the vector's bytes are known from NT_AUXV.
 */
#include "libc/tunables.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

/* ---- the environment ---- */

enum {
    ENTRIES_MAX = 16384,
    ENTRY_BYTES_MAX = 4096,
    STACK_BYTES_MAX = 32 << 20, /* from the top of the stack down: MAX_ARG_STRLEN times a few */
};

struct cf_environ {
    CF_ARRAY(char *) entries;
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

const char *cf_environ_value(const struct cf_environ *env, const char *name) {
    size_t length = strlen(name);
    for (size_t i = env->entries.len; i-- > 0;) { /* they were read from the end */
        const char *entry = env->entries.items[i];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            return entry + length + 1;
    }
    return NULL;
}

/* ---- the settings ---- */

enum { KIB = 1024, DEFAULT_THRESHOLD = 128 * KIB, DEFAULT_MMAP_MAX = 65536 };

/* A tunable's name, its environment alias, and where mp_ keeps it. */
struct setting {
    const char *name;
    const char *alias; /* NULL: none */
    uint64_t value;
    uint64_t usual;
    bool in_mp;
};

/* The value that GLIBC_TUNABLES gives "glibc.malloc.NAME"; false when it gives none. */
static bool in_tunables(const struct cf_environ *env, const char *name, char *out, size_t bytes) {
    const char *list = env == NULL ? NULL : cf_environ_value(env, "GLIBC_TUNABLES");
    char key[64];
    int length = snprintf(key, sizeof key, "glibc.malloc.%s=", name);
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t item = strcspn(at, ":");
        if (item > (size_t)length && strncmp(at, key, (size_t)length) == 0) {
            (void)snprintf(out, bytes, "%.*s", (int)(item - (size_t)length), at + length);
            return true;
        }
        at += item + (at[item] == ':');
    }
    return false;
}

static bool in_environment(const struct cf_environ *env, const struct setting *setting, char *out,
                           size_t bytes) {
    if (in_tunables(env, setting->name, out, bytes))
        return true;
    const char *value = env == NULL || setting->alias == NULL
                            ? NULL
                            : cf_environ_value(env, setting->alias);
    if (value == NULL)
        return false;
    (void)snprintf(out, bytes, "%s", value);
    return true;
}

static void mask_control_bytes(char *text) {
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text == 0x7f)
            *text = '?';
}

static struct cf_tunable *new_row(struct cf_tunables *out, const char *name) {
    if (out->nr_rows == CF_TUNABLES_MAX)
        return NULL;
    struct cf_tunable *row = &out->rows[out->nr_rows++];
    *row = (struct cf_tunable){.name = name, .source = "default"};
    return row;
}

static void add_setting(struct cf_tunables *out, const struct cf_environ *env,
                        const struct setting *setting) {
    char asked[64] = "";
    bool wanted = in_environment(env, setting, asked, sizeof asked);
    if (!setting->in_mp && !wanted)
        return;
    struct cf_tunable *row = new_row(out, setting->name);
    if (row == NULL)
        return;
    mask_control_bytes(asked);
    if (!setting->in_mp) {
        (void)snprintf(row->value, sizeof row->value, "%s", asked);
        row->source = "environment";
        (void)snprintf(row->note, sizeof row->note, "only the environment shows this one");
        return;
    }
    (void)snprintf(row->value, sizeof row->value, "%" PRIu64, setting->value);
    if (wanted) {
        row->source = "environment";
        (void)snprintf(row->note, sizeof row->note, "the environment asked for %s", asked);
    } else if (setting->value != setting->usual) {
        row->source = "mp_";
    }
}

static bool is_grown(const struct cf_par *par) {
    return par->no_dyn_threshold == 0 && par->mmap_threshold != DEFAULT_THRESHOLD;
}

/* Freeing a mapped chunk above the threshold raises it, and the trim threshold to twice that. */
static void note_thresholds(struct cf_tunables *out, const struct cf_par *par) {
    for (size_t i = 0; i < out->nr_rows; i++) {
        struct cf_tunable *row = &out->rows[i];
        bool is_mmap = strcmp(row->name, "mmap_threshold") == 0;
        if (!is_mmap && strcmp(row->name, "trim_threshold") != 0)
            continue;
        if (par->no_dyn_threshold != 0)
            (void)snprintf(row->note, sizeof row->note, "fixed: a setting switched the dynamic "
                                                        "thresholds off");
        else if (is_grown(par))
            (void)snprintf(row->note, sizeof row->note, "dynamic: has grown from %d KiB to %" PRIu64
                                                        " KiB",
                           128, (is_mmap ? par->mmap_threshold : par->trim_threshold) / KIB);
        else
            (void)snprintf(row->note, sizeof row->note, "dynamic, not grown yet");
    }
}

static void add_all(struct cf_tunables *out, const struct cf_malloc *m,
                    const struct cf_environ *env, const struct cf_par *par) {
    const struct cf_par_layout *layout = par->layout;
    bool is_64 = layout->word_bytes == 8;
    bool has_tcache = layout->tcache_count != CF_ABSENT;
    const struct cf_state_layout *state = cf_malloc_state_layout(m);
    uint64_t count = state != NULL ? state->default_tcache_count : 0;
    bool has_hp = layout->hp_pagesize != CF_ABSENT;
    struct setting settings[] = {
        {"arena_max", "MALLOC_ARENA_MAX", par->arena_max, 0, true},
        {"arena_test", "MALLOC_ARENA_TEST", par->arena_test, is_64 ? 8 : 2, true},
        {"trim_threshold", "MALLOC_TRIM_THRESHOLD_", par->trim_threshold, DEFAULT_THRESHOLD, true},
        {"top_pad", "MALLOC_TOP_PAD_", par->top_pad, DEFAULT_THRESHOLD, true},
        {"mmap_threshold", "MALLOC_MMAP_THRESHOLD_", par->mmap_threshold, DEFAULT_THRESHOLD, true},
        {"mmap_max", "MALLOC_MMAP_MAX_", par->n_mmaps_max, DEFAULT_MMAP_MAX, true},
        {"tcache_count", NULL, par->tcache_count, count, has_tcache},
        {"tcache_max", NULL, par->tcache_max_bytes, par->tcache_max_bytes, has_tcache},
        {"tcache_unsorted_limit", NULL, par->tcache_unsorted_limit, 0,
         layout->tcache_unsorted_limit != CF_ABSENT},
        {"hugetlb", NULL, par->hp_pagesize != 0 ? par->hp_pagesize : par->thp_pagesize != 0, 0,
         has_hp},
        {"mxfast", NULL, 0, 0, false},
        {"perturb", "MALLOC_PERTURB_", 0, 0, false},
        {"check", "MALLOC_CHECK_", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        add_setting(out, env, &settings[i]);
}

/* A preload tells more about which malloc is live than any tunable. */
static void add_preload(struct cf_tunables *out, const struct cf_environ *env) {
    const char *value = env == NULL ? NULL : cf_environ_value(env, "LD_PRELOAD");
    struct cf_tunable *row = value == NULL ? NULL : new_row(out, "LD_PRELOAD");
    if (row == NULL)
        return;
    (void)snprintf(row->value, sizeof row->value, "%s", value);
    mask_control_bytes(row->value);
    row->source = "environment";
}

void cf_tunables_read(const struct cf_malloc *m, const struct cf_environ *env,
                      struct cf_tunables *out) {
    out->nr_rows = 0;
    if (cf_malloc_nr_namespaces(m) == 0)
        return;
    const struct cf_par *par = &cf_malloc_namespace(m, 0)->par;
    if (par->addr == 0 || par->layout == NULL)
        return;
    add_all(out, m, env, par);
    note_thresholds(out, par);
    add_preload(out, env);
}

unsigned cf_tunables_cores(const struct cf_malloc *m, uint64_t limit) {
    enum { CORES_MAX = 1 << 16 };
    const struct cf_namespace *ns =
        cf_malloc_nr_namespaces(m) == 0 ? NULL : cf_malloc_namespace(m, 0);
    if (ns == NULL || ns->par.addr == 0 || ns->par.layout == NULL || ns->par.arena_max != 0 ||
        ns->par.layout->arenas_are_cores)
        return 0;
    uint64_t each = ns->par.layout->word_bytes == 8 ? 8 : 2;
    return limit % each == 0 && limit / each <= CORES_MAX ? (unsigned)(limit / each) : 0;
}

uint64_t cf_tunables_arena_limit(const struct cf_malloc *m, unsigned cpus, const char **formula) {
    if (cf_malloc_nr_namespaces(m) == 0)
        return 0;
    const struct cf_par *par = &cf_malloc_namespace(m, 0)->par;
    if (par->addr == 0 || par->layout == NULL)
        return 0;
    if (par->arena_max != 0) {
        *formula = "arena_max";
        return par->arena_max;
    }
    bool is_64 = par->layout->word_bytes == 8;
    bool plain = par->layout->arenas_are_cores;
    *formula = plain ? "cores, at least arena_test" : is_64 ? "8 x cores" : "2 x cores";
    if (cpus == 0)
        return 0;
    if (plain)
        return cpus > par->arena_test ? cpus : par->arena_test;
    return (uint64_t)cpus * (is_64 ? 8 : 2);
}
