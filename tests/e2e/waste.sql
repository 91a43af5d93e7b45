-- Where the resident bytes go, to the byte. The queries need no truth. The format is that of
-- truth.sql.

--- waste adds up to what is resident, arena by arena
--- needs residency
SELECT a.arena_id, a.resident_bytes, sum(w.bytes) waste
FROM v_arena a LEFT JOIN v_waste w USING (arena_id) GROUP BY a.arena_id
HAVING a.resident_bytes IS NOT sum(w.bytes);

--- waste of all arenas is the sum of the arenas'
--- needs residency
SELECT w.class, w.bytes, (SELECT total(bytes) FROM v_waste p
                          WHERE p.arena_id IS NOT NULL AND p.class = w.class) parts
FROM v_waste w WHERE w.arena_id IS NULL AND w.bytes <> parts;

--- no class of waste is unknown or negative
SELECT * FROM v_waste
WHERE class NOT IN ('live', 'overhead', 'releasable', 'pinned', 'top', 'cached', 'edge')
   OR bytes < 0;

--- what pages pin is shared out to the byte
--- needs residency
SELECT a.arena_id, a.pinned_bytes, total(p.pinned_bytes) shared
FROM v_arena a LEFT JOIN v_page_pin p USING (arena_id) GROUP BY a.arena_id
HAVING a.pinned_bytes IS NOT total(p.pinned_bytes);

--- every live chunk is in one row of page pins, or pins nothing
SELECT p.arena_id, p.size_bytes, sum(p.chunks) pinning, s.chunks
FROM v_page_pin p LEFT JOIN v_size_class s
     ON s.arena_id = p.arena_id AND s.size_bytes = p.size_bytes AND s.state = 'live'
GROUP BY p.arena_id, p.size_bytes HAVING sum(p.chunks) > ifnull(s.chunks, 0);

--- page runs fill each heap without a gap
SELECT h.heap_id, h.start_hex, h.end_hex, min(r.start) first, sum(r.pages) pages
FROM v_heap h LEFT JOIN v_page_run r USING (heap_id) GROUP BY h.heap_id
HAVING sum(r.pages) * 4096 IS NOT (h.end + 4095) / 4096 * 4096 - h.start / 4096 * 4096;

--- page runs count the live bytes of their heap
SELECT h.heap_id, h.live_bytes, sum(r.live_bytes)
FROM v_heap h LEFT JOIN v_page_run r USING (heap_id)
GROUP BY h.heap_id HAVING h.live_bytes IS NOT sum(r.live_bytes);

--- resident page runs are the resident bytes of their heap
--- needs residency
SELECT h.heap_id, h.resident_bytes, total(iif(r.resident, r.pages, 0)) * 4096 pages
FROM v_heap h LEFT JOIN v_page_run r USING (heap_id) GROUP BY h.heap_id
HAVING h.resident_bytes IS NOT total(iif(r.resident, r.pages, 0)) * 4096;

--- holes promise no more than they have in memory
SELECT address_hex, size_bytes, resident_bytes, releasable_bytes FROM v_hole
WHERE releasable_bytes > resident_bytes;

--- top pins are live chunks, ranked from the top down
SELECT p.arena_id, p.rank, p.address, c.state, c.size_bytes, p.size_bytes
FROM v_top_pin p LEFT JOIN v_chunk c ON c.address = p.address
WHERE c.state IS NOT 'live' OR c.size_bytes <> p.size_bytes OR c.arena_id <> p.arena_id;

--- ranks of top pins count from one, at most a hundred an arena
SELECT arena_id, count(*), min(rank), max(rank) FROM v_top_pin GROUP BY 1
HAVING min(rank) <> 1 OR max(rank) <> count(*) OR count(*) > 100;

--- freeing more pins unlocks no less
SELECT * FROM (SELECT arena_id, rank, unlocked_bytes,
                      lag(unlocked_bytes) OVER (PARTITION BY arena_id ORDER BY rank) before
               FROM v_top_pin)
WHERE before > unlocked_bytes;

--- an arena with live chunks has a top pin
SELECT arena_id, live_chunks FROM v_arena
WHERE live_chunks > 0 AND arena_id NOT IN (SELECT arena_id FROM v_top_pin);
