/*
 * Depth-first search with a stack of edges (each edge to a vertex that is not numbered yet goes on
 * it, also when one to the same vertex is there already: the last one pushed is the first one
 * taken, so that a vertex hangs below the last vertex that led to it, as depth-first search has
 * it). What is pushed may be every edge: beyond some thousand the lower part of the stack stands
 * in a temporary file.
 *
 * An edge that is seen before its end is numbered comes from a lower number, and the first one seen
 * comes from the lowest, since vertices are looked at in the order of their numbers. Until then a
 * rank's place in `vertices` keeps it.
 */
#include "reach/spanning.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/err.h"

enum {
    STACK_PART = CF_SCRATCH_BUFFER / 8, /* edges that are written in one go */
    STATES_AHEAD = 12, /* of the stack: where its vertex stands is fetched */
    BLOCKS_AHEAD = 8,  /* where its links stand */
    LISTS_AHEAD = 4,   /* its links */
    TICK_CHUNKS = 4096,
    RESIDENT_MAX = 40 << 20, /* beside the tree's own tables */
    REREAD_MAX = 64,
};

static const size_t VERTICES_MAX = 1u << 31;
static const uint32_t SEEN = 1u << 31; /* in `vertices`: not numbered yet, below it is the first */

static const struct cf_vertex ALL_ROOTS = {0};

/* An edge to a vertex that was not numbered when it was pushed. */
struct spanning_edge {
    uint32_t rank; /* that it leads to */
    struct cf_vertex from;
};

struct spanner {
    const struct cf_context *ctx;
    const struct cf_spanning_input *input;
    const struct cf_links *links;
    struct cf_spanning *tree;
    struct cf_scratch_writer sources;
    uint32_t base; /* edges to vertices below it do not count */
    struct spanning_edge *stack;
    size_t nr_stack;
    struct cf_scratch_writer below; /* the lower part of the stack */
    unsigned until_tick;
    size_t resident_max;
    uint64_t drops_left;
    bool is_cancelled;
};

static void push(struct spanner *s, struct cf_rank rank, struct cf_vertex from) {
    if (s->nr_stack == 2 * STACK_PART) {
        cf_scratch_put(&s->below, s->stack, STACK_PART * sizeof *s->stack);
        s->nr_stack -= STACK_PART;
        memcpy(s->stack, s->stack + STACK_PART, STACK_PART * sizeof *s->stack);
    }
    s->stack[s->nr_stack++] = (struct spanning_edge){(uint32_t)rank.index, from};
}

static bool pop(struct spanner *s, struct spanning_edge *out) {
    if (s->nr_stack == 0) {
        if (cf_scratch_place(&s->below) == 0)
            return false;
        cf_scratch_take_back(&s->below, s->stack, STACK_PART * sizeof *s->stack);
        s->nr_stack = STACK_PART;
    }
    *out = s->stack[--s->nr_stack];
    return true;
}

static inline void meet(struct spanner *s, struct cf_rank rank, struct cf_vertex from) {
    uint32_t *place = &s->tree->vertices[rank.index];
    if (*place == 0)
        *place = SEEN | from.index;
    else if ((*place & SEEN) == 0) {
        if (*place >= s->base)
            cf_late_edges_put(&s->tree->late, (struct cf_vertex){*place}, from);
        return;
    }
    push(s, rank, from);
}

static struct cf_vertex number(struct spanner *s, uint32_t source, struct cf_vertex parent,
                               struct cf_vertex first) {
    struct cf_spanning *tree = s->tree;
    struct cf_vertex vertex = {tree->nr++};
    cf_scratch_put_u32(&s->sources, source);
    tree->rows[vertex.index] = (struct cf_spanned){.parent = parent, .first = first};
    return vertex;
}

/* The links are files, and the search is soon all over them. */
static void give_back(struct spanner *s) {
    s->until_tick = TICK_CHUNKS;
    s->is_cancelled = cf_progress(s->ctx, "spanning what is reached", s->tree->nr,
                                  s->input->nr_reached);
    if (s->drops_left == 0 || cf_resident_file_bytes() < s->resident_max)
        return;
    s->drops_left--;
    cf_links_drop(s->links);
}

/* Those on the stack that will be taken soon, unless what is taken before leads elsewhere. */
static inline void call_for_next(const struct spanner *s) {
    if (s->nr_stack < STATES_AHEAD)
        return;
    const struct spanning_edge *top = s->stack + s->nr_stack;
    __builtin_prefetch(&s->tree->vertices[top[-STATES_AHEAD].rank]);
    __builtin_prefetch(cf_links_block(s->links, (struct cf_rank){top[-BLOCKS_AHEAD].rank}));
    __builtin_prefetch(cf_links_place(s->links, (struct cf_rank){top[-LISTS_AHEAD].rank}));
}

static void visit(struct spanner *s, struct cf_rank rank, struct cf_vertex parent) {
    uint32_t *place = &s->tree->vertices[rank.index];
    const struct cf_vertex first = {*place & ~SEEN};
    struct cf_vertex vertex = number(s, (uint32_t)rank.index, parent, first);
    *place = vertex.index;
    if (--s->until_tick == 0)
        give_back(s);
    struct cf_link_list list = cf_links_of(s->links, rank);
    while (list.at < list.end) {
        struct cf_rank to = cf_links_take(&list);
        if (cf_lasting_counts(s->input->lasting, rank, to))
            meet(s, to, vertex);
    }
}

static void descend(struct spanner *s) {
    struct spanning_edge edge;
    while (!s->is_cancelled && pop(s, &edge)) {
        call_for_next(s);
        if (s->tree->vertices[edge.rank] & SEEN)
            visit(s, (struct cf_rank){edge.rank}, edge.from);
    }
}

static void visit_groups(struct spanner *s, bool passing) {
    const struct cf_spanning_input *input = s->input;
    s->base = s->tree->nr;
    for (size_t group = 0; group < input->nr_groups && !s->is_cancelled; group++) {
        if (input->begins[group] == input->begins[group + 1] || input->passes[group] != passing)
            continue;
        struct cf_vertex vertex =
            number(s, CF_SPANNING_GROUP | (uint32_t)group, ALL_ROOTS, ALL_ROOTS);
        s->tree->groups[group] = vertex;
        for (uint64_t i = input->begins[group]; i < input->begins[group + 1]; i++)
            meet(s, (struct cf_rank){input->targets[i]}, vertex);
        descend(s);
    }
}

static int make_tables(struct cf_spanning *tree, const struct cf_spanning_input *input,
                       struct cf_err *err) {
    size_t nr = input->nr_reached + input->nr_groups + 1;
    if (nr >= VERTICES_MAX)
        return cf_err_set(err, CF_EUSAGE, "more chunks and roots than can be numbered");
    int status = cf_scratch_init(&tree->ranked, (input->links->ranks->nr + 1) * sizeof(uint32_t),
                                 err);
    if (status == CF_OK)
        status = cf_scratch_init(&tree->work, nr * sizeof *tree->rows, err);
    if (status == CF_OK)
        status = cf_late_edges_begin(&tree->late, nr, err);
    if (status != CF_OK)
        return status;
    tree->groups = calloc(input->nr_groups + 1, sizeof *tree->groups);
    if (tree->groups == NULL)
        return cf_err_nomem(err, input->nr_groups * sizeof *tree->groups, "groups of roots");
    tree->vertices = tree->ranked.at;
    tree->rows = tree->work.at;
    return CF_OK;
}

static int span(struct spanner *s, struct cf_err *err) {
    size_t room = 2 * STACK_PART * sizeof *s->stack;
    s->stack = malloc(room);
    if (s->stack == NULL)
        return cf_err_nomem(err, room, "the stack of a search");
    int status = cf_scratch_begin(&s->below, err);
    if (status == CF_OK)
        status = cf_scratch_begin(&s->sources, err);
    if (status != CF_OK)
        return status;
    (void)number(s, 0, ALL_ROOTS, ALL_ROOTS);
    visit_groups(s, false);
    s->tree->first_passing = (struct cf_vertex){s->tree->nr};
    visit_groups(s, true);
    if (s->is_cancelled)
        return cf_err_cancelled(err);
    if (s->below.code != 0)
        return cf_err_errno(err, CF_EOUTPUT, s->below.code, "the stack of a search (TMPDIR)");
    status = cf_scratch_finish(&s->sources, &s->tree->named, err);
    s->tree->sources = s->tree->named.at;
    return status;
}

int cf_spanning_make(const struct cf_context *ctx, const struct cf_spanning_input *input,
                     struct cf_spanning *out, struct cf_err *err) {
    int status = make_tables(out, input, err);
    if (status != CF_OK)
        return status;
    struct spanner s = {
        .ctx = ctx, .input = input, .links = input->links, .tree = out,
        .until_tick = TICK_CHUNKS,
        .resident_max = RESIDENT_MAX + out->ranked.bytes + out->work.bytes,
        .drops_left = 16 + REREAD_MAX * (cf_links_bytes(input->links) / RESIDENT_MAX),
    };
    status = span(&s, err);
    cf_links_drop(input->links);
    cf_scratch_abandon(&s.below);
    cf_scratch_abandon(&s.sources);
    free(s.stack);
    return status;
}

void cf_spanning_fini(struct cf_spanning *tree) {
    cf_late_edges_fini(&tree->late);
    cf_scratch_fini(&tree->ranked);
    cf_scratch_fini(&tree->named);
    cf_scratch_fini(&tree->work);
    free(tree->groups);
    *tree = (struct cf_spanning){.nr = 0};
}
