-- What describes the database itself: where it comes from, what each column means, what to ask.

-- "cfrg", so that file(1) and others can tell whose database it is.
PRAGMA application_id = 0x63667267;
PRAGMA user_version = 1;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE doc (
    object TEXT NOT NULL,
    "column" TEXT NOT NULL,
    unit TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (object, "column")
);

CREATE TABLE example_query (
    title TEXT PRIMARY KEY,
    sql TEXT NOT NULL
);

INSERT INTO doc (object, "column", unit, text) VALUES
('meta', '', '', 'One row for each fact about the core, the process, and how this database was made. The keys are documented as object "meta key".'),
('meta', 'key', 'text', 'Name of the fact.'),
('meta', 'value', '', 'Its value; NULL or empty where it is not known.'),
('meta key', '', '', 'The keys of the table meta.'),
('meta key', 'schema_version', 'count', 'Version of these tables and views.'),
('meta key', 'schema_revision', 'text', 'Which state of that version: views and columns are added within one. A database of another one is read as long as it has the columns that are asked for.'),
('meta key', 'tool_version', 'text', 'Version of corefrag that wrote the database.'),
('meta key', 'core_path', 'text', 'The core file, as named on the command line.'),
('meta key', 'core_bytes', 'bytes', 'Size of the core file.'),
('meta key', 'core_complete', '0/1', 'All bytes that the core''s headers promise are in the file.'),
('meta key', 'core_left_out', 'text', 'What the producer wrote instead of all, by design: createdump''s mini and triage dumps have no heap; NULL: nothing that the core tells of.'),
('meta key', 'archive_checksum', 'text', 'Of the archive that the core came out of: verified; none (the format has none, or it was cut off: a changed bit would look like damage in the process); empty: the core was not packed.'),
('meta key', 'core_producer', 'text', 'Who wrote the core: kernel, gcore, createdump, qemu, valgrind, unknown.'),
('meta key', 'missing_bytes', 'bytes', 'Bytes that the headers promise and the file does not have.'),
('meta key', 'machine', 'text', 'x86_64, i386 or aarch64.'),
('meta key', 'mmapped_header_bytes', 'bytes', 'What a chunk in a mapping of its own has besides its usable bytes: two words, three from glibc 2.43 on.'),
('meta key', 'word_bits', 'bits', 'Width of a pointer: 64 or 32.'),
('meta key', 'page_bytes', 'bytes', 'Size of a page.'),
('meta key', 'pid', 'id', 'Process id.'),
('meta key', 'signal', 'id', 'Signal that ended the process. Of a snapshot the one by which the debugger stopped it, or 0.'),
('meta key', 'snapshot', '0/1', '1: no signal ended the process: a debugger stopped it to write this.'),
('meta key', 'command', 'text', 'Short name of the process, at most 15 characters.'),
('meta key', 'exe', 'text', 'Path of the program''s file, as the process saw it.'),
('meta key', 'libc_path', 'text', 'Path of the file that holds malloc''s data: libc, or a static program.'),
('meta key', 'libc_build_id', 'text', 'Build id of that file, in hex.'),
('meta key', 'libc_version', 'text', 'Release of glibc: by the libc''s banner in the core or in the file with its build id, or by its path; else the releases that the shapes of malloc''s structs fit (2.27-2.34). Empty: neither.'),
('meta key', 'malloc_refused', 'text', 'The release of a glibc whose malloc is not read ("before 2.17" where only its structs tell); NULL: there is none.'),
('meta key', 'malloc_layout', 'text', 'Which shapes of malloc''s structs fit this core.'),
('meta key', 'located_by', 'text', 'What stands behind the places of malloc''s data, which are always found by pattern: dwarf (symbols and struct layouts confirm them), symbols (places alone), pattern (no symbols at hand, or v_anomaly has what they contradict).'),
('meta key', 'residency_source', 'text', 'What says which pages were in memory: holes, gaps, smaps (pages of zeros are taken for absent, and the kernel counts as many pages in each mapping), zero-pages, none.'),
('meta key', 'smaps_confirms', 'text', 'Where a smaps is at hand and residency is not exact by the core alone: exact, or why it is not made so.'),
('meta key', 'residency_exact', '0/1', '1: resident figures are exact. 0: they are "at least", and NULL where nothing is known.'),
('meta key', 'safe_linking', '0/1', 'The links of tcache and fastbins are mangled (glibc 2.32 and later).'),
('meta key', 'chunks', 'text', 'What v_chunk holds: all, free (chunks that the program does not hold), none.'),
('meta key', 'abort_message', 'text', 'With what malloc stopped the program, where that is one of its own messages; empty: it did not; NULL: libc''s data is not in the core.'),
('meta key', 'previews', '0/1', '1: v_preview holds words of the process''s memory (--previews). 0: no bytes of it are in this database, but names of files, symbols and types, and the settings of malloc in its environment (v_tunable).'),
('meta key', 'reachability', '0/1', '1: live chunks were examined for reachability.'),
('meta key', 'threads', 'count', 'Threads in the core.'),
('meta key', 'threads_unwound', 'count', 'Threads whose stack was unwound; of the others v_frame has one frame.'),
('meta key', 'anomalies', 'count', 'Things that did not add up; v_anomaly keeps the first ten thousand of the heap''s.'),
('meta key', 'outcome', 'code', 'Exit code of the analysis: 0 whole, 4 core incomplete, 5 no glibc malloc heap, 6 heap inconsistent.'),
('doc', '', '', 'One row for each view and table of the interface (column empty) and one for each of their columns.'),
('doc', 'object', 'text', 'Name of the view or table.'),
('doc', 'column', 'text', 'Name of the column; empty for the object itself.'),
('doc', 'unit', 'text', 'Unit of the column: bytes, address, chunks, id, text, 0/1 ...'),
('doc', 'text', 'text', 'What it means.'),
('example_query', '', '', 'Questions with their SQL; each of them runs on this database.'),
('example_query', 'title', 'text', 'The question.'),
('example_query', 'sql', 'text', 'The SQL that answers it.');
