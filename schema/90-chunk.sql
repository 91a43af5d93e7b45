-- The chunks. One compact row each; the address is the rowid. Everything else is computed:
--
--     code   0 live    1 free    2 tcache   3 fast   4 top   5 fence   6 live, unreachable
--
-- 0 and 1 cost no byte in SQLite's record format, so they stand for the commonest states. A
-- chunk's heap is found by its address, so that no row carries it. Whether live chunks were
-- examined at all is one row of meta. `state` is generated and takes no room.
CREATE TABLE chunk (
    address INTEGER PRIMARY KEY,
    size_bytes INTEGER NOT NULL,
    code INTEGER NOT NULL,
    state TEXT GENERATED ALWAYS AS
        (CASE code WHEN 0 THEN 'live' WHEN 1 THEN 'free' WHEN 2 THEN 'tcache' WHEN 3 THEN 'fast'
                   WHEN 4 THEN 'top' WHEN 5 THEN 'fence' WHEN 6 THEN 'live' END) VIRTUAL
);

-- The large free chunks by size: an index over all would take as much room again. A query uses it
-- only where its own filter is, word for word, a term of this one; each term but the first says
-- less than the first does, and stands here so that a query may ask for more than a page.
CREATE INDEX chunk_large_free ON chunk (size_bytes) WHERE state = 'free' AND (
    size_bytes >= 4096 OR size_bytes > 4096 OR size_bytes >= 8192 OR size_bytes > 8192 OR
    size_bytes >= 10000 OR size_bytes > 10000 OR size_bytes >= 16384 OR size_bytes > 16384 OR
    size_bytes >= 32768 OR size_bytes > 32768 OR size_bytes >= 65536 OR size_bytes > 65536 OR
    size_bytes >= 100000 OR size_bytes > 100000 OR size_bytes >= 131072 OR size_bytes > 131072 OR
    size_bytes >= 262144 OR size_bytes > 262144 OR size_bytes >= 524288 OR size_bytes > 524288 OR
    size_bytes >= 1000000 OR size_bytes > 1000000 OR
    size_bytes >= 1048576 OR size_bytes > 1048576);

CREATE TABLE mmapped_chunk (
    address INTEGER PRIMARY KEY,
    size_bytes INTEGER NOT NULL,
    usable_bytes INTEGER NOT NULL,
    state TEXT NOT NULL,
    reachable INTEGER
);

-- Both branches have the same affinities (hence the casts): only then does SQLite flatten the union
-- into a query around it, so that filters and joins reach the keys.
--
-- A chunk's heap is told twice. By the subquery it is found from the chunk, whatever the number of
-- heaps; by the range, the chunks are found from a heap, where a query names heap or arena. Which
-- way is taken is the planner's choice: heap is never ANALYZEd, so that it is held for too large a
-- table to go through when the query names an address alone.
CREATE VIEW v_chunk AS
SELECT c.address, printf('0x%x', c.address) AS address_hex,
       c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits') AS user_address,
       printf('0x%x', c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits'))
           AS user_address_hex,
       c.size_bytes,
       CAST(iif(c.code IN (4, 5), NULL,
                c.size_bytes - (SELECT value / 8 FROM meta WHERE key = 'word_bits')) AS INTEGER)
           AS usable_bytes,
       h.arena_id, h.heap_id, c.state,
       CAST(CASE c.code WHEN 0 THEN (SELECT 1 FROM meta WHERE key = 'reachability' AND value = 1)
                        WHEN 6 THEN 0 END AS INTEGER) AS reachable,
       c.address AS stored_at
FROM heap h JOIN chunk c ON c.address >= h.start AND c.address < h.end AND
     h.heap_id = (SELECT heap_id FROM heap WHERE start <= c.address ORDER BY start DESC LIMIT 1)
UNION ALL
SELECT m.address, printf('0x%x', m.address),
       m.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits'),
       printf('0x%x', m.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits')),
       m.size_bytes, m.usable_bytes, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), m.state,
       m.reachable, m.address
FROM mmapped_chunk m;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_chunk', '', '', 'One row for each chunk; see meta chunks for which ones are kept. Filters and joins on address, heap_id and arena_id seek; so does state = ''free'' AND size_bytes >= 4096 (also with another power of two up to 1 MiB) ORDER BY size_bytes. A query that both joins it and aggregates would compute all of it first: join in a WITH ... AS MATERIALIZED, aggregate over that.'),
('v_chunk', 'address', 'address', 'Its header; it covers [address, address + size_bytes).'),
('v_chunk', 'address_hex', 'hex', 'address as text.'),
('v_chunk', 'user_address', 'address', 'What malloc returned: address and two words. To look one up, subtract two words (16 bytes on 64-bit) and filter on address.'),
('v_chunk', 'user_address_hex', 'hex', 'user_address as text.'),
('v_chunk', 'size_bytes', 'bytes', 'The whole chunk, header included.'),
('v_chunk', 'usable_bytes', 'bytes', 'What malloc_usable_size says of it, or would; NULL for top and fence.'),
('v_chunk', 'arena_id', 'id', 'Arena; NULL for mmapped chunks.'),
('v_chunk', 'heap_id', 'id', 'Heap; NULL for mmapped chunks.'),
('v_chunk', 'state', 'text', 'live: held by the program or libc; mmapped: live, in a mapping of its own; free: in a bin; fast: in a fastbin; tcache: in a thread''s cache; top: the wilderness; fence: an end marker.'),
('v_chunk', 'reachable', '0/1', 'Something that is not dead may point to it (conservative: 1 is not proof that it is used); NULL: not examined.'),
('v_chunk', 'stored_at', 'id', 'Key of the row that holds it: its address, and with --chunks compact that of the first chunk that begins in the same 4 KiB. There a filter on address alone reads everything; one that says stored_at > X - 4096 AND stored_at <= X AND address = X seeks in either.');
