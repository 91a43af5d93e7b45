/*
 * What the core adds to explain: the symbol at the address, and what each word looks like. Nothing
 * shown is content: a text is its length, a number is how many bits it has.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "lib/explain.h"
#include "sym/demangle.h"

enum { WORDS_SHOWN = 16, NAME_MAX_BYTES = 160, TEXT_MIN = 6, TEXT_SCAN = 4096 };

/* "g_sessions+0x8 (libfoo.so)"; false: no symbol there. */
static bool name_symbol(struct cf_reading *reading, uint64_t addr, char *out, size_t bytes) {
    char name[NAME_MAX_BYTES];
    struct cf_symbol symbol;
    if (!cf_symbols_lookup(reading->symbols, addr, &symbol))
        return false;
    const char *path = symbol.module != NULL ? symbol.module->path : "[vdso]";
    int used = snprintf(out, bytes, "%s", cf_demangle(symbol.name, name, sizeof name));
    if (addr != symbol.addr && used >= 0 && (size_t)used < bytes)
        used += snprintf(out + used, bytes - (size_t)used, "+0x%" PRIx64, addr - symbol.addr);
    if (used >= 0 && (size_t)used < bytes)
        (void)snprintf(out + used, bytes - (size_t)used, " (%s)", cf_base_name(path));
    return true;
}

/* ---- one word, without its bytes ---- */

static const char *where(const struct cf_reading *reading, uint64_t addr) {
    const struct cf_region *region = cf_mem_find(reading->mem, addr);
    if (region == NULL)
        return NULL;
    if ((region->flags & PF_X) != 0)
        return "code";
    return region->kind == CF_REGION_FILE ? "a mapped file" : "other memory";
}

static bool is_printable(unsigned char byte) {
    return (byte >= 0x20 && byte < 0x7f) || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Printable bytes from `addr` on, within `max`. */
static size_t text_length(const struct cf_mem *mem, uint64_t addr, uint64_t max) {
    uint64_t avail;
    const unsigned char *bytes = cf_mem_span(mem, addr, &avail);
    size_t n = 0;
    if (bytes == NULL)
        return 0;
    max = max < avail ? max : avail;
    while (n < max && n < TEXT_SCAN && is_printable(bytes[n]))
        n++;
    return n;
}

static void describe_place(struct cf_explain *explain, int64_t value,
                           const struct cf_explained_chunk *chunk, char *out, size_t bytes) {
    struct cf_explain_place place = cf_explain_place(explain, value, chunk);
    char size[CF_NUMBER_MAX], below[CF_NUMBER_MAX];
    (void)cf_number_bytes(size, (uint64_t)chunk->bytes);
    if (place.part == CF_EXPLAIN_USER)
        (void)snprintf(out, bytes, "pointer to byte %" PRIu64 " of a %s chunk of %s", place.byte,
                       chunk->state, size);
    else if (place.part == CF_EXPLAIN_SIZE_FIELD)
        (void)snprintf(out, bytes, "pointer to the size field of a %s chunk of %s", chunk->state,
                       size);
    else if (place.has_below)
        (void)snprintf(out, bytes,
                       "pointer to byte %" PRIu64 ", in the last word, of a live chunk of %s, or "
                       "to the %s chunk of %s above it",
                       place.byte, cf_number_bytes(below, (uint64_t)place.below.bytes),
                       chunk->state, size);
    else
        (void)snprintf(out, bytes, "pointer to the first word of a %s chunk of %s", chunk->state,
                       size);
}

static bool describe_pointer(struct cf_explain *explain, struct cf_reading *reading, uint64_t value,
                             char *out, size_t bytes) {
    struct cf_explained_chunk chunk;
    char name[NAME_MAX_BYTES + 64];
    const char *region = where(reading, value);
    if (region == NULL)
        return false;
    if (cf_explain_find_chunk(explain, (int64_t)value, &chunk)) {
        describe_place(explain, (int64_t)value, &chunk, out, bytes);
        return true;
    }
    if (name_symbol(reading, value, name, sizeof name))
        (void)snprintf(out, bytes, "pointer to %s", name);
    else
        (void)snprintf(out, bytes, "pointer to %s", region);
    return true;
}

/* How many bits a number has says what it may be, and nothing of what it is. */
static void describe_number(uint64_t value, char *out, size_t bytes) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(value);
    (void)snprintf(out, bytes, "a number of %u bits",
                   bits <= 8    ? 8
                   : bits <= 16 ? 16
                   : bits <= 32 ? 32
                                : 64);
}

/* Describes the word at `addr`; returns how many bytes the description is about. */
static uint64_t describe(struct cf_explain *explain, struct cf_reading *reading, uint64_t addr,
                         uint64_t end, char *out, size_t bytes) {
    uint64_t word_bytes = (uint64_t)explain->word_bytes;
    uint64_t value;
    size_t text = text_length(reading->mem, addr, end - addr);
    if (text >= TEXT_MIN) {
        (void)snprintf(out, bytes, "text, %zu%s bytes", text, text == TEXT_SCAN ? " or more" : "");
        return (text + word_bytes - 1) / word_bytes * word_bytes;
    }
    if (!cf_mem_word(reading->mem, addr, &value)) {
        (void)snprintf(out, bytes, "not in the core");
        return end - addr;
    }
    if (value == 0) {
        uint64_t at = addr;
        while (at < end && cf_mem_word(reading->mem, at, &value) && value == 0)
            at += word_bytes;
        (void)snprintf(out, bytes, "%" PRIu64 " word%s of zeros", (at - addr) / word_bytes,
                       at - addr == word_bytes ? "" : "s");
        return at - addr;
    }
    if (!describe_pointer(explain, reading, value, out, bytes))
        describe_number(value, out, bytes);
    return word_bytes;
}

/* ---- a chunk, or what stands at the address ---- */

static void add_words(struct cf_explain *explain, struct cf_reading *reading, uint64_t start,
                      uint64_t end) {
    char text[NAME_MAX_BYTES + 128], place[32];
    uint64_t at = start;
    for (size_t i = 0; i < WORDS_SHOWN && at < end && explain->status == CF_OK; i++) {
        uint64_t bytes = describe(explain, reading, at, end, text, sizeof text);
        (void)snprintf(place, sizeof place, "at +%" PRIu64, at - start);
        cf_table_fact(explain->table, place, "%s", text);
        at += bytes;
    }
    if (at < end)
        cf_table_fact(explain->table, "", "%" PRIu64 " bytes more", end - at);
}

void cf_explain_core(struct cf_explain *explain, struct cf_reading *reading) {
    uint64_t addr = (uint64_t)explain->address;
    char name[NAME_MAX_BYTES + 64];
    explain->table = cf_section_facts(explain->section);
    if (explain->table == NULL)
        return;
    if (name_symbol(reading, addr, name, sizeof name))
        cf_table_fact(explain->table, "symbol", "%s", name);
    if (!explain->has_chunk) {
        uint64_t word = (uint64_t)explain->word_bytes;
        addr -= addr % word;
        if (cf_mem_find(reading->mem, addr) != NULL)
            add_words(explain, reading, addr, addr + word);
        return;
    }
    if (explain->chunk.usable <= 0)
        return;
    uint64_t user = cf_explain_user(explain, &explain->chunk);
    add_words(explain, reading, user, user + (uint64_t)explain->chunk.usable);
}
