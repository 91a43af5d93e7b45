/*
 * Thresholds and where they come from. A share is of resident memory, since that is what a limit
 * counts. Below 4 MiB of kept memory, and 16 MiB of a heap, nobody is paged. A half: what "most of
 * it" means. A leak of less than 1 MiB explains nothing: a program that ends by a signal always has
 * some unreached kilobytes (buffers of code that was running). Arenas: 8 is where glibc itself
 * begins to count (arena_test).
 */
#include "rules/rules.h"

#define MIB "1048576"
#define EVIDENCE                                                                                   \
    "CASE WHEN complete = 0 OR residency_source = 'none' OR corruptions > 0"                      \
    " OR left_out_heap_bytes > 0 THEN 'low'"                                                      \
    " WHEN residency_exact = 1 AND coalesce(unknown_memory_bytes, 0) * 4 < resident_bytes"        \
    " THEN 'high' ELSE 'medium' END"
/* Room for a pointer to each chunk that was lost first. */
#define UNSEEN_MAY_HOLD_IT "coalesce(unknown_memory_bytes, 0) / 4 >= max(leak_roots, 1)"
#define LEAK_EVIDENCE                                                                              \
    "CASE WHEN complete = 0 OR missing_roots > 0 OR corruptions > 0 OR left_out_heap_bytes > 0"   \
    " OR " UNSEEN_MAY_HOLD_IT " THEN 'low'"                                                        \
    " WHEN unknown_memory_bytes > 0 OR uring_bytes > 0 OR hidden_runtime IS NOT NULL"             \
    " OR leak_unsure_bytes > 0 THEN 'medium' ELSE 'high' END"
#define AT_LEAST "iif(residency_exact, 'exact', 'at-least')"

/* The judgements' conditions, named so that each can stand on those before it. */
#define NO_HEAP "used_arenas = 0"
#define MOSTLY_OUTSIDE                                                                             \
    "outside_bytes >= 16 * " MIB " AND heap_percent < 40"                                        \
    " AND coalesce(leaked_bytes, 0) < outside_bytes"
#define GHOSTS                                                                                     \
    "[ Of those that died, {ghost_phrase:text}.]"
#define FIRST_LEAK                                                                                 \
    "[{first_leak_bytes:bytes} of it was lost with {first_leak_leaders:count} "                    \
    "{first_leak_name:text}. ]"
#define MUCH_LEAKED                                                                                \
    "examined = 1 AND leaked_bytes >= " MIB " AND leak_percent >= 10"                            \
    " AND leaked_bytes * 5 >= coalesce(heap_resident_bytes, mapped_bytes)"                       \
    " AND leaked_bytes >= coalesce(retained_free_bytes, 0) / 2"
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

/* A remedy is worth a line from a twentieth of the resident heap on, or 16 MiB. */
#define WORTH_IT(bytes)                                                                            \
    "(" bytes " >= 16 * " MIB " OR (" bytes " >= page_bytes AND " bytes                           \
    " * 20 >= heap_resident_bytes))"

/* What the sentences of several verdicts have in common. */
#define IN_SPACE                                                                                   \
    "[{leak_absent_bytes:when} of resident memory ({leak_bytes:bytes} of address space)]"          \
    "[{leak_unsure_bytes:when} of address space (at least {leak_resident_bytes:amount} of it "     \
    "resident)]"
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
#define TOP_PIN_RULE                                                                               \
    "free() drops emptied heaps of threads' arenas, and cuts a top that has reached "              \
    "trim_threshold[ ({trim_threshold:bytes} here)], whenever 64 KiB come together (_int_free, "   \
    "systrim, heap_trim). A bound: what waits in thread caches stays, and the last few of each "   \
    "size that are freed go there."
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

const struct cf_rule cf_rules[] = {
    /* Verdicts, the first that speaks wins. */
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
    /* What would help. */
    {
        .code = "what-if-trim", .severity = "what-if",
        .when = WORTH_IT("releasable_bytes"),
        .bytes = "releasable_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "malloc_trim(0) now gives back {releasable_bytes:bytes}",
        .detail = "glibc's own rule for this version, simulated; it locks one arena after the "
                  "other while it works: 11 to 144 ms for 0.1 to 1.7 GiB where that was measured, "
                  "longer on a busy machine.",
        .advice = "Call malloc_trim(0) when load drops; it locks one arena after the other",
        .sql = "SELECT arena_id, how, count(*), sum(length_bytes), sum(resident_bytes) FROM "
               "v_trim_range GROUP BY arena_id, how",
    },
    {
        .code = "what-if-pinners", .severity = "what-if",
        .when = WORTH_IT("pinner_gain_bytes")
                " AND pinner_gain_bytes > coalesce(group_gain_bytes, 0)",
        .bytes = "pinner_gain_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the {pinner_chunks:count} chunk{pinner_chunks:s} of {pinner_size:bytes}"
                 "[ ({pinner_type:text})] that pin pages malloc_trim(0) would give back "
                 "{pinner_gain_bytes:bytes} more",
        .detail = "They keep {pinner_bytes:bytes} of free memory on their pages; where cached or "
                  "other live chunks stand there too, these keep it then.",
        .advice = "Take the objects of {pinner_size:bytes}[ ({pinner_type:text})] that outlive the "
                  "load from a pool of their own",
        .sql = "SELECT * FROM v_pinner LIMIT 10",
    },
    {
        .code = "what-if-group", .severity = "what-if",
        .when = WORTH_IT("group_gain_bytes"),
        .bytes = "group_gain_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "If {group_name:text} were gone ({group_chunks:count} chunk{group_chunks:s}, "
                 "{group_bytes:bytes} together), malloc_trim(0) would give back "
                 "{group_gain_bytes:bytes} more",
        .detail = "They stand on pages that are free but for them; only together do they free "
                  "whole pages. A bound: the last few of each size stay in the cache of the thread "
                  "that frees them.",
        .advice = "Take {group_name:text} from a pool of its own, or allocate it before the load, "
                  "or drop it when load drops and call malloc_trim(0) then",
        .sql = "SELECT * FROM v_trim_if ORDER BY more_bytes DESC",
    },
    {
        .code = "what-if-top-1", .severity = "what-if",
        .when = WORTH_IT("unlock_1_bytes"),
        .bytes = "unlock_1_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost live chunk of each arena free() would give back "
                 "{unlock_1_bytes:bytes} by itself",
        .detail = TOP_PIN_RULE,
        .advice = "Allocate early what outlives the load: topmost chunk of each arena",
        .sql = "SELECT * FROM v_top_pin WHERE rank = 1 ORDER BY returned_bytes DESC",
    },
    {
        .code = "what-if-top-10", .severity = "what-if",
        .when = WORTH_IT("unlock_10_bytes") " AND unlock_10_bytes >= unlock_1_bytes * 1.5",
        .bytes = "unlock_10_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost ten live chunks of each arena free() would give back "
                 "{unlock_10_bytes:bytes} by itself",
        .detail = TOP_PIN_RULE,
        .advice = "Allocate early what outlives the load: topmost ten of each arena",
        .sql = "SELECT arena_id, max(returned_bytes) FROM v_top_pin WHERE rank <= 10 GROUP BY "
               "arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-top-100", .severity = "what-if",
        .when = WORTH_IT("unlock_100_bytes") " AND unlock_100_bytes >= unlock_10_bytes * 1.5",
        .bytes = "unlock_100_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost hundred live chunks of each arena free() would give back "
                 "{unlock_100_bytes:bytes} by itself",
        .detail = TOP_PIN_RULE,
        .advice = "Allocate early what outlives the load: topmost hundred of each arena",
        .sql = "SELECT arena_id, max(returned_bytes) FROM v_top_pin WHERE rank <= 100 GROUP BY "
               "arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-arena-max", .severity = "what-if",
        .when = "used_arenas > 4 AND " WORTH_IT("thread_dead_bytes"),
        .bytes = "NULL", .confidence = "'low'", .exactness = "'estimate'",
        .title = "MALLOC_ARENA_MAX=2 may help: {thread_dead_bytes:bytes} of what is free stands "
                 "in arenas beside main",
        .detail = "Threads that share two arenas use each other's holes, and there are fewer tops "
                  "and headers ({arena_fixed_bytes:amount} now). But what lives then stands in "
                  "fewer, larger heaps and makes holes there, and caches belong to threads: some "
                  "programs gave half of it back, others nothing, so no figure. Threads wait for "
                  "each other's locks. glibc 2.10 and later.",
        .advice = "Try MALLOC_ARENA_MAX=2 in the environment, on one instance, and compare",
        .sql = "SELECT arena_id, sum(bytes) FROM v_waste WHERE arena_id > 0 AND class IN "
               "('releasable', 'pinned', 'top', 'edge') GROUP BY arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-tcache", .severity = "what-if",
        .when = "caches > 0 AND " WORTH_IT("tcache_gain_bytes"),
        .bytes = "tcache_gain_bytes",
        .confidence = "'medium'", .exactness = "'estimate'",
        .title = "Without thread caches (glibc.malloc.tcache_count=0) malloc_trim(0) would give "
                 "back {tcache_gain_bytes:bytes} more than it does now",
        .detail = "{tcache_bytes:Amount} in {caches:count} thread cache{caches:s} would lie in "
                  "bins and merge with what is free beside it into whole pages. Computed for the "
                  "process as it stands: a run without caches lays its blocks out anew, and takes "
                  "an arena's lock for each small block. glibc 2.26 and later.",
        .advice = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0 (or less than its 7 chunks of each "
                  "size; a thread that ends empties its cache), together with malloc_trim(0)",
        .sql = "SELECT * FROM v_trim_if",
    },
    {
        .code = "what-if-trim-threshold", .severity = "what-if",
        .when = WORTH_IT("threshold_gain_bytes") " AND former_large_bytes <= threshold_gain_bytes",
        .bytes = "threshold_gain_bytes", .confidence = "'medium'", .exactness = "'estimate'",
        .title = "With a trim_threshold of 128 KiB free() would give back "
                 "{threshold_gain_bytes:bytes} of the tops of arenas",
        .detail = "The threshold has grown to {trim_threshold:bytes}, and free() leaves a top "
                  "below that alone (systrim, heap_trim; glibc 2.23 and later for the arenas of "
                  "threads). Computed for the tops as they stand; it costs a system call for each "
                  "128 KiB that the top moves, and switches the dynamic adjustment of both "
                  "thresholds off.",
        .advice = "MALLOC_TRIM_THRESHOLD_=131072, or mallopt(M_TRIM_THRESHOLD, 131072)",
        .sql = "SELECT * FROM v_trim_if",
    },
    {
        .code = "what-if-thresholds", .severity = "what-if",
        .when = "mmap_threshold > 131072 AND former_large_bytes > coalesce(threshold_gain_bytes, 0)"
                " AND " WORTH_IT("former_large_bytes"),
        .bytes = "NULL", .confidence = "'low'", .exactness = "'estimate'",
        .title = "Fixed thresholds may help: {former_large_bytes:bytes} of what is free was "
                 "{former_large_blocks:count} block{former_large_blocks:s} of 128 KiB and more, "
                 "which came from the heap",
        .detail = "mmap_threshold is {mmap_threshold:bytes}[, trim_threshold "
                  "{trim_threshold:bytes}]: each mapped block that is freed raises both. Below "
                  "that, large blocks are cut from the heap and do not go back when they are "
                  "freed; their old headers still show. {large_live_bytes:Amount} of live blocks "
                  "of that size stands in heaps too. [Tops that free() leaves alone add "
                  "{threshold_gain_bytes:amount}. ]Where large blocks only used the holes of "
                  "small ones again, a fixed threshold gives nothing: so no figure.",
        .advice = "Try MALLOC_MMAP_THRESHOLD_=131072: larger blocks go back at free(), at the cost "
                  "of a system call and fresh pages for each; setting either threshold switches "
                  "the dynamic adjustment of both off",
        .sql = "SELECT * FROM v_former_block",
    },
    {
        .code = "what-if-compacted", .severity = "what-if",
        .when = "compact_bytes >= 4 * " MIB " AND retained_percent >= 20",
        .bytes = "compact_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "No allocator could save more than this: all live chunks side by side",
        .detail = "Resident heap less what is live.",
        .advice = NULL,
        .sql = "SELECT heap_resident_bytes - live_resident_bytes FROM v_fact",
    },
    /* What else is true, and what limits the evidence. */
    {
        .code = "some-leak", .severity = "warning",
        .when = "examined = 1 AND leaked_bytes >= 65536 AND NOT (" MUCH_LEAKED ")",
        .bytes = "leaked_bytes", .confidence = LEAK_EVIDENCE, .exactness = "'at-least'",
        .title = "Nothing points to {leaked_bytes:bytes}" IN_SPACE " in {leak_chunks:count} live "
                 "chunk{leak_chunks:s}",
        .detail = FIRST_LEAK "Too little to explain the memory, but it may grow.",
        .advice = NULL,
        .sql = "SELECT * FROM v_leak ORDER BY bytes DESC",
    },
    {
        .code = "leak-not-resident", .severity = "info",
        .when = "examined = 1 AND unpaid_leak_bytes > 0 AND leaked_bytes < 65536",
        .bytes = "leak_resident_bytes", .confidence = LEAK_EVIDENCE, .exactness = "'at-least'",
        .title = "Nothing points to {unpaid_leak_bytes:bytes} of address space in "
                 "{leak_chunks:count} live chunk{leak_chunks:s}, {leak_resident_bytes:amount} of "
                 "it resident: not a memory cost",
        .detail = "No limit on memory counts it; limits on address space (ulimit -v, strict "
                  "overcommit) do. It costs memory once its pages are touched.",
        .advice = NULL,
        .sql = "SELECT * FROM v_leak ORDER BY bytes DESC",
    },
    {
        .code = "debug-malloc", .severity = "limit",
        .when = "examined = 1 AND debug_malloc IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Whether all leaks were found",
        .detail = "{debug_malloc:text} is loaded; with mcheck its blocks are linked to each other, "
                  "so that each looks held.",
        .advice = NULL,
        .sql = "SELECT * FROM v_module WHERE file LIKE '%/libc_malloc_debug.so%'",
    },
    {
        .code = "dead-caches", .severity = "warning",
        .when = "dead_cache_bytes > 0 AND caches > 0",
        .bytes = "dead_cache_bytes", .confidence = "iif(complete, 'high', 'low')",
        .exactness = "'exact'",
        .title = "{dead_cache_bytes:bytes} in {dead_cache_chunks:count} chunk{dead_cache_chunks:s} "
                 "stands in {dead_caches:count} cache{dead_caches:s} of threads that are gone",
        .detail = "No thread can take from them again: after fork() in a program with threads, the "
                  "child keeps the caches of all, and glibc 2.26 leaks them when a thread ends.",
        .advice = "Fork before threads are started, or let the child exec",
        .sql = "SELECT * FROM v_tcache WHERE thread_id IS NULL ORDER BY bytes DESC",
    },
    {
        .code = "idle-arenas", .severity = "info",
        .when = "idle_arenas > 0 AND used_arenas > 1",
        .bytes = "idle_resident_bytes",
        .confidence = "'high'", .exactness = AT_LEAST,
        .title = "{idle_arenas:count} of {arenas:count} arenas serve no thread"
                 "[; they hold {idle_resident_bytes:bytes}, {idle_free_bytes:amount} of it free]",
        .detail = "Their threads are gone; a new thread takes such an arena over before a new one "
                  "is made.",
        .advice = NULL,
        .sql = "SELECT arena_id, resident_bytes, live_bytes FROM v_arena WHERE NOT is_main AND "
               "coalesce(threads, attached_threads) = 0 ORDER BY resident_bytes DESC",
    },
    {
        .code = "given-back", .severity = "info",
        .when = "used_arenas > 0 AND " WORTH_IT("given_back_bytes"),
        .bytes = "given_back_bytes",
        .confidence = EVIDENCE, .exactness = "iif(residency_exact, 'exact', 'bound')",
        .title = "{least_given_back:text}{given_back_bytes:bytes} more that malloc holds free is "
                 "not in memory: given back to the kernel, or never touched",
        .detail = "Address space of holes and tops; it costs no memory until it is used.",
        .advice = NULL,
        .sql = "SELECT sum(hole_bytes + top_bytes) - (SELECT retained_free_bytes FROM v_verdict) "
               "FROM v_arena",
    },
    {
        .code = "live-sizes", .severity = "info",
        .when = "main_size_percent IS NOT NULL OR many_sizes_percent IS NOT NULL",
        .bytes = "big_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "[One size is most of what is live: {main_size_chunks:count} chunk"
                 "{main_size_chunks:s} of {main_size:bytes}, {main_size_percent:percent}]"
                 "[Many sizes are live: no one holds more than {many_sizes_percent:percent} of it]",
        .detail = "Sizes are those of chunks, header included.",
        .advice = NULL,
        .sql = "SELECT * FROM v_live_size LIMIT 10",
    },
    {
        .code = "dead-sizes", .severity = "info",
        .when = "dead_size_percent IS NOT NULL OR many_dead_percent IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "[One size is most of what is free below the tops: {dead_size_chunks:count} "
                 "chunk{dead_size_chunks:s} of {dead_size:bytes}, {dead_size_percent:percent}]"
                 "[Many sizes are free: no one holds more than {many_dead_percent:percent} of it]",
        .detail = "Free neighbours merge, so that these are the sizes of holes.",
        .advice = NULL,
        .sql = "SELECT * FROM v_dead_size LIMIT 10",
    },
    {
        .code = "witness-disagrees", .severity = "warning",
        .when = "contradictions > 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Symbols contradict {contradictions:count} of the places and layouts that were "
                 "found",
        .detail = "malloc's data was found by its shape. The files at hand, with the core's build "
                  "id, say otherwise; the figures still stand on the shape.",
        .advice = "Give the files of the machine that the core comes from (--sysroot, "
                  "--debuginfo).",
        .sql = "SELECT * FROM v_anomaly WHERE code = 'witness-disagrees'",
    },
    {
        .code = "shapes-disagree", .severity = "warning",
        .when = "EXISTS (SELECT 1 FROM anomaly WHERE code = 'shapes-disagree')",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "The shapes of malloc's structs are not of one release of glibc",
        .detail = "Each was found by its own looks: one of them, and the figures that rest on it, "
                  "may be wrong, or this is a glibc that was changed.",
        .advice = NULL,
        .sql = "SELECT * FROM v_anomaly WHERE code = 'shapes-disagree'",
    },
    {
        .code = "file-unverified", .severity = "info",
        .when = "unverified_files > 0",
        .bytes = "NULL", .confidence = "'low'", .exactness = "'exact'",
        .title = "The program's file is taken on trust: the core has no build id to compare",
        .detail = "Names that come from it are right only if it is the file that ran.",
        .advice = "Link programs with --build-id, and keep bit 0x10 of coredump_filter.",
        .sql = "SELECT * FROM v_module WHERE symbols_verified = 0",
    },
    {
        .code = "unknown-memory", .severity = "warning",
        .when = "unknown_memory_bytes > 0",
        .bytes = "unknown_memory_bytes",
        .confidence = "iif(content_lost_bytes > 0, 'high', 'low')", .exactness = "'bound'",
        .title = "{unknown_memory_bytes:bytes} of writable address space is unknown: the core has "
                 "not one byte of {unknown_memory_mappings:count} "
                 "mapping{unknown_memory_mappings:s}",
        .detail = "[By smaps, {dontdump_bytes:bytes} of it is left out by MADV_DONTDUMP. ]"
                  "[{content_lost_bytes:bytes} of it was in memory or in swap. ]"
                  "Never written to, left out by the process (MADV_DONTDUMP), or by "
                  "coredump_filter: the core is the same for all three. "
                  "[Of {uncounted_bytes:bytes} no figure counts what stands there. ]No pointer "
                  "from any of it was seen.",
        .advice = "Save /proc/PID/smaps together with the core and hand it in (--smaps): it tells "
                  "them apart",
        .sql = "SELECT * FROM v_unknown_memory ORDER BY mapped_bytes DESC",
    },
    {
        .code = "core-incomplete", .severity = "warning",
        .when = "complete = 0",
        .bytes = "missing_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "INCOMPLETE CORE[: {missing_bytes:bytes} is missing]",
        .detail = "Every figure is for what is there and lacks the rest."
                  "[ {missing_heap_bytes:bytes} of known heaps is not in the file: its chunks "
                  "are in no figure, and the bytes count as overhead.]"
                  "[ malloc's own data of {bare_arenas:count} arena{bare_arenas:s} is missing: "
                  "mallinfo is unknown.]"
                  "[ {missing_stacks:count} stack{missing_stacks:s} {missing_stacks:is} missing: "
                  "what only they hold looks leaked.]"
                  "[ {damaged_tables:count} of the core's own tables (headers, notes, files) "
                  "{damaged_tables:is} cut short: segments, threads or names behind that are "
                  "unknown.]",
        .advice = NULL,
        .sql = "SELECT * FROM v_segment WHERE missing_bytes > 0",
    },
    {
        .code = "heap-partly-left-out", .severity = "warning",
        .when = "left_out_heap_bytes > 0 AND left_out_heap_bytes * 2 < mapped_bytes",
        .bytes = "left_out_heap_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "{left_out_heap_bytes:bytes} of malloc's heaps was left out of the core "
                 "(MADV_DONTDUMP)",
        .detail = "What stands there is in no figure: live and free memory are at least what is "
                  "shown, and what only those chunks point to looks leaked.",
        .advice = NULL,
        .sql = "SELECT * FROM v_segment WHERE flags LIKE '%w%' AND dumped_bytes = 0",
    },
    {
        .code = "one-core", .severity = "limit",
        .when = "used_arenas > 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Growth",
        .detail = "whether live memory grows shows only in a second core, taken later",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key IN ('core_path', 'pid')",
    },
    {
        .code = "residency-unknown", .severity = "limit",
        .when = "residency_exact = 0 AND used_arenas > 0 AND residency_source = 'none'",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "What was in memory",
        .detail = "Nothing in this file says which pages were resident, so figures of resident "
                  "memory are unknown. The file that the kernel wrote, moved by mv or tar -S, says "
                  "it; cp of Debian 12 and many other copies do not keep it.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key LIKE 'residency%'",
    },
    {
        .code = "residency-at-least", .severity = "limit",
        .when = "residency_exact = 0 AND used_arenas > 0 AND residency_source <> 'none'",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Exactly what was in memory",
        .detail = "Resident figures are at least what is shown: only pages full of zeros can be "
                  "missing. A kernel core in which such a page is stored, moved by mv or tar -S, "
                  "is exact; cp of Debian 12 does not keep that. /proc/PID/smaps of that moment "
                  "(--smaps) says it too.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key LIKE 'residency%'",
    },
    {
        .code = "not-computed", .severity = "limit",
        .when = "not_computed IS NOT NULL",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "What was not computed",
        .detail = "{not_computed:text}; what rests on it is empty or unknown here.",
        .advice = NULL,
        .sql = "SELECT * FROM v_not_computed",
    },
    {
        .code = "no-checksum", .severity = "limit",
        .when = "(SELECT value FROM meta WHERE key = 'archive_checksum') = 'none'",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Whether the archive is as it was made",
        .detail = "The archive that the core came out of has no checksum, or was cut off before "
                  "it. A bit that was changed since then would look like damage in the process.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key = 'archive_checksum'",
    },
    {
        .code = "roots-missing", .severity = "limit",
        .when = "examined = 1 AND missing_roots > 0",
        .bytes = "leaked_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "Exactly what leaked",
        .detail = "{missing_roots:count} place{missing_roots:s} where pointers may stand (stacks, "
                  "mappings) {missing_roots:is} not in the core; what only those point to looks "
                  "leaked.",
        .advice = NULL,
        .sql = "SELECT * FROM v_root WHERE missing_places > 0",
    },
};

const size_t cf_nr_rules = sizeof cf_rules / sizeof cf_rules[0];
