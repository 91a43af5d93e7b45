-- The chunks, those of heaps and mmapped ones. One short row each; the address is the rowid. Words
-- and what follows from other columns is computed:
--
--     code   0 live    1 free    2 tcache   3 fast   4 top   5 fence   6 live, unreachable
--            7 mmapped   8 mmapped, unreachable
--
-- 0 and 1 cost no byte in SQLite's record format, so they stand for the commonest states. Whether
-- live chunks were examined at all is one row of meta. `state` is generated and takes no room. A
-- record may end before columns that have their default: most chunks of the main arena's first heap
-- are 15 bytes. An mmapped chunk's arena and heap are NULL.
CREATE TABLE chunk (
    address INTEGER PRIMARY KEY,
    size_bytes INTEGER NOT NULL,
    code INTEGER NOT NULL,
    type_id INTEGER,
    arena_id INTEGER DEFAULT 0,
    heap_id INTEGER DEFAULT 0,
    state TEXT GENERATED ALWAYS AS
        (CASE code WHEN 0 THEN 'live' WHEN 1 THEN 'free' WHEN 2 THEN 'tcache' WHEN 3 THEN 'fast'
                   WHEN 4 THEN 'top' WHEN 5 THEN 'fence' WHEN 6 THEN 'live'
                   WHEN 7 THEN 'mmapped' WHEN 8 THEN 'mmapped' END) VIRTUAL
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
CREATE INDEX chunk_mmapped ON chunk (size_bytes) WHERE state = 'mmapped';

-- From the first heap of an arena to its last.
CREATE TABLE arena_span (
    arena_id INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL
);

-- A selection over one table, since only that is flattened into every query around it: a LEFT JOIN
-- takes no join and no union in.
--
-- Filters on heap_id and arena_id need no index, which would take as much room as the table: a heap
-- is a range of addresses. The conditions below say so of every row, and are always true. Where a
-- query says heap_id = 3, SQLite puts 3 in the place of c.heap_id everywhere (propagation of
-- constants), and what was a condition on a row becomes a range of the key. Where it says nothing,
-- the conditions are evaluated for each row: the first ids stand in a CASE whose subqueries are
-- evaluated once, which costs a quarter of a subquery for each row.
CREATE VIEW v_chunk AS
SELECT c.address, printf('0x%x', c.address) AS address_hex,
       c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits') AS user_address,
       printf('0x%x', c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits'))
           AS user_address_hex,
       c.size_bytes,
       CASE WHEN c.code IN (4, 5) THEN NULL
            WHEN c.heap_id IS NULL
            THEN c.size_bytes - (SELECT value FROM meta WHERE key = 'mmapped_header_bytes')
            ELSE c.size_bytes - (SELECT value / 8 FROM meta WHERE key = 'word_bits') END
           AS usable_bytes,
       c.arena_id, c.heap_id, c.state,
       CASE WHEN c.code IN (0, 7)
            THEN (SELECT 1 FROM meta WHERE key = 'reachability' AND value = 1)
            WHEN c.code IN (6, 8) THEN 0 END AS reachable,
       (SELECT t.type FROM type t WHERE t.type_id = c.type_id) AS type
FROM chunk c
WHERE c.address >= CASE c.heap_id
          WHEN 0 THEN (SELECT start FROM heap WHERE heap_id = 0)
          WHEN 1 THEN (SELECT start FROM heap WHERE heap_id = 1)
          WHEN 2 THEN (SELECT start FROM heap WHERE heap_id = 2)
          WHEN 3 THEN (SELECT start FROM heap WHERE heap_id = 3)
          WHEN 4 THEN (SELECT start FROM heap WHERE heap_id = 4)
          WHEN 5 THEN (SELECT start FROM heap WHERE heap_id = 5)
          WHEN 6 THEN (SELECT start FROM heap WHERE heap_id = 6)
          WHEN 7 THEN (SELECT start FROM heap WHERE heap_id = 7)
          ELSE ifnull((SELECT start FROM heap s WHERE s.heap_id = c.heap_id), -9223372036854775807) END
  AND c.address < CASE c.heap_id
          WHEN 0 THEN (SELECT end FROM heap WHERE heap_id = 0)
          WHEN 1 THEN (SELECT end FROM heap WHERE heap_id = 1)
          WHEN 2 THEN (SELECT end FROM heap WHERE heap_id = 2)
          WHEN 3 THEN (SELECT end FROM heap WHERE heap_id = 3)
          WHEN 4 THEN (SELECT end FROM heap WHERE heap_id = 4)
          WHEN 5 THEN (SELECT end FROM heap WHERE heap_id = 5)
          WHEN 6 THEN (SELECT end FROM heap WHERE heap_id = 6)
          WHEN 7 THEN (SELECT end FROM heap WHERE heap_id = 7)
          ELSE ifnull((SELECT end FROM heap s WHERE s.heap_id = c.heap_id), 9223372036854775807) END
  AND c.address >= CASE c.arena_id
          WHEN 0 THEN (SELECT start FROM arena_span WHERE arena_id = 0)
          WHEN 1 THEN (SELECT start FROM arena_span WHERE arena_id = 1)
          WHEN 2 THEN (SELECT start FROM arena_span WHERE arena_id = 2)
          WHEN 3 THEN (SELECT start FROM arena_span WHERE arena_id = 3)
          WHEN 4 THEN (SELECT start FROM arena_span WHERE arena_id = 4)
          WHEN 5 THEN (SELECT start FROM arena_span WHERE arena_id = 5)
          WHEN 6 THEN (SELECT start FROM arena_span WHERE arena_id = 6)
          WHEN 7 THEN (SELECT start FROM arena_span WHERE arena_id = 7)
          ELSE ifnull((SELECT start FROM arena_span s WHERE s.arena_id = c.arena_id), -9223372036854775807) END
  AND c.address < CASE c.arena_id
          WHEN 0 THEN (SELECT end FROM arena_span WHERE arena_id = 0)
          WHEN 1 THEN (SELECT end FROM arena_span WHERE arena_id = 1)
          WHEN 2 THEN (SELECT end FROM arena_span WHERE arena_id = 2)
          WHEN 3 THEN (SELECT end FROM arena_span WHERE arena_id = 3)
          WHEN 4 THEN (SELECT end FROM arena_span WHERE arena_id = 4)
          WHEN 5 THEN (SELECT end FROM arena_span WHERE arena_id = 5)
          WHEN 6 THEN (SELECT end FROM arena_span WHERE arena_id = 6)
          WHEN 7 THEN (SELECT end FROM arena_span WHERE arena_id = 7)
          ELSE ifnull((SELECT end FROM arena_span s WHERE s.arena_id = c.arena_id), 9223372036854775807) END;

-- The same rows but for mmapped ones, read through their heaps: a heap is a range of addresses, so
-- whatever chooses heaps (a join, IN, a subquery) chooses ranges of the key. CROSS JOIN keeps SQLite
-- from taking the chunks first. It is a join and so is not flattened on the right of a LEFT JOIN.
CREATE VIEW v_heap_chunk AS
SELECT c.address, printf('0x%x', c.address) AS address_hex,
       c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits') AS user_address,
       printf('0x%x', c.address + (SELECT value / 4 FROM meta WHERE key = 'word_bits'))
           AS user_address_hex,
       c.size_bytes,
       iif(c.code IN (4, 5), NULL,
           c.size_bytes - (SELECT value / 8 FROM meta WHERE key = 'word_bits')) AS usable_bytes,
       h.arena_id, h.heap_id, c.state,
       CASE c.code WHEN 0 THEN (SELECT 1 FROM meta WHERE key = 'reachability' AND value = 1)
            WHEN 6 THEN 0 END AS reachable,
       (SELECT t.type FROM type t WHERE t.type_id = c.type_id) AS type
FROM heap h CROSS JOIN chunk c
WHERE c.address >= h.start AND c.address < h.end;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_chunk', '', '', 'One row for each chunk; see meta chunks for which ones are kept. Filters and joins on address seek; so do heap_id = N and arena_id = N (a number or a parameter; an arena seeks from its first heap to its last), state = ''mmapped'', and state = ''free'' AND size_bytes >= 4096 (also with another power of two up to 1 MiB) ORDER BY size_bytes. To choose heaps or arenas by a join, IN or a subquery, ask v_heap_chunk, which seeks so, or join addresses: c.address >= h.start AND c.address < h.end; here all chunks would be read.'),
('v_chunk', 'address', 'address', 'Its header; it covers [address, address + size_bytes).'),
('v_chunk', 'address_hex', 'hex', 'address as text, for showing only: look one up through address, as in address = 0x55d0c0de0010.'),
('v_chunk', 'user_address', 'address', 'What malloc returned: address and two words. To look one up, subtract two words (16 bytes on 64-bit) and filter on address.'),
('v_chunk', 'user_address_hex', 'hex', 'user_address as text, for showing only.'),
('v_chunk', 'size_bytes', 'bytes', 'The whole chunk, header included.'),
('v_chunk', 'usable_bytes', 'bytes', 'What malloc_usable_size says of it, or would; NULL for top and fence.'),
('v_chunk', 'arena_id', 'id', 'Arena; NULL for mmapped chunks.'),
('v_chunk', 'heap_id', 'id', 'Heap; NULL for mmapped chunks.'),
('v_chunk', 'state', 'text', 'live: held by the program or libc; mmapped: live, in a mapping of its own; free: in a bin; fast: in a fastbin; tcache: in a thread''s cache; top: the wilderness; fence: an end marker.'),
('v_chunk', 'reachable', '0/1', 'Something that is not dead may point to it (conservative: 1 is not proof that it is used); NULL: not examined.'),
('v_chunk', 'type', 'text', 'What it is, as in v_type; NULL: only its size is known, not live, or not examined.'),
('v_heap_chunk', '', '', 'The rows of v_chunk that stand in heaps (not mmapped), for joins, IN and subqueries on heap_id or arena_id, which seek here, and for one pass over all, which is quicker here. For look-ups by address, and on the right of a LEFT JOIN, take v_chunk.'),
('v_heap_chunk', 'address', 'address', 'As in v_chunk.'),
('v_heap_chunk', 'address_hex', 'hex', 'As in v_chunk.'),
('v_heap_chunk', 'user_address', 'address', 'As in v_chunk.'),
('v_heap_chunk', 'user_address_hex', 'hex', 'As in v_chunk.'),
('v_heap_chunk', 'size_bytes', 'bytes', 'As in v_chunk.'),
('v_heap_chunk', 'usable_bytes', 'bytes', 'As in v_chunk.'),
('v_heap_chunk', 'arena_id', 'id', 'As in v_chunk; never NULL.'),
('v_heap_chunk', 'heap_id', 'id', 'As in v_chunk; never NULL.'),
('v_heap_chunk', 'state', 'text', 'As in v_chunk.'),
('v_heap_chunk', 'reachable', '0/1', 'As in v_chunk.'),
('v_heap_chunk', 'type', 'text', 'As in v_chunk.');
