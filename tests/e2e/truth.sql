-- What the process said of itself, against what the database says of its core. A check is a name
-- after "--- ", a query that must return no row, and a semicolon.

--- two calls of mallinfo2() gave the same (else the truth itself is none)
SELECT * FROM truth_mallinfo a JOIN truth_mallinfo b
WHERE a.kind = 'mallinfo2' AND b.kind = 'mallinfo2_again'
  AND (a.arena, a.ordblks, a.smblks, a.hblks, a.hblkhd, a.usmblks, a.fsmblks, a.uordblks,
       a.fordblks, a.keepcost) IS NOT
      (b.arena, b.ordblks, b.smblks, b.hblks, b.hblkhd, b.usmblks, b.fsmblks, b.uordblks,
       b.fordblks, b.keepcost);

--- mallinfo2() is ours in all ten fields
SELECT * FROM truth_mallinfo t LEFT JOIN v_mallinfo v ON v.arena_id IS NULL
WHERE t.kind = 'mallinfo2'
  AND (t.arena, t.ordblks, t.smblks, t.hblks, t.hblkhd, t.usmblks, t.fsmblks, t.uordblks,
       t.fordblks, t.keepcost) IS NOT
      (v.arena, v.ordblks, v.smblks, v.hblks, v.hblkhd, v.usmblks, v.fsmblks, v.uordblks,
       v.fordblks, v.keepcost);

--- the main arena is heap 0 of malloc_info()
SELECT * FROM truth_xml x LEFT JOIN v_arena a ON a.arena_id = 0
WHERE x.nr = 0
  AND (a.is_main, a.system_bytes, a.max_system_bytes, a.fast_chunks, a.fast_bytes,
       a.free_chunks + 1) IS NOT
      (1, x.system_bytes, x.max_bytes, x.fast_chunks, x.fast_bytes, x.rest_chunks);

--- every arena of malloc_info() is one of ours (its numbers follow the ring: compare as a bag)
SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks, count(*)
FROM truth_xml GROUP BY 1, 2, 3, 4, 5, 6
EXCEPT
SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes, free_chunks + 1,
       count(*)
FROM v_arena WHERE namespace = 0 GROUP BY 1, 2, 3, 4, 5, 6;

--- every arena of ours is one of malloc_info()'s
SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes, free_chunks + 1,
       count(*)
FROM v_arena WHERE namespace = 0 GROUP BY 1, 2, 3, 4, 5, 6
EXCEPT
SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks, count(*)
FROM truth_xml GROUP BY 1, 2, 3, 4, 5, 6;

--- every live pointer is a live chunk of its usable size
SELECT printf('0x%x', t.address) pointer, t.requested, t.usable, c.state, c.usable_bytes
FROM truth_live t LEFT JOIN v_chunk c ON c.address = t.address - 16
WHERE c.state IS NULL OR c.state NOT IN ('live', 'mmapped')
   OR c.usable_bytes <> t.usable OR c.user_address <> t.address;

--- a chunk is mmapped exactly when it is in no heap
SELECT address_hex, state, arena_id, heap_id FROM v_chunk
WHERE (state = 'mmapped') <> (heap_id IS NULL);

--- no freed pointer lies in a live chunk that the program does not know
SELECT printf('0x%x', f.address) pointer, c.address_hex, c.size_bytes, c.state
FROM v_chunk c CROSS JOIN truth_freed f
     ON f.address >= c.user_address AND f.address < c.user_address + c.size_bytes
WHERE c.state IN ('live', 'mmapped') AND c.user_address NOT IN (SELECT address FROM truth_live);

--- the live chunks that the program does not know are libc's: thread caches, vectors for TLS
SELECT count(*) chunks, max(size_bytes) largest,
       (SELECT count(*) FROM truth_figure WHERE kind = 'loads') loads FROM v_chunk
WHERE state IN ('live', 'mmapped') AND user_address NOT IN (SELECT address FROM truth_live)
HAVING largest > 1300 + 4000 * loads
    OR chunks > (SELECT 2 * value + 4 FROM truth_figure WHERE kind = 'threads') + 16 * loads;

--- the process is the one that wrote the truth
SELECT m.value, t.value FROM truth_figure t LEFT JOIN meta m ON m.key = 'pid'
WHERE t.kind = 'pid' AND m.value IS NOT t.value;

--- there are as many threads as there were, less those that left
SELECT count(*) FROM v_thread
HAVING count(*) <> (SELECT value FROM truth_figure WHERE kind = 'threads_now');

--- the main heap ends at the break
SELECT printf('0x%x', t.value) sbrk, h.end_hex, h.heap_id FROM truth_figure t, v_heap h
WHERE t.kind = 'sbrk' AND h.arena_id = 0 AND h.end > t.value AND h.start < t.value;

--- every heap has the resident pages that pagemap showed
--- needs residency
SELECT h.heap_id, h.start_hex, h.mapped_bytes, h.resident_bytes,
       (SELECT total(min(p.address + 4096, h.end) - max(p.address, h.start)) FROM truth_page p
        WHERE p.address > h.start - 4096 AND p.address < h.end) pagemap
FROM v_heap h WHERE h.resident_bytes IS NOT pagemap;


--- each thread's own word and malloc's count agree on who uses an arena
SELECT arena_id, threads, attached_threads FROM v_arena
WHERE namespace = 0 AND threads IS NOT attached_threads;

--- there are not more arenas than the limit allows, and as many where threads wanted more
SELECT l.value "limit", (SELECT count(*) FROM v_arena WHERE namespace = 0) arenas, t.value threads
FROM meta l, truth_figure t
WHERE l.key = 'arena_limit' AND l.value IS NOT NULL AND t.kind = 'threads'
  AND (arenas > l.value OR (t.value > l.value AND arenas <> l.value));

--- a setting that the process made is shown as it made it
WITH t(scenario, name, value) AS (VALUES
    ('arena-max', 'arena_max', 3), ('no-tcache', 'tcache_count', 0),
    ('deep-tcache', 'tcache_count', 200), ('trim-pad', 'top_pad', 16777216),
    ('batch', 'trim_threshold', 2 * (4194304 + 4096)), ('batch', 'mmap_threshold', 4194304 + 4096))
SELECT t.*, v.value, v.source FROM truth_figure f JOIN t ON t.scenario = f.value
LEFT JOIN v_tunable v USING (name)
WHERE f.kind = 'scenario' AND v.value IS NOT t.value;
