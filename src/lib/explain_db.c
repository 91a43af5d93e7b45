/*
 * What the database knows of an address: the heap and the chunk that cover it, whose bytes they
 * are, the shortest path that leads to the chunk, its neighbours. Each statement reads few rows, by
 * address, however many chunks there are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"
#include "lib/explain.h"

enum { NEIGHBOURS = 2, HOPS_SHOWN = 12 };

static const struct cf_column neighbour_columns[] = {
    {"neighbours", "address", CF_UNIT_ADDRESS, 0},
    {"bytes", "size_bytes", CF_UNIT_COUNT, 0},
    {"state", "state", CF_UNIT_TEXT, 0},
    {"", "note", CF_UNIT_TEXT, 0},
};

/* ---- asking ---- */

/* Prepares `sql` with up to two numbers and steps to its first row. */
static bool first_row(struct cf_explain *explain, const char *sql, int64_t one, int64_t two,
                      struct cf_stmt **stmt) {
    bool row = false;
    if (explain->status != CF_OK)
        return false;
    explain->status = cf_db_prepare(explain->db, sql, stmt, explain->err);
    if (explain->status != CF_OK)
        return false;
    cf_stmt_bind_i64(*stmt, 1, one);
    if (strstr(sql, "?2") != NULL)
        cf_stmt_bind_i64(*stmt, 2, two);
    explain->status = cf_stmt_step(*stmt, &row, explain->err);
    return explain->status == CF_OK && row;
}

static bool next_row(struct cf_explain *explain, struct cf_stmt *stmt) {
    bool row = false;
    if (explain->status == CF_OK)
        explain->status = cf_stmt_step(stmt, &row, explain->err);
    return explain->status == CF_OK && row;
}

/* The one number that `sql` says; false: none, or NULL. */
static bool number(struct cf_explain *explain, const char *sql, int64_t one, int64_t two,
                   int64_t *out) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain, sql, one, two, &stmt) || cf_stmt_is_null(stmt, 0))
        return false;
    *out = cf_stmt_i64(stmt, 0);
    return true;
}

static const char *amount(char out[CF_NUMBER_MAX], const struct cf_stmt *stmt, int column) {
    if (cf_stmt_is_null(stmt, column))
        return "an unknown amount";
    return cf_number_bytes(out, (uint64_t)cf_stmt_i64(stmt, column));
}

/* ---- chunks ---- */

static bool read_chunk(struct cf_explain *explain, int64_t address,
                       struct cf_explained_chunk *out) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain,
                   "SELECT address, size_bytes, coalesce(usable_bytes, -1), state,"
                   " coalesce(reachable, -1) FROM v_chunk WHERE address = ?1",
                   address, 0, &stmt))
        return false;
    *out = (struct cf_explained_chunk){
        .address = cf_stmt_i64(stmt, 0),
        .bytes = cf_stmt_i64(stmt, 1),
        .usable = cf_stmt_i64(stmt, 2),
        .reachable = (int)cf_stmt_i64(stmt, 4),
    };
    (void)snprintf(out->state, sizeof out->state, "%s", cf_stmt_text(stmt, 3));
    return true;
}

/* The next chunk of a heap from an address, each by a seek of the chunk's key. */
static const char below_sql[] =
    "SELECT max(address) FROM chunk WHERE address < ?1 AND address >= ?2";
static const char above_sql[] =
    "SELECT min(address) FROM chunk WHERE address > ?1 AND address < ?2";

bool cf_explain_find_chunk(struct cf_explain *explain, int64_t address,
                           struct cf_explained_chunk *out) {
    int64_t start;
    struct cf_explained_chunk chunk;
    if (!number(explain, "SELECT max(address) FROM chunk WHERE address <= ?1", address, 0,
                &start) ||
        !read_chunk(explain, start, &chunk) || chunk.address > address ||
        (chunk.address < 0) != (address < 0) || chunk.bytes <= 0 ||
        cf_explain_distance(chunk.address, address) >= (uint64_t)chunk.bytes)
        return false;
    *out = chunk;
    return true;
}

static bool is_live(const struct cf_explained_chunk *chunk) {
    return strcmp(chunk->state, "live") == 0 || strcmp(chunk->state, "mmapped") == 0;
}

static const char *reach_text(const struct cf_explained_chunk *chunk) {
    if (!is_live(chunk))
        return "";
    return chunk->reachable == 1   ? ", reached"
           : chunk->reachable == 0 ? ", NOTHING REACHES IT"
                                   : "";
}

struct cf_explain_place cf_explain_place(struct cf_explain *explain, int64_t address,
                                         const struct cf_explained_chunk *chunk) {
    struct cf_explain_place place = {.part = CF_EXPLAIN_BELOW};
    uint64_t word = (uint64_t)explain->word_bytes;
    uint64_t offset = cf_explain_distance(chunk->address, address);
    if (offset >= word) {
        place.part = offset < 2 * word ? CF_EXPLAIN_SIZE_FIELD : CF_EXPLAIN_USER;
        place.byte = place.part == CF_EXPLAIN_USER ? offset - 2 * word : 0;
        return place;
    }
    int64_t last = (int64_t)((uint64_t)chunk->address - 1);
    place.has_below = cf_explain_find_chunk(explain, last, &place.below) &&
                      strcmp(place.below.state, "live") == 0 &&
                      cf_explain_distance(place.below.address, chunk->address) ==
                          (uint64_t)place.below.bytes;
    if (place.has_below)
        place.byte = (uint64_t)address - cf_explain_user(explain, &place.below);
    return place;
}

static void add_place(struct cf_explain *explain, const struct cf_explained_chunk *chunk) {
    struct cf_explain_place place = cf_explain_place(explain, explain->address, chunk);
    char size[CF_NUMBER_MAX];
    if (place.part == CF_EXPLAIN_USER && chunk->usable < 0)
        cf_table_fact(explain->table, "place", "byte %" PRIu64 " behind the chunk's header",
                      place.byte);
    else if (place.part == CF_EXPLAIN_USER)
        cf_table_fact(explain->table, "place", "byte %" PRIu64 " of what malloc returned",
                      place.byte);
    else if (place.part == CF_EXPLAIN_SIZE_FIELD)
        cf_table_fact(explain->table, "place", "the chunk's size field");
    else if (place.has_below)
        cf_table_fact(explain->table, "place",
                      "the last usable word of the live chunk below: byte %" PRIu64
                      " of what malloc returned at 0x%" PRIx64 ", of %s",
                      place.byte, cf_explain_user(explain, &place.below),
                      cf_number_bytes(size, (uint64_t)place.below.bytes));
    else
        cf_table_fact(explain->table, "place",
                      "the word below the chunk's size field: malloc's own, no live chunk has it");
}

static void add_chunk(struct cf_explain *explain) {
    const struct cf_explained_chunk *chunk = &explain->chunk;
    char size[CF_NUMBER_MAX], usable[CF_NUMBER_MAX + 16] = "";
    if (chunk->usable >= 0)
        (void)snprintf(usable, sizeof usable, ", %" PRId64 " usable", chunk->usable);
    cf_table_fact(explain->table, "chunk",
                  "0x%" PRIx64 " to 0x%" PRIx64 ", %s%s, %s%s; malloc returned 0x%" PRIx64,
                  (uint64_t)chunk->address, (uint64_t)chunk->address + (uint64_t)chunk->bytes,
                  cf_number_exact_bytes(size, (uint64_t)chunk->bytes), usable, chunk->state,
                  reach_text(chunk), cf_explain_user(explain, chunk));
    add_place(explain, chunk);
}

/* ---- neighbours ---- */

static void add_neighbour(struct cf_explain *explain, struct cf_table *table,
                          const struct cf_explained_chunk *chunk) {
    bool is_it = chunk->address == explain->chunk.address;
    char note[64];
    cf_table_integer(table, chunk->address, CF_MARK_EXACT);
    cf_table_integer(table, chunk->bytes, CF_MARK_EXACT);
    cf_table_text(table, chunk->state);
    (void)snprintf(note, sizeof note, "%s%s", is_it ? "<- here" : "",
                   chunk->reachable == 0 ? (is_it ? ", nothing reaches it" : "nothing reaches it")
                                         : "");
    cf_table_text(table, note);
}

/* The chunks below, the lowest first; returns their number. */
static size_t find_below(struct cf_explain *explain, struct cf_explained_chunk out[NEIGHBOURS]) {
    struct cf_explained_chunk found[NEIGHBOURS];
    int64_t at = explain->chunk.address;
    size_t nr = 0;
    while (nr < NEIGHBOURS &&
           number(explain, below_sql, at, explain->heap_start, &at) &&
           read_chunk(explain, at, &found[nr]))
        nr++;
    for (size_t i = 0; i < nr; i++)
        out[i] = found[nr - 1 - i];
    return nr;
}

static void add_neighbours(struct cf_explain *explain) {
    struct cf_explained_chunk chunks[NEIGHBOURS], above;
    size_t nr = find_below(explain, chunks);
    int64_t at = explain->chunk.address;
    struct cf_table *table =
        cf_section_table(explain->section, NULL, NULL, neighbour_columns,
                         sizeof neighbour_columns / sizeof neighbour_columns[0]);
    if (table == NULL)
        return;
    for (size_t i = 0; i < nr; i++)
        add_neighbour(explain, table, &chunks[i]);
    add_neighbour(explain, table, &explain->chunk);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        if (!number(explain, above_sql, at, explain->heap_end, &at) ||
            !read_chunk(explain, at, &above))
            break;
        add_neighbour(explain, table, &above);
    }
}

/* ---- heap ---- */

static void find_heap(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain,
                   "SELECT heap_id, arena_id, start, end FROM heap WHERE start <= ?1 ORDER BY"
                   " start DESC LIMIT 1",
                   explain->address, 0, &stmt) ||
        explain->address >= cf_stmt_i64(stmt, 3))
        return;
    explain->has_heap = true;
    explain->heap_id = cf_stmt_i64(stmt, 0);
    explain->arena_id = cf_stmt_i64(stmt, 1);
    explain->heap_start = cf_stmt_i64(stmt, 2);
    explain->heap_end = cf_stmt_i64(stmt, 3);
}

static void add_heap(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    char mapped[CF_NUMBER_MAX], live[CF_NUMBER_MAX];
    if (!first_row(explain, "SELECT mapped_bytes, live_bytes FROM v_heap WHERE heap_id = ?1",
                   explain->heap_id, 0, &stmt))
        return;
    cf_table_fact(explain->table, "heap",
                  "%" PRId64 " of arena %" PRId64 "%s: 0x%" PRIx64 " to 0x%" PRIx64
                  ", %s, of which %s are live",
                  explain->heap_id, explain->arena_id, explain->arena_id == 0 ? " (main)" : "",
                  (uint64_t)explain->heap_start, (uint64_t)explain->heap_end,
                  amount(mapped, stmt, 0), amount(live, stmt, 1));
}

static void add_hole(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    char size[CF_NUMBER_MAX], resident[CF_NUMBER_MAX], releasable[CF_NUMBER_MAX];
    if (!first_row(explain,
                   "SELECT address, size_bytes, chunks, resident_bytes, releasable_bytes FROM"
                   " v_hole WHERE address <= ?1 ORDER BY address DESC LIMIT 1",
                   explain->address, 0, &stmt) ||
        cf_explain_distance(cf_stmt_i64(stmt, 0), explain->address) >=
            (uint64_t)cf_stmt_i64(stmt, 1))
        return;
    cf_table_fact(explain->table, "hole",
                  "0x%" PRIx64 ", %s in %" PRId64 " dead chunks; %s resident, of which "
                  "malloc_trim(0) would release %s",
                  (uint64_t)cf_stmt_i64(stmt, 0), amount(size, stmt, 1), cf_stmt_i64(stmt, 2),
                  amount(resident, stmt, 3), amount(releasable, stmt, 4));
}

static void add_page(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain,
                   "SELECT class, resident, pages, start FROM v_page_run WHERE start <= ?1 ORDER"
                   " BY start DESC LIMIT 1",
                   explain->address, 0, &stmt))
        return;
    const char *residency = cf_stmt_is_null(stmt, 1)    ? "not known whether in memory"
                            : cf_stmt_i64(stmt, 1) == 1 ? "in memory"
                                                        : "not in memory";
    cf_table_fact(explain->table, "page", "%s, %s; one of %" PRId64 " alike from 0x%" PRIx64,
                  cf_stmt_text(stmt, 0), residency, cf_stmt_i64(stmt, 2),
                  (uint64_t)cf_stmt_i64(stmt, 3));
}

/* ---- who needs it ---- */

static void add_pins(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *top = NULL, *page = NULL;
    char unlocked[CF_NUMBER_MAX], pinned[CF_NUMBER_MAX];
    if (first_row(explain, "SELECT rank, unlocked_bytes, type FROM v_top_pin WHERE address = ?1",
                  explain->chunk.address, 0, &top))
        cf_table_fact(explain->table, "top pin",
                      "number %" PRId64 " below the top: %s would join it without this and those "
                      "above%s%s",
                      cf_stmt_i64(top, 0), amount(unlocked, top, 1),
                      *cf_stmt_text(top, 2) != '\0' ? "; type " : "", cf_stmt_text(top, 2));
    if (first_row(explain,
                  "SELECT chunks, pinned_bytes, type FROM v_page_pin WHERE sample_address = ?1",
                  explain->chunk.address, 0, &page))
        cf_table_fact(explain->table, "page pin",
                      "one of %" PRId64 " of its size and arena that pin %s%s%s",
                      cf_stmt_i64(page, 0), amount(pinned, page, 1),
                      *cf_stmt_text(page, 2) != '\0' ? "; type " : "", cf_stmt_text(page, 2));
}

static void add_holders(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    bool row = first_row(explain,
                         "SELECT kind, address_hex, label FROM v_holder WHERE chunk_address = ?1"
                         " ORDER BY hop",
                         explain->chunk.address, 0, &stmt);
    for (size_t i = 0; row && i < HOPS_SHOWN; i++, row = next_row(explain, stmt))
        cf_table_fact(explain->table, i == 0 ? "held by" : "", "%s%s %s%s%s", i == 0 ? "" : "-> ",
                      cf_stmt_text(stmt, 0), cf_stmt_text(stmt, 2),
                      cf_stmt_is_null(stmt, 1) ? "" : " at ", cf_stmt_text(stmt, 1));
}

static void add_tcache(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (first_row(explain, "SELECT thread_id, chunks FROM v_tcache WHERE address = ?1",
                  (int64_t)cf_explain_user(explain, &explain->chunk), 0, &stmt))
        cf_table_fact(explain->table, "libc's",
                      "it is the cache of thread %s, with %" PRId64 " chunks",
                      cf_stmt_is_null(stmt, 0) ? "that is gone" : cf_stmt_text(stmt, 0),
                      cf_stmt_i64(stmt, 1));
}

/* ---- where it is mapped ---- */

static bool add_segment(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain,
                   "SELECT start, end, flags, kind, file, dumped_bytes FROM v_segment WHERE start"
                   " <= ?1 ORDER BY start DESC LIMIT 1",
                   explain->address, 0, &stmt) ||
        explain->address >= cf_stmt_i64(stmt, 1))
        return false;
    cf_table_fact(explain->table, "mapping", "0x%" PRIx64 " to 0x%" PRIx64 " %s %s%s%s%s",
                  (uint64_t)cf_stmt_i64(stmt, 0), (uint64_t)cf_stmt_i64(stmt, 1),
                  cf_stmt_text(stmt, 2), cf_stmt_text(stmt, 3), cf_stmt_is_null(stmt, 4) ? "" : " ",
                  cf_stmt_text(stmt, 4), cf_stmt_i64(stmt, 5) == 0 ? "; not in the core" : "");
    return true;
}

static bool add_module(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (!first_row(explain,
                   "SELECT file, start, symbols, end FROM v_module WHERE start <= ?1 ORDER BY"
                   " start DESC LIMIT 1",
                   explain->address, 0, &stmt) ||
        explain->address >= cf_stmt_i64(stmt, 3))
        return false;
    cf_table_fact(explain->table, "module", "%s+0x%" PRIx64 " (symbols: %s)", cf_stmt_text(stmt, 0),
                  cf_explain_distance(cf_stmt_i64(stmt, 1), explain->address),
                  cf_stmt_text(stmt, 2));
    return true;
}

static void add_frame(struct cf_explain *explain, int64_t thread) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    if (first_row(explain,
                  "SELECT frame, coalesce(function, pc_hex), stack_pointer FROM v_frame WHERE"
                  " thread_id = ?1 AND stack_pointer <= ?2 ORDER BY frame DESC LIMIT 1",
                  thread, explain->address, &stmt))
        cf_table_fact(explain->table, "frame", "%" PRId64 ", %s, %" PRIu64 " bytes into it",
                      cf_stmt_i64(stmt, 0), cf_stmt_text(stmt, 1),
                      cf_explain_distance(cf_stmt_i64(stmt, 2), explain->address));
}

static bool add_thread(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    /* Several threads can be in one mapping: stacks that touch are one. The nearest is meant. */
    if (!first_row(explain,
                   "SELECT thread_id, tid, stack_pointer, top_frame FROM v_thread WHERE"
                   " stack_start <= ?1 AND stack_end > ?1 ORDER BY stack_pointer > ?1,"
                   " max(stack_pointer, ?1) - min(stack_pointer, ?1) LIMIT 1",
                   explain->address, 0, &stmt))
        return false;
    int64_t sp = cf_stmt_i64(stmt, 2);
    cf_table_fact(explain->table, "stack", "of thread %" PRId64 " (tid %" PRId64 "), %s%s%s",
                  cf_stmt_i64(stmt, 0), cf_stmt_i64(stmt, 1),
                  explain->address >= sp ? "in use" : "below the stack pointer: dead",
                  cf_stmt_is_null(stmt, 3) ? "" : "; it was in ", cf_stmt_text(stmt, 3));
    if (explain->address >= sp)
        add_frame(explain, cf_stmt_i64(stmt, 0));
    return true;
}

/* ---- all together ---- */

static void say_chunk(struct cf_explain *explain) {
    const struct cf_explained_chunk *chunk = &explain->chunk;
    char size[CF_NUMBER_MAX];
    (void)cf_number_bytes(size, (uint64_t)chunk->bytes);
    if (chunk->reachable == 0)
        cf_section_text(explain->section, CF_TONE_LEAD,
                        "LEAKED: in a live chunk of %s that nothing reaches.", size);
    else if (is_live(chunk))
        cf_section_text(explain->section, CF_TONE_LEAD, "LIVE: in a chunk of %s.", size);
    else
        cf_section_text(explain->section, CF_TONE_LEAD, "%s: in a chunk of %s that is not live.",
                        strcmp(chunk->state, "top") == 0     ? "TOP"
                        : strcmp(chunk->state, "fence") == 0 ? "FENCE"
                                                             : "FREE",
                        size);
}

static void say_no_chunk(struct cf_explain *explain) {
    CF_CLEANUP_STMT struct cf_stmt *stmt = NULL;
    bool all = first_row(explain, "SELECT value = 'all' FROM meta"
                                  " WHERE key = 'chunks' AND ?1", 1, 0, &stmt) &&
               cf_stmt_i64(stmt, 0) == 1;
    cf_section_text(explain->section, CF_TONE_LEAD,
                    all ? "HEAP: in a heap, and in no chunk: malloc's own memory, or a gap that "
                          "somebody else took."
                        : "HEAP: in a heap; this database does not list all chunks (--chunks).");
}

/* What is no heap: a stack, a file, another mapping, or nothing. */
static void say_other(struct cf_explain *explain) {
    static const struct {
        const char *sql, *text;
    } kinds[] = {
        {"SELECT 1 FROM v_thread WHERE stack_start <= ?1 AND stack_end > ?1 LIMIT 1",
         "STACK: of a thread."},
        {"SELECT 1 FROM (SELECT end FROM v_module WHERE start <= ?1 ORDER BY start DESC LIMIT 1)"
         " WHERE end > ?1",
         "FILE: of a mapped file, its code or its data."},
        {"SELECT 1 FROM (SELECT end FROM v_segment WHERE start <= ?1 ORDER BY start DESC LIMIT 1)"
         " WHERE end > ?1",
         "MAPPED: memory that is neither malloc's, a stack nor a file's."},
    };
    int64_t one;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!number(explain, kinds[i].sql, explain->address, 0, &one))
            continue;
        cf_section_text(explain->section, CF_TONE_LEAD, "%s", kinds[i].text);
        return;
    }
    cf_section_text(explain->section, CF_TONE_LEAD, "NOTHING: no memory is mapped here.");
}

static void explain_heap(struct cf_explain *explain) {
    if (explain->has_chunk) {
        add_chunk(explain);
        add_tcache(explain);
    }
    if (explain->has_heap) {
        add_heap(explain);
        add_hole(explain);
        add_page(explain);
    }
    if (explain->has_chunk) {
        add_pins(explain);
        add_holders(explain);
    }
}

static void add_nearest(struct cf_explain *explain) {
    int64_t below, above;
    /* Addresses above 2^63 are negative here, and not below any other. */
    if (number(explain,
               "SELECT max(end) FROM (SELECT end FROM v_segment WHERE start <= ?1 AND"
               " (start < 0) = (?1 < 0) ORDER BY start DESC LIMIT 1)",
               explain->address, 0, &below))
        cf_table_fact(explain->table, "below", "a mapping ends at 0x%" PRIx64, (uint64_t)below);
    if (number(explain, "SELECT min(start) FROM v_segment WHERE start > ?1", explain->address, 0,
               &above))
        cf_table_fact(explain->table, "above", "a mapping begins at 0x%" PRIx64, (uint64_t)above);
}

void cf_explain_db(struct cf_explain *explain) {
    find_heap(explain);
    explain->has_chunk = cf_explain_find_chunk(explain, explain->address, &explain->chunk);
    if (explain->has_chunk)
        say_chunk(explain);
    else if (explain->has_heap)
        say_no_chunk(explain);
    else
        say_other(explain);
    explain->table = cf_section_facts(explain->section);
    if (explain->table == NULL)
        return;
    explain_heap(explain);
    bool is_stack = !explain->has_chunk && !explain->has_heap && add_thread(explain);
    bool is_module = !is_stack && add_module(explain);
    bool is_mapped = add_segment(explain);
    if (!is_mapped && !explain->has_chunk && !is_module)
        add_nearest(explain);
    if (explain->has_heap && explain->has_chunk)
        add_neighbours(explain);
}
