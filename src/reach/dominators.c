/*
 * Semidominators as Lengauer and Tarjan find them ("A fast algorithm for finding dominators in a
 * flowgraph", 1979): vertices of a depth-first spanning tree are gone through from the last to the
 * first; those behind the one at hand form a forest, whose paths are pressed as they are asked for
 * their least semidominator. An edge that does not come from behind needs no forest.
 *
 * Dominators from them as in Semi-NCA (Georgiadis, Tarjan, Werneck, "Finding dominators in
 * practice", 2006): from the first vertex to the last, the immediate dominator of a vertex is the
 * nearest that dominates its parent and is not behind its semidominator. Climbing there one by one
 * takes as many steps as the tree is deep: a list of N nodes whose payloads are held from
 * elsewhere too takes N * N / 2. So each vertex has a jump pointer beside (Myers, "An applicative
 * random-access stack", 1983), and a climb takes the logarithm of the depth.
 *
 * In all O(E log N) steps, and no recursion: pressing a path turns its pointers around on the way
 * up and back on the way down.
 */
#include "reach/dominators.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/spanning.h"

enum { TICK_VERTICES = 1 << 16 };

enum { RANKED, NAMED, ABOVE, BYTES, CHUNKS, NR_FILES }; /* the files of the result */

/* While semidominators are looked for, and then while dominators are. */
struct finder {
    const struct cf_context *ctx;
    struct cf_spanning tree;
    struct cf_scratch values_file;
    uint32_t *above;  /* of vertices behind: the way up in the forest; then the dominator */
    uint32_t *values; /* of vertices behind: the least semidominator on that way; then the jump */
    uint32_t *semis;  /* first the lowest predecessor; last the depth */
};

/* The least semidominator on the path from `v`, which is behind `w`, up to the last vertex that is
 * behind it too. Afterwards the path is one step long. */
static uint32_t evaluate(const struct finder *f, uint32_t v, uint32_t w) {
    uint32_t *above = f->above, *values = f->values;
    uint32_t at = v, below = 0;
    while (above[at] > w) {
        uint32_t next = above[at];
        above[at] = below;
        below = at;
        at = next;
    }
    uint32_t root = above[at], least = values[at];
    while (below != 0) {
        at = below;
        below = above[at];
        if (values[at] < least)
            least = values[at];
        values[at] = least;
        above[at] = root;
    }
    return least;
}

static int find_semidominators(struct finder *f, struct cf_err *err) {
    struct cf_spanning *tree = &f->tree;
    for (uint32_t w = tree->nr - 1; w > 0; w--) {
        if (w % TICK_VERTICES == 0 &&
            cf_progress(f->ctx, "finding dominators", tree->nr - w, 2 * (uint64_t)tree->nr))
            return cf_err_cancelled(err);
        int status = cf_late_edges_load(&tree->late, w, err);
        if (status != CF_OK)
            return status;
        uint64_t nr;
        const uint32_t *from = cf_late_edges_to(&tree->late, w, &nr);
        uint32_t semi = f->semis[w];
        for (uint64_t i = 0; i < nr; i++) {
            uint32_t other = evaluate(f, from[i], w);
            semi = other < semi ? other : semi;
        }
        f->semis[w] = f->values[w] = semi;
        f->above[w] = tree->parents[w];
    }
    return CF_OK;
}

static int find_dominators(struct finder *f, struct cf_err *err) {
    uint32_t *above = f->above, *jumps = f->values, *depths = f->semis;
    above[0] = jumps[0] = depths[0] = 0;
    for (uint32_t w = 1; w < f->tree.nr; w++) {
        if (w % TICK_VERTICES == 0 && cf_progress(f->ctx, "finding dominators",
                                                  (uint64_t)f->tree.nr + w,
                                                  2 * (uint64_t)f->tree.nr))
            return cf_err_cancelled(err);
        uint32_t at = f->tree.parents[w], semi = f->semis[w];
        while (at > semi)
            at = jumps[at] > semi ? jumps[at] : above[at];
        uint32_t jump = jumps[at];
        bool is_even = depths[at] - depths[jump] == depths[jump] - depths[jumps[jump]];
        above[w] = at;
        depths[w] = depths[at] + 1;
        jumps[w] = is_even ? jumps[jump] : at;
    }
    return CF_OK;
}

/* Each chunk's own bytes, heap by heap, in the order of ranks. */
static void weigh_chunks(const struct cf_ranks *ranks, const uint32_t *vertices, uint64_t *bytes,
                         uint32_t *chunks) {
    const struct cf_resolver *resolver = ranks->resolver;
    for (size_t i = 0; i < resolver->nr_extents; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap == NULL) {
            size_t rank = cf_ranks_of(ranks, extent->first_number);
            uint32_t vertex = rank == CF_NO_CHUNK ? 0 : vertices[rank];
            bytes[vertex] = extent->mmapped->bytes;
            chunks[vertex] = 1;
            continue;
        }
        const struct cf_planes *planes = resolver->planes;
        size_t rank = cf_ranks_before_word(ranks, extent->plane_word);
        struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
        for (; cf_live_walk_next(&walk); rank++) {
            bytes[vertices[rank]] = (uint64_t)walk.units << planes->unit_shift;
            chunks[vertices[rank]] = 1;
        }
    }
    bytes[0] = chunks[0] = 0; /* what is not reached was put there */
}

static int sum_up(struct cf_dominators *out, struct cf_err *err) {
    int status = cf_scratch_init(&out->files[BYTES], out->nr * sizeof(uint64_t), err);
    if (status == CF_OK)
        status = cf_scratch_init(&out->files[CHUNKS], out->nr * sizeof(uint32_t), err);
    if (status != CF_OK)
        return status;
    uint64_t *bytes = out->files[BYTES].at;
    uint32_t *chunks = out->files[CHUNKS].at;
    weigh_chunks(out->ranks, out->vertices, bytes, chunks);
    for (uint32_t v = out->nr - 1; v > 0; v--) {
        bytes[out->above[v]] += bytes[v];
        chunks[out->above[v]] += chunks[v];
    }
    out->bytes = bytes;
    out->chunks = chunks;
    return CF_OK;
}

/* The words of roots by group. */
struct grouping {
    size_t nr;        /* groups */
    uint64_t *begins; /* by group, in `targets`, and the end */
    bool *passes;     /* by group */
    uint32_t *numbers; /* by word: its group */
    uint32_t *targets; /* ranks, by group */
    struct cf_scratch file;
};

static void grouping_fini(struct grouping *grouping) {
    free(grouping->begins);
    free(grouping->passes);
    cf_scratch_fini(&grouping->file);
}

static bool passes(enum cf_root_kind kind) {
    return kind == CF_ROOT_STACK || kind == CF_ROOT_REGISTER;
}

static int number_words(const struct cf_dominators_input *input, struct grouping *grouping,
                        struct cf_err *err) {
    for (size_t i = 0; i < input->words->nr; i++) {
        const struct cf_root_word *word = &input->words->rows[i];
        uint32_t group = input->group_of == NULL ? word->root
                                                 : input->group_of(input->source, word);
        if (group == CF_NO_GROUP)
            return cf_err_nomem(err, 0, "groups of roots");
        grouping->numbers[i] = group;
        if (group >= grouping->nr)
            grouping->nr = (size_t)group + 1;
    }
    return CF_OK;
}

/* Sorted by counting: ends become beginnings while the words go to their places from behind. */
static int sort_words(const struct cf_dominators_input *input, struct grouping *grouping,
                      struct cf_err *err) {
    grouping->begins = calloc(grouping->nr + 1, sizeof *grouping->begins);
    grouping->passes = calloc(grouping->nr + 1, sizeof *grouping->passes);
    if (grouping->begins == NULL || grouping->passes == NULL)
        return cf_err_nomem(err, grouping->nr * sizeof *grouping->begins, "groups of roots");
    for (size_t i = 0; i < input->words->nr; i++)
        grouping->begins[grouping->numbers[i]]++;
    for (size_t i = 1; i <= grouping->nr; i++)
        grouping->begins[i] += grouping->begins[i - 1];
    for (size_t i = input->words->nr; i-- > 0;) {
        const struct cf_root_word *word = &input->words->rows[i];
        uint32_t group = grouping->numbers[i];
        grouping->targets[--grouping->begins[group]] = word->rank;
        grouping->passes[group] = passes(input->roots[word->root].kind);
    }
    return CF_OK;
}

static int group_words(const struct cf_dominators_input *input, struct grouping *grouping,
                       struct cf_err *err) {
    int status = cf_scratch_init(&grouping->file,
                                 (input->words->nr + 1) * 2 * sizeof *grouping->numbers, err);
    if (status != CF_OK)
        return status;
    grouping->numbers = grouping->file.at;
    grouping->targets = grouping->numbers + input->words->nr;
    status = number_words(input, grouping, err);
    return status == CF_OK ? sort_words(input, grouping, err) : status;
}

static int find_groups(struct cf_dominators *out, size_t nr_groups, struct cf_err *err) {
    out->groups = calloc(nr_groups + 1, sizeof *out->groups);
    if (out->groups == NULL)
        return cf_err_nomem(err, nr_groups * sizeof *out->groups, "groups of roots");
    out->nr_groups = nr_groups;
    for (uint32_t v = 1; v < out->nr; v++)
        if (out->sources[v] & CF_SPANNING_GROUP)
            out->groups[out->sources[v] & ~CF_SPANNING_GROUP] = v;
    return CF_OK;
}

/* What stays of the tree goes over to `out`. */
static void take_tree(struct cf_spanning *tree, struct cf_dominators *out) {
    out->nr = tree->nr;
    out->vertices = tree->vertices;
    out->sources = tree->sources;
    out->files[RANKED] = tree->ranked;
    out->files[NAMED] = tree->named;
    tree->ranked = tree->named = (struct cf_scratch){0};
}

static int make_tree(const struct cf_context *ctx, const struct cf_dominators_input *input,
                     struct finder *f, struct cf_dominators *out, struct cf_err *err) {
    CF_CLEANUP(grouping_fini) struct grouping grouping = {0};
    int status = group_words(input, &grouping, err);
    if (status != CF_OK)
        return status;
    const struct cf_spanning_input spanning = {
        .links = input->links, .nr_reached = input->nr_reached, .nr_groups = grouping.nr,
        .begins = grouping.begins, .targets = grouping.targets, .passes = grouping.passes,
    };
    status = cf_spanning_make(ctx, &spanning, &f->tree, err);
    if (status != CF_OK)
        return status;
    take_tree(&f->tree, out);
    return find_groups(out, grouping.nr, err);
}

static void finder_fini(struct finder *f) {
    cf_spanning_fini(&f->tree);
    cf_scratch_fini(&f->values_file);
}

static int find(const struct cf_context *ctx, const struct cf_dominators_input *input,
                struct cf_dominators *out, struct cf_err *err) {
    CF_CLEANUP(finder_fini) struct finder f = {.ctx = ctx};
    int status = make_tree(ctx, input, &f, out, err);
    if (status != CF_OK)
        return status;
    cf_dominators_drop(out);
    status = cf_scratch_init(&out->files[ABOVE], out->nr * sizeof *f.above, err);
    if (status == CF_OK)
        status = cf_scratch_init(&f.values_file, out->nr * sizeof *f.values, err);
    if (status != CF_OK)
        return status;
    out->above = f.above = out->files[ABOVE].at;
    f.values = f.values_file.at;
    f.semis = f.tree.firsts;
    status = find_semidominators(&f, err);
    return status == CF_OK ? find_dominators(&f, err) : status;
}

int cf_dominators_find(const struct cf_context *ctx, const struct cf_dominators_input *input,
                       struct cf_dominators *out, struct cf_err *err) {
    out->ranks = input->links->ranks;
    int status = find(ctx, input, out, err);
    if (status == CF_OK)
        status = sum_up(out, err);
    if (status != CF_OK)
        cf_dominators_fini(out);
    else
        cf_dominators_drop(out);
    return status;
}

void cf_dominators_fini(struct cf_dominators *dominators) {
    for (size_t i = 0; i < NR_FILES; i++)
        cf_scratch_fini(&dominators->files[i]);
    free(dominators->groups);
    *dominators = (struct cf_dominators){.nr = 0};
}

void cf_dominators_drop(const struct cf_dominators *dominators) {
    for (size_t i = 0; i < NR_FILES; i++)
        cf_scratch_drop(&dominators->files[i]);
}

struct cf_vertex cf_dominators_of_rank(const struct cf_dominators *dominators, size_t rank) {
    return (struct cf_vertex){dominators->nr == 0 ? 0 : dominators->vertices[rank]};
}

struct cf_vertex cf_dominators_of_group(const struct cf_dominators *dominators, uint32_t group) {
    return (struct cf_vertex){group < dominators->nr_groups ? dominators->groups[group] : 0};
}

struct cf_vertex cf_dominators_above(const struct cf_dominators *dominators,
                                     struct cf_vertex vertex) {
    return (struct cf_vertex){dominators->above[vertex.index]};
}

size_t cf_dominators_rank(const struct cf_dominators *dominators, struct cf_vertex vertex) {
    uint32_t source = dominators->sources[vertex.index];
    return vertex.index == 0 || (source & CF_SPANNING_GROUP) ? CF_NO_CHUNK : source;
}

uint32_t cf_dominators_group(const struct cf_dominators *dominators, struct cf_vertex vertex) {
    uint32_t source = dominators->sources[vertex.index];
    return vertex.index != 0 && (source & CF_SPANNING_GROUP) ? source & ~CF_SPANNING_GROUP
                                                             : CF_NO_GROUP;
}

struct cf_kept_alive cf_dominators_kept(const struct cf_dominators *dominators,
                                        struct cf_vertex vertex) {
    return (struct cf_kept_alive){dominators->bytes[vertex.index],
                                  dominators->chunks[vertex.index]};
}
