#include "store/insert.h"
#include "store/rows.h"

/* A flaw of the file; of an address space, `offset` still is that of the segment in the file. */
static int insert_flaw(struct cf_insert *in, const char *source, const struct cf_core_flaw *flaw,
                       struct cf_err *err) {
    cf_insert_text(in, source);
    cf_insert_text(in, flaw->code);
    cf_insert_u64(in, false);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_u64(in, flaw->offset);
    cf_insert_text(in, flaw->detail);
    return cf_insert_row(in, err);
}

static int insert_anomaly(struct cf_insert *in, const struct cf_anomaly *anomaly, bool vouched,
                          struct cf_err *err) {
    cf_insert_text(in, "heap");
    cf_insert_text(in, anomaly->code);
    cf_insert_u64(in, anomaly->in_complete && vouched);
    cf_insert_id(in, anomaly->arena_id);
    cf_insert_id(in, anomaly->heap_id);
    cf_insert_u64_if(in, anomaly->addr != 0, anomaly->addr);
    cf_insert_null(in);
    cf_insert_text(in, anomaly->detail);
    return cf_insert_row(in, err);
}

static int insert_contradiction(struct cf_insert *in, const struct cf_contradiction *row,
                                struct cf_err *err) {
    cf_insert_text(in, "symbols");
    cf_insert_text(in, "witness-disagrees");
    cf_insert_u64(in, false);
    cf_insert_null(in);
    cf_insert_null(in);
    cf_insert_u64_if(in, row->addr != 0, row->addr);
    cf_insert_null(in);
    cf_insert_text(in, row->detail);
    return cf_insert_row(in, err);
}

int cf_rows_anomaly(struct cf_db *db, const struct cf_ptmalloc *pt,
                    const struct cf_witness *witness, struct cf_err *err) {
    const struct cf_mem *mem = cf_malloc_mem(cf_ptmalloc_malloc(pt));
    const struct cf_core *core = cf_mem_core(mem);
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_insert_begin(&in, db, "anomaly",
                                 "source, code, is_corruption, arena_id, heap_id, address,"
                                 " file_offset, detail",
                                 err);
    for (size_t i = 0; status == CF_OK && i < cf_core_nr_flaws(core); i++)
        status = insert_flaw(&in, "core", cf_core_flaw(core, i), err);
    for (size_t i = 0; status == CF_OK && i < cf_mem_nr_flaws(mem); i++)
        status = insert_flaw(&in, "memory", cf_mem_flaw(mem, i), err);
    for (size_t i = 0; status == CF_OK && i < cf_ptmalloc_nr_anomalies(pt); i++)
        status = insert_anomaly(&in, cf_ptmalloc_anomaly(pt, i), cf_core_vouches(core), err);
    for (size_t i = 0; status == CF_OK && i < witness->nr_contradictions; i++)
        status = insert_contradiction(&in, &witness->contradictions[i], err);
    return status;
}
