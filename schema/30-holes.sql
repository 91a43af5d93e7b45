-- Where dead memory stands, and how chunks spread over sizes.

CREATE TABLE size_class (
    arena_id INTEGER,
    state TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    chunks INTEGER NOT NULL
);
CREATE INDEX size_class_arena ON size_class (arena_id, state, size_bytes);

CREATE VIEW v_size_class AS
SELECT arena_id, state, size_bytes, chunks, chunks * size_bytes AS bytes FROM size_class;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_size_class', '', '', 'One row for each arena, state and size of chunks: GROUP BY over all chunks, made beforehand and complete even where v_chunk is not.'),
('v_size_class', 'arena_id', 'id', 'Arena; NULL for mmapped chunks.'),
('v_size_class', 'state', 'text', 'live, mmapped, free, fast, tcache, top, fence; see v_chunk.'),
('v_size_class', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_size_class', 'chunks', 'chunks', 'How many there are.'),
('v_size_class', 'bytes', 'bytes', 'All of them together.');

CREATE TABLE hole (
    hole_id INTEGER PRIMARY KEY,
    arena_id INTEGER NOT NULL,
    heap_id INTEGER NOT NULL,
    address INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    resident_bytes INTEGER,
    releasable_bytes INTEGER,
    below_address INTEGER,
    above_address INTEGER
);
CREATE INDEX hole_address ON hole (address);
CREATE INDEX hole_heap ON hole (heap_id);
CREATE INDEX hole_arena ON hole (arena_id);

CREATE VIEW v_hole AS
SELECT hole_id, arena_id, heap_id,
       address, printf('0x%x', address) AS address_hex,
       size_bytes, chunks, resident_bytes, releasable_bytes,
       below_address,
       iif(below_address IS NULL, NULL, printf('0x%x', below_address)) AS below_address_hex,
       above_address,
       iif(above_address IS NULL, NULL, printf('0x%x', above_address)) AS above_address_hex
FROM hole;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_hole', '', '', 'One row for each hole of at least a page: a longest run of neighbouring dead chunks (free, fast, tcache) below the top of a heap.'),
('v_hole', 'hole_id', 'id', 'In order of address, from 1.'),
('v_hole', 'arena_id', 'id', 'Arena that it is in.'),
('v_hole', 'heap_id', 'id', 'Heap that it is in.'),
('v_hole', 'address', 'address', 'Header of its first chunk.'),
('v_hole', 'address_hex', 'hex', 'address as text.'),
('v_hole', 'size_bytes', 'bytes', 'Its bytes.'),
('v_hole', 'chunks', 'chunks', 'Dead chunks that it is made of.'),
('v_hole', 'resident_bytes', 'bytes', 'Of these, in memory when the core was written; NULL when nothing says so.'),
('v_hole', 'releasable_bytes', 'bytes', 'Of these, resident bytes that malloc_trim(0) would give back; NULL when nothing says what is resident.'),
('v_hole', 'below_address', 'address', 'Live chunk right below; NULL: the heap''s start, a fence or a foreign gap is there.'),
('v_hole', 'below_address_hex', 'hex', 'below_address as text.'),
('v_hole', 'above_address', 'address', 'Live chunk right above; NULL: the top, the heap''s end, a fence or a foreign gap is there.'),
('v_hole', 'above_address_hex', 'hex', 'above_address as text.');

CREATE TABLE hole_histogram (
    arena_id INTEGER NOT NULL,
    from_bytes INTEGER NOT NULL,
    holes INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    releasable_bytes INTEGER,
    PRIMARY KEY (arena_id, from_bytes)
) WITHOUT ROWID;

CREATE VIEW v_hole_histogram AS
SELECT arena_id, from_bytes, holes, bytes, resident_bytes, releasable_bytes FROM hole_histogram;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_hole_histogram', '', '', 'All holes, also those below a page, by arena and power of two.'),
('v_hole_histogram', 'arena_id', 'id', 'Arena.'),
('v_hole_histogram', 'from_bytes', 'bytes', 'Power of two: holes of at least this and less than twice this size.'),
('v_hole_histogram', 'holes', 'holes', 'How many.'),
('v_hole_histogram', 'bytes', 'bytes', 'Their bytes.'),
('v_hole_histogram', 'resident_bytes', 'bytes', 'Of these, in memory when the core was written; NULL when nothing says so.'),
('v_hole_histogram', 'releasable_bytes', 'bytes', 'Of these, resident bytes that malloc_trim(0) would give back; NULL when nothing says what is resident.');

CREATE TABLE anomaly (
    anomaly_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    code TEXT NOT NULL,
    is_corruption INTEGER NOT NULL,
    arena_id INTEGER,
    heap_id INTEGER,
    address INTEGER,
    file_offset INTEGER,
    detail TEXT NOT NULL,
    in_flux INTEGER NOT NULL DEFAULT 0,
    thread_id INTEGER
);
CREATE INDEX anomaly_address ON anomaly (address);
CREATE INDEX anomaly_heap ON anomaly (heap_id);
CREATE INDEX anomaly_arena ON anomaly (arena_id);

CREATE VIEW v_anomaly AS
SELECT anomaly_id, source, code, is_corruption, arena_id, heap_id,
       address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex,
       file_offset, detail, in_flux, thread_id,
       (SELECT f.function FROM frame f WHERE f.thread_id = anomaly.thread_id
            AND f.function IS NOT NULL ORDER BY f.frame LIMIT 1) AS function
FROM anomaly;

-- The first corruption, for whoever looks for its writer: one row, or none.
CREATE TABLE damage (
    kind TEXT NOT NULL,
    address INTEGER,
    suspect_address INTEGER,
    suspect_size INTEGER,
    suspect_state TEXT,
    suspect_type TEXT,
    overrun_bytes INTEGER,
    holder TEXT
);

CREATE VIEW v_damage AS
SELECT kind, address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex,
       suspect_address, iif(suspect_address IS NULL, NULL, printf('0x%x', suspect_address))
           AS suspect_address_hex,
       suspect_size, suspect_state, suspect_type, holder, overrun_bytes
FROM damage;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_damage', '', '', 'One row where the heap is corrupt: the first place that was hit, and the chunk from which it may have been written.'),
('v_damage', 'kind', 'text', 'header: of a chunk or the top, overwritten; zero-byte, byte: only the lowest byte of its size, with 0 (as a text that is one byte too long leaves it) or another value; dead-chunk: the links or size that malloc keeps in a free chunk, behind a header that is whole; list-head: a list leads to no chunk, since the link of one that was taken from it had been overwritten; freed-twice; other.'),
('v_damage', 'address', 'address', 'Header of the chunk that was hit; the arena or cache of a list-head; NULL: none is named.'),
('v_damage', 'address_hex', 'hex', 'address as text.'),
('v_damage', 'suspect_address', 'address', 'Header of the chunk right below: who writes past its end writes there. NULL: there is none.'),
('v_damage', 'suspect_address_hex', 'hex', 'suspect_address as text.'),
('v_damage', 'suspect_size', 'bytes', 'Its size, header included.'),
('v_damage', 'suspect_state', 'text', 'Its state, as in v_chunk.'),
('v_damage', 'suspect_type', 'text', 'What kind of object it is; NULL until known.'),
('v_damage', 'holder', 'text', 'What holds it; NULL until known.'),
('v_damage', 'overrun_bytes', 'bytes', 'By how much it was overrun, at least; NULL: it was not, or nothing is known.');

INSERT INTO doc (object, "column", unit, text) VALUES
('v_anomaly', '', '', 'One row for each thing that does not add up, in the core file or in the heap.'),
('v_anomaly', 'anomaly_id', 'id', 'From 1: the file''s first, then the address space''s, the heap''s, and those of symbols.'),
('v_anomaly', 'source', 'text', 'core: the file; memory: its address space; heap: malloc''s structures; symbols: what symbols and DWARF say against the patterns.'),
('v_anomaly', 'code', 'text', 'What kind of thing, as a short word.'),
('v_anomaly', 'is_corruption', '0/1', '1: the heap contradicts itself where the core is complete.'),
('v_anomaly', 'arena_id', 'id', 'Arena; NULL: none or not known.'),
('v_anomaly', 'heap_id', 'id', 'Heap; NULL: none or not known.'),
('v_anomaly', 'address', 'address', 'Where, in the process; NULL: nowhere.'),
('v_anomaly', 'address_hex', 'hex', 'address as text.'),
('v_anomaly', 'file_offset', 'bytes', 'Where, in the core file; NULL for the heap''s.'),
('v_anomaly', 'detail', 'text', 'What was found and what was expected.'),
('v_anomaly', 'in_flux', '0/1', '1: no corruption, but what an operation of malloc leaves until it is done: a thread stands in it, and has the chunks in hand.'),
('v_anomaly', 'thread_id', 'id', 'That thread; NULL: none.'),
('v_anomaly', 'function', 'text', 'The innermost function in which it stands, as far as its name is known.');
