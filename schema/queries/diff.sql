-- The tables of a comparison: the newer database is main, the older one attached as old. Where rows
-- of both are summed, a is after, b before, c how many more.

-- query: same_program
SELECT n.exe AS new_exe, o.exe AS old_exe, n.build_id AS new_build_id, o.build_id AS old_build_id,
       n.machine AS new_machine, o.machine AS old_machine, n.pid AS new_pid, o.pid AS old_pid
FROM (SELECT m.*, (SELECT build_id FROM main.v_module WHERE file = m.exe LIMIT 1) AS build_id
      FROM (SELECT max(value) FILTER (WHERE key = 'exe') AS exe,
                   max(value) FILTER (WHERE key = 'machine') AS machine,
                   max(value) FILTER (WHERE key = 'pid') AS pid FROM main.meta) m) n,
     (SELECT m.*, (SELECT build_id FROM old.v_module WHERE file = m.exe LIMIT 1) AS build_id
      FROM (SELECT max(value) FILTER (WHERE key = 'exe') AS exe,
                   max(value) FILTER (WHERE key = 'machine') AS machine,
                   max(value) FILTER (WHERE key = 'pid') AS pid FROM old.meta) m) o

-- query: old_residency
SELECT value FROM old.meta WHERE key = 'residency_exact'

-- query: diff_figures
SELECT name, before, after, after - before AS growth FROM (
SELECT 'anonymous memory' AS name, o.resident_bytes AS before, n.resident_bytes AS after
FROM old.v_fact o, main.v_fact n
UNION ALL SELECT 'malloc', o.heap_resident_bytes, n.heap_resident_bytes
FROM old.v_fact o, main.v_fact n
UNION ALL SELECT 'free and kept', o.retained_free_bytes, n.retained_free_bytes
FROM old.v_fact o, main.v_fact n
UNION ALL SELECT 'releasable by malloc_trim(0)', o.releasable_bytes, n.releasable_bytes
FROM old.v_fact o, main.v_fact n
UNION ALL SELECT 'pinned', o.pinned_bytes, n.pinned_bytes FROM old.v_fact o, main.v_fact n)

-- query: diff_served
SELECT name, before, after, after - before AS growth FROM (
SELECT 'live' AS name, o.live_bytes AS before, n.live_bytes AS after
FROM old.v_fact o, main.v_fact n
UNION ALL SELECT 'of it unreached', o.leak_bytes, n.leak_bytes FROM old.v_fact o, main.v_fact n)

-- query: diff_types
SELECT coalesce(type, '(by size only)') AS type, sum(b) AS before, sum(a) AS after,
sum(a) - sum(b) AS growth, sum(c) AS more_chunks FROM (
SELECT type, bytes AS a, 0 AS b, chunks AS c FROM main.v_type
UNION ALL SELECT type, 0, bytes, -chunks FROM old.v_type)
GROUP BY type HAVING growth <> 0 ORDER BY growth DESC, type

-- query: diff_sizes
SELECT size_bytes, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth,
sum(c) AS more_chunks FROM (
SELECT size_bytes, bytes AS a, 0 AS b, chunks AS c FROM main.v_size_class
WHERE state IN ('live', 'mmapped')
UNION ALL SELECT size_bytes, 0, bytes, -chunks FROM old.v_size_class
WHERE state IN ('live', 'mmapped'))
GROUP BY size_bytes HAVING growth <> 0 ORDER BY growth DESC, size_bytes

-- query: diff_leaks
SELECT size_bytes, type, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth,
sum(c) AS more_chunks FROM (
SELECT size_bytes, type, bytes AS a, 0 AS b, chunks AS c FROM main.v_leak
UNION ALL SELECT size_bytes, type, 0, bytes, -chunks FROM old.v_leak)
GROUP BY size_bytes, type HAVING growth <> 0 ORDER BY growth DESC, size_bytes

-- query: diff_waste
SELECT class AS name, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth FROM (
SELECT class, class_order, bytes AS a, 0 AS b FROM main.v_waste WHERE arena_id IS NULL
UNION ALL SELECT class, class_order, 0, bytes FROM old.v_waste WHERE arena_id IS NULL)
GROUP BY class ORDER BY min(class_order)

-- query: diff_holes
SELECT from_bytes, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth,
sum(c) AS more_holes FROM (
SELECT from_bytes, bytes AS a, 0 AS b, holes AS c FROM main.v_hole_size
UNION ALL SELECT from_bytes, 0, bytes, -holes FROM old.v_hole_size)
GROUP BY from_bytes HAVING growth <> 0 OR more_holes <> 0 ORDER BY from_bytes DESC

-- query: diff_arenas
SELECT arena_id, sum(lb) AS live_before, sum(la) AS live_after, sum(la) - sum(lb) AS live_growth,
sum(fb) AS free_before, sum(fa) AS free_after, sum(fa) - sum(fb) AS free_growth FROM (
SELECT arena_id, live_bytes AS la, 0 AS lb, hole_bytes + top_bytes AS fa, 0 AS fb
FROM main.v_arena
UNION ALL SELECT arena_id, 0, live_bytes, 0, hole_bytes + top_bytes FROM old.v_arena)
GROUP BY arena_id HAVING live_growth <> 0 OR free_growth <> 0
ORDER BY live_growth + free_growth DESC, arena_id

-- query: diff_budget
SELECT kind AS name, sum(b) AS before, sum(a) AS after, sum(a) - sum(b) AS growth FROM (
SELECT kind, resident_bytes AS a, 0 AS b FROM main.v_budget WHERE resident_bytes IS NOT NULL
UNION ALL SELECT kind, 0, resident_bytes FROM old.v_budget WHERE resident_bytes IS NOT NULL)
GROUP BY kind HAVING before <> 0 OR after <> 0 ORDER BY growth DESC, kind

-- query: waterfall_before
SELECT class, label, bytes, meaning FROM old.v_waterfall

-- query: waterfall_after
SELECT class, label, bytes, meaning FROM main.v_waterfall

-- query: waterfall_sum_before
SELECT sum(bytes) FROM old.v_waterfall

-- query: waterfall_sum_after
SELECT sum(bytes) FROM main.v_waterfall
