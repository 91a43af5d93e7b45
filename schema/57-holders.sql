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

CREATE TABLE owner (
    owner_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    address INTEGER,
    name TEXT NOT NULL,
    module TEXT,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    example_address INTEGER NOT NULL
);

CREATE VIEW v_owner AS
SELECT kind, name, module, chunks, bytes, resident_bytes,
       address, iif(address IS NULL, NULL, printf('0x%x', address)) AS address_hex,
       example_address, printf('0x%x', example_address) AS example_address_hex
FROM owner;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_owner', '', '', 'What keeps live chunks alive alone: what could not be reached without it, by the dominator tree of all reached chunks. Rows of global, tls, stack, register, mapping, runtime and shared sum to all that is reached, as far as they are listed (the largest 1,000 of each kind); types and modules are other cuts of the same bytes. Stacks do not compete with what lasts, nor words that were left behind in reused memory with pointers that chunks of a kind usually have. Empty with --no-reach.'),
('v_owner', 'kind', 'text', 'global, tls, mapping; stack or register: a thread; runtime: all of a managed heap; shared: what several of these lead to, and none keeps alone; type: objects with all that hangs on them; module: its variables, with what only they share.'),
('v_owner', 'name', 'text', 'Symbol and module, thread and function, type, or module; shared by: who shares it.'),
('v_owner', 'module', 'text', 'File name of the module that the variables stand in; NULL: none, or several.'),
('v_owner', 'chunks', 'chunks', 'Live chunks that it keeps alive.'),
('v_owner', 'bytes', 'bytes', 'Their bytes, headers included.'),
('v_owner', 'resident_bytes', 'bytes', 'Of these, resident; NULL: not known.'),
('v_owner', 'address', 'address', 'Where the variable, stack or mapping begins; NULL: it stands in no one place.'),
('v_owner', 'address_hex', 'hex', 'address as text.'),
('v_owner', 'example_address', 'address', 'Header of a chunk that it keeps alive.'),
('v_owner', 'example_address_hex', 'hex', 'example_address as text.');

CREATE TABLE leak_group (
    group_id INTEGER PRIMARY KEY,
    type TEXT,
    size_bytes INTEGER NOT NULL,
    leaders INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    points_to TEXT,
    example_address INTEGER NOT NULL
);

CREATE VIEW v_leak_group AS
SELECT group_id, 'definite' AS grade, type, size_bytes, leaders, chunks, bytes, points_to,
       example_address, printf('0x%x', example_address) AS example_address_hex
FROM leak_group;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_leak_group', '', '', 'The chunks of v_leak as leaks: a row for all leaders of one type and size that point into the same module, with what hangs on them. Leaders are the fewest chunks from which all that is leaked can be reached; of a ring it is the first by address. A chunk that hangs on several leaders counts for one of them: the sums of chunks and bytes are those of v_leak. The one with the most bytes first.'),
('v_leak_group', 'group_id', 'id', 'Number of the row.'),
('v_leak_group', 'grade', 'text', 'definite: no root and no reached live chunk has a word that points at it.'),
('v_leak_group', 'type', 'text', 'What the leaders are; NULL: only their size is known.'),
('v_leak_group', 'size_bytes', 'bytes', 'Size of a leader''s chunk, header included.'),
('v_leak_group', 'leaders', 'chunks', 'How many there are: how often it was lost.'),
('v_leak_group', 'chunks', 'chunks', 'Leaders and what hangs on them.'),
('v_leak_group', 'bytes', 'bytes', 'All of these together.'),
('v_leak_group', 'points_to', 'text', 'What the first word of a leader that leads into a module leads to: symbol and module, or module; NULL: none does.'),
('v_leak_group', 'example_address', 'address', 'Header of the first leader.'),
('v_leak_group', 'example_address_hex', 'hex', 'example_address as text.');

INSERT INTO example_query (title, sql) VALUES
('Which leaks are there?',
 'SELECT type, size_bytes, leaders, chunks, bytes, points_to, example_address_hex FROM v_leak_group ORDER BY bytes DESC LIMIT 10');

INSERT INTO example_query (title, sql) VALUES
('Whose memory is it?',
 'SELECT kind, name, chunks, bytes FROM v_owner WHERE kind NOT IN (''type'', ''module'') ORDER BY bytes DESC LIMIT 10');

INSERT INTO example_query (title, sql) VALUES
('Who holds the chunk on top of the most memory?',
 'SELECT hop, kind, address_hex, label FROM v_holder WHERE chunk_address = (SELECT address FROM v_top_pin ORDER BY unlocked_bytes DESC LIMIT 1) ORDER BY hop');
