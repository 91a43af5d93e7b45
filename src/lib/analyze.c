/*
 * cf_analyze(): the pipeline, in the order of passes that src/README.md explains. What goes wrong
 * in the core is a row; what goes wrong with files or memory ends the run and leaves nothing
 * behind.
 */
#include <string.h>

#include "retain/kept.h"
#include "reach/leaks.h"
#include "types/ghosts.h"
#include "reach/reach.h"
#include "retain/holes.h"
#include "types/types.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/thread_pool.h"
#include "base/err.h"
#include "holders/holding.h"
#include "holders/naming.h"
#include "lib/door.h"
#include "lib/process.h"
#include "lib/reading.h"
#include "lib/standing.h"
#include "ptmalloc/damage.h"
#include "rules/rules.h"
#include "store/rows.h"
#include "store/store.h"
#include "space/allocators.h"
#include "sym/frames.h"

struct run {
    const struct cf_context *ctx;
    const struct cf_options *options;
    const char *core_path;
    struct cf_store *store;
    struct cf_reading reading;
    struct cf_frames *frames;
    struct cf_damage damage;
    struct cf_kept kept;
    struct cf_sizes *sizes;
    struct cf_holes *holes;
    struct cf_reach *reach; /* NULL: not examined */
    char not_reached[1024]; /* why it could not be; "" */
    struct cf_types *types; /* NULL: not examined */
    struct cf_leaks leaks;
    struct cf_ghosts ghosts;
    struct cf_naming naming;
    struct cf_holding holding;
    struct cf_process process;
};

/* In the opposite order: each borrows from those above it. */
static void run_fini(struct run *run) {
    cf_holding_fini(&run->holding);
    cf_leaks_fini(&run->leaks);
    cf_ghosts_fini(&run->ghosts);
    cf_types_free(run->types);
    cf_reach_free(run->reach);
    cf_process_fini(&run->process);
    cf_holes_free(run->holes);
    cf_sizes_free(run->sizes);
    cf_kept_fini(&run->kept);
    cf_frames_free(run->frames);
    cf_reading_fini(&run->reading);
    cf_store_free(run->store);
}

static uint32_t type_of(const void *types, struct cf_chunk_number number) {
    return cf_types_of(types, number);
}

/* Whether the program has objects that begin with tables of functions, as far as can be told
 * without looking for those that died. */
static bool may_have_ghosts(const struct run *run) {
    for (uint32_t type = 0; type < cf_types_nr(run->types); type++)
        if (cf_types_get(run->types, type)->evidence == CF_EVIDENCE_VTABLE)
            return true;
    return cf_modules_find_prefix(run->reading.modules, "libstdc++") != NULL ||
           cf_modules_find_prefix(run->reading.modules, "libc++") != NULL;
}

/* What is reached, what the live chunks are, and which of them are lost. */
static int examine(struct run *run, struct cf_err *err) {
    const struct cf_ptmalloc *pt = run->reading.pt;
    int status = cf_reach_new(run->ctx, pt, &run->reach, err);
    if (status != CF_OK)
        return status;
    cf_naming_init(&run->naming, run->reading.symbols, run->frames);
    const struct cf_types_input input = {
        .ctx = run->ctx, .mem = run->reading.mem, .pt = pt,
        .resolver = cf_mark_resolver(run->reach->mark),
        .ranks = &run->reach->ranks, .roots = &run->reach->roots, .namer = &run->naming.namer,
    };
    status = cf_types_new(&input, &run->types, err);
    if (status != CF_OK)
        return status;
    const struct cf_live_visitor visitor = cf_types_visitor(run->types);
    status = cf_reach_follow(run->ctx, run->reach, &visitor, err);
    if (status != CF_OK)
        return status;
    status = cf_types_count(run->ctx, run->types, run->reach->mark, err);
    if (status != CF_OK)
        return status;
    const struct cf_leaks_input leaks = {
        .mark = run->reach->mark, .links = &run->reach->links, .mem = run->reading.mem,
        .type_of = type_of, .types = run->types,
    };
    run->kept.types = run->types;
    status = cf_leaks_find(run->ctx, &run->leaks, &leaks, err);
    if (status != CF_OK || !may_have_ghosts(run))
        return status;
    return cf_ghosts_find(run->ctx, pt, run->types, &run->ghosts, err);
}

/* Without room for its temporary files, or with more chunks than it can number, the rest of the
 * analysis stands without it. */
static int examine_if_possible(struct run *run, struct cf_err *err) {
    struct cf_err why = {.status = CF_OK};
    int status = examine(run, &why);
    if (status != CF_EOUTPUT && status != CF_EUSAGE) {
        if (status != CF_OK && err != NULL)
            *err = why;
        return status;
    }
    cf_log(run->ctx, "reachability is not computed: %s", why.text);
    memcpy(run->not_reached, why.text, sizeof run->not_reached);
    cf_types_free(run->types);
    cf_reach_free(run->reach);
    run->types = NULL;
    run->reach = NULL;
    return CF_OK;
}

/* The two long passes that only read the map and what malloc_trim would do: side by side. */
struct sides {
    struct run *run;
    int statuses[2];
    struct cf_err errs[2];
};

static void run_side(void *user, size_t index) {
    struct sides *sides = user;
    struct run *run = sides->run;
    const struct cf_ptmalloc *pt = run->reading.pt;
    struct cf_err *err = &sides->errs[index];
    if (index == 0)
        sides->statuses[0] = cf_kept_pins(run->ctx, pt, &run->kept, err);
    else
        sides->statuses[1] = cf_sweep(run->ctx, run->reading.mem, &run->kept.trim,
                                      cf_ptmalloc_map(pt), cf_ptmalloc_nr_arenas(pt),
                                      &run->sizes, &run->holes, err);
}

static int run_sides(struct run *run, struct cf_err *err) {
    struct sides sides = {.run = run};
    cf_thread_pool_run(run->options->threads, 2, run_side, &sides);
    for (size_t i = 0; i < 2; i++)
        if (sides.statuses[i] != CF_OK) {
            if (err != NULL)
                *err = sides.errs[i];
            return sides.statuses[i];
        }
    return CF_OK;
}

static int analyze_heap(struct run *run, struct cf_err *err) {
    const struct cf_ptmalloc *pt = run->reading.pt;
    int status = CF_OK;
    if (run->options->depth == CF_DEPTH_FULL && cf_reading_has_heap(&run->reading))
        status = examine_if_possible(run, err);
    if (status == CF_OK)
        status = cf_kept_trim(run->ctx, pt, &run->kept, err);
    if (status == CF_OK)
        status = run_sides(run, err);
    if (status == CF_OK)
        status = cf_process_analyze(run->ctx, &run->process, &run->reading,
                                    run->reach != NULL ? &run->reach->stacks : NULL,
                                    err);
    const struct cf_holding_input holding = {
        .mem = run->reading.mem, .pt = pt, .modules = run->reading.modules, .reach = run->reach,
        .kept = &run->kept, .naming = &run->naming, .claims = &run->process.claims,
        .suspect = run->damage.has_below && run->damage.below.state == CF_CHUNK_LIVE
                       ? run->damage.below.addr
                       : 0,
    };
    if (status == CF_OK && run->reach != NULL)
        status = cf_holding_find(run->ctx, &holding, run->types, &run->holding, err);
    return status;
}

static const char *chunks_name(enum cf_chunks chunks) {
    static const char *const names[] = {"all", "free", "none"};
    return names[chunks];
}

static int store_meta(struct run *run, enum cf_outcome outcome, struct cf_err *err) {
    const struct cf_meta meta = {
        .core_path = run->core_path,
        .libc = cf_reading_libc(&run->reading),
        .libc_release = run->reading.witness.release,
        .located_by = cf_witness_located_by(&run->reading.witness),
        .chunks = chunks_name(run->options->chunks),
        .nr_unwound = cf_frames_nr_unwound(run->frames),
        .reachability = run->reach != NULL,
        .previews = run->options->previews && run->reach != NULL,
        .outcome = outcome,
    };
    return cf_rows_meta(cf_store_db(run->store), run->reading.pt, run->reading.modules, &meta, err);
}

static int store_tables(struct run *run, enum cf_outcome outcome, struct cf_err *err) {
    struct cf_db *db = cf_store_db(run->store);
    const struct cf_ptmalloc *pt = run->reading.pt;
    if (cf_progress(run->ctx, "storing tables", 0, 0))
        return cf_err_cancelled(err);
    int status = store_meta(run, outcome, err);
    if (status == CF_OK)
        status = cf_rows_process(db, pt, run->reading.symbols, run->frames, err);
    if (status == CF_OK)
        status = cf_rows_malloc(db, pt, run->sizes, run->holes, &run->kept, err);
    if (status == CF_OK)
        status = cf_rows_holes(db, run->sizes, run->holes, cf_ptmalloc_nr_arenas(pt), err);
    if (status == CF_OK && run->reach != NULL)
        status = cf_rows_reach(db, pt, run->reach, &run->leaks, run->types, err);
    if (status == CF_OK && run->not_reached[0] != '\0')
        status = cf_rows_not_computed(db, "reachability", run->not_reached, err);
    if (status == CF_OK && run->types != NULL)
        status = cf_rows_types(db, run->types, err);
    if (status == CF_OK && run->types != NULL)
        status = cf_rows_ghosts(db, &run->ghosts, run->types, err);
    if (status == CF_OK)
        status = cf_rows_kept(db, &run->kept, err);
    if (status == CF_OK)
        status = cf_rows_damage(db, pt, &run->damage, run->types, err);
    if (status == CF_OK && run->reach != NULL)
        status = cf_rows_holders(db, &run->holding, err);
    if (status == CF_OK && run->reach != NULL)
        status = cf_rows_groups(db, &run->holding, err);
    if (status == CF_OK && run->reach != NULL)
        status = cf_rows_size_types(db, &run->holding.sizes, run->types, err);
    if (status == CF_OK && run->reach != NULL)
        status = cf_rows_retained(db, &run->holding.retained, run->types, err);
    if (status == CF_OK && run->holding.no_dominators[0] != '\0')
        status = cf_rows_not_computed(db, "dominators", run->holding.no_dominators, err);
    if (status == CF_OK && run->reach != NULL && run->options->previews)
        status = cf_rows_previews(db, &run->holding, err);
    if (status == CF_OK)
        status = cf_process_store(&run->process, &run->reading, run->options, db, err);
    if (status == CF_OK)
        status = cf_rows_anomaly(db, pt, &run->reading.witness, err);
    if (status == CF_OK)
        status = cf_symbols_status(run->reading.symbols, err);
    return status;
}

static int store_chunks(struct run *run, struct cf_err *err) {
    struct cf_chunk_source source;
    uint64_t total = cf_sizes_nr_chunks(run->sizes);
    struct cf_chunk_facts facts = {.types = run->types};
    if (run->reach != NULL) {
        facts.reached = cf_mark_plane(run->reach->mark);
        facts.ranks = &run->reach->ranks;
    }
    cf_chunk_source_init(&source, cf_ptmalloc_map(run->reading.pt), run->options->chunks, &facts);
    int status = cf_store_chunks(run->store, &source, total, run->options->threads, err);
    if (status == CF_OK)
        status = cf_rows_statistics(cf_store_db(run->store), source.rows, err);
    return status;
}

static int analyze(struct run *run, const char *db_path, enum cf_outcome *out, struct cf_err *err) {
    /* The output first: a name that cannot be had should not cost the analysis. */
    int status = cf_store_create(run->ctx, db_path, run->options->force, &run->store, err);
    if (status == CF_OK)
        status = cf_counted_open(&run->process.counted, run->options, err);
    if (status == CF_OK)
        status = cf_reading_open(run->ctx, run->core_path, run->options, &run->reading, err);
    if (status == CF_OK)
        status = cf_counted_find(run->ctx, &run->process.counted, run->reading.input,
                                 run->reading.mem, db_path, err);
    if (status == CF_OK)
        status = cf_process_confirm(&run->process, &run->reading, run->options, err);
    if (status == CF_OK)
        status = cf_frames_find(run->ctx, run->reading.mem, run->reading.symbols, &run->frames,
                                err);
    if (status == CF_OK)
        status = cf_standing_judge(run->ctx, &run->reading, run->frames, err);
    if (status == CF_OK)
        cf_damage_find(run->reading.pt, &run->damage);
    if (status == CF_OK)
        status = analyze_heap(run, err);
    status = cf_reading_settle(&run->reading, status, err);
    if (status != CF_OK)
        return status;
    enum cf_outcome outcome = cf_reading_outcome(&run->reading);
    if (outcome == CF_OUTCOME_WHOLE && cf_process_lacks_content(&run->process, run->reading.mem))
        outcome = CF_OUTCOME_INCOMPLETE;
    if (outcome == CF_OUTCOME_NO_HEAP && !cf_anonymous_is_dumped(run->reading.mem))
        cf_log(run->ctx, "the core was written without private anonymous memory, and so without "
                         "any heap: echo 0x33 > /proc/PID/coredump_filter before the next one");
    status = store_tables(run, outcome, err);
    if (status == CF_OK)
        status = store_chunks(run, err);
    status = cf_reading_settle(&run->reading, status, err);
    if (status == CF_OK)
        status = cf_rules_judge(cf_store_db(run->store), err);
    if (status == CF_OK)
        status = cf_store_commit(run->store, err);
    if (status == CF_OK)
        *out = outcome;
    return status;
}

static int check_output(const char *core_path, const char *db_path,
                        const struct cf_options *options, struct cf_err *err) {
    const char *const inputs[] = {core_path, options->exe, options->smaps_path,
                                  options->cgroup_path};
    return cf_output_check(db_path, false, inputs, sizeof inputs / sizeof inputs[0], err);
}

int cf_analyze(const struct cf_context *ctx, const char *core_path, const char *db_path,
               const struct cf_options *options, enum cf_outcome *out, struct cf_err *err) {
    struct cf_guard guard;
    struct cf_options wanted;
    int status = cf_door_path(core_path, "the core", err);
    if (status == CF_OK)
        status = cf_door_path(db_path, "the database", err);
    if (status == CF_OK)
        status = cf_door_pointer(out, "the outcome", err);
    if (status == CF_OK)
        status = cf_door_options(options, &wanted, err);
    if (status == CF_OK)
        status = cf_door_context(ctx, &guard, err);
    if (status == CF_OK)
        status = check_output(core_path, db_path, &wanted, err);
    if (status != CF_OK)
        return status;
    CF_CLEANUP(run_fini)
    struct run run = {
        .ctx = &guard.context, .options = &wanted, .core_path = core_path, .reading = {0},
    };
    return analyze(&run, db_path, out, err);
}
