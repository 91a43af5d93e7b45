/* Whose memory it is: chunks without a name, by what they hang on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "holders/belong.h"
#include "types/sizetype.h"
#include "rootworld.h"

enum { CODE = 0x400000, DATA = 0x500000, LONG = 20000 };

struct world {
    struct rootworld *root;
    struct cf_types *types;
    struct cf_dominators dominators;
};

static bool test_symbol(void *source, uint64_t addr, char *out, size_t bytes, uint64_t *offset) {
    (void)source;
    if (addr != DATA + 0x100)
        return false;
    (void)snprintf(out, bytes, "session_ops");
    *offset = 0;
    return true;
}

static enum cf_belong_name name_root(void *source, const struct cf_root *root, uint64_t addr,
                                     char *out, size_t bytes) {
    struct rootworld *w = source;
    if (root->kind == CF_ROOT_GLOBAL && addr == rw_root_word(w, CF_ROOT_GLOBAL, 7)) {
        (void)snprintf(out, bytes, "global table (prog)");
        return CF_BELONG_PLACE;
    }
    if (root->kind != CF_ROOT_MAPPING)
        return CF_BELONG_NONE;
    (void)snprintf(out, bytes, "Deflater (Java)");
    return CF_BELONG_OBJECT;
}

static struct world begin(size_t chunks) {
    struct world w = {.root = rootworld_new(CF_MACHINE_X86_64, chunks, chunks * 256)};
    synth_segment(w.root->synth, CODE, PAGE, SYNTH_RX);
    synth_segment(w.root->synth, DATA, PAGE, SYNTH_RW);
    synth_file(w.root->synth, CODE, CODE + PAGE, 0, "/bin/prog");
    synth_file(w.root->synth, DATA, DATA + PAGE, PAGE, "/bin/prog");
    synth_put_word(w.root->synth, DATA + 0x100, CODE + 0x10);
    return w;
}

/* A chunk that its first word names. */
static uint64_t add_session(struct world *w) {
    uint64_t header = rw_add(w->root, 8);
    synth_put_word(w->root->synth, rw_user(w->root, header), DATA + 0x100);
    return header;
}

static void settle(struct world *w) {
    struct cf_err err;
    static const struct cf_namer namer = {.symbol = test_symbol};
    rw_mark(w->root);
    const struct cf_resolver *resolver = cf_mark_resolver(w->root->reach.mark);
    const struct cf_types_input input = {
        .mem = w->root->mem, .resolver = resolver, .ranks = &w->root->reach.ranks,
        .namer = &namer,
    };
    assert_int_equal(cf_types_new(&input, &w->types, &err), CF_OK);
    const struct cf_live_visitor visitor = cf_types_visitor(w->types);
    (void)cf_live_visit(NULL, w->root->mem, &w->root->reach.ranks, &visitor, 1, NULL);
    assert_int_equal(cf_types_count(NULL, w->types, w->root->reach.mark, &err), CF_OK);
    const struct cf_dominators_input dominators = {
        .links = &w->root->reach.links, .roots = w->root->reach.roots.rows.items,
        .words = &w->root->reach.words, .nr_reached = w->root->reach.paths->nr,
    };
    assert_int_equal(cf_dominators_find(NULL, &dominators, &w->dominators, &err), CF_OK);
    const struct cf_belong_input belong = {
        .reach = &w->root->reach, .dominators = &w->dominators, .source = w->root,
        .name = name_root,
    };
    assert_int_equal(cf_belong_count(NULL, &belong, w->types, &err), CF_OK);
}

static void end(struct world *w) {
    cf_dominators_fini(&w->dominators);
    cf_types_free(w->types);
    rootworld_free(w->root);
}

/* Chunks of the type with this name; "": the nameless. */
static uint64_t chunks_of(const struct world *w, const char *name) {
    for (size_t i = 0; i < cf_types_nr(w->types); i++)
        if (strcmp(cf_types_get(w->types, (uint32_t)i)->name, name) == 0)
            return cf_types_get(w->types, (uint32_t)i)->chunks;
    return 0;
}

static void assert_sums(const struct world *w) {
    uint64_t chunks = 0, bytes = 0, expected = 0;
    for (size_t i = 0; i < cf_types_nr(w->types); i++) {
        chunks += cf_types_get(w->types, (uint32_t)i)->chunks;
        bytes += cf_types_get(w->types, (uint32_t)i)->bytes;
    }
    for (size_t i = 0; i < w->root->nr_chunks; i++)
        expected += w->root->chunks[i].bytes;
    assert_int_equal(chunks, w->root->nr_chunks);
    assert_int_equal(bytes, expected);
}

/* Sizes by type are of the same chunks, as many of each type, and no pair is there twice. */
static void assert_sizes(const struct world *w) {
    struct cf_size_types sizes = {0};
    uint64_t bytes = 0, chunks[32] = {0};
    assert_int_equal(cf_size_types_count(NULL, &sizes, w->types, &w->root->reach.ranks, NULL),
                     CF_OK);
    for (size_t i = 0; i < sizes.nr; i++) {
        const struct cf_size_type *row = &sizes.rows[i];
        assert_true(row->type < 32);
        bytes += row->bytes * row->chunks;
        chunks[row->type] += row->chunks;
        if (i > 0)
            assert_true(row[-1].bytes < row->bytes ||
                        (row[-1].bytes == row->bytes && row[-1].type < row->type));
    }
    for (size_t i = 0; i < w->root->nr_chunks; i++)
        bytes -= w->root->chunks[i].bytes;
    assert_int_equal(bytes, 0);
    for (uint32_t i = 0; i < cf_types_nr(w->types); i++)
        assert_int_equal(chunks[i], cf_types_get(w->types, i)->chunks);
    cf_size_types_fini(&sizes);
}

static void the_nearest_name_on_the_way_counts(void **state) {
    (void)state;
    struct world w = begin(16);
    uint64_t list = rw_add(w.root, 4), session = add_session(&w), buffer = rw_add(w.root, 6);
    uint64_t deeper = rw_add(w.root, 3), lost = rw_add(w.root, 3);
    rw_root(w.root, CF_ROOT_GLOBAL, 7, list);
    rw_point(w.root, list, 1, session);
    rw_point(w.root, session, 2, buffer);
    rw_point(w.root, buffer, 1, deeper);
    rw_point(w.root, lost, 0, lost);
    settle(&w);
    assert_int_equal(chunks_of(&w, "memory of global table (prog)"), 1);
    assert_int_equal(chunks_of(&w, "session_ops"), 1);
    assert_int_equal(chunks_of(&w, "memory of session_ops"), 2);
    assert_int_equal(chunks_of(&w, ""), 1);
    assert_sums(&w);
    assert_sizes(&w);
    end(&w);
}

static void memory_says_whose_it_is(void **state) {
    (void)state;
    struct world w = begin(8);
    uint64_t session = add_session(&w), buffer = rw_add(w.root, 6);
    rw_root(w.root, CF_ROOT_STACK, 0, session);
    rw_point(w.root, session, 2, buffer);
    settle(&w);
    for (size_t i = 0; i < cf_types_nr(w.types); i++) {
        const struct cf_type *type = cf_types_get(w.types, (uint32_t)i);
        bool is_memory = strncmp(type->name, "memory of ", 10) == 0;
        assert_int_equal(type->memory_of != 0, is_memory);
        if (!is_memory)
            continue;
        assert_string_equal(cf_types_name(w.types, type->memory_of), "session_ops");
        assert_int_equal(type->evidence, CF_EVIDENCE_OWNER);
        assert_int_equal(type->sample, buffer);
    }
    end(&w);
}

static void stacks_and_places_without_a_name_own_nothing(void **state) {
    (void)state;
    struct world w = begin(8);
    uint64_t held = rw_add(w.root, 4), elsewhere = rw_add(w.root, 4), below = rw_add(w.root, 4);
    rw_root(w.root, CF_ROOT_STACK, 3, held);
    rw_root(w.root, CF_ROOT_GLOBAL, 8, elsewhere);
    rw_point(w.root, elsewhere, 0, below);
    settle(&w);
    assert_int_equal(chunks_of(&w, ""), 3);
    assert_sums(&w);
    assert_sizes(&w);
    end(&w);
}

/* Three words in an object of a runtime may look like a std::string's. */
static void only_an_object_says_more_than_a_buffers_looks(void **state) {
    (void)state;
    static const struct {
        enum cf_root_kind kind;
        uint64_t memory;
    } cases[] = {{CF_ROOT_MAPPING, 1}, {CF_ROOT_GLOBAL, 0}};
    for (size_t i = 0; i < 2; i++) {
        struct world w = begin(8);
        uint64_t owner = rw_add(w.root, 8), buffer = rw_add(w.root, 4);
        rw_root(w.root, CF_ROOT_GLOBAL, 7, owner);
        rw_root(w.root, cases[i].kind, 9, buffer);
        rw_point(w.root, owner, 2, buffer);
        synth_put_word(w.root->synth, rw_user(w.root, owner) + 24, 40);
        synth_put_word(w.root->synth, rw_user(w.root, owner) + 32, 46);
        synth_fill(w.root->synth, rw_user(w.root, buffer), 0xff, 40);
        settle(&w);
        assert_int_equal(chunks_of(&w, "memory of Deflater (Java)"), cases[i].memory);
        assert_int_equal(chunks_of(&w, "std::string buffer"), 1 - cases[i].memory);
        assert_sums(&w);
        assert_sizes(&w);
        end(&w);
    }
}

static void a_long_list_is_one_owners(void **state) {
    (void)state;
    struct world w = begin(LONG);
    uint64_t before = add_session(&w);
    rw_root(w.root, CF_ROOT_GLOBAL, 0, before);
    for (size_t i = 1; i < LONG; i++) {
        uint64_t next = rw_add(w.root, 2 + i % 3);
        rw_point(w.root, before, 1, next);
        before = next;
    }
    settle(&w);
    assert_int_equal(chunks_of(&w, "memory of session_ops"), LONG - 1);
    assert_sums(&w);
    assert_sizes(&w);
    end(&w);
}

struct named {
    struct world *world;
    struct cf_types_input input;
};

/* The types of a list, from its chunks to whose memory they are. */
static int name_all(void *arg, const struct cf_context *ctx, struct cf_err *err) {
    struct named *named = arg;
    struct rootworld *root = named->world->root;
    struct cf_size_types sizes = {0};
    cf_types_free(named->world->types);
    named->world->types = NULL;
    named->input.ctx = ctx;
    int status = cf_types_new(&named->input, &named->world->types, err);
    if (status == CF_OK) {
        const struct cf_live_visitor visitor = cf_types_visitor(named->world->types);
        status = cf_live_visit(ctx, root->mem, &root->reach.ranks, &visitor, 1, err);
    }
    if (status == CF_OK)
        status = cf_types_count(ctx, named->world->types, root->reach.mark, err);
    struct cf_dominators *dominators = &named->world->dominators;
    const struct cf_dominators_input tree = {
        .links = &root->reach.links, .roots = root->reach.roots.rows.items,
        .words = &root->reach.words, .nr_reached = root->reach.paths->nr,
    };
    cf_dominators_fini(dominators);
    if (status == CF_OK)
        status = cf_dominators_find(ctx, &tree, dominators, err);
    const struct cf_belong_input belong = {
        .reach = &root->reach, .dominators = dominators, .source = root, .name = name_root,
    };
    if (status == CF_OK)
        status = cf_belong_count(ctx, &belong, named->world->types, err);
    if (status == CF_OK)
        status = cf_size_types_count(ctx, &sizes, named->world->types, &root->reach.ranks, err);
    cf_size_types_fini(&sizes);
    return status;
}

static void naming_ends_when_it_is_told_to(void **state) {
    (void)state;
    static const struct cf_namer namer = {.symbol = test_symbol};
    struct world w = begin(LONG);
    uint64_t before = add_session(&w);
    rw_root(w.root, CF_ROOT_GLOBAL, 0, before);
    for (size_t i = 1; i < LONG; i++) {
        uint64_t next = rw_add(w.root, 2);
        rw_point(w.root, before, 1, next);
        before = next;
    }
    rw_mark(w.root);
    struct named named = {.world = &w, .input = {
        .mem = w.root->mem, .resolver = cf_mark_resolver(w.root->reach.mark),
        .ranks = &w.root->reach.ranks, .namer = &namer,
    }};
    rw_cancel_each_time(name_all, &named, 6); /* each pass asks once at the least */
    assert_int_equal(chunks_of(&w, "memory of session_ops"), LONG - 1);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_on_the_way_counts),
        cmocka_unit_test(memory_says_whose_it_is),
        cmocka_unit_test(stacks_and_places_without_a_name_own_nothing),
        cmocka_unit_test(only_an_object_says_more_than_a_buffers_looks),
        cmocka_unit_test(a_long_list_is_one_owners),
        cmocka_unit_test(naming_ends_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
