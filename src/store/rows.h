/*
 * Row writers: each fills the tables of one family from the objects that know them, in the order
 * of the schema. They only copy; whatever has to be computed was computed by analysis, and what
 * follows from other columns is left to the views.
 */
#ifndef CF_STORE_ROWS_H
#define CF_STORE_ROWS_H

#include "space/allocators.h"
#include "space/budget.h"
#include "holders/holding.h"
#include "retain/holes.h"
#include "retain/kept.h"
#include "space/kernel.h"
#include "reach/leaks.h"
#include "reach/reach.h"
#include "reach/retained.h"
#include "retain/sizes.h"
#include "types/ghosts.h"
#include "types/sizetype.h"
#include "types/types.h"
#include "corefrag.h"
#include "libc/tunables.h"
#include "libc/witness.h"
#include "ptmalloc/damage.h"
#include "ptmalloc/heap.h"
#include "store/db.h"
#include "store/insert.h"
#include "sym/frames.h"
#include "sym/module.h"
#include "sym/symbols.h"

/* rows_process.c: segment, module, thread, frame. */
int cf_rows_process(struct cf_db *db, const struct cf_ptmalloc *pt, struct cf_symbols *symbols,
                    const struct cf_frames *frames, struct cf_err *err);

/* rows_malloc.c: namespace, arena, heap, bin, tcache, arena_span. */
int cf_rows_malloc(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_sizes *sizes,
                   const struct cf_holes *holes, const struct cf_kept *kept, struct cf_err *err);

/* rows_kept.c: size_class, hole, hole_histogram. */
int cf_rows_holes(struct cf_db *db, const struct cf_sizes *sizes, const struct cf_holes *holes,
                  size_t nr_arenas, struct cf_err *err);

/* rows_reach.c: leak, leak_arena, root, stack. */
int cf_rows_reach(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_reach *reach,
                  const struct cf_leaks *leaks, const struct cf_types *types, struct cf_err *err);
/* not_computed: a part of the analysis that could not be made, each once. */
int cf_rows_not_computed(struct cf_db *db, const char *what, const char *reason,
                         struct cf_err *err);

/* rows_holders.c: holder, a row for each hop with its label; the summary of a chunk's path in
 * top_pin, page_pin and type, after these are filled; held, what the weightiest owners keep. */
int cf_rows_holders(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err);

/* preview, only with --previews: of what was asked about, and samples of what
 * nothing reaches; a chunk that is there already is passed over. Never called without the option;
 * then the table stays empty and the database holds no bytes of the process. */
enum { CF_PREVIEWED_LEAKS = 200 };

int cf_rows_previews(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err);

/* rows_holders.c: retained. */
int cf_rows_retained(struct cf_db *db, const struct cf_retained *retained, struct cf_types *types,
                     struct cf_err *err);

/* rows_reach.c: type; size_type. */
int cf_rows_types(struct cf_db *db, const struct cf_types *types, struct cf_err *err);
int cf_rows_ghosts(struct cf_db *db, const struct cf_ghosts *ghosts, const struct cf_types *types,
                   struct cf_err *err);
int cf_rows_size_types(struct cf_db *db, const struct cf_size_types *sizes,
                       const struct cf_types *types, struct cf_err *err);

/* rows_budget.c: budget, runtime; tunable; meta's cpus, arena_limit (0: NULL) and its formula. */
int cf_rows_budget(struct cf_db *db, const struct cf_budget *budget, struct cf_err *err);
int cf_rows_tunables(struct cf_db *db, const struct cf_tunables *tunables, struct cf_err *err);
int cf_rows_arena_limit(struct cf_db *db, unsigned cpus, uint64_t limit, const char *formula,
                        struct cf_err *err);

/* rows_budget.c: meta's anonymous_dumped, other_allocator (NULL: none was seen). */
int cf_rows_allocator(struct cf_db *db, bool anonymous_dumped,
                      const struct cf_allocator *allocator, struct cf_err *err);

/* A side file (smaps, cgroup): named by an option or found, used or refused. */
struct cf_side_row {
    const char *kind;
    const char *name;
    bool found;
    bool in_archive;
    const char *refused; /* NULL: it is used */
};

/* rows_budget.c: kernel_figure, kernel_mapping; side_file; meta's smaps_confirms (NULL: it does).
 */
int cf_rows_kernel(struct cf_db *db, const struct cf_kernel *kernel, struct cf_err *err);
int cf_rows_side_file(struct cf_db *db, const struct cf_side_row *row, struct cf_err *err);
int cf_rows_smaps_confirms(struct cf_db *db, const char *why_not, struct cf_err *err);

/* rows_kept.c: trim_range, waste, page_run, top_pin, page_pin. */
int cf_rows_kept(struct cf_db *db, const struct cf_kept *kept, struct cf_err *err);
int cf_rows_groups(struct cf_db *db, const struct cf_holding *holding, struct cf_err *err);

/* rows_malloc.c: anomaly, of the core, its address space, the heap and the second witness. */
int cf_rows_anomaly(struct cf_db *db, const struct cf_ptmalloc *pt,
                    const struct cf_witness *witness, struct cf_err *err);

/* damage: the first corruption; its suspect's type where `types` is not NULL. */
int cf_rows_damage(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_damage *damage,
                   struct cf_types *types, struct cf_err *err);

/* What meta says besides what the objects know. */
struct cf_meta {
    const char *core_path;
    const struct cf_module *libc; /* the file that malloc stands in, or NULL */
    const char *libc_release;     /* 2.36, or "" */
    const char *located_by;       /* symbols, dwarf, pattern */
    size_t nr_unwound;            /* threads */
    const char *chunks;           /* all, free, none */
    bool reachability;            /* live chunks were examined */
    bool previews;                /* words of texts are kept */
    enum cf_outcome outcome;
};

/* rows_meta.c: meta. */
int cf_rows_meta(struct cf_db *db, const struct cf_ptmalloc *pt, const struct cf_modules *modules,
                 const struct cf_meta *meta, struct cf_err *err);

/* rows_meta.c: what SQLite's planner has to know of the tables' sizes, in place of an ANALYZE that
 * would read all chunks; after everything else. */
int cf_rows_statistics(struct cf_db *db, uint64_t nr_chunks, struct cf_err *err);

#endif
