-- The judgement: the facts that it stands on, in one row, and what the rules said of them.

CREATE VIEW v_fact AS
WITH malloc_kind (kind) AS (
    VALUES ('malloc main heap'), ('malloc arena heaps'), ('malloc mmapped chunks')
), waste_all AS (
    SELECT sum(bytes) FILTER (WHERE class = 'live') AS live,
           sum(bytes) FILTER (WHERE class = 'overhead') AS overhead,
           sum(bytes) FILTER (WHERE class = 'releasable') AS releasable,
           sum(bytes) FILTER (WHERE class = 'pinned') AS pinned,
           sum(bytes) FILTER (WHERE class = 'top') AS top,
           sum(bytes) FILTER (WHERE class = 'cached') AS cached,
           sum(bytes) FILTER (WHERE class = 'edge') AS edge
    FROM v_waste WHERE arena_id IS NULL
), spare AS (
    SELECT sum(bytes) FILTER (WHERE class = 'overhead') AS overhead,
           sum(bytes) FILTER (WHERE class = 'top') AS top,
           sum(bytes) FILTER (WHERE class = 'cached') AS cached,
           sum(bytes) FILTER (WHERE class = 'edge') AS edge
    FROM v_waste WHERE arena_id > 0
), arena_sum AS (
    SELECT count(*) AS arenas, sum(coalesce(system_bytes, mapped_bytes) > 0) AS used,
           sum(heaps) AS heaps,
           sum(mapped_bytes) AS mapped, sum(reserved_bytes) AS reserved,
           sum(live_bytes) AS live, sum(live_chunks) AS live_chunks,
           sum(hole_bytes + top_bytes) AS dead, sum(tcache_bytes) AS tcache,
           sum(NOT is_main AND coalesce(threads, attached_threads) = 0) AS idle,
           sum(iif(is_main, top_bytes, 0)) AS main_top
    FROM v_arena
), mmapped AS (
    SELECT coalesce(sum(chunks), 0) AS chunks, coalesce(sum(bytes), 0) AS bytes
    FROM v_size_class WHERE state = 'mmapped'
), lost AS (
    SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(chunks), 0) AS chunks,
           coalesce(sum(root_chunks), 0) AS roots,
           (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'reachability') AS is_known
    FROM v_leak
), big AS (
    SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes
    FROM v_size_class WHERE state IN ('live', 'mmapped')
    GROUP BY size_bytes ORDER BY bytes DESC, size_bytes LIMIT 1
), kind AS (
    SELECT coalesce(memory_of, type) AS name, sum(chunks) AS chunks, sum(bytes) AS bytes,
           total(bytes) FILTER (WHERE memory_of IS NOT NULL) AS memory_bytes
    FROM v_type WHERE type IS NOT NULL
    GROUP BY coalesce(memory_of, type) ORDER BY bytes DESC, name LIMIT 1
), kind_phrase AS (
    SELECT CASE WHEN name = '(text)' THEN 'text'
                WHEN name = '(array of pointers)' THEN 'arrays of pointers'
                WHEN name LIKE '% buffer' THEN 'in ' || name || 's'
                WHEN memory_bytes = bytes THEN 'memory of ' || name
                WHEN memory_bytes * 20 >= bytes THEN 'of type ' || name || ', or hangs on such'
                ELSE 'of type ' || name END AS phrase
    FROM kind
), holder AS (
    SELECT CASE kind WHEN 'mapping' THEN label
                     WHEN 'stack' THEN 'the stack of ' || label
                     WHEN 'tls' THEN 'thread-local data of ' || label
                     ELSE kind || ' ' || label END AS name, bytes
    FROM v_held ORDER BY bytes DESC LIMIT 1
), pinner AS (
    SELECT size_bytes, iif(type LIKE '(%)', substr(type, 2, length(type) - 2), type) AS type,
           chunks, pinned_bytes AS pinned, holder, held_by
    FROM v_pinner LIMIT 1
), foreign_heap AS (
    SELECT kind, label, sum(resident_bytes) AS resident, sum(mapped_bytes) AS mapped
    FROM v_budget WHERE kind IN ('managed heap', 'other allocator')
    GROUP BY kind, label ORDER BY resident DESC LIMIT 1
), shared_heap AS (
    SELECT label, sum(mapped_bytes) AS mapped FROM v_budget
    WHERE kind = 'managed heap' AND NOT is_anonymous AND label LIKE '%heap%'
    GROUP BY label ORDER BY mapped DESC LIMIT 1
), outsider AS (
    SELECT kind, iif(part = 'other anonymous', 'anonymous mappings of unknown use', part) AS name,
           resident_bytes AS resident
    FROM v_memory WHERE is_anonymous AND part NOT LIKE 'malloc %'
    ORDER BY resident DESC LIMIT 1
), fact AS (
    SELECT
    CAST((SELECT value FROM meta WHERE key = 'outcome') AS INTEGER) AS outcome,
    CAST((SELECT value FROM meta WHERE key = 'core_complete') AS INTEGER) AS complete,
    CAST((SELECT value FROM meta WHERE key = 'missing_bytes') AS INTEGER) AS missing_bytes,
    CAST((SELECT value FROM meta WHERE key = 'anonymous_dumped') AS INTEGER) AS anonymous_dumped,
    CAST((SELECT value FROM meta WHERE key = 'residency_exact') AS INTEGER) AS residency_exact,
    (SELECT value FROM meta WHERE key = 'residency_source') AS residency_source,
    CAST((SELECT value FROM meta WHERE key = 'reachability') AS INTEGER) AS examined,
    (SELECT value FROM meta WHERE key = 'core_producer') AS producer,
    CAST((SELECT value FROM meta WHERE key = 'page_bytes') AS INTEGER) AS page_bytes,
    CAST((SELECT value FROM meta WHERE key = 'cpus') AS INTEGER) AS cpus,
    CAST((SELECT value FROM meta WHERE key = 'arena_limit') AS INTEGER) AS arena_limit,
    (SELECT value FROM meta WHERE key = 'arena_limit_formula') AS arena_limit_formula,
    CAST((SELECT value FROM v_tunable WHERE name = 'arena_max') AS INTEGER) AS arena_max,
    CAST((SELECT value FROM v_tunable WHERE name = 'trim_threshold') AS INTEGER) AS trim_threshold,
    CAST((SELECT value FROM v_tunable WHERE name = 'mmap_threshold') AS INTEGER) AS mmap_threshold,
    (SELECT source FROM v_tunable WHERE name = 'mmap_threshold') AS mmap_threshold_source,
    (SELECT count(*) FROM v_thread) AS threads,
    (SELECT sum(resident_bytes) FILTER (WHERE kind <> 'unattributed') FROM v_budget
     WHERE is_anonymous) AS resident_bytes,
    (SELECT sum(resident_bytes) FROM v_budget WHERE kind IN (SELECT kind FROM malloc_kind))
        AS heap_resident_bytes,
    coalesce((SELECT arenas FROM arena_sum), 0) AS arenas,
    coalesce((SELECT used FROM arena_sum), 0) AS used_arenas,
    (SELECT idle FROM arena_sum) AS idle_arenas,
    coalesce((SELECT heaps FROM arena_sum), 0) AS heaps,
    (SELECT mapped FROM arena_sum) AS mapped_bytes,
    (SELECT reserved FROM arena_sum) AS reserved_bytes,
    coalesce((SELECT live FROM arena_sum), 0) + (SELECT bytes FROM mmapped) AS live_bytes,
    coalesce((SELECT live_chunks FROM arena_sum), 0) + (SELECT chunks FROM mmapped) AS live_chunks,
    (SELECT live FROM waste_all) + coalesce((SELECT sum(resident_bytes) FROM v_budget
                                             WHERE kind = 'malloc mmapped chunks'), 0)
        AS live_resident_bytes,
    (SELECT dead FROM arena_sum) AS dead_bytes,
    (SELECT tcache FROM arena_sum) AS tcache_bytes,
    (SELECT main_top FROM arena_sum) AS main_top_bytes,
    (SELECT releasable + pinned + top + cached + edge FROM waste_all) AS retained_free_bytes,
    (SELECT releasable FROM waste_all) AS releasable_bytes,
    (SELECT pinned FROM waste_all) AS pinned_bytes,
    (SELECT top + cached FROM waste_all) AS top_cached_bytes,
    (SELECT edge FROM waste_all) AS edge_bytes,
    (SELECT overhead + top + cached + edge FROM spare) AS arena_fixed_bytes,
    (SELECT bytes FROM lost WHERE is_known) AS leak_bytes,
    (SELECT chunks FROM lost WHERE is_known) AS leak_chunks,
    (SELECT roots FROM lost WHERE is_known) AS leak_roots,
    (SELECT sum(missing_places) FROM v_root) AS missing_roots,
    (SELECT size_bytes FROM big) AS big_size,
    (SELECT iif(most_are LIKE '(%)', substr(most_are, 2, length(most_are) - 2), most_are)
     FROM v_live_size LIMIT 1) AS big_type,
    (SELECT chunks FROM big) AS big_chunks,
    (SELECT bytes FROM big) AS big_bytes,
    (SELECT name FROM kind) AS kind_name,
    (SELECT phrase FROM kind_phrase) AS kind_phrase,
    (SELECT chunks FROM kind) AS kind_chunks,
    (SELECT bytes FROM kind) AS kind_bytes,
    (SELECT name FROM holder) AS holder_name,
    (SELECT bytes FROM holder) AS holder_bytes,
    (SELECT size_bytes FROM pinner) AS pinner_size,
    (SELECT type FROM pinner) AS pinner_type,
    (SELECT holder FROM pinner) AS pinner_holder,
    (SELECT held_by FROM pinner) AS pinner_held_by,
    (SELECT chunks FROM pinner) AS pinner_chunks,
    (SELECT pinned FROM pinner) AS pinner_bytes,
    (SELECT sum(chunks) FROM v_page_pin) AS pinning_chunks,
    (SELECT kind FROM foreign_heap) AS foreign_kind,
    (SELECT label FROM foreign_heap) AS foreign_label,
    (SELECT resident FROM foreign_heap) AS foreign_bytes,
    (SELECT label FROM shared_heap) AS shared_heap_label,
    (SELECT mapped FROM shared_heap) AS shared_heap_bytes,
    (SELECT kind FROM outsider) AS outsider_kind,
    (SELECT name FROM outsider) AS outsider_name,
    (SELECT resident FROM outsider) AS outsider_bytes,
    (SELECT sum(coalesce(unlocked_resident_bytes, unlocked_bytes)) FROM v_top_pin WHERE rank = 1)
        AS unlock_1_bytes,
    (SELECT sum(unlocked) FROM (SELECT max(coalesce(unlocked_resident_bytes, unlocked_bytes))
                                AS unlocked FROM v_top_pin WHERE rank <= 10 GROUP BY arena_id))
        AS unlock_10_bytes,
    (SELECT sum(unlocked) FROM (SELECT max(coalesce(unlocked_resident_bytes, unlocked_bytes))
                                AS unlocked FROM v_top_pin WHERE rank <= 100 GROUP BY arena_id))
        AS unlock_100_bytes,
    (SELECT count(*) FROM v_top_pin WHERE rank = 1) AS pinned_tops,
    (SELECT count(*) FROM v_anomaly WHERE is_corruption) AS corruptions,
    (SELECT count(*) FROM v_anomaly) AS anomalies,
    (SELECT count(*) FROM v_anomaly WHERE code = 'witness-disagrees') AS contradictions,
    (SELECT count(*) FROM v_module WHERE symbols_verified = 0) AS unverified_files,
    (SELECT count(*) FROM v_arena WHERE is_main AND address IS NULL) AS bare_arenas,
    (SELECT sum(min(h.end, s.end) - max(h.start, s.start + s.dumped_bytes))
     FROM v_segment s JOIN v_heap h ON h.start < s.end AND h.end > s.start + s.dumped_bytes
     WHERE s.missing_bytes > 0) AS missing_heap_bytes,
    (SELECT sum(missing_places) FROM v_root WHERE kind = 'stack') AS missing_stacks,
    (SELECT count(*) FROM v_anomaly WHERE code IN
        ('notes-cut', 'headers-cut', 'files-cut', 'segment-count', 'segment-count-lost',
         'no-segments')) AS damaged_tables
)
SELECT *,
       100.0 * retained_free_bytes / nullif(heap_resident_bytes, 0) AS retained_percent,
       100.0 * heap_resident_bytes / nullif(resident_bytes, 0) AS heap_percent,
       resident_bytes - heap_resident_bytes AS outside_bytes,
       100.0 * leak_bytes / nullif(live_bytes, 0) AS leak_percent,
       100.0 * big_bytes / nullif(live_bytes, 0) AS big_percent,
       live_bytes - coalesce(leak_bytes, 0) AS reached_bytes,
       CASE WHEN outsider_kind IN ('managed heap', 'other allocator')
            THEN 'Look at the runtime''s own heap first: its limits, its own dump'
            WHEN outsider_kind LIKE '%stack%'
            THEN 'Look at the threads first: how many, and how deep their stacks go (v_stack)'
            ELSE 'Find out who maps it: v_segment has the largest mappings' END AS outsider_advice,
       leak_chunks - leak_roots AS leak_hung_chunks,
       iif(residency_exact AND (live_bytes - live_resident_bytes) * 20 >= live_bytes,
           live_bytes - live_resident_bytes, NULL) AS live_absent_bytes,
       iif(kind_bytes * 4 >= live_bytes, kind_phrase, NULL) AS main_kind,
       iif(kind_bytes * 4 >= live_bytes
           AND (big_type IS NULL OR substr(kind_phrase, -length(big_type)) <> big_type),
           kind_phrase, NULL) AS other_kind,
       iif(holder_bytes * 4 >= live_bytes, holder_name, NULL) AS main_holder,
       iif(leak_bytes * 20 < max(coalesce(heap_resident_bytes, mapped_bytes, 0), 1310720),
           leak_bytes, NULL) AS small_leak_bytes,
       iif(pinner_bytes * 2 >= pinned_bytes, pinner_size, NULL) AS main_pinner_size,
       iif(pinner_bytes * 2 >= pinned_bytes, pinner_type, NULL) AS main_pinner_type,
       iif(pinner_bytes * 2 >= pinned_bytes,
           iif(pinner_held_by LIKE 'stack of %' OR pinner_held_by LIKE 'registers of %', 'the ', '')
           || pinner_held_by, NULL) AS main_pinner_holder,
       max(used_arenas - 2, 0) AS spare_arenas,
       max(coalesce(main_top_bytes, 0) - 131072, 0) +
           coalesce((SELECT sum(resident_bytes) FROM v_hole_histogram
                     WHERE from_bytes >= 131072), 0) AS kept_large_bytes,
       heap_resident_bytes - live_resident_bytes AS compact_bytes
FROM fact;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_fact', '', '', 'One row: the figures of the whole process that the rules judge, each from the views beside it. NULL where the core does not say.'),
('v_fact', 'outcome', 'code', 'As in meta.'),
('v_fact', 'complete', '0/1', 'As meta core_complete.'),
('v_fact', 'missing_bytes', 'bytes', 'As in meta.'),
('v_fact', 'anonymous_dumped', '0/1', 'As in meta.'),
('v_fact', 'residency_exact', '0/1', 'As in meta.'),
('v_fact', 'residency_source', 'text', 'As in meta.'),
('v_fact', 'examined', '0/1', 'Live chunks were examined for reachability.'),
('v_fact', 'producer', 'text', 'As meta core_producer.'),
('v_fact', 'page_bytes', 'bytes', 'As in meta.'),
('v_fact', 'cpus', 'count', 'As in meta.'),
('v_fact', 'arena_limit', 'count', 'As in meta.'),
('v_fact', 'arena_limit_formula', 'text', 'As in meta.'),
('v_fact', 'arena_max', 'count', 'The setting of that name; 0: not set.'),
('v_fact', 'trim_threshold', 'bytes', 'The setting of that name, as in force.'),
('v_fact', 'mmap_threshold', 'bytes', 'The setting of that name, as in force.'),
('v_fact', 'mmap_threshold_source', 'text', 'mp_: it has grown, or the program set it; environment; default.'),
('v_fact', 'threads', 'count', 'Threads in the core.'),
('v_fact', 'resident_bytes', 'bytes', 'Anonymous memory of the process that was in memory.'),
('v_fact', 'heap_resident_bytes', 'bytes', 'Of it, malloc''s: heaps and mmapped chunks.'),
('v_fact', 'arenas', 'count', 'Arenas, main arena included.'),
('v_fact', 'used_arenas', 'count', 'Those that hold memory.'),
('v_fact', 'idle_arenas', 'count', 'Those that serve no thread.'),
('v_fact', 'heaps', 'count', 'Heaps of all arenas.'),
('v_fact', 'mapped_bytes', 'bytes', 'Accessible bytes of all heaps.'),
('v_fact', 'reserved_bytes', 'bytes', 'Address space kept for growth.'),
('v_fact', 'live_bytes', 'bytes', 'Live chunks, headers included, mmapped ones too.'),
('v_fact', 'live_resident_bytes', 'bytes', 'Of them, in memory when the core was written; those of mmapped chunks with what else their mapping holds.'),
('v_fact', 'live_chunks', 'chunks', 'How many.'),
('v_fact', 'dead_bytes', 'bytes', 'Holes and tops of all arenas, resident or not.'),
('v_fact', 'tcache_bytes', 'bytes', 'Freed chunks in the caches of threads.'),
('v_fact', 'main_top_bytes', 'bytes', 'Top of the main arena.'),
('v_fact', 'retained_free_bytes', 'bytes', 'Resident bytes of the arenas that are dead: releasable, pinned, top, cached, edge.'),
('v_fact', 'releasable_bytes', 'bytes', 'What malloc_trim(0) would give back.'),
('v_fact', 'pinned_bytes', 'bytes', 'Dead bytes on pages that live chunks keep.'),
('v_fact', 'top_cached_bytes', 'bytes', 'Resident bytes of tops, tcaches and fastbins.'),
('v_fact', 'edge_bytes', 'bytes', 'Resident free bytes in pieces that fill no whole page.'),
('v_fact', 'arena_fixed_bytes', 'bytes', 'What the arenas beside main cost just by being there: their overhead, tops, caches, edges.'),
('v_fact', 'leak_bytes', 'bytes', 'Live chunks that nothing reaches; NULL: not examined.'),
('v_fact', 'leak_chunks', 'chunks', 'How many.'),
('v_fact', 'leak_roots', 'chunks', 'Those that no other leaked chunk points to.'),
('v_fact', 'missing_roots', 'count', 'Ranges or threads that should have been searched for pointers and are not in the core.'),
('v_fact', 'big_size', 'bytes', 'Size of live chunks that holds the most bytes.'),
('v_fact', 'big_type', 'text', 'What most chunks of that size are; NULL: not known.'),
('v_fact', 'big_chunks', 'chunks', 'Live chunks of that size.'),
('v_fact', 'big_bytes', 'bytes', 'Their bytes.'),
('v_fact', 'kind_name', 'text', 'Named type of live chunks that holds the most bytes, with the memory of it (v_type memory_of).'),
('v_fact', 'kind_phrase', 'text', 'The same as a sentence says it: of type X, memory of X, text ...'),
('v_fact', 'kind_chunks', 'chunks', 'Live chunks of that type, and of its memory.'),
('v_fact', 'kind_bytes', 'bytes', 'Their bytes.'),
('v_fact', 'main_kind', 'text', 'kind_phrase, where it is a quarter of all that is live.'),
('v_fact', 'other_kind', 'text', 'main_kind, where it is not what big_type says already.'),
('v_fact', 'leak_hung_chunks', 'chunks', 'Leaked chunks that other leaked ones point to.'),
('v_fact', 'live_absent_bytes', 'bytes', 'Bytes of live chunks that were not in memory: asked for and never written to, or swapped out; NULL where they are few, or not known.'),
('v_fact', 'holder_name', 'text', 'Root that alone keeps the most bytes alive, of those examined (v_held).'),
('v_fact', 'holder_bytes', 'bytes', 'What it keeps alive.'),
('v_fact', 'main_holder', 'text', 'holder_name, where it is a quarter of all that is live.'),
('v_fact', 'pinner_size', 'bytes', 'Size of the live chunks that pin the most bytes, by size and type.'),
('v_fact', 'pinner_type', 'text', 'Their type; NULL: not known.'),
('v_fact', 'pinner_holder', 'text', 'What holds one of them; NULL: not known.'),
('v_fact', 'pinner_held_by', 'text', 'Of that, the root alone.'),
('v_fact', 'pinner_chunks', 'chunks', 'How many of them pin something.'),
('v_fact', 'pinner_bytes', 'bytes', 'What they pin.'),
('v_fact', 'pinning_chunks', 'chunks', 'Live chunks of any size that pin something.'),
('v_fact', 'foreign_kind', 'text', 'Largest heap that is not glibc''s: managed heap or other allocator.'),
('v_fact', 'foreign_label', 'text', 'Whose it is.'),
('v_fact', 'foreign_bytes', 'bytes', 'Its resident bytes.'),
('v_fact', 'shared_heap_label', 'text', 'Largest runtime''s heap that is shared memory: not anonymous for the kernel.'),
('v_fact', 'shared_heap_bytes', 'bytes', 'Address space of it; ZGC up to Java 20 maps each byte three times.'),
('v_fact', 'outsider_kind', 'text', 'Kind of anonymous memory outside malloc that holds the most.'),
('v_fact', 'outsider_name', 'text', 'Part of v_memory outside malloc that holds the most anonymous memory.'),
('v_fact', 'outsider_bytes', 'bytes', 'Its resident bytes.'),
('v_fact', 'outsider_advice', 'text', 'Where to look for the reason of that.'),
('v_fact', 'unlock_1_bytes', 'bytes', 'What would join the tops if the topmost live chunk of each arena were freed; of it, what is in memory, where that is known.'),
('v_fact', 'unlock_10_bytes', 'bytes', 'The same for the topmost ten of each arena.'),
('v_fact', 'unlock_100_bytes', 'bytes', 'The same for the topmost hundred.'),
('v_fact', 'pinned_tops', 'count', 'Arenas with a live chunk below their top.'),
('v_fact', 'corruptions', 'count', 'Rows of v_anomaly that mean a damaged heap.'),
('v_fact', 'anomalies', 'count', 'Rows of v_anomaly.'),
('v_fact', 'contradictions', 'count', 'Times that symbols or DWARF contradict what the patterns found.'),
('v_fact', 'unverified_files', 'count', 'Files that were used though their build id could not be compared (--exe).'),
('v_fact', 'bare_arenas', 'count', 'Main arenas of which only the heap is in the core, not malloc''s own data.'),
('v_fact', 'missing_heap_bytes', 'bytes', 'Bytes of known heaps that the headers promise and the file lacks; NULL: none.'),
('v_fact', 'missing_stacks', 'count', 'Stacks that are not in the core; NULL: reachability was not examined.'),
('v_fact', 'damaged_tables', 'count', 'Anomalies of the core''s own tables: program headers, notes, the list of files.'),
('v_fact', 'retained_percent', 'percent', 'retained_free_bytes of heap_resident_bytes.'),
('v_fact', 'heap_percent', 'percent', 'heap_resident_bytes of resident_bytes.'),
('v_fact', 'outside_bytes', 'bytes', 'resident_bytes that are not malloc''s.'),
('v_fact', 'leak_percent', 'percent', 'leak_bytes of live_bytes.'),
('v_fact', 'big_percent', 'percent', 'big_bytes of live_bytes.'),
('v_fact', 'reached_bytes', 'bytes', 'live_bytes that something may still reach.'),
('v_fact', 'small_leak_bytes', 'bytes', 'leak_bytes where they are less than a twentieth of the heap: too little to explain it.'),
('v_fact', 'main_pinner_size', 'bytes', 'pinner_size where that size pins at least half of pinned_bytes.'),
('v_fact', 'main_pinner_type', 'text', 'Its type; NULL: not known.'),
('v_fact', 'main_pinner_holder', 'text', 'The root that one of those hangs on; NULL: not known.'),
('v_fact', 'spare_arenas', 'count', 'Arenas that MALLOC_ARENA_MAX=2 would do without.'),
('v_fact', 'kept_large_bytes', 'bytes', 'Main''s top beyond 128 KiB, and the resident bytes of holes of at least that: what fixed thresholds could save.'),
('v_fact', 'compact_bytes', 'bytes', 'Resident bytes that would not be needed if all live chunks stood side by side: no allocator saves more.');

CREATE TABLE verdict (
    code TEXT NOT NULL,
    headline TEXT NOT NULL,
    confidence TEXT NOT NULL
);

CREATE VIEW v_verdict AS
SELECT code, headline, confidence, resident_bytes, heap_resident_bytes, live_bytes,
       retained_free_bytes, releasable_bytes
FROM verdict, v_fact;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_verdict', '', '', 'One row: which of the reasons it was that the process holds its memory.'),
('v_verdict', 'code', 'text', 'not-returned, arena-blowup, leak, retention, in-use, outside-malloc, other-allocator, healthy, unknown.'),
('v_verdict', 'headline', 'text', 'The judgement in a sentence.'),
('v_verdict', 'confidence', 'text', 'high, medium, low: how far the evidence carries.'),
('v_verdict', 'resident_bytes', 'bytes', 'Anonymous memory of the process that was in memory.'),
('v_verdict', 'heap_resident_bytes', 'bytes', 'Of it, malloc''s: heaps and mmapped chunks.'),
('v_verdict', 'live_bytes', 'bytes', 'Live chunks, headers included.'),
('v_verdict', 'retained_free_bytes', 'bytes', 'Resident bytes of the arenas that are dead.'),
('v_verdict', 'releasable_bytes', 'bytes', 'What malloc_trim(0) would give back now.');

CREATE TABLE finding (
    finding_id INTEGER PRIMARY KEY,
    severity TEXT NOT NULL,
    code TEXT NOT NULL,
    title TEXT NOT NULL,
    detail TEXT NOT NULL,
    advice TEXT,
    bytes INTEGER,
    confidence TEXT NOT NULL,
    exactness TEXT NOT NULL,
    sql TEXT NOT NULL
);

CREATE VIEW v_finding AS
SELECT finding_id, severity, code, title, detail, advice, bytes, confidence, exactness, sql
FROM finding;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_finding', '', '', 'One row for each thing worth saying: the verdict first, then what would help and by how much, then what limits the evidence.'),
('v_finding', 'finding_id', 'id', 'In the order of the rules.'),
('v_finding', 'severity', 'text', 'critical, warning, info; what-if for a change that was only calculated; limit for what the evidence cannot show.'),
('v_finding', 'code', 'text', 'Which rule spoke.'),
('v_finding', 'title', 'text', 'The finding in a sentence.'),
('v_finding', 'detail', 'text', 'What it rests on, and what it cannot show.'),
('v_finding', 'advice', 'text', 'What to do; NULL: nothing.'),
('v_finding', 'bytes', 'bytes', 'How much memory it is about; of an advice, what it would give back.'),
('v_finding', 'confidence', 'text', 'high, medium, low.'),
('v_finding', 'exactness', 'text', 'exact; at-least: residency was judged by content; bound: no more than this.'),
('v_finding', 'sql', 'text', 'The query behind the number.');

INSERT INTO example_query (title, sql) VALUES
('What is the verdict, and what does it rest on?',
 'SELECT code, confidence, headline FROM v_verdict'),
('What would help, and by how much?',
 'SELECT title, advice, bytes, exactness FROM v_finding WHERE advice IS NOT NULL ORDER BY finding_id');
