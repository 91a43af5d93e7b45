-- What the program knows to be held or lost, against our reachability. The format is that of
-- truth.sql.

--- nothing that is held is called unreachable
SELECT printf('0x%x', t.address) pointer, t.usable, c.state, c.reachable
FROM truth_live t LEFT JOIN v_chunk c ON c.address = t.address - 16
WHERE t.mark = 'held' AND c.reachable IS NOT 1;

--- of what is leaked at least 999 in 1000 are found
SELECT count(*) leaked, sum(c.reachable IS NOT 0) missed
FROM truth_live t LEFT JOIN v_chunk c ON c.address = t.address - 16 WHERE t.mark = 'leaked'
HAVING count(*) > 0 AND sum(c.reachable IS NOT 0) * 1000 > count(*);

--- what libc holds for itself is no leak
SELECT address_hex, size_bytes, state FROM v_chunk
WHERE reachable = 0 AND user_address NOT IN (SELECT address FROM truth_live);

--- v_leak adds up to the unreachable chunks
SELECT * FROM (SELECT total(chunks) c, total(bytes) b FROM v_leak),
              (SELECT count(*) uc, total(size_bytes) ub FROM v_chunk WHERE reachable = 0)
WHERE c <> uc OR b <> ub;

--- only live chunks are examined
SELECT address_hex, state, reachable FROM v_chunk
WHERE (state IN ('live', 'mmapped')) <> (reachable IS NOT NULL);

--- v_type adds up to the live chunks
SELECT * FROM (SELECT total(bytes) t FROM v_type), (SELECT live_bytes l FROM v_verdict)
WHERE t > 0 AND t <> l;

--- so do sizes by type
SELECT a.size_bytes, a.chunks live, coalesce(b.chunks, 0) typed
FROM (SELECT size_bytes, sum(chunks) chunks FROM v_size_class WHERE state IN ('live', 'mmapped')
      GROUP BY size_bytes) a
LEFT JOIN (SELECT size_bytes, sum(chunks) chunks FROM v_size_type GROUP BY size_bytes) b
     USING (size_bytes)
WHERE (SELECT count(*) FROM v_size_type) > 0 AND b.chunks IS NOT a.chunks;

--- leaks as groups add up to v_leak
SELECT g.chunks, l.chunks, g.bytes, l.bytes
FROM (SELECT total(chunks) AS chunks, total(bytes) AS bytes FROM v_leak_group) g,
     (SELECT total(chunks) AS chunks, total(bytes) AS bytes FROM v_leak) l
WHERE g.chunks <> l.chunks OR g.bytes <> l.bytes;

--- owners add up to what is reached, and have no more in memory than they have
SELECT o.chunks, c.chunks, o.bytes, c.bytes
FROM (SELECT total(chunks) AS chunks, total(bytes) AS bytes, count(*) AS rows FROM v_live_owner) o,
     (SELECT count(*) AS chunks, total(size_bytes) AS bytes FROM v_chunk WHERE reachable = 1) c
WHERE o.rows < 1000 AND o.rows > 0 AND (o.chunks <> c.chunks OR o.bytes <> c.bytes)
UNION ALL
SELECT chunks, 0, bytes, resident_bytes FROM v_owner WHERE resident_bytes NOT BETWEEN 0 AND bytes;
