#include "libc/tunables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
