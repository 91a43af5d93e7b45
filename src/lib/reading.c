/*
 * Opens a core up to the depth that a call needs: memory alone for explain, malloc for check,
 * everything for analyze. Each step stands on the one before; what was opened is closed in reverse.
 */
#include "lib/reading.h"

#include <string.h>

#include "base/context.h"
#include "libc/abortmsg.h"
#include "space/allocators.h"

static int open_core(const struct cf_context *ctx, struct cf_reading *reading, struct cf_err *err) {
    const struct cf_core_origin origin = {
        .holes_are_ours = !cf_input_holes_are_evidence(reading->input),
        .truncated = cf_input_truncated(reading->input),
        .checksum = !cf_input_is_packed(reading->input)   ? CF_CHECKSUM_NOT_PACKED
                    : cf_input_is_checked(reading->input) ? CF_CHECKSUM_VERIFIED
                                                          : CF_CHECKSUM_NONE,
    };
    return cf_core_open(ctx, cf_input_fd(reading->input), cf_input_name(reading->input),
                             &origin, &reading->core, err);
}

int cf_reading_settle(const struct cf_reading *reading, int status, struct cf_err *err) {
    int read_status = reading->core == NULL ? CF_OK : cf_core_read_status(reading->core, err);
    return read_status != CF_OK ? read_status : status;
}

int cf_reading_open_memory(const struct cf_context *ctx, const char *path,
                           const struct cf_options *options, struct cf_reading *reading,
                           struct cf_err *err) {
    int status = cf_input_open(ctx, path, &reading->input, err);
    if (status == CF_OK)
        status = open_core(ctx, reading, err);
    if (status == CF_OK)
        status = cf_mem_map(reading->core, &reading->mem, err);
    if (status == CF_OK)
        status = cf_modules_new(reading->mem, &reading->modules, err);
    if (status == CF_OK)
        status = cf_symbols_open(ctx, reading->mem, reading->modules, options, &reading->symbols,
                                 err);
    return cf_reading_settle(reading, status, err);
}

static uint64_t filled_until(const void *user, uint64_t addr, uint64_t end) {
    const struct cf_reading *reading = user;
    return cf_chunkmap_headers_until(cf_ptmalloc_map(reading->pt), addr, end,
                                     cf_mem_page_bytes(reading->mem));
}

/* The walk has met content on nearly every page of the heaps. */
static int judge_residency(const struct cf_context *ctx, struct cf_reading *reading,
                           struct cf_err *err) {
    const struct cf_mem_witness witness = {.user = reading, .filled_until = filled_until};
    return cf_mem_judge(ctx, reading->mem, &witness, err);
}

/* The commonest reason for a core without a heap, and what to do before the next one. */
static void say_undumped(const struct cf_context *ctx, const char *path,
                         const struct cf_mem *mem) {
    if (!cf_anonymous_is_dumped(mem))
        cf_log(ctx,
               "%s: coredump_filter left anonymous memory out, and with it the heap: before the "
               "next core, echo 0x33 > /proc/PID/coredump_filter (bit 0x1 stands for the heap)",
               path);
}

/* A malloc that is not described is said to be so, rather than read by another's shapes. */
static void take_release(const struct cf_context *ctx, const char *path,
                         struct cf_reading *reading) {
    cf_malloc_take_release(reading->found, reading->witness.release);
    if (cf_malloc_refused(reading->found) != NULL)
        cf_log(ctx, "%s: its glibc is %s, whose malloc is not read: 2.17 to 2.44 are", path,
               cf_malloc_refused(reading->found));
}

int cf_reading_open(const struct cf_context *ctx, const char *path,
                    const struct cf_options *options, struct cf_reading *reading,
                    struct cf_err *err) {
    int status = cf_reading_open_memory(ctx, path, options, reading, err);
    if (status == CF_OK)
        say_undumped(ctx, path, reading->mem);
    if (status == CF_OK)
        status = cf_malloc_find(ctx, reading->mem, &reading->found, err);
    if (status == CF_OK)
        status = cf_witness_ask(reading->symbols, reading->found, &reading->witness, err);
    if (status == CF_OK)
        take_release(ctx, path, reading);
    if (status == CF_OK)
        status = cf_ptmalloc_walk(ctx, reading->found, options->threads, &reading->pt, err);
    if (status == CF_OK)
        status = judge_residency(ctx, reading, err);
    return cf_reading_settle(reading, status, err);
}

void cf_reading_fini(struct cf_reading *reading) {
    cf_ptmalloc_free(reading->pt);
    cf_malloc_free(reading->found);
    cf_symbols_free(reading->symbols);
    cf_modules_free(reading->modules);
    cf_mem_free(reading->mem);
    cf_core_free(reading->core);
    cf_input_free(reading->input);
}

bool cf_reading_has_heap(const struct cf_reading *reading) {
    const struct cf_chunkmap *map = cf_ptmalloc_map(reading->pt);
    return cf_chunkmap_nr_heaps(map) > 0 || cf_chunkmap_nr_mmapped(map) > 0;
}

bool cf_reading_is_corrupt(const struct cf_reading *reading) {
    if (!cf_core_vouches(reading->core))
        return false;
    for (size_t i = 0; i < cf_ptmalloc_nr_anomalies(reading->pt); i++)
        if (cf_ptmalloc_anomaly(reading->pt, i)->in_complete)
            return true;
    return false;
}

enum cf_outcome cf_reading_outcome(const struct cf_reading *reading) {
    if (cf_reading_is_corrupt(reading) || cf_abort_find(reading->found).state == CF_ABORT_MALLOC)
        return CF_OUTCOME_CORRUPT;
    if (cf_malloc_refused(reading->found) != NULL)
        return CF_OUTCOME_NO_HEAP;
    if (!cf_core_complete(reading->core) ||
        cf_ptmalloc_left_out_bytes(reading->pt, UINT32_MAX) > 0)
        return CF_OUTCOME_INCOMPLETE;
    if (cf_reading_has_heap(reading))
        return CF_OUTCOME_WHOLE;
    /* Its heap dumps leave libc's data out, so that a heap that was not found may be there. */
    bool is_unknown = cf_core_producer(reading->core) == CF_PRODUCER_CREATEDUMP &&
                      cf_modules_find_libc(reading->modules) != NULL;
    return is_unknown ? CF_OUTCOME_INCOMPLETE : CF_OUTCOME_NO_HEAP;
}

const struct cf_module *cf_reading_libc(const struct cf_reading *reading) {
    const struct cf_module *holder = NULL;
    if (cf_malloc_nr_namespaces(reading->found) > 0)
        holder =
            cf_modules_find(reading->modules, cf_malloc_namespace(reading->found, 0)->main_arena);
    if (holder != NULL && strstr(holder->path, "libc_malloc_debug") == NULL)
        return holder;
    const struct cf_module *named = cf_modules_find_libc(reading->modules);
    return named != NULL ? named : holder;
}
