-- The process as the core has it: segments, mapped files, threads.

CREATE TABLE segment (
    segment_id INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    flags TEXT NOT NULL,
    kind TEXT NOT NULL,
    file TEXT,
    build_id TEXT,
    dumped_bytes INTEGER NOT NULL,
    missing_bytes INTEGER NOT NULL,
    resident_bytes INTEGER
);
CREATE INDEX segment_start ON segment (start);

CREATE VIEW v_segment AS
SELECT segment_id,
       start, printf('0x%x', start) AS start_hex,
       end, printf('0x%x', end) AS end_hex,
       flags, kind, file, build_id,
       end - start AS mapped_bytes, dumped_bytes, missing_bytes, resident_bytes
FROM segment;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_segment', '', '', 'One row for each PT_LOAD of the core: a mapping of the process.'),
('v_segment', 'segment_id', 'id', 'Place among the core''s PT_LOADs, from 0.'),
('v_segment', 'start', 'address', 'First byte.'),
('v_segment', 'start_hex', 'hex', 'start as text.'),
('v_segment', 'end', 'address', 'First byte after it.'),
('v_segment', 'end_hex', 'hex', 'end as text.'),
('v_segment', 'flags', 'text', 'Rights: r, w, x, or - where one is missing.'),
('v_segment', 'kind', 'text', 'anonymous, file, shared, or unknown where the core has no list of mapped files.'),
('v_segment', 'file', 'text', 'Mapped file, as the process saw its path; NULL when there is none or it is not known.'),
('v_segment', 'build_id', 'text', 'Build id of that file in hex; NULL when the core does not have it.'),
('v_segment', 'mapped_bytes', 'bytes', 'end - start.'),
('v_segment', 'dumped_bytes', 'bytes', 'Of these, in the core file.'),
('v_segment', 'missing_bytes', 'bytes', 'Promised by the headers, but beyond the end of the core file.'),
('v_segment', 'resident_bytes', 'bytes', 'Of these, in memory when the core was written; by smaps where the core does not tell (files, shared memory); NULL when that is not known.');

CREATE TABLE module (
    module_id INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    flags TEXT NOT NULL,
    file TEXT NOT NULL,
    build_id TEXT,
    kind TEXT NOT NULL,
    mapped_bytes INTEGER NOT NULL,
    resident_bytes INTEGER,
    symbols TEXT NOT NULL,
    symbols_file TEXT,
    symbols_verified INTEGER
);
CREATE INDEX module_start ON module (start);

CREATE VIEW v_module AS
SELECT module_id,
       start, printf('0x%x', start) AS start_hex,
       end, printf('0x%x', end) AS end_hex,
       flags, file, build_id, kind, mapped_bytes, resident_bytes,
       symbols, symbols_file, symbols_verified
FROM module;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_module', '', '', 'One row for each mapped file: the program, its libraries, other files.'),
('v_module', 'module_id', 'id', 'Place in the core''s list of mapped files, from 0.'),
('v_module', 'start', 'address', 'First byte of its first mapping.'),
('v_module', 'start_hex', 'hex', 'start as text.'),
('v_module', 'end', 'address', 'First byte after its last mapping.'),
('v_module', 'end_hex', 'hex', 'end as text.'),
('v_module', 'flags', 'text', 'Rights of its mappings together: r, w, x, or -.'),
('v_module', 'file', 'text', 'Path as the process saw it (in its container).'),
('v_module', 'build_id', 'text', 'GNU build id in hex; NULL when it has none or its first page is not in the core.'),
('v_module', 'kind', 'text', 'elf: starts with an ELF header; file: does not; unknown: its first page is not in the core.'),
('v_module', 'mapped_bytes', 'bytes', 'Sum of its mappings.'),
('v_module', 'resident_bytes', 'bytes', 'In memory when the core was written, by smaps; NULL: there is none, and a core cannot tell for file mappings.'),
('v_module', 'symbols', 'text', 'Where its symbols come from: symtab (its file), debug (its debug file), dynsym (its file, exported names only), core; or why there are none: stripped, other-file (a file of that name has another build id and is not used), no-file, no-build-id (the core has none to compare), not-elf.'),
('v_module', 'symbols_file', 'text', 'That file, on the machine of the analysis; of other-file the one that was refused; NULL: none.'),
('v_module', 'symbols_verified', '0/1', '1: the file''s build id is the core''s. 0: the file was named by --exe, and the core has no build id to compare. NULL: no symbols.');

CREATE TABLE thread (
    thread_id INTEGER PRIMARY KEY,
    tid INTEGER NOT NULL,
    arena_id INTEGER,
    stack_pointer INTEGER,
    stack_start INTEGER,
    stack_end INTEGER,
    stack_resident_bytes INTEGER,
    is_crashing INTEGER NOT NULL,
    top_frame TEXT
);
CREATE INDEX thread_arena ON thread (arena_id);

CREATE VIEW v_thread AS
SELECT thread_id, tid, arena_id,
       stack_pointer, printf('0x%x', stack_pointer) AS stack_pointer_hex,
       stack_start, iif(stack_start IS NULL, NULL, printf('0x%x', stack_start)) AS stack_start_hex,
       stack_end, iif(stack_end IS NULL, NULL, printf('0x%x', stack_end)) AS stack_end_hex,
       stack_resident_bytes, is_crashing, top_frame
FROM thread;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_thread', '', '', 'One row for each thread in the core.'),
('v_thread', 'thread_id', 'id', 'Place among the core''s threads, from 0; 0 is the thread that dumped.'),
('v_thread', 'tid', 'id', 'Kernel''s thread id.'),
('v_thread', 'arena_id', 'id', 'Arena that the thread allocates from (libc''s thread_arena); NULL: not known or none yet.'),
('v_thread', 'stack_pointer', 'address', 'Stack pointer.'),
('v_thread', 'stack_pointer_hex', 'hex', 'stack_pointer as text.'),
('v_thread', 'stack_start', 'address', 'Lowest byte of the mapping around the stack pointer; NULL when none is mapped there.'),
('v_thread', 'stack_start_hex', 'hex', 'stack_start as text.'),
('v_thread', 'stack_end', 'address', 'First byte after that mapping.'),
('v_thread', 'stack_end_hex', 'hex', 'stack_end as text.'),
('v_thread', 'stack_resident_bytes', 'bytes', 'Of the mapping, in memory; NULL when that is not known.'),
('v_thread', 'is_crashing', '0/1', '1: the thread whose signal ended the process; in a snapshot there is none.'),
('v_thread', 'top_frame', 'text', 'Innermost frame: function+offset (module), module+offset, or an address; NULL: not known.');

CREATE TABLE frame (
    thread_id INTEGER NOT NULL,
    frame INTEGER NOT NULL,
    pc INTEGER NOT NULL,
    stack_pointer INTEGER,
    function TEXT,
    offset_bytes INTEGER,
    module TEXT,
    PRIMARY KEY (thread_id, frame)
) WITHOUT ROWID;

CREATE VIEW v_frame AS
SELECT thread_id, frame,
       pc, printf('0x%x', pc) AS pc_hex,
       stack_pointer,
       iif(stack_pointer IS NULL, NULL, printf('0x%x', stack_pointer)) AS stack_pointer_hex,
       function, offset_bytes, module
FROM frame;

INSERT INTO doc (object, "column", unit, text) VALUES
('v_frame', '', '', 'One row for each frame of a thread, at most 64, for the first 1,000 threads; the others have one. The way ends where the file of a frame''s module is not at hand.'),
('v_frame', 'thread_id', 'id', 'Thread; see v_thread.'),
('v_frame', 'frame', 'count', '0 is the innermost.'),
('v_frame', 'pc', 'address', 'Where it was: the next instruction, or where its call returns to.'),
('v_frame', 'pc_hex', 'hex', 'pc as text.'),
('v_frame', 'stack_pointer', 'address', 'Lowest byte of its part of the stack, which ends at the next frame''s; NULL: not known.'),
('v_frame', 'stack_pointer_hex', 'hex', 'stack_pointer as text.'),
('v_frame', 'function', 'text', 'Function, readable; NULL: no symbol.'),
('v_frame', 'offset_bytes', 'bytes', 'pc, from the function''s first byte; NULL: no symbol.'),
('v_frame', 'module', 'text', 'File that the code comes from, as the process saw its path; [vdso]: the kernel''s; NULL: none.');
