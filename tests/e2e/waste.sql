-- Resident bytes, holes and pins, beyond their sums. The queries need no truth. The format is that
-- of truth.sql.

--- no class of waste is unknown or negative
SELECT * FROM v_waste
WHERE class NOT IN ('live', 'overhead', 'releasable', 'pinned', 'top', 'cached', 'cache-pinned', 'edge')
   OR bytes < 0;

--- the pages that somebody keeps hold what malloc_trim leaves, and no more than fits on them
--- needs residency
SELECT w.arena_id, w.bytes, k.bytes AS kept FROM
    (SELECT arena_id, sum(bytes) AS bytes FROM v_waste
     WHERE class NOT IN ('live', 'overhead', 'releasable') GROUP BY arena_id) w LEFT JOIN
    (SELECT arena_id, sum(dead_bytes) AS bytes, sum(pages) AS pages FROM v_page_keeper
     GROUP BY arena_id) k ON k.arena_id IS w.arena_id
WHERE w.bytes <> coalesce(k.bytes, 0) OR k.bytes > k.pages * 4096;

--- malloc_trim gives back no more than is in memory, whatever went back first
--- needs residency
SELECT * FROM v_trim_if
WHERE then_bytes < 0 OR then_bytes > (SELECT heap_resident_bytes FROM v_fact);

--- every live chunk is in at most one row of page pins
SELECT p.arena_id, p.size_bytes, sum(p.chunks) pinning, s.chunks
FROM v_page_pin p LEFT JOIN v_size_class s
     ON s.arena_id = p.arena_id AND s.size_bytes = p.size_bytes AND s.state = 'live'
GROUP BY p.arena_id, p.size_bytes HAVING sum(p.chunks) > ifnull(s.chunks, 0);

--- resident page runs are the resident bytes of their heap (which may begin within a page)
--- needs residency
SELECT h.heap_id, h.start_hex, h.resident_bytes, total(r.bytes) runs
FROM v_heap h LEFT JOIN
     (SELECT heap_id, min(start + pages * 4096, (SELECT end FROM v_heap x WHERE x.heap_id = r.heap_id))
                      - max(start, (SELECT start FROM v_heap x WHERE x.heap_id = r.heap_id)) bytes
      FROM v_page_run r WHERE resident) r USING (heap_id)
GROUP BY h.heap_id HAVING h.resident_bytes IS NOT total(r.bytes);

--- holes promise no more than they have in memory
SELECT address_hex, size_bytes, resident_bytes, releasable_bytes FROM v_hole
WHERE releasable_bytes > resident_bytes;

--- an arena has a hundred top pins, or all of its live chunks (down to a fence of the main arena)
SELECT a.arena_id, a.live_chunks, a.fence_bytes, count(p.rank) pins
FROM v_arena a LEFT JOIN v_top_pin p USING (arena_id) GROUP BY a.arena_id
HAVING count(p.rank) > min(a.live_chunks, 100)
    OR (count(p.rank) < min(a.live_chunks, 100) AND NOT (a.is_main AND a.fence_bytes > 0));
