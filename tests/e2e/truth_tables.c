#include "truth_tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

enum { MAX_FIELDS = 12 };

/* Where a record goes: its name, the statement that takes its fields, and how many those are. */
struct kind {
    const char *name;
    const char *insert;
    int fields;
};

#define MALLINFO "INSERT INTO temp.truth_mallinfo VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"

static const struct kind kinds[] = {
    {"mallinfo2", MALLINFO, 11},
    {"mallinfo2_again", MALLINFO, 11},
    {"mallinfo2_trimmed", MALLINFO, 11},
    {"mallinfo2_other", MALLINFO, 11},
    {"live", "INSERT INTO temp.truth_live VALUES(?2,?3,?4,?5)", 5},
    {"freed", "INSERT INTO temp.truth_freed VALUES(?2,?3)", 3},
    {"page", "INSERT OR IGNORE INTO temp.truth_page VALUES(?2)", 2},
    {"trim_call", "INSERT INTO temp.truth_call VALUES(?2,?3,?4,?5,?6)", 6},
    {NULL, "INSERT INTO temp.truth_figure VALUES(?1,?2)", 2},
};

enum { NR_KINDS = sizeof kinds / sizeof *kinds };

static const char schema[] =
    "PRAGMA temp_store = memory;"
    "CREATE TEMP TABLE truth_figure(kind TEXT, value);"
    "CREATE TEMP TABLE truth_mallinfo(kind TEXT, arena, ordblks, smblks, hblks, hblkhd, usmblks,"
    " fsmblks, uordblks, fordblks, keepcost);"
    "CREATE TEMP TABLE truth_live(address INTEGER PRIMARY KEY, requested, usable, mark TEXT);"
    "CREATE TEMP TABLE truth_freed(address INTEGER PRIMARY KEY, requested);"
    "CREATE TEMP TABLE truth_page(address INTEGER PRIMARY KEY);"
    "CREATE TEMP TABLE truth_call(name TEXT, arg0, arg1, arg2, result);"
    "CREATE TEMP TABLE truth_xml(nr INTEGER PRIMARY KEY, system_bytes, max_bytes, aspace_bytes,"
    " fast_chunks, fast_bytes, rest_chunks, rest_bytes);"
    "CREATE TEMP TABLE truth_map(start INTEGER PRIMARY KEY, \"end\", flags TEXT, rss_bytes,"
    " anonymous_bytes, name TEXT);"
    "BEGIN";

static bool run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    fprintf(stderr, "truth tables: %s\n", sqlite3_errmsg(db));
    return false;
}

/* Numbers are bound as numbers, so that they compare with ours. */
static void bind_field(sqlite3_stmt *insert, int at, const char *text) {
    char *end;
    sqlite3_int64 value = (sqlite3_int64)strtoull(text, &end, 0);
    if (*text && !*end) {
        sqlite3_bind_int64(insert, at, value);
    } else {
        sqlite3_bind_text(insert, at, text, -1, SQLITE_TRANSIENT);
    }
}

static int split(char *line, char *field[MAX_FIELDS]) {
    int nr = 0;
    for (char *at = line; at && nr < MAX_FIELDS; nr++)
        field[nr] = strsep(&at, "\t");
    return nr;
}

static bool load_line(char *line, sqlite3_stmt *insert[NR_KINDS]) {
    char *field[MAX_FIELDS];
    int nr = split(line, field), kind = 0;
    while (kinds[kind].name && strcmp(kinds[kind].name, field[0]))
        kind++;
    if (nr != kinds[kind].fields) {
        fprintf(stderr, "truth: record '%s' has %d fields\n", field[0], nr);
        return false;
    }
    for (int i = 0; i < nr; i++) {
        if (i || kind == NR_KINDS - 1 || kinds[kind].fields == 11)
            bind_field(insert[kind], i + 1, field[i]);
    }
    bool done = sqlite3_step(insert[kind]) == SQLITE_DONE;
    sqlite3_reset(insert[kind]);
    if (!done)
        fprintf(stderr, "truth: cannot load a '%s'\n", field[0]);
    return done;
}

/* The last record says that the program got to the end. */
static bool load_lines(char *text, sqlite3_stmt *insert[NR_KINDS]) {
    for (char *at = text, *line; at && *at;) {
        line = strsep(&at, "\n");
        if (!strcmp(line, "end"))
            return true;
        if (!load_line(line, insert))
            return false;
    }
    fprintf(stderr, "truth: the file does not end with 'end'\n");
    return false;
}

static bool load_truth(sqlite3 *db, const char *folder) {
    sqlite3_stmt *insert[NR_KINDS] = {NULL};
    bool ok = true;
    for (int i = 0; i < NR_KINDS && ok; i++)
        ok = sqlite3_prepare_v2(db, kinds[i].insert, -1, &insert[i], NULL) == SQLITE_OK;
    if (!ok)
        fprintf(stderr, "truth tables: %s\n", sqlite3_errmsg(db));
    char *text = ok ? process_text(folder, "truth") : NULL;
    ok = text && load_lines(text, insert);
    free(text);
    for (int i = 0; i < NR_KINDS; i++)
        sqlite3_finalize(insert[i]);
    return ok;
}

/* The number in the attribute `name` of the element that starts at `element`. */
static unsigned long long attribute(const char *element, const char *name) {
    char pattern[32];
    snprintf(pattern, sizeof pattern, " %s=\"", name);
    const char *at = element ? strstr(element, pattern) : NULL;
    return at ? strtoull(at + strlen(pattern), NULL, 10) : 0;
}

/* One <heap> element, cut off from the rest of the text by the caller. */
static bool load_heap(sqlite3 *db, const char *heap) {
    const char *fast = strstr(heap, "<total type=\"fast\"");
    const char *rest = strstr(heap, "<total type=\"rest\"");
    char sql[512];
    snprintf(sql, sizeof sql,
             "INSERT INTO temp.truth_xml VALUES(%llu,%llu,%llu,%llu,%llu,%llu,%llu,"
             "%llu)",
             attribute(heap, "nr"), attribute(strstr(heap, "<system type=\"current\""), "size"),
             attribute(strstr(heap, "<system type=\"max\""), "size"),
             attribute(strstr(heap, "<aspace type=\"mprotect\""), "size"), attribute(fast, "count"),
             attribute(fast, "size"), attribute(rest, "count"), attribute(rest, "size"));
    return run(db, sql);
}

static bool load_xml(sqlite3 *db, const char *folder) {
    char *text = process_text(folder, "truth.xml");
    bool ok = text != NULL;
    for (char *heap = text ? strstr(text, "<heap ") : NULL; heap && ok;) {
        char *end = strstr(heap, "</heap>");
        ok = end != NULL;
        if (!end)
            break;
        *end = 0;
        ok = load_heap(db, heap);
        heap = strstr(end + 1, "<heap ");
    }
    free(text);
    return ok;
}

/* The figure of `field` in the paragraph at `text`, up to `end`; in bytes. */
static unsigned long long smaps_field(const char *text, const char *end, const char *field) {
    const char *at = strstr(text, field);
    return at && (!end || at < end) ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

/* The first line of the next paragraph of smaps: the only ones that begin with a small letter or a
 * digit. */
static char *next_mapping(char *text) {
    for (char *at = text; (at = strchr(at, '\n'));) {
        at++;
        if ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'))
            return at;
    }
    return NULL;
}

static bool load_mapping(sqlite3 *db, char *text, const char *end) {
    unsigned long long start, stop;
    char flags[8] = "";
    int name = 0;
    if (sscanf(text, "%llx-%llx %7s %*s %*s %*s %n", &start, &stop, flags, &name) < 3)
        return false;
    char *sql = sqlite3_mprintf(
        "INSERT INTO temp.truth_map VALUES(%lld, %lld, %Q, %llu, %llu,"
        " '%.*q')",
        (long long)start, (long long)stop, flags, smaps_field(text, end, "\nRss:"),
        smaps_field(text, end, "\nAnonymous:"), (int)strcspn(text + name, "\n"), text + name);
    bool ok = run(db, sql);
    sqlite3_free(sql);
    return ok;
}

static bool load_smaps(sqlite3 *db, const char *folder) {
    char *text = process_text(folder, "truth.smaps");
    bool ok = text != NULL;
    for (char *at = text, *next; at && ok; at = next) {
        next = next_mapping(at);
        ok = load_mapping(db, at, next);
    }
    if (!ok)
        fprintf(stderr, "truth: smaps cannot be read\n");
    free(text);
    return ok;
}

int truth_tables_load(sqlite3 *db, const char *folder, bool has_smaps) {
    return run(db, schema) && load_truth(db, folder) && load_xml(db, folder) &&
           (!has_smaps || load_smaps(db, folder)) && run(db, "COMMIT");
}
