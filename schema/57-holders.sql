-- Who holds the chunks that are worth asking about.

CREATE TABLE holder (
    chunk_address INTEGER NOT NULL,
    hop INTEGER NOT NULL,
    kind TEXT NOT NULL,
    address INTEGER,
    label TEXT NOT NULL,
    PRIMARY KEY (chunk_address, hop)
) WITHOUT ROWID;

CREATE VIEW v_holder AS
SELECT chunk_address, printf('0x%x', chunk_address) AS chunk_address_hex, hop, kind,
       address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex, label
FROM holder;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_holder', '', '', 'The shortest way from a root that lasts (variable, thread-local storage, mapping), else from a stack or register, to each examined chunk (top pins, samples of the costliest page pins, the largest chunks), a row for each hop. A chunk may be held in other ways too. Empty with --no-reach.'),
('v_holder', 'chunk_address', 'address', 'Header of the examined chunk.'),
('v_holder', 'chunk_address_hex', 'hex', 'chunk_address as text.'),
('v_holder', 'hop', 'count', 'Place on the way: 0 is the root, the last one the chunk itself. Of a long way the middle is left out.'),
('v_holder', 'kind', 'text', 'stack, register, global, tls, mapping: a root; chunk.'),
('v_holder', 'address', 'address', 'The root''s word that points on, or the chunk''s header; NULL for a register.'),
('v_holder', 'address_hex', 'hex', 'address as text.'),
('v_holder', 'label', 'text', 'What a person calls it: symbol and module, thread, or the chunk''s type and size, and where in it the pointer stands.');

CREATE TABLE held (
    held_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    address INTEGER,
    label TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);

CREATE VIEW v_held AS
SELECT kind, address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex, label,
       chunks, bytes
FROM held;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_held', '', '', 'One row for each of the few roots that hold the weightiest examined chunks: what nothing else keeps alive, by the dominator tree of all reached chunks; stacks and registers do not compete with roots that last. What is held from elsewhere too is not counted. Empty with --no-reach.'),
('v_held', 'kind', 'text', 'stack (with its thread''s registers), register, global, tls, mapping.'),
('v_held', 'address', 'address', 'Where the variable, stack or mapping begins; NULL: registers alone.'),
('v_held', 'address_hex', 'hex', 'address as text.'),
('v_held', 'label', 'text', 'Symbol and module, thread, or mapping.'),
('v_held', 'chunks', 'chunks', 'Live chunks that only this root keeps alive.'),
('v_held', 'bytes', 'bytes', 'Their bytes.');

INSERT INTO example_query (title, sql) VALUES
('What would be freed if a holder let go?',
 'SELECT kind, label, chunks, bytes FROM v_held ORDER BY bytes DESC');

INSERT INTO example_query (title, sql) VALUES
('Who holds the chunk on top of the most memory?',
 'SELECT hop, kind, address_hex, label FROM v_holder WHERE chunk_address = (SELECT address FROM v_top_pin ORDER BY unlocked_bytes DESC LIMIT 1) ORDER BY hop');
