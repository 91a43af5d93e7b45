-- What a program of the matrix knew, against our database of its core, on any machine and release.
-- The format is that of truth.sql.

--- two calls of mallinfo() gave the same (else the truth itself is none)
SELECT * FROM truth_mallinfo a JOIN truth_mallinfo b
WHERE a.kind = 'mallinfo2' AND b.kind = 'mallinfo2_again'
  AND (a.arena, a.ordblks, a.smblks, a.hblks, a.hblkhd, a.usmblks, a.fsmblks, a.uordblks,
       a.fordblks, a.keepcost) IS NOT
      (b.arena, b.ordblks, b.smblks, b.hblks, b.hblkhd, b.usmblks, b.fsmblks, b.uordblks,
       b.fordblks, b.keepcost);

--- mallinfo() is ours in all ten fields
SELECT * FROM truth_mallinfo t LEFT JOIN v_mallinfo v ON v.arena_id IS NULL
WHERE t.kind = 'mallinfo2'
  AND (t.arena, t.ordblks, t.smblks, t.hblks, t.hblkhd, t.usmblks, t.fsmblks, t.uordblks,
       t.fordblks, t.keepcost) IS NOT
      (v.arena, v.ordblks, v.smblks, v.hblks, v.hblkhd, v.usmblks, v.fsmblks, v.uordblks,
       v.fordblks, v.keepcost);

--- mallinfo() of the second libc is that of the other namespaces
SELECT t.*, v.* FROM truth_mallinfo t,
    (SELECT sum(m.arena) a, sum(m.ordblks) o, sum(m.smblks) s, sum(m.fsmblks) f,
            sum(m.uordblks) u, sum(m.fordblks) fo, sum(m.keepcost) k
     FROM v_mallinfo m JOIN v_arena USING (arena_id) WHERE namespace <> 0) v
WHERE t.kind = 'mallinfo2_other'
  AND (t.arena, t.ordblks, t.smblks, t.fsmblks, t.uordblks, t.fordblks, t.keepcost) IS NOT
      (a, o, s, f, u, fo, k);

--- every arena of malloc_info() is one of ours, with its fastbins and bins to the byte
SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks, rest_bytes,
       count(*)
FROM truth_xml WHERE EXISTS (SELECT 1 FROM truth_mallinfo) GROUP BY 1, 2, 3, 4, 5, 6, 7
EXCEPT
SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes, free_chunks + 1,
       free_bytes + free_chunks + top_bytes, count(*)
FROM v_arena WHERE namespace = 0 GROUP BY 1, 2, 3, 4, 5, 6, 7;

--- every arena of ours is one of malloc_info()'s
SELECT system_bytes, max_system_bytes, mapped_bytes, fast_chunks, fast_bytes, free_chunks + 1,
       count(*)
FROM v_arena WHERE namespace = 0 AND EXISTS (SELECT 1 FROM truth_mallinfo)
GROUP BY 1, 2, 3, 4, 5, 6
EXCEPT
SELECT system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks, count(*)
FROM truth_xml GROUP BY 1, 2, 3, 4, 5, 6;

--- every live pointer is a live chunk of its usable size
SELECT printf('0x%x', t.address) pointer, t.requested, t.usable, c.state, c.usable_bytes
FROM truth_live t
LEFT JOIN v_chunk c ON c.address = t.address - (SELECT value / 4 FROM meta WHERE key = 'word_bits')
WHERE c.state IS NULL OR c.state NOT IN ('live', 'mmapped')
   OR (t.usable <> '-' AND c.usable_bytes <> t.usable) OR c.usable_bytes < t.requested
   OR c.user_address <> t.address;

--- a chunk is mmapped exactly when it is in no heap
SELECT address_hex, state, arena_id, heap_id FROM v_chunk
WHERE (state = 'mmapped') <> (heap_id IS NULL) AND state <> 'tcache';

--- no freed pointer lies in a live chunk that the program does not know
SELECT printf('0x%x', f.address) pointer, c.address_hex, c.size_bytes, c.state
FROM v_chunk c CROSS JOIN truth_freed f
     ON f.address >= c.user_address AND f.address < c.user_address + c.size_bytes
WHERE c.state IN ('live', 'mmapped') AND c.user_address NOT IN (SELECT address FROM truth_live)
  AND c.user_address NOT IN (SELECT address FROM v_tcache);

--- the live chunks that the program does not know are libc's: caches, vectors for TLS, search paths
SELECT count(*) chunks, max(size_bytes) largest FROM v_chunk c LEFT JOIN v_arena a USING (arena_id)
WHERE state IN ('live', 'mmapped') AND a.namespace IS NOT 1
  AND user_address NOT IN (SELECT address FROM truth_live)
  AND NOT EXISTS (SELECT 1 FROM truth_figure WHERE kind = 'scenario' AND value = 'dlmopen')
HAVING largest > 1300 OR chunks > (SELECT 2 * value + 4 FROM truth_figure WHERE kind = 'threads');

--- the process is the one that wrote the truth
SELECT m.value, t.value FROM truth_figure t LEFT JOIN meta m ON m.key = 'pid'
WHERE t.kind = 'pid' AND m.value IS NOT t.value;

--- there are as many threads as there were
SELECT count(*) FROM v_thread
HAVING count(*) <> (SELECT value FROM truth_figure WHERE kind = 'threads_now');
