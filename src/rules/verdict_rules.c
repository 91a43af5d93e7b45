/*
 * The verdicts: the first whose condition holds is the one, so what makes the others unsure stands
 * before them (damage, what the core lacks), and the last speaks always.
 */
#include "rules/rules.h"
#include "rules/terms.h"

/* The judgements' conditions, named so that each can stand on those before it. */
#define NO_HEAP "used_arenas = 0"
#define MOSTLY_OUTSIDE                                                                             \
    "outside_bytes >= 16 * " MIB " AND heap_percent < 40"                                        \
    " AND coalesce(leaked_bytes, 0) < outside_bytes"
#define GHOSTS                                                                                     \
    "[ Of those that died, {ghost_phrase:text}.]"
#define MANY_ARENAS                                                                                \
    "used_arenas >= 9 AND arena_fixed_bytes >= 2 * " MIB                                         \
    " AND arena_fixed_bytes * 2 >= heap_resident_bytes"                                          \
    " AND arena_fixed_bytes * 2 >= mapped_bytes" /* not what a load left behind */               \
    " AND arena_fixed_bytes > releasable_bytes + pinned_bytes"
/* Caches belong to threads: fewer arenas would not empty them. */
#define MUCH_CACHED                                                                                \
    "caches > 0 AND tcache_resident_bytes >= 2 * " MIB                                           \
    " AND tcache_resident_bytes * 2 >= heap_resident_bytes"
#define MUCH_KEPT                                                                                  \
    "retained_free_bytes >= 4 * " MIB " AND retained_percent >= 40"
/* By malloc_trim(0), or not. */
#define MOST_COMES_BACK MUCH_KEPT " AND releasable_bytes * 2 >= retained_free_bytes"
#define LITTLE_COMES_BACK MUCH_KEPT " AND releasable_bytes * 2 < retained_free_bytes"
#define MOST_IS_STUCK                                                                              \
    LITTLE_COMES_BACK                                                                              \
    " AND (pinned_bytes + cache_pinned_bytes + edge_bytes) * 2 >= stuck_bytes"
#define MOST_IS_IN_TOPS                                                                            \
    LITTLE_COMES_BACK                                                                              \
    " AND top_resident_bytes >= 16 * " MIB " AND top_resident_bytes * 2 >= stuck_bytes"
#define ONE_KIND_PILES_UP                                                                          \
    "live_bytes >= 16 * " MIB " AND big_percent >= 50 AND big_chunks >= 10000"                   \
    " AND live_resident_bytes * 2 >= heap_resident_bytes"
#define MUCH_LIVE                                                                                  \
    "heap_resident_bytes >= 16 * " MIB " AND live_resident_bytes * 2 >= heap_resident_bytes"

/* What the sentences of several verdicts have in common. */
#define UNPAID                                                                                     \
    "[Nothing points to {unpaid_leak_bytes:bytes} of address space, "                              \
    "{leak_resident_bytes:amount} of it resident: not a memory cost. ]"
#define NO_LEAK "[It is not a leak: {small_leak_bytes:amount} is unreachable. ]" UNPAID
#define UNREACHED "[{small_leak_bytes:Amount} is unreachable. ]" UNPAID
#define KIND "[{kind_bytes:bytes} of all that is live is {main_kind:text}. ]"
#define ABSENT                                                                                     \
    "[All live chunks together are {live_bytes:bytes}; {live_absent_bytes:bytes} of that is not "  \
    "in memory. ]"
#define SIZES                                                                                      \
    "[One size is most of it: {main_size_chunks:count} chunks of {main_size:bytes}, "              \
    "{main_size_percent:percent}. ]"                                                               \
    "[It is of many sizes: no one holds more than {many_sizes_percent:percent} of it. ]"
#define IDLE "[ {main_idle_bytes:Amount} of what is free stands in arenas whose threads are gone.]"
#define HOLDER "[Held by {main_holder:text}: nothing else keeps {holder_bytes:bytes} alive. ]"
/* Who says that nothing points somewhere says where he could not look. */
#define UNSEEN_ROOTS                                                                               \
    "[But {unknown_memory_bytes:bytes} of writable address space is not in the core, in "          \
    "{unknown_memory_mappings:count} mapping{unknown_memory_mappings:s}: what only pointers from " \
    "there hold looks leaked too. ][The largest file among them is {unknown_file:text}. ]"
#define TRIM_NOW "malloc_trim(0) would return {releasable_bytes:amount} now"
#define CRASHED "[, in thread {crash_tid:text}][, {crash_frames:text}]"
#define SUSPECT                                                                                    \
    "[{damage_words:text} ][Below stands a {suspect_state:text} chunk of {suspect_size:bytes} "    \
    "(malloc returned {suspect_address:text}), overrun by at least {overrun_bytes:bytes}. ]"       \
    "[It is {suspect_type:text}. ][It hangs on {suspect_holder:text}. ]"
#define STILL_EXACT                                                                                \
    "malloc holds {heap_resident_bytes:amount}, {live_resident_bytes:amount} of it live: exact "   \
    "but for what stands at the damage."
#define PINNED                                                                                     \
    "[; {main_pinned_bytes:bytes} is pinned by {pinning_chunks:count} live "                       \
    "chunk{pinning_chunks:s} on the same pages]"                                                   \
    "[, most of it by those of {main_pinner_size:bytes}]"                                          \
    "[ ({main_pinner_type:text})][, one of which hangs on {main_pinner_holder:text}]"              \
    "[; {pinning_holder_chunks:count} of all {live_chunks:count} live chunks hang on "             \
    "{pinning_holder:text} alone]."                                                                \
    "[ Below the top stands one live chunk of {top_pin_size:bytes} {top_pin_words:text}: without " \
    "it free() would give back {top_pin_bytes:bytes} by itself.]"                                  \
    "[ Without the topmost live chunk of each of {pinned_tops:count} arenas free() would give "    \
    "back {top_pins_bytes:bytes} by itself.]"

static const struct cf_rule rules[] = {
    {
        .code = "stopped-by-malloc", .verdict = "corrupt", .severity = "critical",
        .when = "abort_message IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "CORRUPT: glibc stopped the program: \"{abort_message:text}\"" CRASHED ".",
        .detail = "[{corruptions:count} place{corruptions:s} of the heap {corruptions:is} found "
                  "damaged. ]" SUSPECT "Memory was overwritten, or freed twice, before that call "
                  "and maybe long before: malloc looks only where it works. " STILL_EXACT,
        .advice = "[Look at writes through the chunk at {suspect_address:text} (corefrag explain "
                  "says who holds it). ]Run the program under AddressSanitizer or valgrind",
        .sql = "SELECT * FROM v_anomaly WHERE is_corruption",
    },
    {
        .code = "faulted-in-malloc", .verdict = "corrupt", .severity = "critical",
        .when = "faulted",
        .bytes = "NULL", .confidence = "'medium'", .exactness = "'exact'",
        .title = "CORRUPT: the program crashed inside malloc" CRASHED ": it followed a pointer to "
                 "where nothing is.",
        .detail = "A link or a size was overwritten, or free() was given what malloc never "
                  "returned. Where is not known: no other place of the heap is found damaged, and "
                  "its figures are those of the chunks as they stand.",
        .advice = "Look at what the caller gave to malloc or free, and run the program under "
                  "AddressSanitizer or valgrind",
        .sql = "SELECT * FROM v_anomaly WHERE is_corruption",
    },
    {
        .code = "heap-damaged", .verdict = "corrupt", .severity = "critical",
        .when = "corruptions > 0",
        .bytes = "NULL", .exactness = "'exact'",
        .confidence = "iif(complete = 1 AND (crash_in_malloc OR damage_kinds > 1), 'high',"
                      " 'medium')",
        .title = "CORRUPT: malloc's heap is damaged in {corruptions:count} "
                 "place{corruptions:s}[, the first at {damaged_address:text}]"
                 "[{crash_in_malloc:when}; thread {crash_tid:text} stopped in "
                 "{crash_frames:text}].",
        .detail = "Headers, links or counts contradict each other where the core is complete: "
                  "memory was overwritten. No thread's operation explains it. " SUSPECT
                  STILL_EXACT,
        .advice = "[Look at writes through the chunk at {suspect_address:text} (corefrag explain "
                  "says who holds it). ]Run the program under AddressSanitizer or valgrind",
        .sql = "SELECT * FROM v_anomaly WHERE is_corruption",
    },
    {
        .code = "glibc-not-read", .verdict = "unknown", .severity = "critical",
        .when = "refused_glibc IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "UNKNOWN: this process has a glibc whose malloc is not read here: "
                 "{refused_glibc:text}; those from 2.17 to 2.44 are.",
        .detail = "The shapes of malloc's structs, or the libc's own banner, say so. Nothing is "
                  "said of the heap, rather than by the shapes of another release.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key IN ('malloc_refused', 'libc_version')",
    },
    {
        .code = "no-heap-in-core", .verdict = "unknown", .severity = "critical",
        .when = NO_HEAP " AND complete = 0",
        .bytes = "missing_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "UNKNOWN: the core is cut off before malloc's data; {missing_bytes:bytes} of it "
                 "is missing.",
        .detail = "No figure of the heap can be given: the arenas are in the part that is missing.",
        .advice = "Take the core again with room for all of it: ulimit -c unlimited, free disk, no "
                  "limit in systemd-coredump (ProcessSizeMax, ExternalSizeMax)",
        .sql = "SELECT key, value FROM meta WHERE key IN ('core_complete', 'missing_bytes')",
    },
    {
        .code = "heap-without-malloc-data", .verdict = "unknown", .severity = "critical",
        .when = "bare_arenas > 0",
        .bytes = "mapped_bytes", .confidence = "'low'", .exactness = "'at-least'",
        .title = "UNKNOWN: malloc's own data is not in this core; {mapped_bytes:bytes} of heaps "
                 "was found by its chunks alone, {dead_bytes:bytes} of it is free.",
        .detail = "Sizes of chunks and free neighbours are right. What waits in fastbins and "
                  "thread caches may count as live, mallinfo cannot be told, and reachability "
                  "lacks the data of libraries.",
        .advice = "Take the core again, whole: ulimit -c unlimited, free disk, no limit in "
                  "systemd-coredump (ProcessSizeMax, ExternalSizeMax); createdump with --full.",
        .sql = "SELECT arena_id, heaps, mapped_bytes, live_bytes, free_bytes, top_bytes"
               " FROM v_arena",
    },
    {
        .code = "heap-left-out", .verdict = "unknown", .severity = "critical",
        .when = "left_out_heap_bytes * 2 >= mapped_bytes",
        .bytes = "left_out_heap_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "UNKNOWN: {left_out_heap_bytes:bytes} of malloc's heaps was left out of this core "
                 "(MADV_DONTDUMP).",
        .detail = "malloc's own data says that the heaps were in use, and the core has no byte of "
                  "them: what stood there, and how much of it was in memory, is unknown.",
        .advice = "Find who calls madvise(MADV_DONTDUMP) on the heap",
        .sql = "SELECT * FROM v_segment WHERE flags LIKE '%w%' AND dumped_bytes = 0",
    },
    {
        .code = "heap-not-dumped", .verdict = "unknown", .severity = "critical",
        .when = NO_HEAP " AND anonymous_dumped = 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "UNKNOWN: private anonymous memory was left out of this core, and with it every "
                 "heap (coredump_filter without bit 0x1).",
        .detail = "Not one page of the process's anonymous memory is in the file, its stacks "
                  "neither: the core was written by a filter that ruling for none.",
        .advice = "Before the next core: echo 0x33 > /proc/PID/coredump_filter (the kernel's "
                  "default; children inherit it)",
        .sql = "SELECT kind, label, mapped_bytes FROM v_budget WHERE is_anonymous",
    },
    {
        .code = "under-valgrind", .verdict = "other-allocator", .severity = "warning",
        .when = NO_HEAP " AND producer = 'valgrind'",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "OTHER ALLOCATOR: valgrind served malloc in this process, glibc's is unused.",
        .detail = "valgrind's tools put functions of their own in the place of malloc and free, "
                  "and wrote this core: its blocks are in no heap of glibc's.",
        .advice = "Take the core of a run without valgrind; of this one, valgrind itself tells "
                  "what was lost (--leak-check=full)",
        .sql = "SELECT key, value FROM meta WHERE key = 'core_producer'",
    },
    {
        .code = "other-allocator", .verdict = "other-allocator", .severity = "warning",
        .when = NO_HEAP " AND foreign_kind IS NOT NULL",
        .bytes = "foreign_bytes", .confidence = "'high'", .exactness = AT_LEAST,
        .title = "OTHER ALLOCATOR: {foreign_label:text} serves this process, glibc's malloc is "
                 "unused. It holds {foreign_bytes:bytes} of {least:text}{resident_bytes:bytes} "
                 "resident.",
        .detail = "What that allocator has free inside of its memory is not visible here.",
        .advice = "Ask that allocator for its own statistics",
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "no-glibc-heap", .verdict = "outside-malloc", .severity = "warning",
        .when = NO_HEAP,
        .bytes = "resident_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "OUTSIDE MALLOC: this core has no heap of glibc's malloc[; "
                 "{least:text}{resident_bytes:bytes} of anonymous memory is resident]"
                 "[, the largest part of it is {outsider_name:text}].",
        .detail = "The program does not use glibc's malloc, or malloc's own data is not in the "
                  "core. No other allocator that is known here was recognised.",
        .advice = NULL,
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "outside-malloc", .verdict = "outside-malloc", .severity = "warning",
        .when = MOSTLY_OUTSIDE,
        .bytes = "outside_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "OUTSIDE MALLOC: {outside_bytes:bytes} of {least:text}{resident_bytes:bytes} "
                 "resident is not malloc's. The largest part of it is {outsider_name:text}, "
                 "{outsider_bytes:bytes}.",
        .detail = "malloc holds {heap_resident_bytes:bytes} ({heap_percent:percent}); "
                  "{live_resident_bytes:amount} of that is live. " TRIM_NOW ".",
        .advice = "{outsider_advice:text}",
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "shared-heap", .verdict = "outside-malloc", .severity = "warning",
        .when = "shared_heap_bytes >= 64 * " MIB " AND shared_heap_bytes > 3 * "
                "coalesce(heap_resident_bytes, mapped_bytes)",
        .bytes = "shared_heap_bytes", .confidence = "'low'", .exactness = "'bound'",
        .title = "OUTSIDE MALLOC: {shared_heap_label:text} is {shared_heap_bytes:bytes} of shared "
                 "memory; malloc holds {heap_resident_bytes:bytes}.",
        .detail = "Shared memory is not Anonymous for the kernel, and a core does not tell which "
                  "of its pages are resident: this is what is mapped, at the most. ZGC up to Java "
                  "20 maps every byte three times.",
        .advice = "Hand in the process's smaps (--smaps), and look at the runtime's own account of "
                  "its heap",
        .sql = "SELECT * FROM v_budget WHERE kind = 'managed heap' AND NOT is_anonymous",
    },
    {
        /* To lose nearly all that it has is rarer than to have roots that were not seen. */
        .code = "unseen-roots", .verdict = "unknown", .severity = "warning",
        .when = MUCH_LEAKED " AND leak_percent >= 90 AND leak_chunks * 10 >= live_chunks * 9 AND "
                UNSEEN_MAY_HOLD_IT,
        .bytes = "leaked_bytes", .confidence = "'low'", .exactness = "'bound'",
        .title = "UNKNOWN: nothing in the core points to {leaked_bytes:bytes}" IN_SPACE " in "
                 "{leak_chunks:count} live chunk{leak_chunks:s}, but "
                 "{unknown_memory_bytes:bytes} of writable address space is not in the core and "
                 "may hold them.",
        .detail = "Leaked, or held from there: this core cannot tell. "
                  "[The largest file among them is {unknown_file:text}. ]",
        .advice = "Save /proc/PID/smaps together with the next core and hand it in (--smaps). For "
                  "shared mappings of files: echo 0x3b > /proc/PID/coredump_filter before the core",
        .sql = "SELECT * FROM v_unknown_memory ORDER BY mapped_bytes DESC",
    },
    {
        .code = "leak", .verdict = "leak", .severity = "critical",
        .when = MUCH_LEAKED,
        .bytes = "leaked_bytes", .confidence = LEAK_EVIDENCE, .exactness = "'at-least'",
        .title = "LEAK: nothing points to {leaked_bytes:bytes}" IN_SPACE " in {leak_chunks:count} "
                 "live chunk{leak_chunks:s}, {leak_percent:percent} of all that is live.",
        .detail = "[{leak_hung_chunks:count} of them {leak_hung_chunks:is} held by others of them "
                  "alone. ]" FIRST_LEAK
                  "Free memory that glibc keeps is {retained_free_bytes:amount}, and " TRIM_NOW
                  ". Old pointer values may hide more. " UNSEEN_ROOTS,
        .advice = "Find who allocates them and drops the last pointer to them[, in a running "
                  "process: {first_leak_call:text}]",
        .sql = "SELECT * FROM v_leak_group ORDER BY bytes DESC",
    },
    {
        .code = "cached", .verdict = "cached", .severity = "warning",
        .when = MUCH_CACHED,
        .bytes = "tcache_resident_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "HELD BY THREAD CACHES: {tcache_resident_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap waits, freed, in the caches of "
                 "{caches:count} thread{caches:s}[, {dead_caches:count} of them gone]; "
                 "{live_resident_bytes:amount} is live.",
        .detail = NO_LEAK "Only its own thread can use what a cache holds; " TRIM_NOW ", since it "
                  "leaves caches alone, and fewer arenas would not change it.",
        .advice = "glibc.malloc.tcache_count=0 (in GLIBC_TUNABLES; the default is 7 chunks of each "
                  "size), or fewer threads",
        .sql = "SELECT * FROM v_tcache ORDER BY bytes DESC",
    },
    {
        .code = "arena-blowup", .verdict = "arena-blowup", .severity = "warning",
        .when = MANY_ARENAS,
        .bytes = "arena_fixed_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "TOO MANY ARENAS: {used_arenas:count} arenas cost {arena_fixed_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap just by being there; "
                 "{live_resident_bytes:amount} is live.",
        .detail = NO_LEAK "Their tops, edges and headers are the larger part of it; " TRIM_NOW
                  ", since it leaves the tops of threads' arenas alone.",
        .advice = NULL,
        .sql = "SELECT class, sum(bytes) FROM v_waste WHERE arena_id > 0 GROUP BY class",
    },
    {
        .code = "fragmented", .verdict = "fragmented", .severity = "critical",
        .when = MOST_IS_STUCK,
        .bytes = "stuck_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "FRAGMENTED: {retained_free_bytes:bytes} of {heap_resident_bytes:bytes} resident "
                 "heap is free, and {stuck_bytes:bytes} of it cannot go back: what is live or "
                 "cached stands on the same pages.",
        .detail = NO_LEAK TRIM_NOW PINNED IDLE
                  "[ {cache_pinned_bytes:bytes} is kept by cached chunks alone.]" GHOSTS,
        .advice = NULL,
        .sql = "SELECT * FROM v_page_keeper WHERE arena_id IS NULL ORDER BY dead_bytes DESC",
    },
    {
        .code = "held-in-tops", .verdict = "fragmented", .severity = "critical",
        .when = MOST_IS_IN_TOPS,
        .bytes = "stuck_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "FREED, AND HELD IN TOPS: {retained_free_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap is free, {top_resident_bytes:bytes} "
                 "of it at the upper ends of arenas, where malloc_trim(0) does not reach.",
        .detail = NO_LEAK TRIM_NOW PINNED IDLE
                  " free() gives back the top of a thread's arena only beyond "
                  "trim_threshold[ ({trim_threshold:bytes} here)].",
        .advice = "MALLOC_TRIM_THRESHOLD_=131072 (or mallopt(M_TRIM_THRESHOLD, 131072)) keeps the "
                  "threshold from growing, and with it mmap_threshold",
        .sql = "SELECT arena_id, bytes FROM v_waste WHERE class = 'top' ORDER BY bytes DESC",
    },
    {
        .code = "not-returned", .verdict = "not-returned", .severity = "critical",
        .when = MOST_COMES_BACK,
        .bytes = "retained_free_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "FREED BUT NOT RETURNED: {retained_free_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap is free memory that glibc still holds.",
        .detail = NO_LEAK TRIM_NOW PINNED IDLE GHOSTS,
        .advice = NULL,
        .sql = "SELECT * FROM v_waterfall",
    },
    {
        .code = "retention-suspected", .verdict = "retention", .severity = "warning",
        .when = ONE_KIND_PILES_UP,
        .bytes = "big_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "RETENTION SUSPECTED: {big_chunks:count} live chunks of one size, "
                 "{big_size:bytes}[ ({big_type:text})], hold {big_bytes:bytes}, "
                 "{big_percent:percent} of all that is live.",
        .detail = "The program still reaches them. " HOLDER
                  "[{kind_bytes:bytes} of all that is live is {other_kind:text}. ]"
                  "So many of one kind look like a collection that only grows; one core cannot "
                  "show growth. " UNREACHED
                  "Free memory that glibc keeps is {retained_free_bytes:amount}.",
        .advice = "Take a second core later and compare the two: corefrag diff OLD.db NEW.db",
        .sql = "SELECT * FROM v_live_size LIMIT 10",
    },
    {
        .code = "in-use", .verdict = "in-use", .severity = "info",
        .when = MUCH_LIVE,
        .bytes = "live_resident_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "IN USE: {live_resident_bytes:bytes} of {heap_resident_bytes:bytes} resident heap "
                 "is live, in {live_chunks:count} chunks.",
        .detail = SIZES ABSENT HOLDER KIND UNREACHED
                  "Free memory that glibc keeps is {retained_free_bytes:amount} "
                  "({retained_percent:percent}); " TRIM_NOW ". Whether all that is live should be, "
                  "one core cannot say.",
        .advice = NULL,
        .sql = "SELECT * FROM v_live_size LIMIT 10",
    },
    {
        .code = "healthy", .verdict = "healthy", .severity = "info",
        .when = "heap_resident_bytes IS NOT NULL AND complete = 1",
        .bytes = "retained_free_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "HEALTHY: nothing stands out. malloc holds {heap_resident_bytes:bytes} of "
                 "{least:text}{resident_bytes:bytes} resident, {live_resident_bytes:amount} of it "
                 "live.",
        .detail = UNREACHED
                  "Free memory that glibc keeps is {retained_free_bytes:amount}; " TRIM_NOW ".",
        .advice = NULL,
        .sql = "SELECT * FROM v_waterfall",
    },
    {
        .code = "unknown", .verdict = "unknown", .severity = "warning",
        .when = "1",
        .bytes = "missing_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "UNKNOWN: the core does not hold enough to say why. What there is of it shows "
                 "{live_bytes:amount} live and {dead_bytes:amount} free in {used_arenas:count} "
                 "arena{used_arenas:s}.",
        .detail = "",
        .advice = "Take a whole core of a process in the same state",
        .sql = "SELECT key, value FROM meta",
    },
};

const struct cf_rule_table cf_verdict_rules = {rules, sizeof rules / sizeof rules[0]};
