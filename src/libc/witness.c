/*
 * Each fact is asked twice and compared: a symbol's address against the place found, a member's
 * offset in DWARF against the layout's column. Files without malloc's symbols (stripped, another
 * allocator's) are silent, not contradicting.
 */
#include "libc/witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libc/layout.h"
#include "sym/dwarf.h"

/* ---- contradictions ---- */

static void __attribute__((format(printf, 3, 4)))
contradict(struct cf_witness *witness, uint64_t addr, const char *format, ...) {
    if (witness->nr_contradictions == CF_CONTRADICTIONS_MAX)
        return;
    struct cf_contradiction *row = &witness->contradictions[witness->nr_contradictions++];
    va_list args;
    va_start(args, format);
    row->addr = addr;
    (void)vsnprintf(row->detail, sizeof row->detail, format, args);
    va_end(args);
}

/* ---- places ---- */

static void check_place(struct cf_symbols *symbols, const struct cf_module *module,
                        const char *name, uint64_t found, struct cf_witness *witness) {
    struct cf_symbol symbol;
    if (!cf_symbols_find(symbols, module, name, &symbol))
        return;
    if (symbol.addr == found)
        witness->nr_symbols++;
    else if (found == 0)
        contradict(witness, symbol.addr,
                   "the symbol %s stands at 0x%" PRIx64 ", where the pattern found nothing", name,
                   symbol.addr);
    else
        contradict(witness, found,
                   "the pattern found %s at 0x%" PRIx64 ", its symbol stands at 0x%" PRIx64, name,
                   found, symbol.addr);
}

/* Where libc's block lies in a thread's storage is ld.so's secret; how far two of its variables
 * stand apart is not. */
static void check_tls(struct cf_symbols *symbols, const struct cf_module *module,
                      const struct cf_malloc *found, struct cf_witness *witness) {
    uint64_t arena_symbol, tcache_symbol;
    int64_t arena, tcache;
    if (!cf_malloc_tls(found, &arena, &tcache) ||
        !cf_symbols_find_tls(symbols, module, "thread_arena", &arena_symbol) ||
        !cf_symbols_find_tls(symbols, module, "tcache", &tcache_symbol))
        return;
    if ((uint64_t)tcache - (uint64_t)arena == tcache_symbol - arena_symbol)
        witness->nr_symbols++;
    else
        contradict(witness, 0,
                   "thread_arena and tcache were found %" PRId64 " bytes apart, their symbols "
                   "stand %" PRId64 " bytes apart",
                   tcache - arena, (int64_t)(tcache_symbol - arena_symbol));
}

/* ---- layouts ---- */

/* A member: its name in glibc, and where the layout's row has its offset. */
struct member {
    const char *name;
    size_t column;
};

#define STATE(name)                                                                                \
    { #name, offsetof(struct cf_state_layout, name) }
#define PAR(name)                                                                                  \
    { #name, offsetof(struct cf_par_layout, name) }

static const struct member state_members[] = {
    STATE(have_fastchunks),
    {"fastbinsY", offsetof(struct cf_state_layout, fastbins)},
    STATE(top),
    STATE(last_remainder),
    STATE(bins),
    STATE(binmap),
    STATE(next),
    STATE(next_free),
    STATE(attached_threads),
    STATE(system_mem),
    STATE(max_system_mem),
};

static const struct member par_members[] = {
    PAR(thp_mode),         PAR(thp_pagesize),    PAR(hp_pagesize),           PAR(hp_flags),
    PAR(n_mmaps),          PAR(n_mmaps_max),     PAR(max_n_mmaps),           PAR(no_dyn_threshold),
    PAR(mmapped_mem),      PAR(max_mmapped_mem), PAR(max_total_mem),         PAR(sbrk_base),
    PAR(tcache_max_bytes), PAR(tcache_count),    PAR(tcache_unsorted_limit),
};

static const struct member heap_members[] = {
    {"pagesize", offsetof(struct cf_heap_info_layout, pagesize)},
};

static const struct member tcache_members[] = {
    {"entries", offsetof(struct cf_tcache_layout, entries)},
};

struct layout {
    const char *type; /* the struct's tag */
    const void *row;
    const struct member *members;
    size_t nr_members;
    uint16_t bytes;
};

static void check_number(const struct layout *layout, const char *what, bool has_dwarf,
                         uint64_t dwarf, uint64_t found, struct cf_witness *witness) {
    bool has_found = found != CF_ABSENT;
    if (has_dwarf == has_found && (!has_found || dwarf == found))
        witness->nr_members += has_found;
    else if (!has_dwarf)
        contradict(witness, 0, "the layout has %s.%s at %" PRIu64 ", DWARF does not have it",
                   layout->type, what, found);
    else if (!has_found)
        contradict(witness, 0, "DWARF has %s.%s at %" PRIu64 ", the layout does not have it",
                   layout->type, what, dwarf);
    else
        contradict(witness, 0, "%s.%s is %" PRIu64 " in the layout and %" PRIu64 " in DWARF",
                   layout->type, what, found, dwarf);
}

static void check_layout(struct cf_dwarf *dwarf, const struct layout *layout,
                         struct cf_witness *witness) {
    uint64_t value = 0;
    if (layout->row == NULL || !cf_dwarf_struct_bytes(dwarf, layout->type, &value))
        return;
    check_number(layout, "sizeof", true, value, layout->bytes, witness);
    for (size_t i = 0; i < layout->nr_members; i++) {
        const struct member *member = &layout->members[i];
        uint16_t column = *(const uint16_t *)((const char *)layout->row + member->column);
        bool has_dwarf = cf_dwarf_member_offset(dwarf, layout->type, member->name, &value);
        check_number(layout, member->name, has_dwarf, value, column, witness);
    }
}

#define MEMBERS(list) (list), sizeof(list) / sizeof(list)[0]

static void check_layouts(struct cf_dwarf *dwarf, const struct cf_malloc *found,
                          struct cf_witness *witness) {
    const struct cf_state_layout *state = cf_malloc_state_layout(found);
    const struct cf_par_layout *par = cf_malloc_namespace(found, 0)->par.layout;
    const struct cf_heap_info_layout *heap = cf_malloc_heap_info_layout(found);
    const struct cf_tcache_layout *tcache = cf_malloc_tcache_layout(found);
    const struct layout layouts[] = {
        {"malloc_state", state, MEMBERS(state_members), state != NULL ? state->bytes : 0},
        {"malloc_par", par, MEMBERS(par_members), par != NULL ? par->bytes : 0},
        {"_heap_info", heap, MEMBERS(heap_members), heap != NULL ? heap->bytes : 0},
        {"tcache_perthread_struct", tcache, MEMBERS(tcache_members),
         tcache != NULL ? tcache->bytes : 0},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_layout(dwarf, &layouts[i], witness);
}

/* ---- asking ---- */

static int ask_dwarf(struct cf_symbols *symbols, const struct cf_module *module,
                     const struct cf_malloc *found, struct cf_witness *witness,
                     struct cf_err *err) {
    const struct cf_elf_file *file = cf_symbols_debug_file(symbols, module);
    unsigned word = cf_mem_word_bytes(cf_malloc_mem(found));
    if (file == NULL || cf_elf_file_is_64(file) != (word == 8))
        return CF_OK;
    struct cf_dwarf *dwarf = NULL;
    int status = cf_dwarf_open(file, "malloc.c", &dwarf, err);
    if (dwarf != NULL)
        check_layouts(dwarf, found, witness);
    cf_dwarf_free(dwarf);
    return status;
}

/* The namespace that the program itself uses is asked about in full. */
static int ask_first(struct cf_symbols *symbols, const struct cf_module *module,
                     const struct cf_malloc *found, struct cf_witness *out, struct cf_err *err) {
    out->unverified = cf_symbols_source(symbols, module).unverified;
    check_tls(symbols, module, found, out);
    return ask_dwarf(symbols, module, found, out, err);
}

/* The module that has namespace 0's data, if that is the libc or a static program; the debug-malloc
 * preload has data of malloc too. Else what is named as a libc. */
static const struct cf_module *libc_of(const struct cf_modules *modules,
                                       const struct cf_malloc *found) {
    const struct cf_module *libc = cf_modules_find_libc(modules);
    if (libc != NULL || cf_malloc_nr_namespaces(found) == 0)
        return libc;
    return cf_modules_find(modules, cf_malloc_namespace(found, 0)->main_arena);
}

/* From the core, else from the file with the same build id. */
static void find_release(struct cf_symbols *symbols, const struct cf_malloc *found,
                         struct cf_witness *out) {
    const struct cf_module *libc = libc_of(cf_symbols_modules(symbols), found);
    const struct cf_elf_file *file = NULL;
    if (libc == NULL || cf_module_glibc_release(cf_malloc_mem(found), libc, out->release,
                                                sizeof out->release))
        return;
    if (!cf_symbols_source(symbols, libc).unverified)
        file = cf_symbols_file(symbols, libc);
    for (size_t i = 0; file != NULL && i < cf_elf_file_nr_sections(file); i++) {
        const struct cf_elf_section *section = cf_elf_file_section(file, i);
        if (section->data != NULL && strcmp(section->name, ".rodata") == 0)
            (void)cf_glibc_banner(section->data, section->bytes, out->release,
                                  sizeof out->release);
    }
}

/* A static of arena_get2(), which compilers number. */
static uint64_t read_arena_limit(struct cf_symbols *symbols, const struct cf_module *module,
                                 const struct cf_malloc *found) {
    struct cf_symbol symbol;
    uint64_t limit;
    for (int i = -1; i < 10; i++) {
        char name[24] = "narenas_limit";
        if (i >= 0)
            (void)snprintf(name, sizeof name, "narenas_limit.%d", i);
        if (cf_symbols_find(symbols, module, name, &symbol))
            return cf_mem_word(cf_malloc_mem(found), symbol.addr, &limit) ? limit : 0;
    }
    return 0;
}

int cf_witness_ask(struct cf_symbols *symbols, const struct cf_malloc *found,
                   struct cf_witness *out, struct cf_err *err) {
    *out = (struct cf_witness){0};
    find_release(symbols, found, out);
    for (size_t i = 0; i < cf_malloc_nr_namespaces(found); i++) {
        const struct cf_namespace *ns = cf_malloc_namespace(found, i);
        const struct cf_module *module =
            cf_modules_find(cf_symbols_modules(symbols), ns->main_arena);
        if (module == NULL)
            continue;
        check_place(symbols, module, "main_arena", ns->main_arena, out);
        check_place(symbols, module, "mp_", ns->par.addr, out);
        if (i == 0)
            out->arena_limit = read_arena_limit(symbols, module, found);
        int status = i == 0 ? ask_first(symbols, module, found, out, err) : CF_OK;
        if (status != CF_OK)
            return status;
    }
    return cf_symbols_status(symbols, err);
}

const char *cf_witness_located_by(const struct cf_witness *witness) {
    if (witness->nr_symbols == 0 || witness->nr_contradictions > 0 || witness->unverified)
        return "pattern";
    return witness->nr_members > 0 ? "dwarf" : "symbols";
}
