-- What must hold in any database of ours: totals are the sums of their parts, every view and column
-- is explained. The queries need no truth. The format is that of truth.sql.

--- the file is sound
SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok';

--- nothing is reported as not adding up
SELECT * FROM v_anomaly;

--- meta has every key
WITH k(key) AS (VALUES
    ('schema_version'), ('tool_version'), ('core_path'), ('core_bytes'), ('core_complete'),
    ('core_producer'), ('missing_bytes'), ('machine'), ('word_bits'), ('page_bytes'), ('pid'),
    ('signal'), ('exe'), ('libc_path'), ('libc_build_id'), ('libc_version'), ('malloc_layout'),
    ('located_by'), ('residency_source'), ('residency_exact'), ('safe_linking'))
SELECT key FROM k WHERE key NOT IN (SELECT key FROM meta);

--- every view is explained
SELECT name FROM sqlite_schema
WHERE type = 'view' AND name NOT IN (SELECT object FROM doc WHERE "column" = '');

--- every column is explained
SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c
WHERE s.type = 'view' AND (s.name, c.name) NOT IN (SELECT object, "column" FROM doc);

--- no column is explained that does not exist
SELECT d.object, d."column" FROM doc d
WHERE d.object IN (SELECT name FROM sqlite_schema WHERE type IN ('view', 'table'))
  AND d."column" <> ''
  AND d."column" NOT IN (SELECT name FROM pragma_table_info(d.object));

--- every address stands beside its hex
SELECT d.object, d."column" FROM doc d
WHERE d.unit = 'address' AND substr(d.object, 1, 2) = 'v_'
  AND (d.object, d."column" || '_hex') NOT IN (SELECT object, "column" FROM doc);

--- what is resident is the sum of its parts
SELECT r.bytes, b.bytes FROM (SELECT sum(bytes) AS bytes FROM v_rss) r,
    (SELECT sum(resident_bytes) AS bytes FROM v_budget) b WHERE r.bytes IS NOT b.bytes;

--- a part of which nothing is known is not 0
SELECT * FROM v_rss WHERE bytes IS NULL AND open_bytes = 0 AND part NOT IN ('live', 'freed', 'overhead');

--- the states of an arena fill it
SELECT * FROM v_arena
WHERE live_bytes + free_bytes + fast_bytes + tcache_bytes + top_bytes + overhead_bytes
      <> mapped_bytes;

--- the states of a heap fill it
SELECT * FROM v_heap
WHERE live_bytes + free_bytes + fast_bytes + tcache_bytes + top_bytes + overhead_bytes
      <> end - start;

--- heaps add up to their arena
SELECT a.arena_id, a.heaps, count(h.heap_id), a.mapped_bytes, sum(h.end - h.start)
FROM v_arena a LEFT JOIN v_heap h USING (arena_id) GROUP BY a.arena_id
HAVING a.heaps <> count(h.heap_id)
    OR (a.mapped_bytes, a.live_bytes, a.free_bytes, a.top_bytes, a.holes, a.hole_bytes,
        a.fence_bytes, a.overhead_bytes, a.resident_bytes) IS NOT
       (total(h.end - h.start), total(h.live_bytes), total(h.free_bytes), total(h.top_bytes),
        total(h.holes), total(h.hole_bytes), total(h.fence_bytes), total(h.overhead_bytes),
        sum(h.resident_bytes));

--- chunks add up to their size classes
SELECT arena_id, state, size_bytes, count(*), sum(size_bytes) FROM v_chunk GROUP BY 1, 2, 3
EXCEPT
SELECT arena_id, state, size_bytes, chunks, bytes FROM v_size_class;

--- size classes are all of chunks that exist
SELECT arena_id, state, size_bytes, chunks, bytes FROM v_size_class
EXCEPT
SELECT arena_id, state, size_bytes, count(*), sum(size_bytes) FROM v_chunk GROUP BY 1, 2, 3;

--- live chunks of a type are as many as it has
WITH c AS (SELECT type, count(*), sum(size_bytes), total(reachable = 0) FROM v_chunk
           WHERE state IN ('live', 'mmapped') GROUP BY type),
     t AS (SELECT type, sum(chunks), sum(bytes), total(unreachable_chunks) FROM v_type
           GROUP BY type)
SELECT * FROM (SELECT * FROM c EXCEPT SELECT * FROM t
               UNION ALL SELECT * FROM (SELECT * FROM t EXCEPT SELECT * FROM c))
WHERE (SELECT value FROM meta WHERE key = 'reachability') = 1
  AND (SELECT value FROM meta WHERE key = 'chunks') = 'all';

--- what is not live has no type
SELECT address_hex, state, type FROM v_chunk
WHERE type IS NOT NULL AND state NOT IN ('live', 'mmapped');

--- a heap's chunks are those in its range
SELECT h.heap_id, h.arena_id, c.address_hex, c.heap_id, c.arena_id
FROM v_heap h JOIN v_chunk c ON c.address >= h.start AND c.address < h.end
WHERE (c.heap_id, c.arena_id) IS NOT (h.heap_id, h.arena_id);

--- size classes add up to their arena
WITH s AS (SELECT arena_id, state, sum(chunks) c, sum(bytes) b FROM v_size_class GROUP BY 1, 2),
     a AS (SELECT arena_id, 'live' state, live_chunks c, live_bytes b FROM v_arena UNION ALL
           SELECT arena_id, 'free', free_chunks, free_bytes FROM v_arena UNION ALL
           SELECT arena_id, 'fast', fast_chunks, fast_bytes FROM v_arena UNION ALL
           SELECT arena_id, 'tcache', tcache_chunks, tcache_bytes FROM v_arena UNION ALL
           SELECT arena_id, 'top', top_bytes > 0, top_bytes FROM v_arena)
SELECT * FROM a LEFT JOIN s USING (arena_id, state)
WHERE a.c <> ifnull(s.c, 0) OR a.b <> ifnull(s.b, 0);

--- mmapped size classes add up to hblks
SELECT m.hblks, total(s.chunks) chunks FROM v_mallinfo m
LEFT JOIN v_size_class s ON s.state = 'mmapped' OR (s.state = 'tcache' AND s.arena_id IS NULL)
WHERE m.arena_id IS NULL
GROUP BY m.hblks HAVING m.hblks <> total(s.chunks);

--- bins add up to their arena
SELECT a.arena_id, a.free_chunks, a.fast_chunks, b.*
FROM v_arena a LEFT JOIN
     (SELECT arena_id,
             sum(iif(kind = 'fast', 0, chunks)) free_c, sum(iif(kind = 'fast', 0, bytes)) free_b,
             sum(iif(kind = 'fast', chunks, 0)) fast_c, sum(iif(kind = 'fast', bytes, 0)) fast_b
      FROM v_bin GROUP BY 1) b USING (arena_id)
WHERE (a.free_chunks, a.free_bytes, a.fast_chunks, a.fast_bytes) IS NOT
      (ifnull(free_c, 0), ifnull(free_b, 0), ifnull(fast_c, 0), ifnull(fast_b, 0));

--- thread caches add up to the arenas, and to the mmapped chunks that they hold
SELECT * FROM (SELECT total(chunks) c, total(bytes) b FROM v_tcache) t,
              (SELECT total(tcache_chunks) ac, total(tcache_bytes) ab FROM v_arena) a,
              (SELECT total(chunks) mc, total(bytes) mb FROM v_size_class
               WHERE state = 'tcache' AND arena_id IS NULL) m
WHERE t.c <> a.ac + mc OR t.b <> a.ab + mb;

--- mallinfo of the arenas adds up to the whole
SELECT * FROM v_mallinfo w,
    (SELECT sum(m.arena) a, sum(m.ordblks) o, sum(m.smblks) s, sum(m.hblks) h, sum(m.hblkhd) hd,
            sum(m.fsmblks) f, sum(m.uordblks) u, sum(m.fordblks) fo, sum(m.keepcost) k
     FROM v_mallinfo m JOIN v_arena USING (arena_id) WHERE namespace = 0)
WHERE w.arena_id IS NULL
  AND (w.arena, w.ordblks, w.smblks, w.hblks, w.hblkhd, w.fsmblks, w.uordblks, w.fordblks,
       w.keepcost) IS NOT (a, o, s, h, hd, f, u, fo, k);

--- holes are the dead chunks below the top
SELECT arena_id, holes, hole_bytes, free_bytes, fast_bytes, tcache_bytes FROM v_arena
WHERE hole_bytes <> free_bytes + fast_bytes + tcache_bytes;

--- the histogram of holes counts all of them
SELECT a.arena_id, a.holes, total(h.holes), a.hole_bytes, total(h.bytes)
FROM v_arena a LEFT JOIN v_hole_histogram h USING (arena_id) GROUP BY a.arena_id
HAVING a.holes <> total(h.holes) OR a.hole_bytes <> total(h.bytes);

--- holes of a page or more are the upper part of the histogram
SELECT * FROM
    (SELECT arena_id, sum(holes) n, sum(bytes) b, sum(resident_bytes) r
     FROM v_hole_histogram WHERE from_bytes >= 4096 GROUP BY 1)
LEFT JOIN
    (SELECT arena_id, count(*) hn, sum(size_bytes) hb, sum(resident_bytes) hr
     FROM v_hole GROUP BY 1) USING (arena_id)
WHERE (n, b, r) IS NOT (hn, hb, hr);

--- the neighbours of a hole are live chunks that touch it
SELECT h.address_hex, h.size_bytes, h.below_address_hex, b.state, b.size_bytes,
       h.above_address_hex, a.state
FROM v_hole h LEFT JOIN v_chunk b ON b.address = h.below_address
              LEFT JOIN v_chunk a ON a.address = h.above_address
WHERE (h.below_address IS NOT NULL
       AND (b.state IS NOT 'live' OR b.address + b.size_bytes <> h.address))
   OR (h.above_address IS NOT NULL
       AND (a.state IS NOT 'live' OR a.address <> h.address + h.size_bytes));

--- chunks of a heap do not overlap
SELECT * FROM (SELECT address_hex, address + size_bytes
                      - lead(address) OVER (PARTITION BY heap_id ORDER BY address) overlap
               FROM v_chunk WHERE heap_id IS NOT NULL)
WHERE overlap > 0;

--- chunks lie within their heap
SELECT c.address_hex, c.size_bytes, h.start_hex, h.end_hex
FROM v_heap h JOIN v_chunk c USING (heap_id)
WHERE c.address < h.start OR c.address + c.size_bytes > h.end;

--- resident is within mapped
SELECT 'heap', heap_id, resident_bytes, end - start m FROM v_heap WHERE resident_bytes > end - start
UNION ALL
SELECT 'hole', hole_id, resident_bytes, size_bytes FROM v_hole WHERE resident_bytes > size_bytes;

--- the waterfall of an arena is its resident bytes
SELECT a.arena_id, a.resident_bytes, sum(w.bytes) FROM v_arena a LEFT JOIN v_waste w USING (arena_id)
GROUP BY a.arena_id HAVING a.resident_bytes IS NOT sum(w.bytes) OR count(*) <> 8;

--- the waterfalls of the arenas add up to that of all
SELECT class, sum(iif(arena_id IS NULL, 0, bytes)) arenas, sum(iif(arena_id IS NULL, bytes, 0)) whole
FROM v_waste WHERE EXISTS (SELECT 1 FROM v_arena)
GROUP BY class HAVING arenas IS NOT whole OR count(*) <> 1 + (SELECT count(*) FROM v_arena);

--- released ranges add up to what is releasable
SELECT a.arena_id, a.releasable_bytes, a.releasable_top_bytes, w.bytes, r.*
FROM v_arena a JOIN v_waste w ON w.arena_id = a.arena_id AND w.class = 'releasable'
LEFT JOIN (SELECT arena_id, sum(resident_bytes) b, sum(iif(how = 'brk', resident_bytes, 0)) t
           FROM v_trim_range GROUP BY 1) r USING (arena_id)
WHERE a.releasable_bytes IS NOT ifnull(r.b, 0) OR a.releasable_top_bytes IS NOT ifnull(r.t, 0)
   OR (w.bytes IS NOT NULL AND w.bytes IS NOT a.releasable_bytes);

--- page pins add up to what is pinned
SELECT a.arena_id, a.pinned_bytes, w.bytes, total(p.pinned_bytes)
FROM v_arena a JOIN v_waste w ON w.arena_id = a.arena_id AND w.class = 'pinned'
LEFT JOIN v_page_pin p ON p.arena_id = a.arena_id
GROUP BY a.arena_id
HAVING a.pinned_bytes IS NOT w.bytes OR ifnull(w.bytes, 0) <> total(p.pinned_bytes);

--- page runs hold the live bytes of their heap, and all of its pages
SELECT h.heap_id, h.live_bytes, sum(r.live_bytes), sum(r.pages)
FROM v_heap h LEFT JOIN v_page_run r USING (heap_id)
GROUP BY h.heap_id
HAVING h.live_bytes IS NOT sum(r.live_bytes)
    OR sum(r.pages) <> (h.end + 4095) / 4096 - h.start / 4096 OR min(r.start) <> h.start & ~4095;

--- page runs do not leave gaps
SELECT * FROM (SELECT start_hex, pages, start + pages * 4096
                      - lead(start) OVER (PARTITION BY heap_id ORDER BY start) gap FROM v_page_run)
WHERE gap <> 0;

--- released ranges are resident page runs of their class, and those are all
SELECT (SELECT total(resident_bytes) FROM v_trim_range) ranges, total(pages * 4096) runs
FROM v_page_run WHERE class = 'releasable' AND resident = 1 HAVING ranges <> runs;

--- released ranges lie in dead chunks or the top
SELECT t.address_hex, t.length_bytes, c.address_hex, c.state
FROM v_trim_range t JOIN v_heap h ON h.arena_id = t.arena_id AND t.address BETWEEN h.start AND h.end
JOIN v_chunk c ON c.heap_id = h.heap_id AND c.address < t.address + t.length_bytes
              AND c.address + c.size_bytes > t.address
WHERE c.state NOT IN ('free', 'fast', 'top') OR (c.state = 'top' AND t.how <> 'brk');

--- what holes would release is what trim releases below the tops
SELECT total(h.releasable_bytes) histogram,
       (SELECT total(releasable_bytes) FROM v_hole) large,
       (SELECT total(resident_bytes) FROM v_trim_range WHERE how = 'madvise') ranges
FROM v_hole_histogram h HAVING histogram < ranges OR large < ranges;

--- top pins are live chunks, ranked downwards, without a gap in the ranks
SELECT p.arena_id, p.rank, p.address_hex, c.state, c.size_bytes FROM v_top_pin p
LEFT JOIN v_chunk c ON c.address = p.address
WHERE c.state IS NOT 'live' OR c.size_bytes <> p.size_bytes OR c.heap_id <> p.heap_id
   OR p.rank <> (SELECT count(*) FROM v_top_pin q WHERE q.arena_id = p.arena_id AND q.rank <= p.rank);

--- a lower top pin unlocks no less
SELECT * FROM (SELECT arena_id, rank, unlocked_bytes
                      - lag(unlocked_bytes) OVER (PARTITION BY arena_id ORDER BY rank) more
               FROM v_top_pin) WHERE more < 0;

--- in the heap of the top, pins unlock all that is between
SELECT p.arena_id, p.rank, p.unlocked_bytes, c.address - p.address + p.hole_below_bytes wanted
FROM v_top_pin p JOIN v_chunk c ON c.heap_id = p.heap_id AND c.state = 'top'
WHERE p.unlocked_bytes < wanted;

--- top pins unlock no more resident bytes than bytes
SELECT arena_id, rank, unlocked_bytes, unlocked_resident_bytes FROM v_top_pin
WHERE unlocked_resident_bytes > unlocked_bytes;

--- the waterfall sums to the resident heap of the verdict
SELECT sum(bytes), heap_resident_bytes FROM v_waterfall, v_verdict
GROUP BY heap_resident_bytes HAVING sum(bytes) IS NOT heap_resident_bytes
    AND (SELECT value FROM meta WHERE key = 'residency_source') <> 'none';

--- caches and fastbins of the waterfall are not more than their chunks
SELECT w.bytes, w.class, t.bytes, t.fast FROM v_waterfall w,
    (SELECT (SELECT sum(bytes) FROM v_tcache) AS bytes, sum(fast_bytes) AS fast FROM v_arena) t
WHERE (w.class = 'tcache' AND w.bytes > coalesce(t.bytes, 0))
   OR (w.class = 'fastbin' AND w.bytes > coalesce(t.fast, 0));

--- the two parts of the class cached are what it is, in each arena
SELECT * FROM v_waste WHERE tcache_bytes > bytes OR (class <> 'cached' AND tcache_bytes <> 0);

--- what is free and not in memory is not more than what the heaps have that is not in memory
SELECT f.given_back_bytes, a.absent FROM v_fact f,
    (SELECT sum(mapped_bytes - resident_bytes) AS absent FROM v_arena) a
WHERE f.given_back_bytes > a.absent;

--- the report's parts of memory sum to the budget
SELECT m.mapped, b.mapped, m.resident, b.resident FROM
    (SELECT sum(mapped_bytes) mapped, sum(resident_bytes) resident FROM v_memory) m,
    (SELECT sum(mapped_bytes) mapped, sum(resident_bytes) resident FROM v_budget) b
WHERE m.mapped <> b.mapped OR m.resident IS NOT b.resident;

--- what pins by size and type sums to the class pinned
SELECT p.pinned, w.bytes FROM (SELECT coalesce(sum(pinned_bytes), 0) pinned FROM v_pinner) p,
    v_waste w WHERE w.arena_id IS NULL AND w.class = 'pinned' AND w.bytes <> p.pinned;

--- the hole sizes sum to the holes of the arenas
SELECT h.bytes, a.bytes FROM (SELECT coalesce(sum(bytes), 0) bytes FROM v_hole_size) h,
    (SELECT coalesce(sum(hole_bytes), 0) bytes FROM v_arena) a WHERE h.bytes <> a.bytes;
