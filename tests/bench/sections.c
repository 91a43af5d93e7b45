#include "sections.h"

#define CORE FOLDER "/core"
#define ALL_DB FOLDER "/all.db"
#define FAST_DB FOLDER "/fast.db"

#define ANALYZE(core, db, options) "exec build/corefrag analyze " core " -o " db " --force" options
#define QUERY(sql) "exec build/bench-pass query " ALL_DB " \"" sql "\""
#define HEAP_BYTES                                                                                 \
    "exec sqlite3 -separator ' ' " ALL_DB " 'SELECT (SELECT sum(bytes) FROM (SELECT "              \
    "mapped_bytes AS bytes FROM v_arena UNION ALL SELECT bytes FROM v_size_class WHERE arena_id "  \
    "IS NULL)), (SELECT sum(chunks - unreachable_chunks) FROM v_type)'"

/* A program that ends by a signal leaves its core, by whatever name, in the folder. */
#define START "rm -rf " FOLDER " && mkdir -p " FOLDER " && cd " FOLDER " && ulimit -c unlimited && "
#define DUMP(program, core)                                                                        \
    "{ mkdir -p d && cd d && ../../gen/" program "; test -s core || mv core.* core; cd .. && "    \
    "mv d/core " core "; } 2> log && "
#define READ(core) "cat " core " > /dev/null"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define NONE                                                                                       \
    { NOTHING, CPU, NULL }

const char *unit_of(enum measure measure) {
    switch (measure) {
    case RSS:
    case ANONYMOUS:
        return "MiB";
    case FILE_BYTES:
        return "B";
    default:
        return "s";
    }
}

/* ---- so many chunks ---- */

enum {
    STOCK,
    FAST,
    CAT,
    CAT_CP,
    WALK,
    ALL,
    BY_ADDRESS,
    TOP_FREE,
    IN_HEAP,
    PINS,
    AROUND,
    STATES,
    SIZES,
    REPORT,
    HTML,
};

#define STOCK_INSERT                                                                               \
    "rm -f " FOLDER "/stock.db; exec sqlite3 " FOLDER "/stock.db \"CREATE TABLE "                  \
    "t(a INTEGER PRIMARY KEY, size, state); INSERT INTO t SELECT value*96, 96, value%2 FROM "      \
    "generate_series(1,$N);\""

static const struct command size_commands[] = {
    [STOCK] = {.text = STOCK_INSERT},
    [FAST] = {.text = ANALYZE(CORE, FAST_DB, " --no-reach")},
    [CAT] = {.text = "exec cat " CORE " > /dev/null"},
    [CAT_CP] = {.text = "cat " CORE " > /dev/null && exec cp " FAST_DB " " FOLDER "/copy.db"},
    [WALK] = {.text = "exec build/bench-pass walk " CORE},
    [ALL] = {.text = ANALYZE(CORE, ALL_DB, "")},
    [BY_ADDRESS] = {.text = QUERY("SELECT * FROM v_chunk WHERE address = (SELECT max(below_address)"
                                  " FROM v_hole)")},
    [TOP_FREE] = {.text = QUERY("SELECT * FROM v_chunk WHERE state = 'free' AND size_bytes >= 4096 "
                                "ORDER BY size_bytes DESC LIMIT 20")},
    [IN_HEAP] = {.text = QUERY("SELECT count(*) FROM (SELECT * FROM v_chunk WHERE heap_id = 0 AND "
                               "arena_id = 0 ORDER BY address LIMIT 50)")},
    [PINS] = {.text = QUERY("SELECT c.type, count(*), sum(c.size_bytes) FROM v_top_pin p LEFT JOIN "
                            "v_chunk c ON c.address = p.address GROUP BY c.type")},
    [AROUND] = {.text = QUERY("SELECT c.address_hex, c.size_bytes, c.state FROM (SELECT heap_id AS "
                              "heap, address AS at, size_bytes AS length FROM v_hole ORDER BY "
                              "size_bytes DESC LIMIT 1) JOIN v_chunk c ON c.heap_id = heap AND "
                              "c.address BETWEEN at - 256 AND at + length + 256")},
    [STATES] = {.text = QUERY("SELECT state, count(*), sum(size_bytes) FROM v_chunk GROUP BY "
                              "state")},
    [SIZES] = {.text = QUERY("SELECT state, size_bytes, sum(chunks), sum(bytes) FROM v_size_class "
                             "GROUP BY state, size_bytes")},
    [REPORT] = {.text = "exec build/corefrag report " ALL_DB " > /dev/null"},
    [HTML] = {.text = "exec build/corefrag report " ALL_DB " --format html > /dev/null"},
};

static const struct row size_rows[] = {
    {"walk over all chunk headers (the pass alone) / `cat CORE`, wall",
     {WALK, SAID, NULL}, {CAT, WALL, NULL}, FIXED, 1.0, 0},
    {"the same with bins, caches, mmapped chunks / `cat CORE`, wall",
     {WALK, SAID_NEXT, NULL}, {CAT, WALL, NULL}, FIXED, 0, 0},
    {"`analyze --no-reach` / sqlite3 inserting as many rows, CPU",
     {FAST, CPU, NULL}, {STOCK, CPU, NULL}, FIXED, 0.15, 0.08},
    {"`analyze` with everything on / the same, CPU",
     {ALL, CPU, NULL}, {STOCK, CPU, NULL}, FIXED, 2.0, 1.5},
    {"`analyze --no-reach` / `cat CORE; cp DB`, wall",
     {FAST, WALL, NULL}, {CAT_CP, WALL, NULL}, FIXED, 3.0, 0},
    {"database, bytes a chunk", {ALL, FILE_BYTES, ALL_DB}, NONE, FIXED, 24, 0},
    {"`analyze`, anonymous memory", {ALL, ANONYMOUS, NULL}, NONE, MEMORY_OWN, 0, 0},
    {"`analyze`, all that is resident", {ALL, RSS, NULL}, NONE, MEMORY_GRAPH, 0, 0},
    {"`analyze --no-reach`, all that is resident", {FAST, RSS, NULL}, NONE, MEMORY_ALL, 0, 0},
    {"SQL: the chunk at an address", {BY_ADDRESS, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"SQL: the twenty largest free chunks", {TOP_FREE, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"SQL: the first chunks of a heap", {IN_HEAP, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"SQL: the types of top pins, by a LEFT JOIN", {PINS, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"SQL: what stands around the largest hole", {AROUND, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"SQL: all chunks by state, a 5 million", {STATES, SAID, NULL}, NONE, FIXED, 0, 3.0},
    {"SQL: size classes", {SIZES, SAID, NULL}, NONE, FIXED, 0.010, 0},
    {"`report`, wall", {REPORT, WALL, NULL}, NONE, FIXED, 2.0, 0},
    {"`report --format html`, wall", {HTML, WALL, NULL}, NONE, FIXED, 2.0, 0},
};

/* The core, the stock shell's database, and ours three times (one is a copy). */
const struct section size_section = {
    .title = "A heap of so many chunks, 91 bytes on average, a third of them free:",
    .prepare = START DUMP("big $N", "core") READ("core"),
    .heap_bytes = HEAP_BYTES,
    .commands = size_commands,
    .nr_commands = COUNT(size_commands),
    .rows = size_rows,
    .nr_rows = COUNT(size_rows),
    .room_bytes = 1e9,
    .room_bytes_each = 96 + 20 + 3 * 24,
};

/* ---- much of one thing: N of it, and twice as much for how the cost grows ---- */

enum { FEWER, MORE, CHECK };

static const struct command scale_commands[] = {
    [FEWER] = {.text = ANALYZE(CORE, ALL_DB, " --chunks none")},
    [MORE] = {.text = ANALYZE(FOLDER "/core2", FOLDER "/all2.db", " --chunks none")},
    [CHECK] = {.text = "exec build/corefrag check " CORE " > /dev/null"},
};

/* Once before the first round: what the file system keeps of their holes is then in memory. */
#define WARM                                                                                       \
    "cd ../.. && build/corefrag check " CORE " > /dev/null && "                                    \
    "build/corefrag analyze " CORE " -o " ALL_DB " --chunks none && "                             \
    "build/corefrag analyze " FOLDER "/core2 -o " FOLDER "/all2.db --chunks none"

#define SCALE_ROWS(name, what)                                                                     \
    static const struct row name[] = {                                                             \
        {what ": `analyze --chunks none`, wall", {FEWER, WALL, NULL}, NONE, FIXED, 2.0, 0},        \
        {what ": twice as many / as many, CPU",                                                    \
         {MORE, CPU, NULL}, {FEWER, CPU, NULL}, FIXED, 2.3, 0},                                    \
        {what ": `analyze`, all that is resident", {FEWER, RSS, NULL}, NONE, MEMORY_ALL, 0, 0},    \
        {what ": `check`, all that is resident", {CHECK, RSS, NULL}, NONE, MEMORY_ALL, 0, 0},      \
    }

#define SCALE_SECTION(name, rows_of, how_many, say, prepare_it, room)                              \
    static const struct section name = {                                                           \
        .title = say,                                                                              \
        .prepare = prepare_it,                                                                     \
        .heap_bytes = HEAP_BYTES,                                                                  \
        .commands = scale_commands,                                                                \
        .nr_commands = COUNT(scale_commands),                                                      \
        .rows = rows_of,                                                                           \
        .nr_rows = COUNT(rows_of),                                                                 \
        .nr = how_many,                                                                            \
        .room_bytes = room,                                                                        \
    }

SCALE_ROWS(arena_rows, "2,000 arenas");
SCALE_ROWS(heap_rows, "5,000 heaps");
SCALE_ROWS(segment_rows, "120,000 segments");
SCALE_ROWS(thread_rows, "10,000 threads");

SCALE_SECTION(arena_section, arena_rows, 2000, "2,000 arenas, one a thread:",
              START DUMP("scale arenas $N", "core") DUMP("scale arenas $N2", "core2") WARM, 1e9);
SCALE_SECTION(heap_section, heap_rows, 5000, "5,000 heaps, pieces of the main arena:",
              START DUMP("scale heaps $N", "core") DUMP("scale heaps $N2", "core2") WARM, 1e9);
SCALE_SECTION(segment_section, segment_rows, 120000, "120,000 segments:",
              START DUMP("scale pages $N", "core") DUMP("scale pages $N2", "core2")
              "../gen/scale split core $N && ../gen/scale split core2 $N2 && " WARM, 1e9);
SCALE_SECTION(thread_section, thread_rows, 10000, "10,000 threads:",
              START DUMP("scale threads $N", "core") DUMP("scale threads $N2", "core2") WARM, 2e9);

/* ---- seven arenas, sizes at random ---- */

static const struct command random_commands[] = {
    [STOCK] = {.text = STOCK_INSERT},
    [FAST] = {.text = ANALYZE(CORE, FAST_DB, " --no-reach")},
    [2] = {.text = ANALYZE(CORE, ALL_DB, "")},
};

static const struct row random_rows[] = {
    {"seven arenas, sizes at random: `analyze --no-reach` / sqlite3's inserts, CPU",
     {FAST, CPU, NULL}, {STOCK, CPU, NULL}, FIXED, 0.15, 0},
    {"the same with everything on, CPU", {2, CPU, NULL}, {STOCK, CPU, NULL}, FIXED, 2.0, 0},
    {"the same: `analyze`, anonymous memory", {2, ANONYMOUS, NULL}, NONE, MEMORY_OWN, 0, 0},
    {"the same: `analyze`, all that is resident", {2, RSS, NULL}, NONE, MEMORY_GRAPH, 0, 0},
};

/* The kernel writes a core page by page. Read back from the disk, a file system that has large
 * folios keeps it in such, and a fault maps all of one. */
#define READ_BACK(core)                                                                            \
    "cp --sparse=always " core " back && mv back " core " && sync " core " && dd if=" core         \
    " iflag=nocache count=0 && " READ(core)

static const struct section random_section = {
    .title = "5,000,000 chunks of sizes at random in seven arenas:",
    .prepare = START DUMP("big $N 7 random", "core") READ_BACK("core"),
    .heap_bytes = HEAP_BYTES,
    .commands = random_commands,
    .nr_commands = COUNT(random_commands),
    .rows = random_rows,
    .nr_rows = COUNT(random_rows),
    .nr = 5000000,
    .room_bytes = 3e9,
};

/* ---- shapes that searches are slow or deep on ---- */

static const struct command shape_commands[] = {
    [STOCK] = {.text = STOCK_INSERT},
    [1] = {.text = ANALYZE(CORE, ALL_DB, "")},
};

#define SHAPE_SECTION(name, shape, what)                                                           \
    static const struct row name##_rows[] = {                                                      \
        {what ": `analyze` / sqlite3 inserting as many rows, CPU",                                 \
         {1, CPU, NULL}, {STOCK, CPU, NULL}, FIXED, 2.0, 1.5},                                     \
        {what ": `analyze`, anonymous memory", {1, ANONYMOUS, NULL}, NONE, MEMORY_OWN, 0, 0},      \
        {what ": `analyze`, all that is resident", {1, RSS, NULL}, NONE, MEMORY_GRAPH, 0, 0},      \
    };                                                                                             \
    static const struct section name = {                                                           \
        .title = what ":",                                                                         \
        .prepare = START DUMP("scale " shape " $N", "core") READ("core"),                          \
        .heap_bytes = HEAP_BYTES,                                                                  \
        .commands = shape_commands,                                                                \
        .nr_commands = COUNT(shape_commands),                                                      \
        .rows = name##_rows,                                                                       \
        .nr_rows = COUNT(name##_rows),                                                             \
        .nr = 5000000,                                                                             \
        .room_bytes = 2e9,                                                                         \
    }

SHAPE_SECTION(list_section, "list", "a list of 5,000,000 nodes");
SHAPE_SECTION(ring_section, "ring", "a ring of 5,000,000 nodes");
SHAPE_SECTION(tree_section, "tree", "a tree of 5,000,000 nodes");

/* ---- one large thing ---- */

static const struct command large_commands[] = {
    {.text = ANALYZE(CORE, ALL_DB, "")},
};

static const struct row hole_rows[] = {
    {"one hole of 600 MB: `analyze`, anonymous memory",
     {0, ANONYMOUS, NULL}, NONE, MEMORY_OWN, 0, 0},
    {"one hole of 600 MB: `analyze`, all that is resident", {0, RSS, NULL}, NONE, MEMORY_ALL, 0, 0},
};

static const struct row chunk_rows[] = {
    {"one chunk of 4 GiB: `analyze`, anonymous memory",
     {0, ANONYMOUS, NULL}, NONE, MEMORY_OWN, 0, 0},
    {"one chunk of 4 GiB: `analyze`, all that is resident", {0, RSS, NULL}, NONE, MEMORY_ALL, 0, 0},
};

static const struct section hole_section = {
    .title = "One hole of 600 MB, every page of it resident:",
    .prepare = START DUMP("scale hole $N", "core") READ("core"),
    .heap_bytes = HEAP_BYTES,
    .commands = large_commands,
    .nr_commands = COUNT(large_commands),
    .rows = hole_rows,
    .nr_rows = COUNT(hole_rows),
    .nr = 600000000,
    .room_bytes = 1e9,
};

static const struct section chunk_section = {
    .title = "One chunk of 4 GiB in the main arena:",
    .prepare = START DUMP("scale chunk $N", "core") "true",
    .heap_bytes = HEAP_BYTES,
    .commands = large_commands,
    .nr_commands = COUNT(large_commands),
    .rows = chunk_rows,
    .nr_rows = COUNT(chunk_rows),
    .nr = 4ull << 30,
    .room_bytes = 1e8,
};

const struct section *const scale_sections[] = {
    &random_section, &list_section,   &ring_section, &tree_section,  &arena_section,
    &heap_section,   &segment_section, &thread_section, &hole_section, &chunk_section,
};
const size_t nr_scale_sections = COUNT(scale_sections);
