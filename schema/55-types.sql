-- What the live chunks are, as far as their content tells.

CREATE TABLE type (
    type_id INTEGER PRIMARY KEY,
    type TEXT,
    evidence TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    unreachable_chunks INTEGER NOT NULL,
    unreachable_bytes INTEGER NOT NULL,
    sample_address INTEGER,
    memory_of TEXT,
    holder TEXT
);

CREATE VIEW v_type AS
SELECT type, evidence, chunks, bytes, unreachable_chunks, unreachable_bytes,
       sample_address,
       iif(sample_address IS NULL, NULL, printf('0x%x', sample_address)) AS sample_address_hex,
       holder, memory_of
FROM type;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_type', '', '', 'One row for each type of live chunk; the rows sum to all live chunks, mmapped ones too. A type is a guess from the chunk''s bytes, and evidence says what it rests on. No byte of a chunk is kept. Empty with --no-reach.'),
('v_type', 'type', 'text', 'Its name: a C++ class, a table of functions, a CPython type, (text), a buffer by who holds it; NULL: only the size is known.'),
('v_type', 'memory_of', 'text', 'Of chunks that have no name of their own: what they hang on, by the shortest way from a root (a type, a variable, a class of Java); NULL for all others.'),
('v_type', 'evidence', 'text', 'vtable: the first word leads to a table of functions; symbol: to named data; libc: one of glibc''s own; owner: held in a known way (std::string, std::vector), or memory of what memory_of says; text; pointers; size: nothing but the size.'),
('v_type', 'chunks', 'chunks', 'Live chunks of this type.'),
('v_type', 'bytes', 'bytes', 'Their bytes, headers included.'),
('v_type', 'unreachable_chunks', 'chunks', 'Those that nothing reaches.'),
('v_type', 'unreachable_bytes', 'bytes', 'Their bytes.'),
('v_type', 'sample_address', 'address', 'Header of the first of them that is reached; NULL: none is.'),
('v_type', 'sample_address_hex', 'hex', 'sample_address as text.'),
('v_type', 'holder', 'text', 'Who holds that sample, as in v_holder; NULL where it was not asked for (only the types with the most bytes are).');

CREATE TABLE size_type (
    size_bytes INTEGER NOT NULL,
    type TEXT,
    chunks INTEGER NOT NULL
);
CREATE INDEX size_type_size ON size_type (size_bytes);

CREATE VIEW v_size_type AS
SELECT size_bytes, type, chunks, chunks * size_bytes AS bytes FROM size_type;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_size_type', '', '', 'One row for each size and type of live chunk, mmapped ones too: what a size class is made of. The rows sum to all live chunks. Empty with --no-reach.'),
('v_size_type', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_size_type', 'type', 'text', 'As in v_type; NULL: only the size is known.'),
('v_size_type', 'chunks', 'chunks', 'Live chunks of this size and type.'),
('v_size_type', 'bytes', 'bytes', 'Their bytes.');

INSERT INTO example_query (title, sql) VALUES
('What are the live chunks of the size that holds the most?',
 'SELECT * FROM v_size_type WHERE size_bytes = (SELECT size_bytes FROM v_live_size LIMIT 1) ORDER BY bytes DESC LIMIT 20');

INSERT INTO example_query (title, sql) VALUES
('Which types of live chunks hold the most?',
 'SELECT coalesce(type, ''(by size only)'') AS type, evidence, chunks, bytes FROM v_type ORDER BY bytes DESC LIMIT 20');

CREATE TABLE ghost (
    type TEXT PRIMARY KEY,
    ghosts INTEGER NOT NULL,
    ghost_bytes INTEGER NOT NULL,
    arenas INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW v_ghost AS
SELECT g.type, g.ghosts, g.ghost_bytes, coalesce(t.chunks, 0) AS alive, g.arenas
FROM ghost g LEFT JOIN type t ON t.type = g.type;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_ghost', '', '', 'What holes once were: objects that were freed and still show in free memory, by the table of functions that they begin with. What was reused since shows no more, and objects in caches and fastbins do not count: evidence of what died, not a count of it. Looked for where a live chunk begins with such a table, or a C++ library is loaded. Empty with --no-reach.'),
('v_ghost', 'type', 'text', 'Type, as in v_type.'),
('v_ghost', 'ghosts', 'count', 'Dead objects of the type that still show.'),
('v_ghost', 'ghost_bytes', 'bytes', 'Their chunks'' sizes, by the headers in front of them.'),
('v_ghost', 'alive', 'chunks', 'Live chunks of the type.'),
('v_ghost', 'arenas', 'count', 'Arenas in whose free memory some show.');

INSERT INTO example_query (title, sql) VALUES
('What were the holes?',
 'SELECT type, ghosts, ghost_bytes, alive, arenas FROM v_ghost ORDER BY ghosts DESC LIMIT 10');
