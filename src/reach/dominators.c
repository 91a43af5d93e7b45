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
 *
 * Long lists make long paths. But a vertex on a path whose semidominator is its parent says
 * nothing: that parent is the vertex at hand or behind it, and a semidominator comes before. Where
 * the parent also has the number before, the next vertex that does say something is found among
 * bits (reach/stops.h), without a look at those between.
 */
#include "reach/dominators.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "reach/spanning.h"
#include "reach/stops.h"

enum { TICK_VERTICES = 1 << 16, TICK_WORDS = 1 << 12, NODES_AHEAD = CF_LATE_AHEAD / 2 };

/* What is known of a vertex while it goes from the spanning tree's row to the result's; both are of
 * 16 bytes, so that a step from vertex to vertex touches one line of memory, and one file does. */
union node {
    struct cf_spanned spanned;
    struct {
        struct cf_vertex parent;
        struct cf_vertex semi;  /* the semidominator; at first the lowest predecessor */
        struct cf_vertex above; /* of vertices behind: the way up in the forest */
        struct cf_vertex least; /* the least semidominator on that way */
    } behind;
    struct {
        struct cf_vertex parent;
        uint32_t depth;
        struct cf_vertex above; /* the immediate dominator */
        struct cf_vertex jump;
    } climbed;
    struct cf_dominated dominated;
};

struct finder {
    const struct cf_context *ctx;
    struct cf_late_edges late;
    union node *nodes; /* by vertex */
    struct cf_stops stops;
    uint32_t nr;
    const uint32_t *vertices; /* by rank */
};

static inline union node *node_of(const struct finder *f, struct cf_vertex vertex) {
    return &f->nodes[vertex.index];
}

static inline struct cf_vertex stop_at_or_below(const struct finder *f, struct cf_vertex vertex) {
    return (struct cf_vertex){cf_stops_at_or_below(&f->stops, vertex.index)};
}

static inline struct cf_vertex lower(struct cf_vertex a, struct cf_vertex b) {
    return b.index < a.index ? b : a;
}

/* The least semidominator on the path from `v`, which is behind `w`, up to the last vertex that is
 * behind it too; vertices that are no stops are passed over, and UINT32_MAX is the answer where
 * there are no others. Afterwards the path is one step long. */
static inline struct cf_vertex evaluate(const struct finder *f, struct cf_vertex v,
                                        struct cf_vertex w) {
    struct cf_vertex at = stop_at_or_below(f, v), below = {0};
    if (at.index <= w.index)
        return (struct cf_vertex){UINT32_MAX};
    while (node_of(f, at)->behind.above.index > w.index) {
        struct cf_vertex next = stop_at_or_below(f, node_of(f, at)->behind.above);
        if (next.index <= w.index)
            break;
        node_of(f, at)->behind.above = below;
        below = at;
        at = next;
    }
    struct cf_vertex root = node_of(f, at)->behind.above, least = node_of(f, at)->behind.least;
    while (below.index != 0) {
        union node *node = node_of(f, below);
        below = node->behind.above;
        least = lower(least, node->behind.least);
        node->behind.least = least;
        node->behind.above = root;
    }
    return least;
}

/* The vertices that late edges come from lie anywhere behind: they are called for in time, and so
 * is what is above them. */
static inline void call_for_nodes(const struct finder *f, const struct cf_vertex *from) {
    __builtin_prefetch(node_of(f, from[-CF_LATE_AHEAD]));
    __builtin_prefetch(node_of(f, node_of(f, from[-NODES_AHEAD])->behind.above));
}

static int find_semidominators(struct finder *f, struct cf_err *err) {
    for (struct cf_vertex w = {f->nr - 1}; w.index > 0; w.index--) {
        if (w.index % TICK_VERTICES == 0 &&
            cf_progress(f->ctx, "finding dominators", f->nr - w.index, 2 * (uint64_t)f->nr))
            return cf_err_cancelled(err);
        int status = cf_late_edges_load(f->ctx, &f->late, w, err);
        if (status != CF_OK)
            return status;
        uint64_t nr;
        const struct cf_vertex *from = cf_late_edges_to(&f->late, w, &nr);
        union node *node = node_of(f, w);
        struct cf_vertex semi = node->spanned.first, parent = node->spanned.parent;
        while (nr-- > 0) {
            call_for_nodes(f, from + nr);
            semi = lower(semi, evaluate(f, from[nr], w));
            if ((nr + 1) % TICK_VERTICES == 0 && cf_tick(f->ctx))
                return cf_err_cancelled(err);
        }
        node->behind.semi = node->behind.least = semi;
        node->behind.above = parent;
        if (semi.index == parent.index && parent.index == w.index - 1 && parent.index > 0)
            cf_stops_take_out(&f->stops, w.index);
    }
    return CF_OK;
}

static int find_dominators(struct finder *f, struct cf_err *err) {
    memset(&f->nodes[0], 0, sizeof f->nodes[0]);
    for (struct cf_vertex w = {1}; w.index < f->nr; w.index++) {
        if (w.index % TICK_VERTICES == 0 &&
            cf_progress(f->ctx, "finding dominators", (uint64_t)f->nr + w.index,
                        2 * (uint64_t)f->nr))
            return cf_err_cancelled(err);
        union node *node = node_of(f, w);
        struct cf_vertex at = node->behind.parent, semi = node->behind.semi;
        while (at.index > semi.index) {
            const union node *on_way = node_of(f, at);
            at = on_way->climbed.jump.index > semi.index ? on_way->climbed.jump
                                                         : on_way->climbed.above;
        }
        struct cf_vertex jump = node_of(f, at)->climbed.jump;
        struct cf_vertex beyond = node_of(f, jump)->climbed.jump;
        uint32_t depth = node_of(f, at)->climbed.depth, of_jump = node_of(f, jump)->climbed.depth;
        bool is_even = depth - of_jump == of_jump - node_of(f, beyond)->climbed.depth;
        node->climbed.above = at;
        node->climbed.depth = depth + 1;
        node->climbed.jump = is_even ? beyond : at;
    }
    return CF_OK;
}

/* What is not reached is put where vertex 0 is. */
static inline void weigh(struct finder *f, struct cf_rank rank, uint64_t bytes) {
    struct cf_dominated *row = &f->nodes[f->vertices[rank.index]].dominated;
    row->bytes = bytes;
    row->chunks = 1;
}

static int weigh_heap(struct finder *f, const struct cf_ranks *ranks,
                      const struct cf_extent *extent, struct cf_err *err) {
    const struct cf_planes *planes = ranks->resolver->planes;
    struct cf_rank rank = cf_ranks_of_word(ranks, extent->plane_word);
    struct cf_live_walk walk = cf_live_walk(planes, extent->heap);
    for (; cf_live_walk_next(&walk); rank.index++) {
        weigh(f, rank, (uint64_t)walk.units << planes->unit_shift);
        if (rank.index % TICK_VERTICES == 0 && cf_tick(f->ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

/* Each chunk's own bytes, heap by heap, in the order of ranks; groups have none. */
static int weigh_chunks(struct finder *f, const struct cf_dominators *out, struct cf_err *err) {
    const struct cf_resolver *resolver = out->ranks->resolver;
    int status = CF_OK;
    for (size_t i = 0; i < resolver->nr_extents && status == CF_OK; i++) {
        const struct cf_extent *extent = &resolver->extents[i];
        if (extent->heap != NULL)
            status = weigh_heap(f, out->ranks, extent, err);
        else if (!extent->mmapped->in_tcache)
            weigh(f, cf_ranks_of(out->ranks, extent->first_number), extent->mmapped->bytes);
    }
    for (size_t group = 0; group < out->nr_groups; group++) {
        struct cf_dominated *row = &node_of(f, out->groups[group])->dominated;
        row->bytes = row->chunks = 0;
    }
    f->nodes[0].dominated = (struct cf_dominated){.bytes = 0};
    return status;
}

static int sum_up(struct finder *f, const struct cf_dominators *out, struct cf_err *err) {
    int status = weigh_chunks(f, out, err);
    for (struct cf_vertex v = {f->nr - 1}; v.index > 0 && status == CF_OK; v.index--) {
        const struct cf_dominated *row = &node_of(f, v)->dominated;
        struct cf_dominated *above = &node_of(f, row->above)->dominated;
        above->bytes += row->bytes;
        above->chunks += row->chunks;
        if (v.index % TICK_VERTICES == 0 && cf_tick(f->ctx))
            status = cf_err_cancelled(err);
    }
    return status;
}

static void grouping_fini(struct cf_grouping *grouping) {
    free(grouping->begins);
    free(grouping->passes);
    cf_scratch_fini(&grouping->file);
}

static bool passes(enum cf_root_kind kind) {
    return kind == CF_ROOT_STACK || kind == CF_ROOT_REGISTER;
}

static int number_words(const struct cf_context *ctx, const struct cf_dominators_input *input,
                        struct cf_grouping *grouping, struct cf_err *err) {
    for (size_t i = 0; i < input->words->nr; i++) {
        if (i % TICK_WORDS == 0 && cf_progress(ctx, "naming roots", i, input->words->nr))
            return cf_err_cancelled(err);
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
static int sort_words(const struct cf_context *ctx, const struct cf_dominators_input *input,
                      struct cf_grouping *grouping, struct cf_err *err) {
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
        if (i % TICK_VERTICES == 0 && cf_tick(ctx))
            return cf_err_cancelled(err);
    }
    return CF_OK;
}

static int group_words(const struct cf_context *ctx, const struct cf_dominators_input *input,
                       struct cf_grouping *grouping, struct cf_err *err) {
    int status = cf_scratch_init(&grouping->file,
                                 (input->words->nr + 1) * 2 * sizeof *grouping->numbers, err);
    if (status != CF_OK)
        return status;
    grouping->numbers = grouping->file.at;
    grouping->targets = grouping->numbers + input->words->nr;
    status = number_words(ctx, input, grouping, err);
    return status == CF_OK ? sort_words(ctx, input, grouping, err) : status;
}

/* What stays of the tree goes over to `out`. */
static void take_tree(struct cf_spanning *tree, size_t nr_groups, struct cf_dominators *out) {
    out->nr = tree->nr;
    out->vertices = tree->vertices;
    out->sources = tree->sources;
    out->rows = tree->work.at;
    out->groups = tree->groups;
    out->nr_groups = nr_groups;
    out->first_passing = tree->first_passing;
    out->files[0] = tree->ranked;
    out->files[1] = tree->named;
    out->files[2] = tree->work;
    tree->ranked = tree->named = tree->work = (struct cf_scratch){0};
    tree->groups = NULL;
}

static int make_tree(const struct cf_context *ctx, const struct cf_dominators_input *input,
                     struct finder *f, struct cf_dominators *out, struct cf_err *err) {
    struct cf_grouping *grouping = &out->roots;
    CF_CLEANUP(cf_spanning_fini) struct cf_spanning tree = {0};
    int status = group_words(ctx, input, grouping, err);
    if (status == CF_OK && input->kinds != NULL) {
        const struct cf_lasting_input lasting = {
            .links = input->links, .kinds = input->kinds, .nr_groups = grouping->nr,
            .begins = grouping->begins, .targets = grouping->targets, .passes = grouping->passes,
        };
        status = cf_lasting_find(ctx, &lasting, &out->lasting, err);
    }
    if (status != CF_OK)
        return status;
    const struct cf_spanning_input spanning = {
        .links = input->links, .nr_reached = input->nr_reached, .nr_groups = grouping->nr,
        .begins = grouping->begins, .targets = grouping->targets, .passes = grouping->passes,
        .lasting = &out->lasting,
    };
    status = cf_spanning_make(ctx, &spanning, &tree, err);
    if (status != CF_OK)
        return status;
    take_tree(&tree, grouping->nr, out);
    *f = (struct finder){
        .ctx = ctx, .late = tree.late, .nodes = out->files[2].at, .nr = out->nr,
        .vertices = out->vertices,
    };
    tree.late = (struct cf_late_edges){.nr_buckets = 0};
    return CF_OK;
}

static void finder_fini(struct finder *f) {
    cf_stops_fini(&f->stops);
    cf_late_edges_fini(&f->late);
}

static int find(const struct cf_context *ctx, const struct cf_dominators_input *input,
                struct cf_dominators *out, struct cf_err *err) {
    CF_CLEANUP(finder_fini) struct finder f = {.ctx = ctx};
    int status = make_tree(ctx, input, &f, out, err);
    if (status != CF_OK)
        return status;
    cf_scratch_drop(&out->files[0]);
    if (!cf_stops_init(&f.stops, f.nr))
        return cf_err_nomem(err, f.nr / 8, "the search for dominators");
    status = find_semidominators(&f, err);
    if (status == CF_OK)
        status = find_dominators(&f, err);
    return status == CF_OK ? sum_up(&f, out, err) : status;
}

int cf_dominators_find(const struct cf_context *ctx, const struct cf_dominators_input *input,
                       struct cf_dominators *out, struct cf_err *err) {
    out->links = input->links;
    out->ranks = input->links->ranks;
    int status = find(ctx, input, out, err);
    if (status != CF_OK)
        cf_dominators_fini(out);
    else
        cf_dominators_drop(out);
    return status;
}

void cf_dominators_fini(struct cf_dominators *dominators) {
    for (size_t i = 0; i < 3; i++)
        cf_scratch_fini(&dominators->files[i]);
    grouping_fini(&dominators->roots);
    free(dominators->groups);
    cf_lasting_fini(&dominators->lasting);
    *dominators = (struct cf_dominators){.nr = 0};
}

void cf_dominators_drop(const struct cf_dominators *dominators) {
    for (size_t i = 0; i < 3; i++)
        cf_scratch_drop(&dominators->files[i]);
    cf_scratch_drop(&dominators->roots.file);
}

struct cf_vertex cf_dominators_of_rank(const struct cf_dominators *dominators,
                                       struct cf_rank rank) {
    return (struct cf_vertex){dominators->nr == 0 ? 0 : dominators->vertices[rank.index]};
}

struct cf_vertex cf_dominators_of_group(const struct cf_dominators *dominators, uint32_t group) {
    return group < dominators->nr_groups ? dominators->groups[group] : (struct cf_vertex){0};
}

struct cf_vertex cf_dominators_above(const struct cf_dominators *dominators,
                                     struct cf_vertex vertex) {
    return dominators->rows[vertex.index].above;
}

struct cf_rank cf_dominators_rank(const struct cf_dominators *dominators,
                                  struct cf_vertex vertex) {
    uint32_t source = dominators->sources[vertex.index];
    return vertex.index == 0 || (source & CF_SPANNING_GROUP) ? CF_NO_RANK
                                                             : (struct cf_rank){source};
}

uint32_t cf_dominators_group(const struct cf_dominators *dominators, struct cf_vertex vertex) {
    uint32_t source = dominators->sources[vertex.index];
    return vertex.index != 0 && (source & CF_SPANNING_GROUP) ? source & ~CF_SPANNING_GROUP
                                                             : CF_NO_GROUP;
}

struct cf_kept_alive cf_dominators_kept(const struct cf_dominators *dominators,
                                        struct cf_vertex vertex) {
    const struct cf_dominated *row = &dominators->rows[vertex.index];
    return (struct cf_kept_alive){row->bytes, row->chunks};
}
