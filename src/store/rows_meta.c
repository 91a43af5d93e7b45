/* One row a fact about the core and this run, and the row counts that SQLite's planner goes by. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "libc/abortmsg.h"
#include "store/compat.h"
#include "store/insert.h"
#include "store/rows.h"

/* Writes meta; the first failure is kept, so that a fact is a line. */
struct writer {
    struct cf_insert *in;
    int status;
    struct cf_err *err;
};

static void put_row(struct writer *to) {
    if (to->status == CF_OK)
        to->status = cf_insert_row(to->in, to->err);
}

static void put_text(struct writer *to, const char *key, const char *text) {
    cf_insert_text(to->in, key);
    cf_insert_text(to->in, text);
    put_row(to);
}

static void put_u64(struct writer *to, const char *key, uint64_t value) {
    cf_insert_text(to->in, key);
    cf_insert_u64(to->in, value);
    put_row(to);
}

static const char *checksum_name(enum cf_checksum checksum) {
    static const char *const names[] = {
        [CF_CHECKSUM_NOT_PACKED] = "",
        [CF_CHECKSUM_VERIFIED] = "verified",
        [CF_CHECKSUM_NONE] = "none",
    };
    return names[checksum];
}

static void put_core(struct writer *to, const struct cf_mem *mem) {
    const struct cf_core *core = cf_mem_core(mem);
    put_u64(to, "core_bytes", cf_core_file_bytes(core));
    put_u64(to, "core_complete", cf_core_complete(core));
    put_text(to, "core_left_out", cf_core_left_out(core));
    put_text(to, "archive_checksum", checksum_name(cf_core_checksum(core)));
    put_text(to, "core_producer", cf_core_producer_name(core));
    put_u64(to, "missing_bytes", cf_core_missing_bytes(core));
    put_text(to, "machine", cf_core_machine_name(core));
    put_u64(to, "word_bits", 8ull * cf_mem_word_bytes(mem));
    put_u64(to, "page_bytes", cf_mem_page_bytes(mem));
    put_u64(to, "pid", cf_core_pid(core));
    put_u64(to, "signal", (uint64_t)cf_core_signal(core));
    put_u64(to, "snapshot", cf_core_is_snapshot(core));
    put_text(to, "command", cf_core_command(core));
    put_u64(to, "threads", cf_core_nr_threads(core));
    put_text(to, "residency_source", cf_mem_residency_name(mem));
    put_u64(to, "residency_exact", cf_mem_residency_exact(mem));
}

/* The path of the program: from the list of mapped files, else from its name on the stack. */
static void put_exe(struct writer *to, const struct cf_mem *mem, const struct cf_modules *modules) {
    const struct cf_module *exe = cf_modules_find_exe(modules);
    char path[1024];
    uint64_t addr, avail;
    if (exe != NULL) {
        put_text(to, "exe", exe->path);
        return;
    }
    path[0] = '\0';
    if (cf_core_auxv(cf_mem_core(mem), AT_EXECFN, &addr)) {
        const unsigned char *span = cf_mem_span(mem, addr, &avail);
        size_t room = span == NULL ? 0 : avail < sizeof path ? (size_t)avail : sizeof path;
        if (room > 0 && memchr(span, '\0', room) != NULL)
            (void)snprintf(path, sizeof path, "%s", (const char *)span);
    }
    put_text(to, "exe", path);
}

/* What libc itself says, else the releases that its structs fit. */
static void release_text(const struct cf_malloc *found, const char *known, char *out,
                         size_t out_bytes) {
    struct cf_releases fit = cf_malloc_releases(found);
    out[0] = '\0';
    if (*known != '\0')
        (void)snprintf(out, out_bytes, "%s", known);
    else if (cf_malloc_nr_namespaces(found) > 0 && fit.first < fit.last)
        (void)snprintf(out, out_bytes, "2.%u-2.%u", fit.first, fit.last);
    else if (cf_malloc_nr_namespaces(found) > 0 && fit.first == fit.last)
        (void)snprintf(out, out_bytes, "2.%u", fit.first);
}

static void put_libc(struct writer *to, const struct cf_malloc *found,
                     const struct cf_module *libc, const char *known_release) {
    char build_id[2 * CF_BUILD_ID_MAX + 1] = "";
    char release[24];
    if (libc != NULL)
        cf_module_build_id_text(libc, build_id);
    release_text(found, known_release, release, sizeof release);
    bool has_malloc = cf_malloc_nr_namespaces(found) > 0;
    put_text(to, "libc_path", libc != NULL ? libc->path : "");
    put_text(to, "libc_build_id", build_id);
    put_text(to, "libc_version", release);
    put_text(to, "malloc_refused", cf_malloc_refused(found));
    put_text(to, "malloc_layout", has_malloc ? cf_malloc_layout_text(found) : "");
    put_u64(to, "safe_linking", cf_malloc_safe_linking(found));
    put_u64(to, "mmapped_header_bytes",
            (cf_malloc_header_is_short(found) ? 3 : 2) * cf_mem_word_bytes(cf_malloc_mem(found)));
    struct cf_abort abort = cf_abort_find(found);
    if (abort.state == CF_ABORT_UNKNOWN)
        put_text(to, "abort_message", NULL);
    else
        put_text(to, "abort_message", abort.text != NULL ? abort.text : "");
}

/* The database keeps the codes that the command line exits with: scripts know them. */
static uint64_t outcome_code(enum cf_outcome outcome) {
    static const uint64_t codes[] = {
        [CF_OUTCOME_WHOLE] = 0, [CF_OUTCOME_INCOMPLETE] = 4, [CF_OUTCOME_NO_HEAP] = 5,
        [CF_OUTCOME_CORRUPT] = 6,
    };
    return codes[outcome];
}

int cf_rows_meta(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_modules *modules,
                 const struct cf_meta *meta, struct cf_err *err) {
    const struct cf_malloc *found = cf_ptmalloc_malloc(pt);
    const struct cf_mem *mem = cf_malloc_mem(found);
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    char revision[CF_REVISION_BYTES];
    int status = cf_insert_begin(&in, db, "meta", "key, value", err);
    if (status != CF_OK)
        return status;
    struct writer to = {.in = &in, .status = CF_OK, .err = err};
    cf_schema_revision(revision);
    put_u64(&to, "schema_version", CF_SCHEMA_VERSION);
    put_text(&to, "schema_revision", revision);
    put_text(&to, "tool_version", cf_version());
    put_text(&to, "core_path", meta->core_path);
    put_core(&to, mem);
    put_exe(&to, mem, modules);
    put_libc(&to, found, meta->libc, meta->libc_release);
    put_text(&to, "located_by", cf_malloc_nr_namespaces(found) > 0 ? meta->located_by : "");
    put_u64(&to, "threads_unwound", meta->nr_unwound);
    put_text(&to, "chunks", meta->chunks);
    put_u64(&to, "reachability", meta->reachability);
    put_u64(&to, "previews", meta->previews);
    put_u64(&to, "anomalies",
            cf_core_nr_flaws(cf_mem_core(mem)) + cf_mem_nr_flaws(mem) +
                cf_ptmalloc_nr_anomalies_seen(pt));
    put_u64(&to, "outcome", outcome_code(meta->outcome));
    return to.status;
}

int cf_rows_statistics(struct cf_db *db, uint64_t nr_chunks, struct cf_err *err) {
    int status = cf_db_exec(db,
                            "ANALYZE chunk_large_free; ANALYZE chunk_mmapped; ANALYZE arena;"
                            "ANALYZE heap; ANALYZE hole; ANALYZE size_class; ANALYZE thread;"
                            "ANALYZE segment;",
                            err);
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    if (status == CF_OK)
        status = cf_insert_begin(&in, db, "sqlite_stat1", "tbl, stat", err);
    if (status != CF_OK)
        return status;
    char count[24];
    (void)snprintf(count, sizeof count, "%llu", (unsigned long long)nr_chunks);
    cf_insert_text(&in, "chunk");
    cf_insert_text(&in, count);
    return cf_insert_row(&in, err);
}
