-- The report's own tables: each is what one section shows, in its order. A section names a view
-- and adds nothing, so that the query beside a heading gives what stands below it.

-- Where a live chunk has a mapping of its own it is in no arena, and still part of the heap.
CREATE VIEW v_waterfall AS
WITH meaning (place, class, label, meaning) AS (
    VALUES (1, 'live', 'live', 'held by the program'),
           (2, 'mmapped', 'mmapped', 'live, each in a mapping of its own'),
           (3, 'releasable', 'releasable', 'free: malloc_trim(0) returns it'),
           (4, 'pinned', 'pinned', 'free, on pages with live chunks'),
           (5, 'top', 'top', 'free, at the upper ends of arenas'),
           (6, 'tcache', 'tcaches', 'free, in caches of threads'),
           (7, 'fastbin', 'fastbins', 'free, and not merged yet'),
           (8, 'cache-pinned', 'cache-pinned', 'free, beside cached chunks alone'),
           (9, 'edge', 'edge', 'free, beside tops and headers'),
           (10, 'overhead', 'overhead', 'malloc''s headers and end markers')
), part (class, bytes) AS (
    SELECT class, bytes FROM v_waste WHERE arena_id IS NULL AND class <> 'cached'
    UNION ALL
    SELECT 'tcache', tcache_bytes FROM v_waste WHERE arena_id IS NULL AND class = 'cached'
    UNION ALL
    SELECT 'fastbin', bytes - tcache_bytes FROM v_waste WHERE arena_id IS NULL AND class = 'cached'
    UNION ALL
    SELECT 'mmapped', sum(resident_bytes) FROM v_budget WHERE kind = 'malloc mmapped chunks'
    HAVING count(*) > 0
)
SELECT place, class, label, bytes,
       100.0 * bytes / nullif(sum(bytes) OVER (), 0) AS percent, meaning
FROM part JOIN meaning USING (class) ORDER BY place;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_waterfall', '', '', 'Where every resident byte of malloc''s heaps goes: v_waste of all arenas, and the mmapped chunks. The rows sum to v_verdict heap_resident_bytes.'),
('v_waterfall', 'place', 'count', 'Order in which it is told.'),
('v_waterfall', 'class', 'text', 'As in v_waste, its class cached in two, tcache and fastbin; mmapped: live chunks in mappings of their own.'),
('v_waterfall', 'label', 'text', 'Its name in the report.'),
('v_waterfall', 'bytes', 'bytes', 'Resident bytes; NULL when nothing says what is resident.'),
('v_waterfall', 'percent', 'percent', 'Of the sum.'),
('v_waterfall', 'meaning', 'text', 'What it is, in a few words.');

CREATE VIEW v_memory AS
WITH part AS (
    SELECT budget_id, kind, label, is_anonymous, mappings, mapped_bytes, resident_bytes,
           CASE WHEN kind IN ('managed heap', 'other allocator') THEN coalesce(nullif(label, ''), kind)
                WHEN kind IN ('module data', 'module bss') THEN 'module data'
                WHEN kind IN ('modules', 'mapped files', 'shared memory', 'kernel')
                THEN 'code, files, shared memory'
                ELSE kind END AS part
    FROM budget
)
SELECT part, min(kind) AS kind, max(is_anonymous) AS is_anonymous, sum(mappings) AS mappings,
       sum(mapped_bytes) AS mapped_bytes, sum(resident_bytes) AS resident_bytes,
       CASE part WHEN 'malloc reserve' THEN 'address space only, for arenas to grow'
                 WHEN 'module data' THEN 'variables of program and libraries'
                 WHEN 'code, files, shared memory' THEN iif(sum(resident_bytes) IS NULL, 'a core cannot tell what is resident',
                               'resident as smaps counts it')
                 WHEN 'other anonymous' THEN coalesce('largest: ' ||
                     (SELECT nullif(o.label, '') FROM part o WHERE o.kind = 'other anonymous'
                      ORDER BY o.resident_bytes DESC, o.budget_id LIMIT 1), '')
                 WHEN 'not in the core' THEN 'counted by smaps: pages of zeros, or at another time'
                 WHEN 'unattributed' THEN 'nobody claims it'
                 ELSE '' END AS note
FROM part GROUP BY part HAVING sum(mapped_bytes) > 0 OR part IN ('not in the core', 'unattributed')
ORDER BY min(budget_id);

INSERT INTO doc (object, "column", unit, text) VALUES
('v_memory', '', '', 'v_budget in few rows: the whole address space by part, malloc''s first. The rows sum to what v_budget sums to.'),
('v_memory', 'part', 'text', 'What it is; a managed heap or another allocator by its name.'),
('v_memory', 'kind', 'text', 'Its kind in v_budget (the first, where it is made of several).'),
('v_memory', 'is_anonymous', '0/1', '1: some of it is what the kernel counts as Anonymous.'),
('v_memory', 'mappings', 'count', 'Pieces of mappings in it.'),
('v_memory', 'mapped_bytes', 'bytes', 'Address space.'),
('v_memory', 'resident_bytes', 'bytes', 'Of it, in memory when the core was written; NULL: a core cannot tell.'),
('v_memory', 'note', 'text', 'What else is worth knowing.');

CREATE VIEW v_kernel_figure AS
SELECT source || ' ' || name AS name, bytes, ours_bytes, difference_bytes, explanation
FROM v_kernel WHERE bytes > 0 AND name NOT IN ('Pss', 'Shared_Clean', 'Shared_Dirty', 'file_dirty', 'file_writeback');

INSERT INTO doc (object, "column", unit, text) VALUES
('v_kernel_figure', '', '', 'The figures of v_kernel that a review asks for: those that are not 0.'),
('v_kernel_figure', 'name', 'text', 'Source and name.'),
('v_kernel_figure', 'bytes', 'bytes', 'As in v_kernel.'),
('v_kernel_figure', 'ours_bytes', 'bytes', 'As in v_kernel.'),
('v_kernel_figure', 'difference_bytes', 'bytes', 'As in v_kernel.'),
('v_kernel_figure', 'explanation', 'text', 'As in v_kernel.');

CREATE VIEW v_arena_waste AS
SELECT a.arena_id, a.is_main, a.heaps, coalesce(a.threads, a.attached_threads) AS threads,
       a.resident_bytes, 100.0 * w.live / nullif(a.resident_bytes, 0) AS live_percent,
       a.releasable_bytes, a.pinned_bytes, a.largest_hole_bytes,
       p.address_hex || CASE WHEN p.size_bytes < 1024 THEN printf(' %d B', p.size_bytes)
                             WHEN p.size_bytes < 1047552
                             THEN printf(' %.1f KiB', p.size_bytes / 1024.0)
                             ELSE printf(' %.1f MiB', p.size_bytes / 1048576.0) END ||
           coalesce(' ' || p.type, '') AS top_pin,
       w.live AS live_resident_bytes, w.top AS top_resident_bytes,
       w.cached AS cached_resident_bytes,
       w.cache_pinned AS cache_pinned_resident_bytes, w.edge AS edge_resident_bytes,
       w.overhead AS overhead_resident_bytes,
       a.mapped_bytes, a.holes, a.hole_bytes, p.unlocked_bytes AS top_pin_unlocks_bytes,
       p.holder AS top_pin_holder,
       a.resident_bytes - w.live - w.overhead AS dead_resident_bytes
FROM v_arena a
LEFT JOIN v_top_pin p ON p.arena_id = a.arena_id AND p.rank = 1
LEFT JOIN (SELECT arena_id, sum(bytes) FILTER (WHERE class = 'live') AS live,
                  sum(bytes) FILTER (WHERE class = 'top') AS top,
                  sum(bytes) FILTER (WHERE class = 'cached') AS cached,
                  sum(bytes) FILTER (WHERE class = 'cache-pinned') AS cache_pinned,
                  sum(bytes) FILTER (WHERE class = 'edge') AS edge,
                  sum(bytes) FILTER (WHERE class = 'overhead') AS overhead
           FROM v_waste WHERE arena_id IS NOT NULL GROUP BY arena_id) w
       ON w.arena_id = a.arena_id
ORDER BY dead_resident_bytes DESC, a.hole_bytes + a.top_bytes DESC, a.arena_id;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_arena_waste', '', '', 'One row for each arena with what it wastes and what holds down its top; the largest waste first.'),
('v_arena_waste', 'arena_id', 'id', 'Arena; 0 is main.'),
('v_arena_waste', 'is_main', '0/1', '1: a main arena, grown by brk.'),
('v_arena_waste', 'heaps', 'count', 'Its heaps.'),
('v_arena_waste', 'threads', 'count', 'Threads that allocate from it; NULL when that is not known.'),
('v_arena_waste', 'resident_bytes', 'bytes', 'In memory when the core was written; NULL when nothing says so.'),
('v_arena_waste', 'live_percent', 'percent', 'Live bytes of resident_bytes.'),
('v_arena_waste', 'releasable_bytes', 'bytes', 'malloc_trim(0) would give it back now.'),
('v_arena_waste', 'pinned_bytes', 'bytes', 'Dead bytes on pages that live chunks keep.'),
('v_arena_waste', 'largest_hole_bytes', 'bytes', 'Its largest hole, resident or not.'),
('v_arena_waste', 'top_pin', 'text', 'The live chunk right below its top: header, size, type; NULL: there is none.'),
('v_arena_waste', 'live_resident_bytes', 'bytes', 'Resident bytes of live chunks.'),
('v_arena_waste', 'top_resident_bytes', 'bytes', 'Resident bytes of its top.'),
('v_arena_waste', 'cached_resident_bytes', 'bytes', 'Resident bytes of fastbins and thread caches.'),
('v_arena_waste', 'cache_pinned_resident_bytes', 'bytes', 'Resident free bytes on pages that cached chunks alone keep.'),
('v_arena_waste', 'edge_resident_bytes', 'bytes', 'Resident bytes at the ends of holes.'),
('v_arena_waste', 'overhead_resident_bytes', 'bytes', 'Resident bytes of malloc''s own structures.'),
('v_arena_waste', 'mapped_bytes', 'bytes', 'Accessible bytes of its heaps.'),
('v_arena_waste', 'holes', 'holes', 'Its holes, of any size.'),
('v_arena_waste', 'hole_bytes', 'bytes', 'Their bytes.'),
('v_arena_waste', 'top_pin_unlocks_bytes', 'bytes', 'What would join the top, or be dropped with its heap, if that chunk were freed.'),
('v_arena_waste', 'top_pin_holder', 'text', 'What holds that chunk; NULL until known.'),
('v_arena_waste', 'dead_resident_bytes', 'bytes', 'Resident bytes that are neither live nor overhead.');

-- A bare column beside max() is that of the row with the maximum: the holder of the costliest.
CREATE VIEW v_pinner AS
WITH summed AS (
    SELECT size_bytes, type, count(DISTINCT arena_id) AS arenas, sum(chunks) AS chunks,
           sum(live_bytes) AS live_bytes, sum(pinned_bytes) AS pinned_bytes,
           max(iif(holder IS NULL, -1, pinned_bytes)), holder
    FROM v_page_pin GROUP BY size_bytes, type
)
SELECT size_bytes, type, arenas, chunks, live_bytes, pinned_bytes,
       1.0 * pinned_bytes / live_bytes AS bytes_per_live_byte,
       iif(instr(holder, ' -> ') > 0, substr(holder, 1, instr(holder, ' -> ') - 1), holder) AS held_by,
       holder
FROM summed ORDER BY pinned_bytes DESC, size_bytes, type;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_pinner', '', '', 'v_page_pin of all arenas together: which live chunks keep the most dead bytes of their pages.'),
('v_pinner', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_pinner', 'type', 'text', 'What kind of object they are; NULL until known.'),
('v_pinner', 'arenas', 'count', 'Arenas that they stand in.'),
('v_pinner', 'chunks', 'chunks', 'How many pin a byte at least.'),
('v_pinner', 'live_bytes', 'bytes', 'Their own bytes.'),
('v_pinner', 'pinned_bytes', 'bytes', 'Resident dead bytes that they keep.'),
('v_pinner', 'bytes_per_live_byte', 'ratio', 'pinned_bytes / live_bytes.'),
('v_pinner', 'held_by', 'text', 'Where the way to one of them begins: the root in holder.'),
('v_pinner', 'holder', 'text', 'What holds one of them, in the arena where they pin the most; NULL: not known.');

CREATE VIEW v_hole_size AS
SELECT from_bytes, sum(holes) AS holes, sum(bytes) AS bytes, sum(resident_bytes) AS resident_bytes,
       sum(releasable_bytes) AS releasable_bytes,
       100.0 * sum(bytes) / sum(sum(bytes)) OVER () AS percent,
       sum(resident_bytes) - sum(releasable_bytes) AS kept_bytes,
       sum(bytes) - sum(resident_bytes) AS absent_bytes
FROM v_hole_histogram GROUP BY from_bytes ORDER BY from_bytes DESC;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_hole_size', '', '', 'v_hole_histogram of all arenas together, the largest holes first.'),
('v_hole_size', 'from_bytes', 'bytes', 'Power of two: holes of at least this and less than twice this size.'),
('v_hole_size', 'holes', 'holes', 'How many.'),
('v_hole_size', 'bytes', 'bytes', 'All of them together.'),
('v_hole_size', 'resident_bytes', 'bytes', 'Of these, in memory; NULL when nothing says so.'),
('v_hole_size', 'releasable_bytes', 'bytes', 'Of these, what malloc_trim(0) would give back.'),
('v_hole_size', 'percent', 'percent', 'bytes of all holes.'),
('v_hole_size', 'kept_bytes', 'bytes', 'Of resident_bytes, what malloc_trim(0) would leave.'),
('v_hole_size', 'absent_bytes', 'bytes', 'Of bytes, not in memory.');

CREATE VIEW v_live_size AS
SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes,
       100.0 * sum(bytes) / sum(sum(bytes)) OVER () AS percent,
       (SELECT t.type FROM v_size_type t WHERE t.size_bytes = v_size_class.size_bytes
        ORDER BY t.chunks DESC, t.type LIMIT 1) AS most_are
FROM v_size_class WHERE state IN ('live', 'mmapped')
GROUP BY size_bytes ORDER BY bytes DESC, size_bytes;

CREATE VIEW v_dead_size AS
SELECT size_bytes, sum(chunks) AS chunks, sum(bytes) AS bytes,
       100.0 * sum(bytes) / sum(sum(bytes)) OVER () AS percent
FROM v_size_class WHERE state IN ('free', 'fast', 'tcache')
GROUP BY size_bytes ORDER BY bytes DESC, size_bytes;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_live_size', '', '', 'Live chunks by size, those that hold the most bytes first.'),
('v_live_size', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_live_size', 'chunks', 'chunks', 'How many.'),
('v_live_size', 'bytes', 'bytes', 'All of them together.'),
('v_live_size', 'percent', 'percent', 'bytes of all live chunks.'),
('v_live_size', 'most_are', 'text', 'The type that most of them have (v_size_type); NULL: only their size is known.'),
('v_dead_size', '', '', 'Dead chunks below the tops (free, fast, tcache) by size, those that hold the most bytes first.'),
('v_dead_size', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_dead_size', 'chunks', 'chunks', 'How many.'),
('v_dead_size', 'bytes', 'bytes', 'All of them together.'),
('v_dead_size', 'percent', 'percent', 'bytes of all such chunks.');

CREATE VIEW v_live_type AS
SELECT coalesce(type, '(only its size is known)') AS type, evidence, chunks, bytes,
       unreachable_bytes, 100.0 * bytes / sum(bytes) OVER () AS percent,
       nullif(iif(type IS NULL OR unreachable_bytes * 2 > bytes, NULL,
                  iif(instr(holder, ' -> ') > 0, substr(holder, 1, instr(holder, ' -> ') - 1),
                      holder)), memory_of) AS held_by,
       holder
FROM v_type ORDER BY bytes DESC, type;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_live_type', '', '', 'Live chunks by type, those that hold the most bytes first.'),
('v_live_type', 'type', 'text', 'As in v_type; words where no name is known.'),
('v_live_type', 'evidence', 'text', 'As in v_type.'),
('v_live_type', 'chunks', 'chunks', 'How many.'),
('v_live_type', 'bytes', 'bytes', 'All of them together.'),
('v_live_type', 'unreachable_bytes', 'bytes', 'Of these, what nothing reaches.'),
('v_live_type', 'percent', 'percent', 'bytes of all live chunks.'),
('v_live_type', 'held_by', 'text', 'Where the way to one of them begins: the root in holder; NULL where nobody asked, and where it says nothing: of what has no type, of what is mostly lost, and of the memory of that root.'),
('v_live_type', 'holder', 'text', 'As in v_type.');

CREATE VIEW v_advice AS
SELECT coalesce(advice, title) AS advice,
       CASE WHEN severity = 'what-if' THEN bytes
            WHEN code = 'leak' THEN (SELECT coalesce(leak_resident_bytes, leak_bytes) FROM fact)
            END AS gives_back_bytes, exactness, code,
       detail, sql
FROM v_finding
WHERE severity = 'what-if' OR (finding_id = 1 AND advice IS NOT NULL) ORDER BY finding_id;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_advice', '', '', 'What would help, in the order of the rules: what to do, what it gives back, how exact that is.'),
('v_advice', 'advice', 'text', 'What to do, or what was assumed.'),
('v_advice', 'gives_back_bytes', 'bytes', 'Resident memory that it gives back; NULL: no figure.'),
('v_advice', 'exactness', 'text', 'As in v_finding.'),
('v_advice', 'code', 'text', 'The rule, as in v_finding.'),
('v_advice', 'detail', 'text', 'What it rests on, and what it cannot show.'),
('v_advice', 'sql', 'text', 'The query behind the number.');

CREATE VIEW v_anomaly_kind AS
SELECT source, code, count(*) AS times, is_corruption,
       min(detail || iif(in_flux, printf('; thread %d is at it', thread_id) ||
                                  coalesce(', in ' || function, ''), '')) AS example
FROM v_anomaly GROUP BY source, code, is_corruption
ORDER BY is_corruption DESC, times DESC, code;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_anomaly_kind', '', '', 'v_anomaly by kind, corruption first.'),
('v_anomaly_kind', 'source', 'text', 'As in v_anomaly.'),
('v_anomaly_kind', 'code', 'text', 'As in v_anomaly.'),
('v_anomaly_kind', 'times', 'count', 'How many rows.'),
('v_anomaly_kind', 'is_corruption', '0/1', '1: it means a damaged heap; 0: damage of the file, or a moment caught in flux.'),
('v_anomaly_kind', 'example', 'text', 'The first of their details.');

INSERT INTO example_query (title, sql) VALUES
('Where does the resident heap go, mmapped chunks included?',
 'SELECT label, bytes, round(percent, 1) AS percent, meaning FROM v_waterfall'),
('Which arenas waste the most, and what holds down their tops?',
 'SELECT arena_id, resident_bytes, live_percent, releasable_bytes, pinned_bytes, top_pin FROM v_arena_waste LIMIT 20'),
('What can be done, and what would it give back?',
 'SELECT advice, gives_back_bytes, exactness FROM v_advice');

CREATE VIEW v_live_owner AS
SELECT kind, name, chunks, bytes, resident_bytes,
       100.0 * bytes / nullif((SELECT live_bytes FROM v_fact), 0) AS percent,
       example_address_hex
FROM v_owner WHERE kind NOT IN ('type', 'module') ORDER BY bytes DESC;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_live_owner', '', '', 'v_owner without types and modules: each live chunk that is reached counts in one row. What keeps the most first.'),
('v_live_owner', 'kind', 'text', 'As in v_owner.'),
('v_live_owner', 'name', 'text', 'As in v_owner.'),
('v_live_owner', 'chunks', 'chunks', 'Live chunks that it keeps alive.'),
('v_live_owner', 'bytes', 'bytes', 'Their bytes, headers included.'),
('v_live_owner', 'resident_bytes', 'bytes', 'Of these, resident; NULL: not known.'),
('v_live_owner', 'percent', 'percent', 'bytes of all live bytes.'),
('v_live_owner', 'example_address_hex', 'hex', 'Header of a chunk that it keeps alive.');

CREATE VIEW v_lost AS
SELECT size_bytes, type, iif(type IS NULL, points_to, NULL) AS points_to, leaders, chunks, bytes,
       example_address_hex
FROM v_leak_group ORDER BY bytes DESC;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_lost', '', '', 'v_leak_group as a report shows it, the most bytes first.'),
('v_lost', 'size_bytes', 'bytes', 'Size of a leader''s chunk.'),
('v_lost', 'type', 'text', 'What the leaders are; NULL: only their size is known.'),
('v_lost', 'points_to', 'text', 'What a leader without a type leads to in a module.'),
('v_lost', 'leaders', 'chunks', 'How often it was lost.'),
('v_lost', 'chunks', 'chunks', 'Leaders and what hangs on them.'),
('v_lost', 'bytes', 'bytes', 'All of these together.'),
('v_lost', 'example_address_hex', 'hex', 'Header of the first leader.');
