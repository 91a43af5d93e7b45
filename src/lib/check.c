/*
 * cf_check(): one screen about a core. It reads what an analysis reads, up to the walk of heaps,
 * and writes no database.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "space/allocators.h"
#include "runtime/golang.h"
#include "base/cleanup.h"
#include "libc/abortmsg.h"
#include "base/err.h"
#include "lib/door.h"
#include "lib/reading.h"
#include "lib/standing.h"
#include "report/doc.h"
#include "report/emit.h"
#include "report/format.h"

enum { FLAWS_SHOWN = 4, MODULES_SHOWN = 4, CONTRADICTIONS_SHOWN = 3 };

static const char *plural(size_t count) {
    return cf_format_plural((int64_t)count);
}

static const char *or_unknown(const char *text) {
    return *text == '\0' ? "unknown" : text;
}

static void add_flaw(struct cf_table *table, const struct cf_core_flaw *flaw) {
    cf_table_fact(table, "flaw", "%s at offset %" PRIu64 ": %s", flaw->code, flaw->offset,
                  flaw->detail);
}

static void add_file(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_core *core = reading->core;
    char bytes[CF_FORMAT_MAX];
    cf_table_fact(table, "core", "%s (%s)", cf_core_name(core),
                  cf_format_bytes(bytes, cf_core_file_bytes(core), false));
    cf_table_fact(table, "written by", "%s%s",
                  cf_core_producer(core) == CF_PRODUCER_KERNEL ? "the " : "",
                  cf_core_producer_name(core));
    if (cf_core_complete(core))
        cf_table_fact(table, "complete", "yes: all that its headers promise is in the file");
    else if (cf_core_left_out(core) != NULL)
        cf_table_fact(table, "complete", "NO: it is %s", cf_core_left_out(core));
    else
        cf_table_fact(table, "complete", "NO: %s that its headers promise are missing",
                      cf_core_missing_bytes(core) == 0
                          ? "headers or notes are damaged, and what"
                          : cf_format_bytes(bytes, cf_core_missing_bytes(core), false));
    for (size_t i = 0; i < cf_core_nr_flaws(core) && i < FLAWS_SHOWN; i++)
        add_flaw(table, cf_core_flaw(core, i));
    for (size_t i = 0; i < cf_mem_nr_flaws(reading->mem) && i < FLAWS_SHOWN; i++)
        add_flaw(table, cf_mem_flaw(reading->mem, i));
}

static void add_process(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_core *core = reading->core;
    const struct cf_module *exe = cf_modules_find_exe(reading->modules);
    cf_table_fact(table, "process", "%s, pid %" PRIu32 ", %zu thread%s",
                  exe != NULL ? exe->path : or_unknown(cf_core_command(core)), cf_core_pid(core),
                  cf_core_nr_threads(core), plural(cf_core_nr_threads(core)));
    cf_table_fact(table, "command line", "%s", or_unknown(cf_core_arguments(core)));
    const char *name = cf_core_signal(core) > 0 ? sigabbrev_np(cf_core_signal(core)) : NULL;
    if (cf_core_is_snapshot(core))
        cf_table_fact(table, "signal", "none: a snapshot of a running process");
    else
        cf_table_fact(table, "signal", "%s%s (%" PRId32 ")", name == NULL ? "" : "SIG",
                      name == NULL ? "number" : name, cf_core_signal(core));
    cf_table_fact(table, "machine", "%s, pages of %" PRIu64 " bytes, %zu segments, %zu modules%s",
                  cf_core_machine_name(core), cf_mem_page_bytes(reading->mem),
                  cf_core_nr_segments(core), cf_modules_nr(reading->modules),
                  cf_core_has_files(core) ? "" : " (the core does not list its mapped files)");
}

static void add_residency(const struct cf_reading *reading, struct cf_table *table) {
    static const char *const texts[] = {
        [CF_RESIDENCY_NONE] = "unknown: nothing in this core says which pages were in memory",
        [CF_RESIDENCY_HOLES] = "exact: the kernel left holes for pages that were not in memory",
        [CF_RESIDENCY_GAPS] = "exact: pages that were not in memory are left out",
        [CF_RESIDENCY_ZERO_PAGES] = "at least: only pages full of zeros can be missing",
        [CF_RESIDENCY_SMAPS] = "exact: smaps counts as many pages in each mapping",
    };
    cf_table_fact(table, "in memory", "%s", texts[cf_mem_residency_source(reading->mem)]);
}

static uint64_t heap_bytes(const struct cf_chunkmap *map) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++)
        bytes += cf_chunkmap_heap(map, i)->end - cf_chunkmap_heap(map, i)->start;
    return bytes;
}

/* How libc is known: where the modules or the core's texts name it. */
static void add_libc(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_module *module = cf_reading_libc(reading);
    const char *release = reading->witness.release;
    char build_id[2 * CF_BUILD_ID_MAX + 1] = "";
    if (module != NULL)
        cf_module_build_id_text(module, build_id);
    cf_table_fact(table, "libc", "%s%s%s", module == NULL ? "unknown" : module->path,
                  *release != '\0' ? ", glibc " : "", release);
    if (*build_id != '\0')
        cf_table_fact(table, "libc build id", "%s", build_id);
}

static void add_malloc(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(reading->pt);
    char bytes[CF_FORMAT_MAX], count[CF_FORMAT_MAX];
    if (!cf_reading_has_heap(reading)) {
        cf_table_fact(table, "glibc malloc", "no heap found");
        return;
    }
    const char *by = cf_witness_located_by(&reading->witness);
    cf_table_fact(table, "glibc malloc", "found by pattern%s; its structures fit %s",
                  strcmp(by, "dwarf") == 0     ? ", confirmed by symbols and DWARF"
                  : strcmp(by, "symbols") == 0 ? ", confirmed by symbols"
                                               : "",
                  cf_malloc_layout_text(reading->found));
    size_t arenas = cf_ptmalloc_nr_arenas(reading->pt);
    size_t heaps = cf_chunkmap_nr_heaps(map);
    size_t caches = cf_ptmalloc_nr_tcaches(reading->pt);
    size_t mmapped = cf_chunkmap_nr_mmapped(map);
    cf_table_fact(table, "heap",
                  "%zu arena%s, %zu heap%s (%s), %zu thread cache%s, %zu mmapped chunk%s", arenas,
                  plural(arenas), heaps, plural(heaps),
                  cf_format_bytes(bytes, heap_bytes(map), false), caches, plural(caches), mmapped,
                  plural(mmapped));
    const char *abort_text = cf_abort_find(reading->found).text;
    if (abort_text != NULL)
        cf_table_fact(table, "malloc said", "%s", abort_text);
    uint64_t anomalies = cf_ptmalloc_nr_anomalies_seen(reading->pt);
    if (anomalies == 0)
        cf_table_fact(table, "checks", "sizes, flags, bins and caches agree with each other");
    else
        cf_table_fact(table, "checks", "%s that do not add up; the first: %s",
                      cf_format_count(count, (int64_t)anomalies),
                      cf_ptmalloc_anomaly(reading->pt, 0)->detail);
}

static void add_other_allocators(const struct cf_reading *reading, struct cf_table *table) {
    struct cf_allocator allocator;
    char version[32];
    bool has_heap = cf_reading_has_heap(reading);
    if (cf_allocator_find(reading->mem, reading->modules, !has_heap, &allocator))
        cf_table_fact(table, "allocator",
                      has_heap ? "%s is here beside glibc's malloc (%s)"
                               : "%s (%s) has the process's memory",
                      allocator.name, allocator.evidence);
    if (cf_golang_version(reading->mem, reading->modules, version, sizeof version))
        cf_table_fact(table, "allocator", "a Go program (%s) has its own heap", version);
}

/* ---- symbols: for which modules a file with the same build id was found ---- */

/* The programs and libraries of the process, by what is known of their files. */
struct tally {
    size_t nr; /* that are ELF, or whose first page is not in the core */
    size_t nr_lost; /* libraries of which no file is here */
    size_t by_state[CF_SYMBOLS_NOT_ELF + 1];
};

static bool is_missing(enum cf_symbols_state state) {
    return state == CF_SYMBOLS_NO_FILE || state == CF_SYMBOLS_OTHER_FILE;
}

static struct tally count_modules(const struct cf_reading *reading) {
    struct tally tally = {0};
    for (size_t i = 0; i < cf_modules_nr(reading->modules); i++) {
        const struct cf_module *module = cf_modules_get(reading->modules, i);
        bool is_code = (module->flags & PF_X) != 0;
        if (module->kind == CF_MODULE_FILE || (module->kind != CF_MODULE_ELF && !is_code))
            continue;
        enum cf_symbols_state state = cf_symbols_source(reading->symbols, module).state;
        tally.nr++;
        tally.by_state[state]++;
        tally.nr_lost += is_missing(state) && module != cf_modules_find_exe(reading->modules);
    }
    return tally;
}

/* A part of the sentence, where there is something to count: "2 have exported ones". */
static void append_count(char *text, size_t bytes, size_t nr, const char *one, const char *more,
                         const char *what) {
    size_t used = strlen(text);
    if (nr > 0 && used < bytes)
        (void)snprintf(text + used, bytes - used, ", %zu %s %s", nr, nr == 1 ? one : more, what);
}

static void add_counts(const struct tally *tally, struct cf_table *table) {
    size_t full = tally->by_state[CF_SYMBOLS_SYMTAB] + tally->by_state[CF_SYMBOLS_DEBUG];
    size_t exported = tally->by_state[CF_SYMBOLS_DYNSYM] + tally->by_state[CF_SYMBOLS_CORE];
    size_t missing = tally->by_state[CF_SYMBOLS_NO_FILE] + tally->by_state[CF_SYMBOLS_OTHER_FILE];
    char text[256];
    (void)snprintf(text, sizeof text, "of %zu programs and libraries %zu %s all symbols",
                   tally->nr, full, full == 1 ? "has" : "have");
    append_count(text, sizeof text, exported, "has", "have", "exported ones");
    append_count(text, sizeof text, missing, "has", "have", "no file here");
    append_count(text, sizeof text, tally->by_state[CF_SYMBOLS_NO_ID], "has", "have",
                 "no build id in the core");
    append_count(text, sizeof text, tally->by_state[CF_SYMBOLS_STRIPPED], "is", "are", "stripped");
    cf_table_fact(table, "symbols", "%s", text);
}

/* One module without a file, and why. */
static void add_missing(const struct cf_module *module, const struct cf_symbols_source *source,
                        struct cf_table *table) {
    char id[2 * CF_BUILD_ID_MAX + 1];
    cf_module_build_id_text(module, id);
    if (source->state == CF_SYMBOLS_OTHER_FILE)
        cf_table_fact(table, "not used", "%s: its build id is not %s, as the core's %s has it",
                      source->file, id, module->path);
    else
        cf_table_fact(table, "no file", "%s (build id %s)", module->path, id);
}

static void add_modules(const struct cf_reading *reading, struct cf_table *table) {
    size_t shown = 0;
    for (size_t i = 0; i < cf_modules_nr(reading->modules) && shown < MODULES_SHOWN; i++) {
        const struct cf_module *module = cf_modules_get(reading->modules, i);
        struct cf_symbols_source source = cf_symbols_source(reading->symbols, module);
        if (module->build_id_bytes == 0 || !is_missing(source.state))
            continue;
        add_missing(module, &source, table);
        shown++;
    }
}

static void add_witness(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_witness *witness = &reading->witness;
    if (witness->nr_contradictions == 0 && witness->nr_symbols > 0)
        cf_table_fact(table, "second witness",
                      "%u places by symbols and %u offsets by DWARF agree with the pattern%s",
                      witness->nr_symbols, witness->nr_members,
                      witness->unverified ? " (by a file that could not be verified)" : "");
    for (size_t i = 0; i < witness->nr_contradictions && i < CONTRADICTIONS_SHOWN; i++)
        cf_table_fact(table, "CONTRADICTION", "%s", witness->contradictions[i].detail);
}

static bool has_symbols(const struct cf_reading *reading, const struct cf_module *module) {
    enum cf_symbols_state state = cf_symbols_source(reading->symbols, module).state;
    return state == CF_SYMBOLS_SYMTAB || state == CF_SYMBOLS_DEBUG;
}

static void add_exe_hint(const struct cf_reading *reading, struct cf_table *table) {
    const struct cf_module *exe = cf_modules_find_exe(reading->modules);
    if (exe == NULL || has_symbols(reading, exe))
        return;
    struct cf_symbols_source source = cf_symbols_source(reading->symbols, exe);
    if (source.unverified)
        return;
    if (source.state == CF_SYMBOLS_STRIPPED || source.state == CF_SYMBOLS_DYNSYM)
        cf_table_fact(table, "hint",
                      "%s is stripped: --exe FILE names an unstripped one of the "
                      "same build, --debuginfo DIR where its debug file is",
                      exe->path);
    else
        cf_table_fact(table, "hint", "--exe FILE gives the names of %s, and so does the image that "
                      "it is in (--sysroot DIR)", exe->path);
}

static void add_file_hints(const struct cf_reading *reading, const struct tally *tally,
                           struct cf_table *table) {
    if (tally->nr_lost > 0)
        cf_table_fact(table, "hint",
                      "--sysroot DIR gives the names of %s: the container's image, "
                      "unpacked (docker export, podman image mount)",
                      tally->nr_lost == 1 ? "the library that is not here" : "libraries");
    const struct cf_module *libc = cf_reading_libc(reading);
    if (libc != NULL && libc->build_id_bytes > 0 && !has_symbols(reading, libc))
        cf_table_fact(table, "hint",
                      "libc's debug file (libc6-dbg, glibc-debuginfo) would confirm what the "
                      "pattern found: --debuginfo DIR, or --debuginfod");
    if (tally->nr > 0 && tally->by_state[CF_SYMBOLS_NO_ID] == tally->nr)
        cf_table_fact(table, "hint",
                      "the core has no build ids (bit 0x10 of coredump_filter): only a file that "
                      "--exe names can be used, on trust");
}

static void add_symbols(const struct cf_reading *reading, struct cf_table *table) {
    struct tally tally = count_modules(reading);
    if (tally.nr == 0)
        return;
    add_counts(&tally, table);
    add_witness(reading, table);
    add_modules(reading, table);
    add_exe_hint(reading, table);
    add_file_hints(reading, &tally, table);
}

/* ---- the verdict, and all together ---- */

static void add_verdict(const struct cf_reading *reading, struct cf_section *section,
                        enum cf_outcome outcome) {
    const char *text = "";
    bool has_heap = cf_reading_has_heap(reading);
    switch (outcome) {
    case CF_OUTCOME_WHOLE:
        text = "READY: the core is whole, and glibc's malloc is in it.";
        break;
    case CF_OUTCOME_INCOMPLETE:
        text = has_heap ? "INCOMPLETE: glibc's malloc is in this core; figures will be for the "
                          "part that is there."
                        : "INCOMPLETE: no heap of glibc's malloc is in the part that is there.";
        break;
    case CF_OUTCOME_NO_HEAP:
        text = cf_malloc_refused(reading->found) != NULL
                   ? "NOT READ: this glibc's malloc is older than those that are read (2.17 to "
                     "2.44)."
               : cf_anonymous_is_dumped(reading->mem)
                   ? "NO HEAP: glibc's malloc is unused in this core."
                   : "NO HEAP: the core was written without private anonymous memory, and so "
                     "without any heap (coredump_filter lacked bit 0x1).";
        break;
    case CF_OUTCOME_CORRUPT:
        text = cf_abort_find(reading->found).state == CF_ABORT_MALLOC
                   ? "CORRUPT: malloc itself found its heap damaged, and stopped the program."
                   : "INCONSISTENT: the heap contradicts itself where the core is whole.";
        break;
    }
    cf_section_text(section, CF_TONE_LEAD, "%s", text);
}

/* Writable private memory that the producer left out, as the filter of /proc/PID/coredump_filter
 * makes it: bytes. Untouched mappings are left out too, so this is a hint only. */
static uint64_t undumped_bytes(const struct cf_mem *mem) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < cf_mem_nr_regions(mem); i++) {
        const struct cf_region *region = cf_mem_region(mem, i);
        if ((region->flags & PF_W) != 0 && region->kind != CF_REGION_FILE &&
            region->data_bytes == 0)
            bytes += region->end - region->start;
    }
    return bytes;
}

/* What would say more than this core does. */
static void add_hints(const struct cf_reading *reading, struct cf_table *table) {
    char bytes[CF_FORMAT_MAX];
    if (!cf_core_complete(reading->core))
        cf_table_fact(
            table, "hint",
            "a whole core says more: see ulimit -c, the disk's free space, and the limits "
            "of whatever stores cores (systemd-coredump: ProcessSizeMax, "
            "ExternalSizeMax)");
    else if (!cf_anonymous_is_dumped(reading->mem))
        cf_table_fact(table, "hint",
                      "%s of writable memory are not in the core. In /proc/PID/coredump_filter "
                      "bit 0x1 stands for the heap; 0x33 is the kernel's default",
                      cf_format_bytes(bytes, undumped_bytes(reading->mem), false));
    if (!cf_mem_residency_exact(reading->mem))
        cf_table_fact(table, "hint",
                      "which pages were in memory is known exactly from the file that the kernel "
                      "itself wrote, with its holes, where a page full of zeros is stored in it "
                      "(mv and tar -S keep that, cp of Debian 12 does not), or by --smaps");
    if (cf_core_checksum(reading->core) == CF_CHECKSUM_NONE)
        cf_table_fact(table, "hint",
                      "the archive has no checksum, or was cut off before it: a bit that was "
                      "changed would look like damage in the process");
    if (!cf_core_has_files(reading->core))
        cf_table_fact(table, "hint",
                      "the core does not list all mapped files: what is not listed has no name");
}

static void describe(const struct cf_reading *reading, struct cf_doc *doc,
                     enum cf_outcome outcome) {
    cf_doc_title(doc, "corefrag %s  check of %s", cf_version(), cf_core_name(reading->core));
    struct cf_section *section = cf_doc_section(doc, "check", NULL);
    add_verdict(reading, section, outcome);
    struct cf_table *table = cf_section_facts(section);
    add_file(reading, table);
    add_process(reading, table);
    add_residency(reading, table);
    add_libc(reading, table);
    add_malloc(reading, table);
    add_other_allocators(reading, table);
    add_symbols(reading, table);
    add_hints(reading, table);
}

static int print(const struct cf_reading *reading, enum cf_outcome outcome, FILE *sink,
                 struct cf_err *err) {
    static const struct cf_report_options options;
    struct cf_doc *doc = cf_doc_new();
    if (doc == NULL)
        return cf_err_nomem(err, sizeof *doc, "the check's text");
    describe(reading, doc, outcome);
    int status = cf_doc_status(doc, err);
    status = cf_reading_settle(reading, status, err);
    if (status == CF_OK)
        status = cf_emit_text(doc, &options, sink, err);
    cf_doc_free(doc);
    return status == CF_OK ? cf_door_close_sink(sink, "the check's text", err) : status;
}

int cf_check(const struct cf_context *ctx, const char *core_path, const struct cf_options *options,
             FILE *sink, enum cf_outcome *out, struct cf_err *err) {
    struct cf_guard guard;
    struct cf_options wanted;
    int status = cf_door_path(core_path, "the core", err);
    if (status == CF_OK)
        status = cf_door_pointer(sink, "the sink", err);
    if (status == CF_OK)
        status = cf_door_pointer(out, "the outcome", err);
    if (status == CF_OK)
        status = cf_door_options(options, &wanted, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    if (status != CF_OK)
        return status;
    CF_CLEANUP(cf_reading_fini) struct cf_reading reading = {0};
    status = cf_reading_open(&guard.context, core_path, &wanted, &reading, err);
    if (status == CF_OK)
        status = cf_standing_judge(&guard.context, &reading, NULL, err);
    if (status != CF_OK)
        return status;
    enum cf_outcome outcome = cf_reading_outcome(&reading);
    status = print(&reading, outcome, sink, err);
    if (status == CF_OK)
        status = cf_symbols_status(reading.symbols, err);
    if (status == CF_OK)
        *out = outcome;
    return status;
}
