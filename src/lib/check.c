/*
 * cf_check(): one screen about a core, without a database. It reads and walks everything that an
 * analysis would, so that its outcome is the same, but measures and stores nothing.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/reading.h"
#include "report/doc.h"
#include "report/emit.h"
#include "report/format.h"

static void free_doc(struct cf_doc **doc) {
    cf_doc_free(*doc);
}

static void add_core(struct cf_table *facts, const struct cf_reading *reading) {
    const struct cf_core *core = reading->core;
    char bytes[CF_FORMAT_MAX], missing[CF_FORMAT_MAX];
    cf_table_fact(facts, "core", "%s, %s, written by %s, %s", cf_core_name(core),
                  cf_core_machine_name(core), cf_core_producer_name(core),
                  cf_format_bytes(bytes, cf_core_file_bytes(core), false));
    if (cf_core_complete(core))
        cf_table_fact(facts, "complete", "yes");
    else
        cf_table_fact(facts, "complete", "no: %s that its headers promise are missing",
                      cf_format_bytes(missing, cf_core_missing_bytes(core), false));
}

static void add_process(struct cf_table *facts, const struct cf_reading *reading) {
    const struct cf_core *core = reading->core;
    const struct cf_module *exe = cf_modules_find_exe(reading->modules);
    char count[CF_FORMAT_MAX];
    cf_table_fact(facts, "process", "%s, pid %u, signal %d, threads: %s", cf_core_command(core),
                  cf_core_pid(core), cf_core_signal(core),
                  cf_format_count(count, (int64_t)cf_core_nr_threads(core)));
    cf_table_fact(facts, "program", "%s", exe != NULL ? exe->path : "not known");
    cf_table_fact(facts, "residency", "%s",
                  !cf_mem_residency_exact(reading->mem)
                      ? "not exact: zero pages are taken for absent, figures are \"at least\""
                      : "exact, from what the core leaves out");
}

static uint64_t mapped_bytes(const struct cf_chunkmap *map) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < cf_chunkmap_nr_heaps(map); i++)
        bytes += cf_chunkmap_heap(map, i)->end - cf_chunkmap_heap(map, i)->start;
    return bytes;
}

static void add_libc(struct cf_table *facts, const struct cf_reading *reading) {
    const struct cf_module *libc = cf_reading_libc(reading);
    char release[32] = "not said in the core", build_id[2 * CF_BUILD_ID_MAX + 1];
    if (libc == NULL) {
        cf_table_fact(facts, "libc", "not known");
        return;
    }
    (void)cf_module_glibc_release(reading->mem, libc, release, sizeof release);
    cf_module_build_id_text(libc, build_id);
    cf_table_fact(facts, "libc", "%s, release %s, build id %s", libc->path, release,
                  build_id[0] != '\0' ? build_id : "not in the core");
}

static void add_heap(struct cf_table *facts, const struct cf_reading *reading) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(reading->pt);
    char bytes[CF_FORMAT_MAX], count[CF_FORMAT_MAX];
    if (!cf_reading_has_heap(reading)) {
        cf_table_fact(facts, "malloc", "no heap of glibc's malloc is in it");
        return;
    }
    cf_table_fact(facts, "malloc", "%s", cf_malloc_layout_text(reading->found));
    cf_table_fact(facts, "arenas", "%zu with %zu heaps of %s, and %s mmapped chunks",
                  cf_ptmalloc_nr_arenas(reading->pt), cf_chunkmap_nr_heaps(map),
                  cf_format_bytes(bytes, mapped_bytes(map), false),
                  cf_format_count(count, (int64_t)cf_chunkmap_nr_mmapped(map)));
}

static const char *verdict(enum cf_outcome outcome) {
    switch (outcome) {
    case CF_OUTCOME_CORRUPT:
        return "the heap contradicts itself where the core is complete: corruption";
    case CF_OUTCOME_INCOMPLETE:
        return "the core is incomplete: figures are of what is left";
    case CF_OUTCOME_NO_HEAP:
        return "nothing to analyze for malloc: another allocator, or none";
    default:
        return "good for an analysis";
    }
}

static void add_anomalies(struct cf_table *facts, const struct cf_reading *reading) {
    size_t flaws = cf_core_nr_flaws(reading->core) + cf_mem_nr_flaws(reading->mem);
    uint64_t seen = cf_ptmalloc_nr_anomalies_seen(reading->pt);
    if (flaws == 0 && seen == 0)
        cf_table_fact(facts, "anomalies", "none");
    else
        cf_table_fact(facts, "anomalies", "%zu in the file, %llu in the heap", flaws,
                      (unsigned long long)seen);
}

static int emit(const struct cf_reading *reading, enum cf_outcome outcome, FILE *sink,
                struct cf_err *err) {
    static const struct cf_report_options options;
    CF_CLEANUP(free_doc) struct cf_doc *doc = cf_doc_new();
    if (doc == NULL)
        return cf_err_nomem(err, sizeof *doc, "the report");
    cf_doc_title(doc, "corefrag %s  check", cf_version());
    struct cf_table *facts = cf_section_facts(cf_doc_section(doc, "check", NULL));
    add_core(facts, reading);
    add_process(facts, reading);
    add_libc(facts, reading);
    add_heap(facts, reading);
    add_anomalies(facts, reading);
    cf_table_fact(facts, "verdict", "%s", verdict(outcome));
    int status = cf_doc_status(doc, err);
    if (status == CF_OK)
        status = cf_emit_text(doc, &options, sink, err);
    if (status == CF_OK && (fflush(sink) != 0 || ferror(sink)))
        status = cf_err_errno(err, CF_EOUTPUT, errno, "the report cannot be written");
    return status;
}

int cf_check(const struct cf_context *ctx, const char *core_path, const struct cf_options *options,
             FILE *sink, enum cf_outcome *out, struct cf_err *err) {
    static const struct cf_options defaults;
    CF_CLEANUP(cf_reading_fini) struct cf_reading reading = {.fd = -1};
    int status =
        cf_reading_open(ctx, core_path, options != NULL ? options : &defaults, &reading, err);
    if (status != CF_OK)
        return status;
    enum cf_outcome outcome = cf_reading_outcome(&reading);
    status = emit(&reading, outcome, sink, err);
    if (status == CF_OK)
        *out = outcome;
    return status;
}
