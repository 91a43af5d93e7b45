/*
 * What else is true of the process, and what limits the evidence.
 */
#include "rules/rules.h"
#include "rules/terms.h"

static const struct cf_rule rules[] = {
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

const struct cf_rule_table cf_finding_rules = {rules, sizeof rules / sizeof rules[0]};
