-- What can be reached, from where, and what cannot.

CREATE TABLE leak (
    size_bytes INTEGER NOT NULL,
    type TEXT,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    root_chunks INTEGER NOT NULL,
    resident_bytes INTEGER
);

CREATE VIEW v_leak AS SELECT size_bytes, type, chunks, bytes, root_chunks, resident_bytes FROM leak;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_leak', '', '', 'Live chunks that nothing reaches, one row for each size and type: no root and no reached live chunk has a word that points at them. Reachability is conservative, so these are leaks unless the program hides its pointers, or roots are missing (v_root).'),
('v_leak', 'size_bytes', 'bytes', 'Size of one chunk, header included.'),
('v_leak', 'type', 'text', 'What it is, where that is known.'),
('v_leak', 'chunks', 'chunks', 'How many there are.'),
('v_leak', 'bytes', 'bytes', 'All of them together.'),
('v_leak', 'root_chunks', 'chunks', 'Those that no other leaked chunk points to: what was lost first, the rest hangs on it. A ring has none.'),
('v_leak', 'resident_bytes', 'bytes', 'What of bytes was in memory; NULL: the core does not tell.');

CREATE TABLE leak_arena (
    arena_id INTEGER,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);

CREATE VIEW v_leak_arena AS SELECT arena_id, chunks, bytes FROM leak_arena;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_leak_arena', '', '', 'The chunks of v_leak by arena; the sums are the same.'),
('v_leak_arena', 'arena_id', 'id', 'Arena; NULL for mmapped chunks.'),
('v_leak_arena', 'chunks', 'chunks', 'Live chunks of this arena that nothing reaches.'),
('v_leak_arena', 'bytes', 'bytes', 'All of them together.');

-- What the analysis was asked for and could not do.
CREATE TABLE not_computed (
    what TEXT PRIMARY KEY,
    reason TEXT NOT NULL
) WITHOUT ROWID;

CREATE VIEW v_not_computed AS SELECT what, reason FROM not_computed;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_not_computed', '', '', 'One row for each part of the analysis that was wanted and could not be made; what it would have filled is empty or NULL. Empty when all was made.'),
('v_not_computed', 'what', 'text', 'reachability: leaks, types, holders and what is kept alive; dominators: what is kept alive.'),
('v_not_computed', 'reason', 'text', 'Why: mostly no room for temporary files (TMPDIR).');

CREATE TABLE root (
    kind TEXT PRIMARY KEY,
    ranges INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    missing_places INTEGER NOT NULL,
    missing_bytes INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW v_root AS SELECT kind, ranges, bytes, missing_places, missing_bytes FROM root;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_root', '', '', 'Where reachability began, by kind, and what should have counted and is not in the core; empty where it was not examined. Where something is missing, chunks that only it holds look like leaks.'),
('v_root', 'kind', 'text', 'register, stack (from the stack pointer up), tls, global (data of modules), mapping (other anonymous or shared memory).'),
('v_root', 'ranges', 'count', 'Ranges of memory that were read; for register: threads.'),
('v_root', 'bytes', 'bytes', 'Size of all of them.'),
('v_root', 'missing_places', 'count', 'Ranges or threads whose memory cannot be read.'),
('v_root', 'missing_bytes', 'bytes', 'What is missing, as far as its size is known.');

CREATE TABLE stack (
    stack_id INTEGER PRIMARY KEY,
    thread_id INTEGER,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    used_bytes INTEGER,
    resident_bytes INTEGER
);
CREATE INDEX stack_thread ON stack (thread_id);

CREATE VIEW v_stack AS
SELECT thread_id, start, printf('0x%x', start) AS start_hex, end, printf('0x%x', end) AS end_hex,
       end - start AS mapped_bytes, used_bytes, resident_bytes, thread_id IS NULL AS is_cached
FROM stack;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_stack', '', '', 'One row for each stack: of the core''s threads, and of threads that are gone (exited and not joined, or kept by glibc for the next thread). Empty with --no-reach.'),
('v_stack', 'thread_id', 'id', 'Thread; NULL: it is gone.'),
('v_stack', 'start', 'address', 'Where the thread''s block begins, guard included; where that is not known, the stack pointer.'),
('v_stack', 'start_hex', 'hex', 'start as text.'),
('v_stack', 'end', 'address', 'Where it ends; thread-local storage and libc''s own record of the thread lie in front of it.'),
('v_stack', 'end_hex', 'hex', 'end as text.'),
('v_stack', 'mapped_bytes', 'bytes', 'end less start.'),
('v_stack', 'used_bytes', 'bytes', 'From the stack pointer up to thread-local storage: what frames use now. NULL: not in the core.'),
('v_stack', 'resident_bytes', 'bytes', 'Of mapped_bytes, in memory when the core was written; what is not used stays until the thread is gone. NULL: not known.'),
('v_stack', 'is_cached', '0/1', '1: of a thread that is gone.');

INSERT INTO example_query (title, sql) VALUES
('How much of the stacks'' memory is in use, and how much is kept for threads that are gone?',
 'SELECT is_cached, count(*) AS stacks, sum(mapped_bytes) AS mapped_bytes, sum(resident_bytes) AS resident_bytes, sum(used_bytes) AS used_bytes FROM v_stack GROUP BY is_cached');
