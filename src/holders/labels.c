/*
 * Every word that is written here for a person is made of the same few parts: a root's own name, a
 * symbol with its module, a type with its size. Where a part is not known the next best stands for
 * it, down to the bare address.
 */
#include "holders/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"

enum { SUMMARY_HOPS = 3 };

enum cf_belong_name cf_label_owner(const struct cf_labels *labels, const struct cf_root *root,
                                   uint64_t addr, char *out, size_t bytes) {
    const struct cf_namer *namer = &labels->naming->namer;
    char name[CF_LABEL_BYTES / 2], module[64];
    uint64_t offset;
    if (root->kind == CF_ROOT_GLOBAL) {
        if (!namer->module(namer->source, addr, module, sizeof module, &offset))
            cf_root_label(&labels->reach->roots, root, module, sizeof module); /* its .bss */
        if (namer->symbol(namer->source, addr, name, sizeof name, &offset))
            (void)snprintf(out, bytes, "global %s (%s)", name, module);
        else /* a name for each word would tear an array to pieces */
            (void)snprintf(out, bytes, "global data of %s", module);
        return CF_BELONG_PLACE;
    }
    const struct cf_claim *heap = cf_objects_heap(labels->objects, addr);
    if (heap == NULL)
        return CF_BELONG_NONE;
    if (!cf_objects_name(labels->objects, heap, addr, name, sizeof name)) {
        (void)snprintf(out, bytes, "%s", heap->label);
        return CF_BELONG_PLACE;
    }
    (void)snprintf(out, bytes, "%s%s", name, cf_runtime_of(heap->runtime)->suffix);
    return CF_BELONG_OBJECT;
}

/* "Session, 96 bytes" or "96 bytes". */
static void label_chunk(const struct cf_labels *labels, uint64_t addr, char *out, size_t bytes) {
    const struct cf_resolver *resolver = cf_mark_resolver(labels->reach->mark);
    struct cf_chunk_number number = cf_resolver_number_at(resolver, addr);
    if (!cf_is_chunk(number)) {
        (void)snprintf(out, bytes, "chunk");
        return;
    }
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    const char *type = cf_types_own_name(labels->types, cf_types_of(labels->types, number));
    char size[CF_NUMBER_MAX];
    (void)cf_number_bytes(size, cf_resolver_chunk(resolver, extent, number).bytes);
    (void)snprintf(out, bytes, "%s%s%s", type != NULL ? type : "", type != NULL ? ", " : "", size);
}

/* "Java heap (HotSpot), object java.lang.Thread". */
static void label_object(const struct cf_labels *labels, const struct cf_claim *heap,
                         uint64_t addr, char *out, size_t bytes) {
    char name[CF_LABEL_BYTES / 2];
    if (cf_objects_name(labels->objects, heap, addr, name, sizeof name))
        (void)snprintf(out, bytes, "%s, object %s", heap->label, name);
    else
        (void)snprintf(out, bytes, "%s", heap->label);
}

/* "thread 4711, frame handle_request": what the root is called, and whose part of a stack it is. */
static void label_stack(const struct cf_labels *labels, const struct cf_hop *hop, char *out,
                        size_t bytes) {
    char function[CF_LABEL_BYTES / 2];
    cf_root_label(&labels->reach->roots, hop->root, out, bytes);
    size_t used = strlen(out);
    if (used < bytes && cf_naming_frame(labels->naming, hop->root->thread, hop->addr, function,
                                        sizeof function))
        (void)snprintf(out + used, bytes - used, ", frame %s", function);
}

/* "g_sessions (libfoo.so)", "libfoo.so+0x4010", "libfoo.so .bss 0x7f0012345678". */
static void label_global(const struct cf_labels *labels, const struct cf_hop *hop, char *out,
                         size_t bytes) {
    const struct cf_namer *namer = &labels->naming->namer;
    char symbol[CF_LABEL_BYTES / 2] = "", module[64] = "";
    uint64_t offset = 0, module_offset = 0;
    bool has_symbol = namer->symbol(namer->source, hop->addr, symbol, sizeof symbol, &offset);
    bool has_module = namer->module(namer->source, hop->addr, module, sizeof module,
                                    &module_offset);
    if (!has_module)
        cf_root_label(&labels->reach->roots, hop->root, module, sizeof module);
    if (has_symbol && offset == 0)
        (void)snprintf(out, bytes, "%s (%s)", symbol, module);
    else if (has_symbol)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64 " (%s)", symbol, offset, module);
    else if (has_module)
        (void)snprintf(out, bytes, "%s+0x%" PRIx64, module, module_offset);
    else
        (void)snprintf(out, bytes, "%s .bss 0x%" PRIx64, module, hop->addr);
}

void cf_label_root(const struct cf_labels *labels, const struct cf_hop *hop, char *out,
                   size_t bytes) {
    const struct cf_claim *heap = hop->root->kind == CF_ROOT_MAPPING
                                      ? cf_objects_heap(labels->objects, hop->addr)
                                      : NULL;
    if (heap != NULL)
        label_object(labels, heap, hop->addr, out, bytes);
    else if (hop->root->kind == CF_ROOT_GLOBAL)
        label_global(labels, hop, out, bytes);
    else if (hop->root->kind == CF_ROOT_STACK)
        label_stack(labels, hop, out, bytes);
    else
        cf_root_label(&labels->reach->roots, hop->root, out, bytes);
}

void cf_label_hop(const struct cf_labels *labels, const struct cf_path *path, size_t index,
                  char *out, size_t bytes) {
    const struct cf_hop *hop = &path->hops.items[index];
    if (hop->root != NULL) {
        cf_label_root(labels, hop, out, bytes);
        return;
    }
    label_chunk(labels, hop->addr, out, bytes);
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

void cf_label_path(const struct cf_labels *labels, const struct cf_path *path, char *out,
                   size_t bytes) {
    char label[CF_LABEL_BYTES];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i + 1 < path->hops.len && i < SUMMARY_HOPS && used < bytes; i++) {
        const struct cf_hop *hop = &path->hops.items[i];
        if (hop->root != NULL)
            cf_label_root(labels, hop, label, sizeof label);
        else
            label_chunk(labels, hop->addr, label, sizeof label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i > 0 ? " -> " : "",
                                 hop->root != NULL ? kind_phrase(hop->root->kind) : "");
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s", label);
    }
    if (path->length > SUMMARY_HOPS + 1 && used < bytes)
        (void)snprintf(out + used, bytes - used, " -> %" PRIu64 " more",
                       path->length - 1 - SUMMARY_HOPS);
}

bool cf_preview_at(const struct cf_resolver *resolver, uint64_t addr, struct cf_preview *out) {
    struct cf_chunk_number number = cf_resolver_number_at(resolver, addr);
    if (!cf_is_chunk(number))
        return false;
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    uint64_t user = chunk.addr + 2 * resolver->word_bytes, avail;
    uint64_t end = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes);
    const unsigned char *at = cf_mem_span(resolver->mem, user, &avail);
    if (!chunk.live || end <= user || at == NULL)
        return false;
    uint64_t most = end - user < avail ? end - user : avail, nr = 0;
    struct cf_preview preview = {.addr = addr, .bytes = chunk.bytes};
    while (nr < most && nr < CF_PREVIEW_CHARS && at[nr] >= 0x20 && at[nr] < 0x7f) {
        preview.text[nr] = (char)at[nr];
        nr++;
    }
    if (nr < CF_PREVIEW_MIN)
        return false;
    *out = preview;
    return true;
}
