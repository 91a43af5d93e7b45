/*
 * What would help, and by how much: each is held against the heap as it is (retain/trim.h), and
 * says what it rests on.
 */
#include "rules/rules.h"
#include "rules/terms.h"

#define TOP_PIN_RULE                                                                               \
    "free() drops emptied heaps of threads' arenas, and cuts a top that has reached "              \
    "trim_threshold[ ({trim_threshold:bytes} here)], whenever 64 KiB come together (_int_free, "   \
    "systrim, heap_trim). A bound: what waits in thread caches stays, and the last few of each "   \
    "size that are freed go there."

static const struct cf_rule rules[] = {
    {
        .code = "what-if-trim", .severity = "what-if",
        .when = WORTH_IT("releasable_bytes"),
        .bytes = "releasable_bytes", .confidence = EVIDENCE, .exactness = AT_LEAST,
        .title = "malloc_trim(0) now gives back {releasable_bytes:bytes}",
        .detail = "glibc's own rule for this version, simulated; it locks one arena after the "
                  "other while it works: 11 to 144 ms for 0.1 to 1.7 GiB where that was measured, "
                  "longer on a busy machine.",
        .advice = "When load drops: {trim_words:text}",
        .sql = "SELECT arena_id, how, count(*), sum(length_bytes), sum(resident_bytes) FROM "
               "v_trim_range GROUP BY arena_id, how",
    },
    {
        .code = "what-if-pinners", .severity = "what-if",
        .when = WORTH_IT("pinner_gain_bytes")
                " AND pinner_gain_bytes > coalesce(group_gain_bytes, 0)",
        .bytes = "pinner_gain_bytes", .confidence = "'medium'", .exactness = A_BOUND,
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
        .bytes = "group_gain_bytes", .confidence = "'medium'", .exactness = A_BOUND,
        .title = "If {group_name:text} were gone ({group_chunks:count} chunk{group_chunks:s}, "
                 "{group_bytes:bytes} together), malloc_trim(0) would give back "
                 "{group_gain_bytes:bytes} more",
        .detail = "They stand on pages that are free but for them; only together do they free "
                  "whole pages. A bound: the last few of each size stay in the cache of the thread "
                  "that frees them.",
        .advice = "Take {group_name:text} from a pool of its own, or allocate it before the load, "
                  "or drop it when load drops and trim then: {trim_words:text}",
        .sql = "SELECT * FROM v_trim_if ORDER BY more_bytes DESC",
    },
    {
        .code = "what-if-top-1", .severity = "what-if",
        .when = WORTH_IT("unlock_1_bytes"),
        .bytes = "unlock_1_bytes", .confidence = "'medium'", .exactness = A_BOUND,
        .title = "Without the topmost live chunk of each arena free() would give back "
                 "{unlock_1_bytes:bytes} by itself",
        .detail = TOP_PIN_RULE,
        .advice = "Allocate early what outlives the load: topmost chunk of each arena",
        .sql = "SELECT * FROM v_top_pin WHERE rank = 1 ORDER BY returned_bytes DESC",
    },
    {
        .code = "what-if-top-10", .severity = "what-if",
        .when = WORTH_IT("unlock_10_bytes") " AND unlock_10_bytes >= unlock_1_bytes * 1.5",
        .bytes = "unlock_10_bytes", .confidence = "'medium'", .exactness = A_BOUND,
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
        .bytes = "unlock_100_bytes", .confidence = "'medium'", .exactness = A_BOUND,
        .title = "Without the topmost hundred live chunks of each arena free() would give back "
                 "{unlock_100_bytes:bytes} by itself",
        .detail = TOP_PIN_RULE,
        .advice = "Allocate early what outlives the load: topmost hundred of each arena",
        .sql = "SELECT arena_id, max(returned_bytes) FROM v_top_pin WHERE rank <= 100 GROUP BY "
               "arena_id ORDER BY 2 DESC",
    },
    {
        .code = "what-if-arena-max", .severity = "what-if",
        /* large blocks of many threads in few heaps make larger holes: theirs is the threshold */
        .when = "used_arenas > 4 AND coalesce(former_large_bytes, 0) * 2 < thread_dead_bytes"
                " AND " WORTH_IT("thread_dead_bytes"),
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
        .bytes = "iif(tcache_gain_bytes * 2 >= stuck_bytes, tcache_gain_bytes, NULL)",
        .confidence = "'medium'", .exactness = "'estimate'",
        .title = "Thread caches keep {tcache_gain_bytes:bytes} from malloc_trim(0); "
                 "glibc.malloc.tcache_count=0 leaves them empty",
        .detail = "{tcache_bytes:Amount} in {caches:count} thread cache{caches:s} would lie in "
                  "bins and merge with what is free beside it into whole pages. Computed for the "
                  "process as it stands: a run without caches lays its blocks out anew, so it is a "
                  "promise only where caches keep half of what malloc_trim(0) leaves. It takes an "
                  "arena's lock for each small block. glibc 2.26 and later.",
        .advice = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0 (or less than its 7 chunks of each "
                  "size; a thread that ends empties its cache), and then to trim: "
                  "{trim_words:text}",
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
        .bytes = "compact_bytes", .confidence = "'medium'", .exactness = A_BOUND,
        .title = "No allocator could save more than this: all live chunks side by side",
        .detail = "Resident heap less what is live.",
        .advice = NULL,
        .sql = "SELECT heap_resident_bytes - live_resident_bytes FROM v_fact",
    },
};

const struct cf_rule_table cf_remedy_rules = {rules, sizeof rules / sizeof rules[0]};
