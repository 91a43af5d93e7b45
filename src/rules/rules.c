/*
 * Thresholds and where they come from. A share is of resident memory, since that is what a limit
 * counts. MIB_4: below it nobody is paged. A half: what "most of it" means. LEAK_MIB: a program
 * that ends by a signal always has some unreached kilobytes (buffers of code that was running).
 * Arenas: 8 is where glibc itself begins to count (arena_test).
 */
#include "rules/rules.h"

#define MIB "1048576"
#define EVIDENCE                                                                                   \
    "CASE WHEN complete = 0 OR residency_source = 'none' OR corruptions > 0 THEN 'low'"          \
    " WHEN residency_exact = 1 THEN 'high' ELSE 'medium' END"
#define LEAK_EVIDENCE                                                                              \
    "CASE WHEN complete = 0 OR missing_roots > 0 OR corruptions > 0 THEN 'low' ELSE 'high' END"
#define AT_LEAST "iif(residency_exact, 'exact', 'at-least')"

/* The judgements' conditions, named so that each can stand on those before it. */
#define NO_HEAP "used_arenas = 0"
#define MOSTLY_OUTSIDE                                                                             \
    "outside_bytes >= 16 * " MIB " AND heap_percent < 40"                                        \
    " AND coalesce(leak_bytes, 0) < outside_bytes"
#define MUCH_LEAKED                                                                                \
    "examined = 1 AND leak_bytes >= " MIB " AND leak_percent >= 10"                              \
    " AND leak_bytes * 4 >= coalesce(heap_resident_bytes, mapped_bytes)"                         \
    " AND leak_bytes >= coalesce(retained_free_bytes, 0) / 2"
#define MANY_ARENAS                                                                                \
    "used_arenas >= 9 AND arena_fixed_bytes >= 2 * " MIB                                         \
    " AND arena_fixed_bytes * 2 >= heap_resident_bytes"                                          \
    " AND arena_fixed_bytes * 2 >= mapped_bytes" /* not what a load left behind */               \
    " AND arena_fixed_bytes > releasable_bytes + pinned_bytes"
#define MUCH_KEPT                                                                                  \
    "retained_free_bytes >= 4 * " MIB " AND retained_percent >= 40"                              \
    " AND (releasable_bytes + pinned_bytes) * 4 >= retained_free_bytes"
#define ONE_KIND_PILES_UP                                                                          \
    "live_bytes >= 16 * " MIB " AND big_percent >= 50 AND big_chunks >= 10000"                   \
    " AND live_resident_bytes * 2 >= heap_resident_bytes"
#define MUCH_LIVE                                                                                  \
    "heap_resident_bytes >= 16 * " MIB " AND live_resident_bytes * 2 >= heap_resident_bytes"

const struct cf_rule cf_rules[] = {
    /* Verdicts, the first that speaks wins. */
    {
        .code = "no-heap-in-core", .verdict = "unknown", .severity = "critical",
        .when = NO_HEAP " AND complete = 0",
        .bytes = "missing_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "UNKNOWN: the core is cut off before malloc's data; {missing_bytes:bytes} of it "
                 "are missing.",
        .detail = "No heap figure can be given: malloc's arenas are in the part that is missing.",
        .advice = "Take the core again with enough room: ulimit -c unlimited, free disk, no "
                  "limit in systemd-coredump (ProcessSizeMax, ExternalSizeMax).",
        .sql = "SELECT key, value FROM meta WHERE key IN ('core_complete', 'missing_bytes')",
    },
    {
        .code = "heap-not-dumped", .verdict = "unknown", .severity = "critical",
        .when = NO_HEAP " AND anonymous_dumped = 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "UNKNOWN: private anonymous memory was left out of this core, and with it every "
                 "heap (coredump_filter without bit 0x1).",
        .detail = "Not one page of the process's anonymous memory is in the file, its stacks "
                  "neither: the core was written by a filter that asked for none.",
        .advice = "Before the next core: echo 0x33 > /proc/PID/coredump_filter (the kernel's "
                  "default; children inherit it).",
        .sql = "SELECT kind, label, mapped_bytes FROM v_budget WHERE is_anonymous",
    },
    {
        .code = "other-allocator", .verdict = "other-allocator", .severity = "warning",
        .when = NO_HEAP " AND foreign_kind IS NOT NULL",
        .bytes = "foreign_bytes", .confidence = "'high'", .exactness = AT_LEAST,
        .title = "OTHER ALLOCATOR: glibc's malloc is unused, {foreign_label:text} serves this "
                 "process; of {resident_bytes:bytes} resident it holds {foreign_bytes:bytes}.",
        .detail = "glibc's arenas were never used. What the other allocator has free inside of "
                  "its memory is not visible here.",
        .advice = "Ask that allocator for its own statistics.",
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "no-glibc-heap", .verdict = "outside-malloc", .severity = "warning",
        .when = NO_HEAP,
        .bytes = "resident_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "OUTSIDE MALLOC: there is no glibc heap in this core; {resident_bytes:bytes} of "
                 "anonymous memory are resident, most of it {outsider_name:text}.",
        .detail = "The program does not use glibc's malloc, or malloc's own data is not in the "
                  "core. No other allocator that is known here was recognised.",
        .advice = NULL,
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "outside-malloc", .verdict = "outside-malloc", .severity = "warning",
        .when = MOSTLY_OUTSIDE,
        .bytes = "outside_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "OUTSIDE MALLOC: {outside_bytes:bytes} of {resident_bytes:bytes} resident are "
                 "not malloc's; most of that is {outsider_name:text} ({outsider_bytes:bytes}).",
        .detail = "malloc holds {heap_resident_bytes:bytes} ({heap_percent:percent}) of the "
                  "process's anonymous memory, of which {live_resident_bytes:bytes} are live.",
        .advice = "Look at the runtime's own heap (its dump, its limits) before malloc.",
        .sql = "SELECT * FROM v_budget WHERE is_anonymous ORDER BY resident_bytes DESC",
    },
    {
        .code = "leak", .verdict = "leak", .severity = "critical",
        .when = MUCH_LEAKED,
        .bytes = "leak_bytes", .confidence = LEAK_EVIDENCE, .exactness = "'at-least'",
        .title = "LEAK: nothing reaches {leak_bytes:bytes} in {leak_chunks:count} live chunks "
                 "({leak_percent:percent} of what is live).",
        .detail = "{leak_roots:count} of them are pointed to by no other leaked chunk: those were "
                  "lost, the rest hangs on them. The search is conservative: chunks that stale "
                  "words still point to are not counted.",
        .advice = "Find who allocates chunks of these sizes and drops the last pointer.",
        .sql = "SELECT * FROM v_leak ORDER BY bytes DESC",
    },
    {
        .code = "arena-blowup", .verdict = "arena-blowup", .severity = "warning",
        .when = MANY_ARENAS,
        .bytes = "arena_fixed_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "TOO MANY ARENAS: {used_arenas:count} arenas cost {arena_fixed_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap just by being there; "
                 "{live_resident_bytes:bytes} are live.",
        .detail = "Their tops, caches and headers are the larger part; holes that malloc_trim "
                  "could release are {releasable_bytes:bytes}.",
        .advice = "Set MALLOC_ARENA_MAX to a small number (2 to 4), or use fewer threads.",
        .sql = "SELECT class, sum(bytes) FROM v_waste WHERE arena_id > 0 GROUP BY class",
    },
    {
        .code = "not-returned", .verdict = "not-returned", .severity = "critical",
        .when = MUCH_KEPT,
        .bytes = "retained_free_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "FREED BUT NOT RETURNED: {retained_free_bytes:bytes} of "
                 "{heap_resident_bytes:bytes} resident heap is free memory that glibc still holds.",
        .detail = "{live_resident_bytes:bytes} are live, in {used_arenas:count} arenas. "
                  "malloc_trim(0) would return {releasable_bytes:bytes} now; "
                  "{pinned_bytes:bytes} are pinned by live chunks on the same pages; "
                  "tops and caches hold {top_cached_bytes:bytes}.",
        .advice = "See what would help, below.",
        .sql = "SELECT class, bytes FROM v_waste WHERE arena_id IS NULL ORDER BY class_order",
    },
    {
        .code = "retention-suspected", .verdict = "retention", .severity = "warning",
        .when = ONE_KIND_PILES_UP,
        .bytes = "big_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "RETENTION SUSPECTED: {big_chunks:count} live chunks of one size "
                 "({big_size:bytes}) hold {big_bytes:bytes}, {big_percent:percent} of what is "
                 "live, and something reaches them.",
        .detail = "Many objects of one kind that are reached look like a collection that only "
                  "grows. One core cannot show growth.",
        .advice = "Take a second core later and compare the two.",
        .sql = "SELECT size_bytes, sum(chunks), sum(bytes) FROM v_size_class WHERE state IN "
               "('live', 'mmapped') GROUP BY size_bytes ORDER BY 3 DESC LIMIT 10",
    },
    {
        .code = "in-use", .verdict = "in-use", .severity = "info",
        .when = MUCH_LIVE,
        .bytes = "live_resident_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "IN USE: {live_resident_bytes:bytes} of {heap_resident_bytes:bytes} resident heap "
                 "are live, in {live_chunks:count} chunks; {leak_bytes:bytes} of them nothing "
                 "reaches.",
        .detail = "Free memory that glibc keeps is {retained_free_bytes:bytes} "
                  "({retained_percent:percent}). Whether what is live should be is not for one "
                  "core to say: it shows no growth.",
        .advice = NULL,
        .sql = "SELECT size_bytes, sum(chunks), sum(bytes) FROM v_size_class WHERE state IN "
               "('live', 'mmapped') GROUP BY size_bytes ORDER BY 3 DESC LIMIT 10",
    },
    {
        .code = "healthy", .verdict = "healthy", .severity = "info",
        .when = "heap_resident_bytes IS NOT NULL AND complete = 1",
        .bytes = "retained_free_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "HEALTHY: nothing stands out. Of {resident_bytes:bytes} resident, malloc holds "
                 "{heap_resident_bytes:bytes}: {live_resident_bytes:bytes} live, "
                 "{retained_free_bytes:bytes} "
                 "free and kept.",
        .detail = "malloc_trim(0) would return {releasable_bytes:bytes}.",
        .advice = NULL,
        .sql = "SELECT class, bytes FROM v_waste WHERE arena_id IS NULL ORDER BY class_order",
    },
    {
        .code = "unknown", .verdict = "unknown", .severity = "warning",
        .when = "1",
        .bytes = "missing_bytes", .confidence = "'low'", .exactness = "'exact'",
        .title = "UNKNOWN: the core does not hold enough to say; {live_bytes:bytes} live and "
                 "{dead_bytes:bytes} free were found in {used_arenas:count} arenas.",
        .detail = "{missing_bytes:bytes} that the core's headers promise are not in the file.",
        .advice = "Take a whole core of a process in the same state.",
        .sql = "SELECT key, value FROM meta",
    },
    /* What would help. */
    {
        .code = "what-if-trim", .severity = "what-if",
        .when = "releasable_bytes >= page_bytes",
        .bytes = "releasable_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "malloc_trim(0) now gives back {releasable_bytes:bytes}",
        .detail = "glibc's own rule for this version, simulated; it locks one arena after the "
                  "other while it works.",
        .advice = "Call malloc_trim(0) after load drops, from the program or a debugger.",
        .sql = "SELECT arena_id, how, count(*), sum(length_bytes), sum(resident_bytes) FROM "
               "v_trim_range GROUP BY arena_id, how",
    },
    {
        .code = "what-if-top-1", .severity = "what-if",
        .when = "unlock_1_bytes >= " MIB,
        .bytes = "unlock_1_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost live chunk of each arena, up to {unlock_1_bytes:bytes} more "
                 "would join the tops",
        .detail = "Live chunks stand below the tops of {pinned_tops:count} arenas. free() trims "
                  "the main arena's top beyond the threshold, and drops emptied heaps of others.",
        .advice = "Allocate what lives long before the load, or elsewhere.",
        .sql = "SELECT * FROM v_top_pin WHERE rank = 1 ORDER BY unlocked_bytes DESC",
    },
    {
        .code = "what-if-top-10", .severity = "what-if",
        .when = "unlock_10_bytes >= " MIB " AND unlock_10_bytes > unlock_1_bytes",
        .bytes = "unlock_10_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost ten of each arena, up to {unlock_10_bytes:bytes}",
        .detail = "As above, counted from the top down.",
        .advice = NULL,
        .sql = "SELECT arena_id, max(unlocked_bytes) FROM v_top_pin WHERE rank <= 10 GROUP BY "
               "arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-top-100", .severity = "what-if",
        .when = "unlock_100_bytes >= " MIB " AND unlock_100_bytes > unlock_10_bytes",
        .bytes = "unlock_100_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "Without the topmost hundred of each arena, up to {unlock_100_bytes:bytes}",
        .detail = "As above, counted from the top down.",
        .advice = NULL,
        .sql = "SELECT arena_id, max(unlocked_bytes) FROM v_top_pin WHERE rank <= 100 GROUP BY "
               "arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-pinners", .severity = "what-if",
        .when = "pinner_bytes >= " MIB,
        .bytes = "pinner_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "{pinner_chunks:count} chunks of {pinner_size:bytes} pin {pinner_bytes:bytes}",
        .detail = "Each keeps the free bytes of its page from being returned.",
        .advice = "Take objects of this size and lifetime from a pool of their own.",
        .sql = "SELECT size_bytes, type, sum(chunks), sum(pinned_bytes) FROM v_page_pin GROUP BY "
               "1, 2 ORDER BY 4 DESC LIMIT 10",
    },
    {
        .code = "what-if-arena-max", .severity = "what-if",
        .when = "used_arenas > 4 AND arena_fixed_bytes >= " MIB,
        .bytes = "arena_fixed_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "MALLOC_ARENA_MAX saves at the most {arena_fixed_bytes:bytes}",
        .detail = "That is the fixed cost (overhead, tops, caches, edges) of the arenas beside "
                  "main. Holes would move into the arenas that remain and stay there.",
        .advice = "MALLOC_ARENA_MAX=2, where threads do not wait for each other in malloc.",
        .sql = "SELECT arena_id, sum(bytes) FROM v_waste WHERE arena_id > 0 AND class IN "
               "('overhead', 'top', 'cached', 'edge') GROUP BY arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-thresholds", .severity = "what-if",
        .when = "mmap_threshold_source = 'mp_' AND mmap_threshold > 131072",
        .bytes = "iif(main_top_bytes > 131072, main_top_bytes - 131072, 0)",
        .confidence = "'medium'", .exactness = "'bound'",
        .title = "The thresholds have grown: blocks up to {mmap_threshold:bytes} come from the "
                 "heap, and free() trims the top only beyond {trim_threshold:bytes}",
        .detail = "Freeing a mapped block raises both for good (dynamic thresholds).",
        .advice = "MALLOC_MMAP_THRESHOLD_=131072 fixes both: large blocks go back at free().",
        .sql = "SELECT * FROM v_tunable WHERE name LIKE '%threshold'",
    },
    {
        .code = "what-if-compacted", .severity = "what-if",
        .when = "compact_bytes >= 4 * " MIB " AND retained_percent >= 20",
        .bytes = "compact_bytes", .confidence = "'medium'", .exactness = "'bound'",
        .title = "If all live chunks stood side by side, {compact_bytes:bytes} less would do",
        .detail = "A floor to measure against, not an answer: malloc never moves a chunk.",
        .advice = NULL,
        .sql = "SELECT heap_resident_bytes - live_resident_bytes FROM v_fact",
    },
    /* What else is true, and what limits the evidence. */
    {
        .code = "some-leak", .severity = "warning",
        .when = "examined = 1 AND leak_bytes >= 65536 AND NOT (" MUCH_LEAKED ")",
        .bytes = "leak_bytes", .confidence = LEAK_EVIDENCE, .exactness = "'at-least'",
        .title = "Nothing reaches {leak_bytes:bytes} in {leak_chunks:count} live chunks",
        .detail = "Too little to explain the memory, but it may grow.",
        .advice = NULL,
        .sql = "SELECT * FROM v_leak ORDER BY bytes DESC",
    },
    {
        .code = "idle-arenas", .severity = "info",
        .when = "idle_arenas > 0 AND used_arenas > 1",
        .bytes = "(SELECT sum(resident_bytes) FROM v_arena WHERE NOT is_main AND "
                 "coalesce(threads, attached_threads) = 0)",
        .confidence = "'high'", .exactness = AT_LEAST,
        .title = "{idle_arenas:count} of {arenas:count} arenas serve no thread",
        .detail = "Their threads are gone; a new thread takes such an arena over before a new one "
                  "is made.",
        .advice = NULL,
        .sql = "SELECT arena_id, resident_bytes, live_bytes FROM v_arena WHERE NOT is_main AND "
               "coalesce(threads, attached_threads) = 0 ORDER BY resident_bytes DESC",
    },
    {
        .code = "heap-damaged", .severity = "critical",
        .when = "corruptions > 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "The heap is damaged in {corruptions:count} places",
        .detail = "Headers, links or counts contradict each other where the core is complete: "
                  "memory was overwritten, or the process was in the middle of malloc.",
        .advice = "Look at what stands before the first damaged address.",
        .sql = "SELECT * FROM v_anomaly WHERE is_corruption",
    },
    {
        .code = "core-incomplete", .severity = "warning",
        .when = "complete = 0",
        .bytes = "missing_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "The core is incomplete: {missing_bytes:bytes} are missing",
        .detail = "Figures count what is there and lack the rest.",
        .advice = NULL,
        .sql = "SELECT * FROM v_segment WHERE missing_bytes > 0",
    },
    {
        .code = "residency-at-least", .severity = "info",
        .when = "residency_exact = 0 AND used_arenas > 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "Resident figures are at least: judged by {residency_source:text}",
        .detail = "The file no longer shows which pages were in memory, so pages full of zeros "
                  "are taken for absent. A core that was copied with its holes (tar -S, cp "
                  "--sparse=never keeps none) would be exact.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key LIKE 'residency%'",
    },
    {
        .code = "roots-missing", .severity = "warning",
        .when = "examined = 1 AND missing_roots > 0",
        .bytes = "leak_bytes", .confidence = "'high'", .exactness = "'exact'",
        .title = "Not all roots are in the core ({missing_roots:count} places): leaks may be "
                 "overstated",
        .detail = "What only a missing stack or mapping points to looks leaked.",
        .advice = NULL,
        .sql = "SELECT * FROM v_root WHERE missing_places > 0",
    },
    {
        .code = "one-core", .severity = "info",
        .when = "used_arenas > 0",
        .bytes = "NULL", .confidence = "'high'", .exactness = "'exact'",
        .title = "One core shows no growth",
        .detail = "Whether live memory is kept too long shows only in a second core, taken later.",
        .advice = NULL,
        .sql = "SELECT key, value FROM meta WHERE key IN ('core_path', 'pid')",
    },
};

const size_t cf_nr_rules = sizeof cf_rules / sizeof cf_rules[0];
