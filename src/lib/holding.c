#include "lib/holding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holders/belong.h"
#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/number.h"
#include "store/rows.h"

enum { LABEL_BYTES = 256, SUMMARY_HOPS = 3 };

/* Marks of all that is reached are made, and all of it is looked at again. */
static bool is_thorough(const struct cf_holding *holding, bool retained) {
    return retained || cf_mark_stats(holding->reach->mark)->chunks <= CF_HELD_CHUNKS_MAX;
}

/* The object in a runtime's heap that has the word at `addr`. */
static bool name_object(const struct cf_holding *holding, const char *heap, uint64_t addr,
                        char *out, size_t bytes) {
    if (strncmp(heap, "Python", 6) != 0)
        return cf_objects_name(&holding->objects, addr, out, bytes);
    const char *name =
        cf_types_name(holding->types, cf_types_python_around(holding->types, addr));
    if (name != NULL)
        (void)snprintf(out, bytes, "%s", name);
    return name != NULL;
}

/* "global g_sessions (prog)", "global data of prog", "java.nio.DirectByteBuffer (Java)",
 * "V8 heap (node)". */
static enum cf_belong_name name_owner(void *source, const struct cf_root *root, uint64_t addr,
                                      char *out, size_t bytes) {
    const struct cf_holding *holding = source;
    const struct cf_namer *namer = &holding->naming->namer;
    char name[LABEL_BYTES / 2], module[64];
    uint64_t offset;
    if (root->kind == CF_ROOT_GLOBAL) {
        if (!namer->module(namer->source, addr, module, sizeof module, &offset))
            cf_root_label(&holding->reach->roots, root, module, sizeof module); /* its .bss */
        if (namer->symbol(namer->source, addr, name, sizeof name, &offset))
            (void)snprintf(out, bytes, "global %s (%s)", name, module);
        else /* a name for each word would tear an array to pieces */
            (void)snprintf(out, bytes, "global data of %s", module);
        return CF_BELONG_PLACE;
    }
    const char *heap = cf_objects_heap(&holding->objects, addr);
    if (heap == NULL)
        return CF_BELONG_NONE;
    if (!name_object(holding, heap, addr, name, sizeof name)) {
        (void)snprintf(out, bytes, "%s", heap);
        return CF_BELONG_PLACE;
    }
    const char *runtime = strncmp(heap, "Java", 4) == 0 ? " (Java)"
                          : strncmp(heap, "V8", 2) == 0 ? " (V8)"
                                                        : "";
    (void)snprintf(out, bytes, "%s%s", name, runtime);
    return CF_BELONG_OBJECT;
}

/* Whose memory the nameless chunks are; samples of that are worth asking about. Without room for
 * its file the types keep what their bytes say. */
static int name_memory(struct cf_holding *holding, const struct cf_context *ctx,
                       const struct cf_mem *mem, struct cf_err *err) {
    const struct cf_belong_input input = {
        .mem = mem, .reach = holding->reach, .source = holding, .name = name_owner,
    };
    int status = cf_belong_count(ctx, &input, holding->types, err);
    if (status == CF_OK)
        return cf_asking_add_memory(&holding->asking, holding->types, err);
    if (status != CF_EOUTPUT)
        return status;
    cf_log(ctx, "whose memory nameless chunks are is not looked for: %s",
           err != NULL ? err->text : "no room");
    return CF_OK;
}

/* A variable as a whole, where symbols tell how far it goes; a stack with its thread's registers;
 * a runtime's whole heap; a mapping; else the word alone. */
static struct cf_held held_by(const struct cf_holding *holding, const struct cf_hop *hop) {
    const struct cf_root *root = hop->root;
    struct cf_held held = {.kind = root->kind, .start = hop->addr, .thread = -1};
    struct cf_symbol symbol;
    held.end = hop->addr + cf_mark_resolver(holding->reach->mark)->word_bytes;
    switch (root->kind) {
    case CF_ROOT_GLOBAL:
        if (cf_symbols_lookup(holding->naming->reading->symbols, hop->addr, &symbol) &&
            hop->addr - symbol.addr < symbol.bytes) {
            held.start = symbol.addr;
            held.end = symbol.addr + symbol.bytes;
        }
        return held;
    case CF_ROOT_STACK:
    case CF_ROOT_REGISTER:
        held.thread = root->thread;
        held.start = held.end = 0;
        for (size_t i = 0; i < holding->reach->roots.rows.len; i++) {
            const struct cf_root *row = &holding->reach->roots.rows.items[i];
            if (row->kind != CF_ROOT_STACK || row->thread != root->thread)
                continue;
            held.start = row->start;
            held.end = row->end;
        }
        return held;
    case CF_ROOT_MAPPING:
        held.start = root->start;
        held.end = root->end;
        held.heap = cf_objects_heap(&holding->objects, hop->addr);
        held.claims = holding->objects.claims;
        return held;
    default:
        return held;
    }
}

static bool is_same(const struct cf_held *a, const struct cf_held *b) {
    bool is_thread = a->thread >= 0 && a->thread == b->thread;
    bool is_heap = a->heap != NULL && b->heap != NULL && strcmp(a->heap, b->heap) == 0;
    return is_thread || is_heap || (a->thread < 0 && b->thread < 0 && a->start == b->start);
}

/* The answer's weight goes to its root. */
static int weigh(struct cf_holding *holding, const struct cf_asked *asked, struct cf_err *err) {
    const struct cf_path *path = cf_holders_path(&holding->holders, asked->addr);
    if (path == NULL || path->length == 0)
        return CF_OK;
    struct cf_held held = held_by(holding, &path->hops.items[0]);
    struct cf_heldroot *row = NULL;
    for (size_t i = 0; i < holding->roots.len && row == NULL; i++)
        if (is_same(&holding->roots.items[i].held, &held))
            row = &holding->roots.items[i];
    if (row == NULL) {
        row = cf_array_push(&holding->roots);
        if (row == NULL)
            return cf_err_nomem(err, sizeof *row, "a holder");
        *row = (struct cf_heldroot){.held = held, .hop = path->hops.items[0]};
    }
    if (asked->weight > row->weight)
        row->weight = asked->weight;
    return CF_OK;
}

static int compare_weights(const void *a, const void *b) {
    const struct cf_heldroot *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->held.start < right->held.start ? -1 : left->held.start > right->held.start;
}

/* Each costs a mark of its own: few, and none of them on a large heap unless asked for. */
static int count_held(struct cf_holding *holding, const struct cf_context *ctx,
                      const struct cf_mem *mem, bool retained, struct cf_err *err) {
    int status = CF_OK;
    if (holding->roots.len > 1)
        qsort(holding->roots.items, holding->roots.len, sizeof *holding->roots.items,
              compare_weights);
    if (!is_thorough(holding, retained)) {
        holding->roots.len = 0;
        cf_log(ctx, "what a holder keeps alive is not counted: more than %d chunks (--retained"
                    " counts it)", CF_HELD_CHUNKS_MAX);
    }
    if (holding->roots.len > CF_HELD_ROOTS)
        holding->roots.len = CF_HELD_ROOTS;
    struct cf_held_marks marks = {.mem = mem, .reach = holding->reach};
    for (size_t i = 0; i < holding->roots.len && status == CF_OK; i++) {
        cf_progress(ctx, "counting what is held", i, holding->roots.len);
        status = cf_held_count(ctx, &marks, &holding->roots.items[i].held, err);
    }
    cf_held_marks_fini(&marks);
    if (status != CF_EOUTPUT)
        return status;
    holding->roots.len = 0;
    cf_log(ctx, "what a holder keeps alive is not counted: %s",
           err != NULL ? err->text : "no room");
    return CF_OK;
}

int cf_holding_find(struct cf_holding *holding, const struct cf_context *ctx,
                    const struct cf_holding_input *input, struct cf_types *types,
                    struct cf_err *err) {
    const struct cf_variables variables = cf_naming_variables(input->naming);
    holding->reach = input->reach;
    holding->types = types;
    holding->naming = input->naming;
    cf_objects_init(&holding->objects, input->reading->mem, input->reading->modules, input->claims,
                    &variables);
    bool thorough = is_thorough(holding, input->retained);
    int status = cf_asking_choose(&holding->asking, input->reach->mark, input->kept, types, err);
    if (status == CF_OK && input->reach->paths != NULL && thorough)
        status = name_memory(holding, ctx, input->reading->mem, err);
    if (status == CF_OK && thorough)
        status = cf_size_types_count(&holding->sizes, types,
                                     cf_mark_resolver(input->reach->mark), err);
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = cf_holders_ask(&holding->holders, holding->asking.rows.items[i].addr, err);
    if (status == CF_OK)
        status = cf_holders_find(&holding->holders, input->reading->mem, input->reach, err);
    for (size_t i = 0; i < holding->asking.rows.len && status == CF_OK; i++)
        status = weigh(holding, &holding->asking.rows.items[i], err);
    return status == CF_OK ? count_held(holding, ctx, input->reading->mem, input->retained, err)
                           : status;
}

/* "Session, 96 bytes" or "96 bytes". */
static void label_chunk(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                        size_t bytes) {
    const struct cf_resolver *resolver = cf_mark_resolver(holding->reach->mark);
    size_t number = cf_resolver_number_at(resolver, hop->addr);
    if (number == CF_NO_CHUNK) {
        (void)snprintf(out, bytes, "chunk");
        return;
    }
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    const char *type = cf_types_own_name(holding->types, cf_types_of(holding->types, number));
    char size[CF_NUMBER_MAX];
    (void)cf_number_bytes(size, cf_resolver_chunk(resolver, extent, number).bytes);
    (void)snprintf(out, bytes, "%s%s%s", type != NULL ? type : "", type != NULL ? ", " : "", size);
}

/* "thread 4711, frame handle_request": what the root is called, and whose part of a stack it is. */
static void label_other(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                        size_t bytes) {
    char function[LABEL_BYTES / 2];
    const char *heap = hop->root->kind == CF_ROOT_MAPPING
                           ? cf_objects_heap(&holding->objects, hop->addr)
                           : NULL;
    if (heap != NULL) {
        if (name_object(holding, heap, hop->addr, function, sizeof function))
            (void)snprintf(out, bytes, "%s, object %s", heap, function);
        else
            (void)snprintf(out, bytes, "%s", heap);
        return;
    }
    cf_root_label(&holding->reach->roots, hop->root, out, bytes);
    size_t used = strlen(out);
    if (hop->root->kind == CF_ROOT_STACK && used < bytes &&
        cf_naming_frame(holding->naming, hop->root->thread, hop->addr, function, sizeof function))
        (void)snprintf(out + used, bytes - used, ", frame %s", function);
}

/* "g_sessions (libfoo.so)", "libfoo.so+0x4010", or what the root itself is called. */
static void label_root(const struct cf_holding *holding, const struct cf_hop *hop, char *out,
                       size_t bytes) {
    const struct cf_namer *namer = &holding->naming->namer;
    char symbol[LABEL_BYTES / 2] = "", module[64] = "";
    uint64_t offset = 0, module_offset = 0;
    bool is_global = hop->root->kind == CF_ROOT_GLOBAL;
    bool has_symbol = is_global && namer->symbol(namer->source, hop->addr, symbol, sizeof symbol,
                                                 &offset);
    bool has_module = is_global && namer->module(namer->source, hop->addr, module, sizeof module,
                                                 &module_offset);
    if (is_global && !has_module)
        cf_root_label(&holding->reach->roots, hop->root, module, sizeof module);
    if (has_symbol && offset == 0)
        (void)snprintf(out, bytes, "%s (%s)", symbol, module);
    else if (has_symbol)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64 " (%s)", symbol, offset, module);
    else if (has_module)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64, module, module_offset);
    else if (is_global)
        (void)snprintf(out, bytes, "%s .bss 0x%" PRIx64, module, hop->addr);
    else
        label_other(holding, hop, out, bytes);
}

static void label_hop(const struct cf_holding *holding, const struct cf_path *path, size_t index,
                      char *out, size_t bytes) {
    const struct cf_hop *hop = &path->hops.items[index];
    if (hop->root != NULL) {
        label_root(holding, hop, out, bytes);
        return;
    }
    label_chunk(holding, hop, out, bytes);
    size_t used = strlen(out);
    if (index + 1 < path->hops.len && used < bytes)
        (void)snprintf(out + used, bytes - used, ", at +%" PRIu64, hop->offset);
}

/* What goes before a root's label to make a phrase of both. */
static const char *kind_phrase(enum cf_root_kind kind) {
    switch (kind) {
    case CF_ROOT_REGISTER:
        return "registers of ";
    case CF_ROOT_STACK:
        return "stack of ";
    case CF_ROOT_TLS:
        return "TLS of ";
    case CF_ROOT_GLOBAL:
        return "global ";
    default:
        return "";
    }
}

/* "global g_sessions (prog) -> HashTable, 8.0 KiB -> 2 more -> Session, 96 B" */
static void summarise(const struct cf_holding *holding, const struct cf_path *path, char *out,
                      size_t bytes) {
    char label[LABEL_BYTES];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i + 1 < path->hops.len && i < SUMMARY_HOPS && used < bytes; i++) {
        const struct cf_hop *hop = &path->hops.items[i];
        if (hop->root != NULL)
            label_root(holding, hop, label, sizeof label);
        else
            label_chunk(holding, hop, label, sizeof label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i > 0 ? " -> " : "",
                                 hop->root != NULL ? kind_phrase(hop->root->kind) : "");
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s", label);
    }
    if (path->length > SUMMARY_HOPS + 1 && used < bytes)
        (void)snprintf(out + used, bytes - used, " -> %" PRIu64 " more",
                       path->length - 1 - SUMMARY_HOPS);
}

static int store_path(const struct cf_holding *holding, const struct cf_path *path,
                      struct cf_db *db, struct cf_insert *in, struct cf_err *err) {
    char label[LABEL_BYTES], summary[2 * LABEL_BYTES];
    int status = CF_OK;
    for (size_t i = 0; i < path->hops.len && status == CF_OK; i++) {
        label_hop(holding, path, i, label, sizeof label);
        status = cf_rows_hop(in, path->addr, &path->hops.items[i], label, err);
    }
    summarise(holding, path, summary, sizeof summary);
    return status == CF_OK ? cf_rows_holder(db, path->addr, summary, err) : status;
}

/* "connections (server)", "thread 4711": the root, not the word in it. */
static void label_held(const struct cf_holding *holding, const struct cf_heldroot *row, char *out,
                       size_t bytes) {
    struct cf_hop hop = row->hop;
    if (row->held.heap != NULL) {
        (void)snprintf(out, bytes, "%s", row->held.heap);
        return;
    }
    if (row->held.kind == CF_ROOT_GLOBAL)
        hop.addr = row->held.start;
    label_root(holding, &hop, out, bytes);
}

static int store_held(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err) {
    char label[LABEL_BYTES];
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_rows_held_begin(&in, db, err);
    for (size_t i = 0; i < holding->roots.len && status == CF_OK; i++) {
        label_held(holding, &holding->roots.items[i], label, sizeof label);
        status = cf_rows_held(&in, &holding->roots.items[i].held, label, err);
    }
    return status;
}

int cf_holding_store(const struct cf_holding *holding, struct cf_db *db, struct cf_err *err) {
    CF_CLEANUP_INSERT struct cf_insert in = {0};
    int status = cf_rows_hops_begin(&in, db, err);
    for (size_t i = 0; i < holding->holders.paths.len && status == CF_OK; i++) {
        const struct cf_path *path = &holding->holders.paths.items[i];
        if (path->length > 0)
            status = store_path(holding, path, db, &in, err);
    }
    if (status == CF_OK)
        status = cf_rows_size_types(db, &holding->sizes, holding->types, err);
    return status == CF_OK ? store_held(holding, db, err) : status;
}

void cf_holding_fini(struct cf_holding *holding) {
    cf_holders_fini(&holding->holders);
    cf_asking_fini(&holding->asking);
    cf_size_types_fini(&holding->sizes);
    cf_array_free(&holding->roots);
}
